"""Studies on a Dask cluster of real processes, which are killed at awkward moments."""

import gc
import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("distributed", reason="needs the extra: pip install 'symbreak[cluster]'")

import joblib
import numpy as np
from distributed import Client, get_task_stream

from symbreak import load_problem, train
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.experiments import ClusterError, Store, StudySpec, run_study
from symbreak.experiments._connection import connect
from symbreak.training import run_start
from tests.experiments.dask_processes import SLICE, DaskProcesses, Proxy, start_on_cluster
from tests.experiments.processes import DEADLINE, finish, is_begun, results, wait_for
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
    result = run_study(
        study, path, cluster=cluster.address, checkpoint_every=SLICE, on_cluster=said.append
    )
    assert result == (6, 0, False)
    assert results(path) == local
    assert any("joined" in news.text for news in said)
    assert not any(news.warning for news in said)
    with Store(path) as store:
        made_by = [json.loads(versions) for versions in store.frame().versions]
        assert all(row["cpu"].endswith(f" with {row['blas']}") for row in made_by)


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


def count_objects():
    """Objects of this process that are symbreak's or Dask's."""
    gc.collect()
    modules = (str(type(thing).__module__) for thing in gc.get_objects())
    return sum(module.startswith(("symbreak", "distributed")) for module in modules)


def test_memory_stays_flat(cluster, tmp_path):
    spec = StudySpec.parse(
        'problems = ["syn5"]\nmethods = ["DE-SB"]\nrepetitions = 150\nbudgets.syn5 = 200'
    )
    updates, tasks, objects = [], [], []
    with connect(cluster.file) as client:
        client.wait_for_workers(3, timeout=DEADLINE)

        def count(update):
            updates.append(update.status)
            if len(updates) % 25 == 0:
                tasks.append(client.run_on_scheduler(count_tasks))
                objects.append(count_objects())

        result = run_study(spec, tmp_path / "a.db", cluster=client, on_run=count)
        assert client.status == "running"  # it is left open
        remembered = client.run_on_scheduler(count_messages)
    assert result == (150, 0, False)
    assert max(tasks) <= 3 * 2 * 2  # two for each thread, and as many that are done but not let go
    assert max(objects[1:]) < objects[0] + 60  # fewer than one for each run that follows
    assert 0 < remembered <= 3 * 10  # of the 150 that were sent


def count_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def count_messages(dask_scheduler):
    return sum(len(each.recent_message_log) for each in dask_scheduler.stream_comms.values())


def test_whom_others_can_listen_to_is_told(study, cluster, tmp_path):
    address = cluster.address.replace("127.0.0.1", "0.0.0.0")  # "here", but not the loopback
    with pytest.warns(UserWarning, match="is not on this machine and the connection is not enc"):
        result = run_study(study, tmp_path / "a.db", cluster=address, shard=(1, 6))
    assert result == (1, 0, False)


def test_starts_of_estimators_and_the_trainer_go_to_a_cluster_and_change_nothing(cluster):
    x = np.linspace(-1, 1, 60).reshape(-1, 1)
    y = np.sinc(3 * x[:, 0])

    def fit():
        model = EvolvedMLPRegressor((3,), max_evaluations=12_000, random_state=0, n_jobs=-1)
        return model.fit(x, y).model_.to_json()

    def start_all(jobs):
        return joblib.Parallel(n_jobs=-1)(joblib.delayed(run_start)(job) for job in jobs)

    problem = load_problem("sinc", seed=1)
    options = {"max_evaluations": 12_000, "seed": 3, "threads": 3}
    alone, record = fit(), train(problem, **options)
    with Client(cluster.address) as client, joblib.parallel_config("dask"):
        client.wait_for_workers(3, timeout=DEADLINE)
        with get_task_stream(client) as first:
            assert fit() == alone
        with get_task_stream(client) as second:
            there = train(problem, elsewhere=start_all, **options)
    assert first.data
    assert second.data
    assert there.model.to_json() == record.model.to_json()


