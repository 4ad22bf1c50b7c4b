"""Studies on a Dask cluster of real processes, which are killed at awkward moments."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason="needs the extra: pip install 'symbreak[cluster]'")

import joblib
import numpy as np
from distributed import Client, get_task_stream

from symbreak import load_problem, train
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.experiments import ExecutorError, Store, StudySpec, run_study
from symbreak.experiments._dask import connect, is_exposed
from tests.experiments.dask_processes import SLICE, DaskProcesses, start_on_cluster
from tests.experiments.processes import (
    DEADLINE,
    finish,
    is_begun,
    results,
    start_study,
    wait_for,
)
from tests.experiments.test_own import MODULE, STUDY
from tests.pages.blocks import ROOT, fenced

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and three workers that no test harms."""
    with DaskProcesses(tmp_path_factory.mktemp("cluster")) as processes:
        for _ in range(3):
            processes.add_worker()
        yield processes


@pytest.fixture
def fragile(tmp_path):
    """A scheduler, to be given workers and killed."""
    with DaskProcesses(tmp_path) as processes:
        yield processes


def test_a_cluster_gives_the_results_of_local_processes(study, local, cluster, tmp_path):
    said = []
    path = tmp_path / "a.db"
    address = cluster.address.replace("127.0.0.1", "0.0.0.0")  # "here", but not the loopback
    result = run_study(study, path, executor=address, checkpoint_every=SLICE, on_news=said.append)
    assert result == (6, 0, False)
    assert results(path) == local
    assert "is not on this machine and the connection is not encrypted" in said[0]
    assert said[-1] == "cluster: 3 workers with 3 threads"
    with Store(path) as store:
        made_by = [json.loads(versions) for versions in store.runs().versions]
        assert all(row["cpu"].endswith(f" with {row['blas']}") for row in made_by)


def test_workers_of_a_cluster_import_modules_that_are_named(cluster, tmp_path):
    (cluster.folder / "own.py").write_text(MODULE)  # workers find modules of their folder
    (cluster.folder / "own.toml").write_text(STUDY)
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    options = ["--import", "own", "--cluster", cluster.address]
    store, folder = tmp_path / "a.db", cluster.folder
    finish(start_study("own.toml", store, *options, environment=environment, folder=folder))
    assert len(results(store)) == 4


PAGE_SPEAKS_OF = """
import numpy as np
from symbreak import load_problem
X = np.random.default_rng(0).normal(size=(40, 2))
y, problem = X[:, 0] * X[:, 1], load_problem("syn5")
"""


def test_the_python_of_the_page_on_clusters_runs(study, local, cluster, tmp_path):
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    address = "tcp://scheduler:8786"
    blocks = [content for language, content in fenced(page) if language == "py"]
    blocks = [block for block in blocks if address in block]  # others need Slurm or Kubernetes
    assert len(blocks) == 3
    script = "\n".join([PAGE_SPEAKS_OF, *blocks]).replace(address, cluster.address)
    (tmp_path / "page.py").write_text(script.replace('"paper"', repr(str(study))))
    subprocess.run([sys.executable, "page.py"], cwd=tmp_path, check=True, timeout=DEADLINE)
    assert results(tmp_path / "study.db") == local


def test_memory_stays_flat(cluster, tmp_path):
    spec = StudySpec.parse(
        'problems = ["syn5"]\nmethods = ["DE-SB"]\nrepetitions = 100\nbudgets.syn5 = 200'
    )
    statuses, tasks = [], []
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=DEADLINE)

        def count(update):
            statuses.append(update.status)
            if len(statuses) % 10 == 0:
                tasks.append(client.run_on_scheduler(count_tasks))

        executor = client.get_executor()
        result = run_study(spec, tmp_path / "a.db", executor=executor, on_run=count)
        assert client.status == "running"  # it is left open
        remembered = client.run_on_scheduler(count_messages)
    with pytest.raises(ExecutorError, match="the client is closed; make one that is connected"):
        run_study(spec, tmp_path / "b.db", executor=executor)
    assert result == (100, 0, False)
    assert max(tasks) <= 3 * 2 * 2  # two for each thread, and as many that are done but not let go
    assert 0 < remembered <= 3 * 10


def count_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def count_messages(dask_scheduler):
    return sum(len(each.recent_message_log) for each in dask_scheduler.stream_comms.values())