def test_data_files_travel(cluster, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("x,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(30)))
    spec = StudySpec.parse(
        'problems = ["mine"]\nmethods = ["DE-SB"]\nrepetitions = 4\ndata = "redrawn"\n'
        'budgets.mine = 400\ndata_file.mine = { file = "mine.csv", test = 0.2 }',
        folder=tmp_path,
    )
    run_study(spec, tmp_path / "local.db", workers=1)

    def remove(update):
        table.unlink(missing_ok=True)  # whoever reads it from now on fails

    path = tmp_path / "a.db"
    result = run_study(spec, path, cluster=cluster.address, on_run=remove)
    assert result == (4, 0, False)
    assert results(path) == results(tmp_path / "local.db")


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
            cluster=client,
            checkpoint_every=SLICE,
            on_run=kill_all,
            on_cluster=lambda news: said.append(news.text),
        )
    assert result == (6, 0, False)
    assert results(tmp_path / "a.db") == local
    assert "running" in statuses
    assert any("left" in text for text in said)
    assert any("1 joined" in text for text in said[1:])


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
    assert run_study(study, store, cluster=cluster.address).interrupted is False
    assert results(store) == local


def test_a_lost_scheduler_is_said_and_a_second_start_finishes(study, local, fragile, tmp_path):
    fragile.add_worker()
    store = tmp_path / "a.db"
    process = start_on_cluster(study, store, fragile.address, COMM__TIMEOUTS__CONNECT="5s")
    wait_for(is_begun(store))
    fragile.scheduler.kill()
    out, err = finish(process, code=1)
    assert "was lost; trying again for 5 s" in out
    assert "was lost: it has ended, or is too busy to answer. Finished runs and" in err
    assert "Traceback" not in err, err
    assert run_study(study, store, workers=2).failed == 0
    assert results(store) == local


def test_a_lost_connection_is_taken_up_again(study, local, cluster, tmp_path):
    statuses, said, cuts = [], [], []
    with Proxy(cluster.address) as proxy:

        def cut(update):
            """At the first news, and at the first after that was mended: others are in flight."""
            statuses.append(update.status)
            if len(cuts) == said.count("cluster: connected again") < 2:
                cuts.append(update)
                proxy.cut(0.5)

        result = run_study(
            study,
            tmp_path / "a.db",
            cluster=proxy.address,
            checkpoint_every=SLICE,
            on_run=cut,
            on_cluster=lambda news: said.append(news.text),
        )
    assert result == (6, 0, False)
    assert statuses.count("finished") == 6
    assert results(tmp_path / "a.db") == local
    assert any("was lost; trying again for 30 s" in text for text in said)
    assert said.count("cluster: connected again") >= 2


# Kills the worker that does the second repetition of DE-SB.
KILLER = """
import os, signal
from symbreak.experiments import _slices
from symbreak.experiments._run import execute
def deadly(run, **options):
    if (run.method, run.repetition) == ("DE-SB", 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(run, **options)
_slices.execute = deadly
"""


@pytest.mark.slow
def test_a_run_that_always_kills_its_worker_is_given_up(study, local, tmp_path):
    store = tmp_path / "a.db"
    with DaskProcesses(tmp_path, SCHEDULER__ALLOWED_FAILURES="1") as processes:
        processes.add_worker(preload=KILLER, nanny=True).add_worker(preload=KILLER, nanny=True)
        result = run_study(study, store, cluster=processes.address, checkpoint_every=SLICE)
    assert result == (5, 1, False)
    with Store(store) as opened:
        failures = opened.failures()
    assert failures[["method", "repetition"]].to_numpy().tolist() == [["DE-SB", 1]]
    assert "its worker died" in failures.traceback[0]
    assert results(store).items() < local.items()


OTHER_VERSION = "from symbreak import _version\n_version.__version__ = '9.9'\n"
OTHER_NUMERICS = "from symbreak.experiments import _spec\n_spec.NUMERICS_VERSION = 99\n"


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
        with pytest.raises(ClusterError, match=words):
            run_study(study, tmp_path / "a.db", cluster=client)
    with Store(tmp_path / "a.db") as store:
        assert store.count("run") + store.count("checkpoint") + store.count("failure") == 0


def test_a_worker_without_a_module_of_the_study_is_refused(study, fragile, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    (here / "only_here.py").write_text("")
    monkeypatch.syspath_prepend(here)
    fragile.add_worker()
    with Client(fragile.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=DEADLINE)
        with pytest.raises(ClusterError, match=r"worker .*'only_here' cannot be imported .*noth"):
            run_study(study, tmp_path / "a.db", cluster=client, imports=["only_here"])


@pytest.mark.parametrize(
    ("preload", "words"),
    [
        ("import sys\nsys.modules['symbreak'] = None", "it cannot load this symbreak"),
        pytest.param(OTHER_VERSION, "it has symbreak 9.9 instead", marks=pytest.mark.slow),
    ],
)
def test_a_scheduler_without_this_symbreak_is_refused(study, tmp_path, preload, words):
    with (
        DaskProcesses(tmp_path, preload=preload) as processes,
        pytest.raises(ClusterError, match=f"the scheduler .* {words}"),
    ):
        run_study(study, tmp_path / "a.db", cluster=processes.address)


@pytest.mark.slow
def test_a_worker_with_other_versions_that_joins_late_is_sent_away(study, local, tmp_path):
    said = []
    with DaskProcesses(tmp_path) as processes:
        processes.add_worker()

        def join_late(update):
            if len(processes.workers) == 1:
                processes.add_worker(preload=OTHER_VERSION)
            time.sleep(0.2)  # so that it comes in time

        with Client(processes.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=DEADLINE)
            result = run_study(
                study,
                tmp_path / "a.db",
                cluster=client,
                checkpoint_every=SLICE,
                on_run=join_late,
                on_cluster=lambda news: said.append(news.text),
            )
    assert result == (6, 0, False)
    assert results(tmp_path / "a.db") == local
    assert any("sent away" in text and "symbreak 9.9" in text for text in said)


OTHER_CPU = """
from symbreak.experiments import _slices
_slices._cpu = lambda: "another one"
"""


def test_another_cpu_is_said_and_recorded(study, local, fragile, tmp_path):
    fragile.add_worker(preload=OTHER_CPU)
    path = tmp_path / "a.db"
    with pytest.warns(UserWarning, match=r"other CPUs .*\(another one\)"):
        run_study(study, path, cluster=fragile.address, shard=(1, 6), checkpoint_every=SLICE)
    with Store(path) as store:
        assert json.loads(store.frame().versions[0])["cpu"] == "another one"
    assert results(path).items() < local.items()  # it is the same one, after all