def test_starts_of_estimators_and_the_trainer_go_to_a_cluster_and_change_nothing(cluster):
    x = np.linspace(-1, 1, 60).reshape(-1, 1)
    y = np.sinc(3 * x[:, 0])

    def fit():
        model = EvolvedMLPRegressor((3,), max_evaluations=12_000, random_state=0, n_jobs=-1)
        return model.fit(x, y).model_.to_json()

    problem = load_problem("sinc", seed=1)
    options = {"max_evaluations": 12_000, "seed": 3, "threads": 3}
    alone, record = fit(), train(problem, **options)
    with Client(cluster.address) as client, joblib.parallel_config("dask"):
        client.wait_for_workers(3, timeout=DEADLINE)
        with get_task_stream(client) as first:
            assert fit() == alone
        with get_task_stream(client) as second:
            there = train(problem, executor=client.get_executor(), **options)
    assert first.data
    assert second.data
    assert there.model.to_json() == record.model.to_json()


OTHER_CPU = "from symbreak.experiments import _run\n_run._cpu = lambda: 'other'\n"


def test_another_cpu_is_said(study, fragile, tmp_path):
    fragile.add_worker(preload=OTHER_CPU)
    spec, path = StudySpec.load(study, methods=["DE-SB"]), tmp_path / "a.db"
    with pytest.warns(UserWarning, match=r"another CPU .*\(other\)"):
        assert run_study(spec, path, executor=fragile.address) == (3, 0, False)
    with Store(path) as store:
        assert json.loads(store.runs().versions[0])["cpu"] == "other"


def test_lost_workers_cost_a_slice_and_late_ones_are_used(study, local, fragile, tmp_path):
    fragile.add_worker().add_worker().add_worker()
    statuses, said = [], []

    def kill_all(update):
        """When runs are under way: one worker, then the others; then a new one comes."""
        statuses.append(update.status)
        if len(statuses) == 1:
            fragile.kill_worker()
        if len(statuses) == 4:
            fragile.kill_worker()
            fragile.kill_worker()
            fragile.add_worker()

    with Client(fragile.address, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=DEADLINE)
        result = run_study(
            study,
            tmp_path / "a.db",
            executor=client.get_executor(),
            checkpoint_every=SLICE,
            on_run=kill_all,
            on_news=said.append,
        )
    assert result == (6, 0, False)
    assert results(tmp_path / "a.db") == local
    assert "running" in statuses
    assert said[0] == "cluster: 3 workers with 3 threads"
    assert said[-1] == "cluster: 1 worker with 1 threads"


@pytest.mark.slow
def test_a_killed_driver_loses_nothing(study, local, cluster, tmp_path):
    store = tmp_path / "a.db"
    for _ in range(2):
        process = start_on_cluster(study, store, cluster.address)
        wait_for(is_begun(store))
        process.kill()
        process.communicate(timeout=DEADLINE)
    finish(start_on_cluster(study, store, cluster.address))
    assert results(store) == local


def test_ctrl_c_stops_in_seconds_with_checkpoints(study, local, cluster, tmp_path):
    store = tmp_path / "a.db"
    process = start_on_cluster(study, store, cluster.file)
    wait_for(is_begun(store))
    os.killpg(process.pid, signal.SIGINT)
    out, err = finish(process, code=130)
    assert "nothing is lost" in out
    assert "Traceback" not in err, err
    with Store(store) as opened:
        assert opened.count("run") < 6
        assert opened.count("run") + opened.count("checkpoint") > 0
    assert run_study(study, store, executor=cluster.address).interrupted is False
    assert results(store) == local


def test_a_lost_scheduler_is_said_and_a_second_start_finishes(study, local, fragile, tmp_path):
    fragile.add_worker()
    store = tmp_path / "a.db"
    process = start_on_cluster(study, store, fragile.address, COMM__TIMEOUTS__CONNECT="5s")
    wait_for(is_begun(store))
    fragile.scheduler.kill()
    out, err = finish(process, code=1)
    assert f"Connecting to {fragile.address}, which may take half a minute" in out
    assert f"the connection to {fragile.address} was lost" in err or "was cancelled" in err
    assert "start again to go on" in err
    assert "Traceback" not in err, err
    assert run_study(study, store, workers=2).failed == 0
    assert results(store) == local


# Kills the worker that does the second repetition of DE-SB.
KILLER = """
import os, signal
from symbreak.experiments import _run
def deadly(run, *rest):
    if (run.method, run.repetition) == ("DE-SB", 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return alive(run, *rest)
alive, _run._go_on = _run._go_on, deadly
"""


@pytest.mark.slow
def test_a_run_that_always_kills_its_worker_is_given_up(study, local, tmp_path):
    store = tmp_path / "a.db"
    with DaskProcesses(tmp_path, SCHEDULER__ALLOWED_FAILURES="1") as processes:
        processes.add_worker(preload=KILLER, nanny=True).add_worker(preload=KILLER, nanny=True)
        result = run_study(study, store, executor=processes.address, checkpoint_every=SLICE)
    assert result == (5, 1, False)
    with Store(store) as opened:
        failures = opened.failures()
    assert failures[["method", "repetition"]].to_numpy().tolist() == [["DE-SB", 1]]
    assert "its worker died" in failures.traceback[0]
    assert results(store).items() < local.items()


OTHER_VERSION = "from symbreak.training import _record\n_record.__version__ = '9.9'\n"
OTHER_NUMERICS = "from symbreak.experiments import _run\n_run.NUMERICS_VERSION = 99\n"


@pytest.mark.parametrize(
    ("preload", "words"),
    [
        (OTHER_VERSION, "it has symbreak 9.9 instead of"),
        pytest.param(OTHER_NUMERICS, "it has numerics 99 instead of", marks=pytest.mark.slow),
    ],
)
def test_a_worker_with_other_versions_is_refused(study, fragile, tmp_path, preload, words):
    fragile.add_worker(preload=preload)
    with Client(fragile.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=DEADLINE)
        with pytest.raises(ExecutorError, match=words):
            run_study(study, tmp_path / "a.db", executor=client.get_executor())
    with Store(tmp_path / "a.db") as store:
        assert store.count("run") + store.count("checkpoint") + store.count("failure") == 0


def test_a_scheduler_without_this_symbreak_is_said(study, tmp_path):
    lacking = "import sys\nfor name in sys.modules:\n    if name.startswith('symbreak'):\n"
    lacking += "        sys.modules[name] = None"
    with (
        DaskProcesses(tmp_path, preload=lacking) as processes,
        pytest.raises(ExecutorError, match=r"the scheduler cannot load this symbreak"),
    ):
        run_study(study, tmp_path / "a.db", executor=processes.address)


def make_certificates(folder):
    """An authority, and a certificate of it for everyone here, as the page says."""
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (commands,) = [content for _, content in fenced(page) if content.startswith("new=")]
    options = {"cwd": folder, "check": True, "capture_output": True, "timeout": DEADLINE}
    subprocess.run(["sh", "-ec", commands], **options)
    return [str(folder / f"{name}.pem") for name in ("ca", "cert", "key")]


def test_tls_lets_in_only_who_has_a_certificate(study, local, tmp_path):
    files = make_certificates(tmp_path)
    store = tmp_path / "a.db"
    options = ("--tls-ca-file", "--tls-cert", "--tls-key")
    tls = [word for pair in zip(options, files, strict=True) for word in pair]
    names = ("COMM__TLS__CA_FILE", "COMM__TLS__CLIENT__CERT", "COMM__TLS__CLIENT__KEY")
    configured = dict(zip(names, files, strict=True))
    with DaskProcesses(tmp_path, tls=tls) as processes:
        processes.add_worker()
        assert processes.address.startswith("tls://")
        with pytest.raises((ExecutorError, ValueError), match=r"certificate|[Ss]ecurity|TLS"):
            run_study(study, store, executor=processes.address)
        part = ("--shard", "2/6")
        finish(start_on_cluster(study, store, processes.address, *part, **configured))
    assert len(results(store)) == 1
    assert results(store).items() < local.items()


@pytest.mark.parametrize(
    ("address", "exposed"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://localhost:8786", False),
        ("tcp://[::1]:8786", False),
        ("tls://10.0.0.1:8786", False),
        ("tcp://10.0.0.1:8786", True),
        ("tcp://scheduler:8786", True),
        ("ws://10.0.0.1:8786", True),
    ],
)
def test_what_others_could_listen_to_is_known(address, exposed):
    assert is_exposed(address) is exposed


def test_workers_of_this_machine_are_not_those_of_a_cluster(study, tmp_path):
    with pytest.raises(ValueError, match="workers are those of this machine"):
        run_study(study, tmp_path / "a.db", executor="tcp://x:1", workers=2)


@pytest.mark.parametrize("content", [None, "", "no JSON", "[]", '{"address": 1}', "[" * 100_000])
def test_what_is_no_address_and_no_file_of_a_scheduler_is_refused(tmp_path, content):
    path = tmp_path / "scheduler.json"
    if content is not None:
        path.write_text(content)
    with (
        pytest.raises(ValueError, match="a cluster is the address of its scheduler"),
        connect(path),
    ):
        pass
