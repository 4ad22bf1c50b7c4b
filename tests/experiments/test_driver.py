"""Studies in real processes, which are killed at awkward moments."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

from symbreak.experiments import ExecutorError, Store, StoreError, StudySpec, _driver, run_study
from symbreak.experiments._run import import_modules
from symbreak.problems import _registry
from tests.cli.shell import symbreak_here
from tests.experiments import processes
from tests.experiments.processes import DEADLINE, is_begun, results, start_study, wait_for
from tests.reliability.kill_study import TEXT as SHORT_RUNS
from tests.reliability.kill_study import kill, killed, left_alone, workers_of

# About a second of work on one core, in runs long enough to be killed inside.
TEXT = """
problems = ["syn5", "sinc"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 3
[budgets]
syn5 = 20_000
sinc = 20_000
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def uninterrupted(study, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    assert run_study(study, path, workers=1) == (12, 0, False)
    return results(path)


def start(study, store, *options, workers=2):
    usual = ["--workers", str(workers), "--checkpoint-every", "0.05"]
    return start_study(study, store, *usual, *options)


def finish(process, code=0):
    out, err = processes.finish(process, code)
    assert "Traceback" not in err
    return out


def test_several_workers_give_the_same_results_once_each(study, uninterrupted, tmp_path):
    spec, seen = StudySpec.load(study), []
    assert run_study(spec, tmp_path / "a.db", workers=3, on_run=seen.append) == (12, 0, False)
    assert results(tmp_path / "a.db") == uninterrupted
    finished = [update.run.key for update in seen if update.status == "finished"]
    assert sorted(finished) == sorted(run.key for run in spec.runs())
    seen.clear()
    again = run_study(spec, tmp_path / "a.db", workers=2, on_run=seen.append)
    assert again == (0, 0, False)
    assert seen == []
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]  # nothing is left beside it


def test_a_script_without_a_guard_or_a_file_can_run_a_study(study, uninterrupted, tmp_path):
    store = tmp_path / "script.db"
    script = (
        "from symbreak.experiments import StudySpec, run_study\n"
        f"print(run_study(StudySpec.load({str(study)!r}), {str(store)!r}, workers=2))\n"
    )
    command = [sys.executable, "-"]
    result = subprocess.run(command, input=script, capture_output=True, text=True, timeout=DEADLINE)
    said = [line for line in result.stderr.splitlines() if "compiling" not in line]  # when slow
    assert (result.returncode, said) == (0, [])
    assert results(store) == uninterrupted


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_killed_workers_are_replaced_and_nothing_is_lost(study, uninterrupted, tmp_path):
    rng, store, killed = random.Random(0), tmp_path / "a.db", 0
    with start(study, store) as process:
        try:
            for latest in (0.3, 1.5, 1.5):  # the first while it still imports, so it does die
                wait_for(lambda: workers_of(process) or process.poll() is not None)
                time.sleep(rng.uniform(0.1, latest))
                killed += kill("worker", process, rng)
            finish(process)
        finally:
            process.kill()
    assert killed >= 1
    assert results(store) == uninterrupted


def test_a_checkpoint_is_really_used(study, uninterrupted, tmp_path):
    """A run that was killed starts from its checkpoint, not from the beginning."""
    spec, path = StudySpec.load(study), tmp_path / "a.db"
    (run,) = spec.runs((1, 12))
    training = run.start()
    while training.progress.n_evaluations < 15_000:
        training.step()
    state = training.state()
    state["seconds"] = 1000.0  # a mark that only a run which goes on from here can have
    with Store(path) as store:
        store.save_checkpoint(run.key, state)
        run_study(spec, store, workers=1, shard=(1, 12))
        assert store.count("checkpoint") == 0
        assert store.runs().seconds[0] > 1000.0
    assert results(path) == {run.key: uninterrupted[run.key]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_in_seconds_with_checkpoints(study, uninterrupted, tmp_path, number):
    store = tmp_path / "a.db"
    process = start(study, store)
    wait_for(is_begun(store))
    pressed = time.monotonic()
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out = finish(process, code=130)
    assert time.monotonic() - pressed < 60  # two, unless the machine is busy
    assert "nothing is lost" in out
    with Store(store) as opened:
        assert opened.count("run") < 12
    run_study(study, store, workers=2)
    assert results(store) == uninterrupted


def test_ctrl_c_twice_stops_at_once_and_nothing_is_lost(study, uninterrupted, tmp_path):
    store = tmp_path / "a.db"
    process = start(study, store)
    wait_for(is_begun(store))
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
    finish(process, code=130)
    run_study(study, store, workers=2)
    assert results(store) == uninterrupted


def test_a_second_driver_is_refused_while_the_first_goes_on(study, uninterrupted, tmp_path):
    """By any name of the store."""
    store, link = tmp_path / "a.db", tmp_path / "link.db"
    link.symlink_to(store)
    first = start(study, store)
    wait_for(is_begun(store))
    os.killpg(first.pid, signal.SIGSTOP)  # it must not end before the second has begun
    try:
        with pytest.raises(StoreError, match="another study is running"):
            run_study(study, link)
    finally:
        os.killpg(first.pid, signal.SIGCONT)
    finish(first)
    assert results(store) == uninterrupted
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "link.db"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_workers_do_not_outlive_a_driver_that_is_killed_while_they_start(tmp_path):
    study = tmp_path / "long.toml"  # hours of work
    study.write_text(TEXT.replace("20_000", "2_000_000_000"))
    with start(study, tmp_path / "a.db", workers=3) as process:
        wait_for(lambda: workers_of(process))
        left = workers_of(process)
        process.kill()
    try:
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    finally:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"shard": bad}, "shard must be")
            for bad in [(1.5, 2), (0, 1), (3, 2), (1,), "12", None]
        ),
        ({"executor": 2}, r"executor must be a concurrent.futures.Executor, such"),
    ],
)
def test_what_is_no_shard_or_executor_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run_study("smoke", tmp_path / "a.db", **options)
    assert list(tmp_path.iterdir()) == []


def test_shards_joined_equal_the_whole(study, uninterrupted, tmp_path):
    for i in (1, 2):
        run_study(StudySpec.load(study), tmp_path / f"{i}.db", workers=1, shard=(i, 2))
    sources = [str(tmp_path / f"{i}.db") for i in (1, 2)]
    assert symbreak_here("store", "merge", tmp_path / "all.db", *sources).returncode == 0
    assert results(tmp_path / "all.db") == uninterrupted


DATA = """
problems = ["mine", "syn5"]
methods = ["DE-SB"]
repetitions = 2
[budgets]
syn5 = 400
mine = 400
[data_file.mine]
file = "mine.csv"
"""


def test_a_run_that_raises_is_recorded_and_can_be_tried_again(tmp_path):
    table = tmp_path / "mine.csv"
    content = "x,y\n" + "".join(f"{i},{i * i}\n" for i in range(30))
    table.write_text(content)
    spec, store = StudySpec.parse(DATA, folder=tmp_path), tmp_path / "a.db"
    table.unlink()
    result = run_study(spec, store, workers=2)
    assert (result.finished, result.failed) == (2, 2)
    with Store(store) as opened:
        failures = opened.failures()
        assert failures.problem.tolist() == ["mine", "mine"]
        assert failures.traceback.str.contains("mine.csv was changed or removed").all()
    table.write_text(content)
    assert run_study(spec, store, workers=2) == (0, 0, False)  # left alone until asked
    assert run_study(spec, store, workers=2, retry_failed=True).finished == 2
    with Store(store) as opened:
        assert opened.failures().empty
        assert opened.count("run") == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "3/2"], "--shard must be i/n with 1 <= i <= n, such as 2/8, got '3/2'"),
        (["--workers", "-1"], "--workers must be an integer of at least 0"),
        (["--checkpoint-every", "-1"], "--checkpoint-every must be a finite number"),
    ],
)
def test_bad_options_are_refused(study, tmp_path, options, message):
    done = symbreak_here("study", study, "--store", tmp_path / "a.db", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_runs_nothing_and_leaves_nothing(study, tmp_path):
    out = symbreak_here("study", study, "--store", tmp_path / "a.db", "--dry-run").stdout
    assert "12 runs to do of 12" in out
    assert "nothing was run" in out
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_deleted_under_a_study_is_noticed(study, tmp_path):
    store = tmp_path / "a.db"

    def delete(update):
        store.unlink(missing_ok=True)

    with pytest.raises(StoreError, match="was removed or replaced while it was in use"):
        run_study(study, store, workers=1, on_run=delete)


def test_any_executor_gives_the_same_results_and_stays_open(study, uninterrupted, tmp_path):
    with ThreadPoolExecutor(2) as executor:
        result = run_study(study, tmp_path / "a.db", executor=executor, checkpoint_every=0.05)
        assert executor.submit(abs, -1).result(DEADLINE) == 1
    assert result == (12, 0, False)
    assert results(tmp_path / "a.db") == uninterrupted


# Problems that misbehave, but not where the study is read.
EVIL = """
import multiprocessing, os, sys, time
from symbreak.problems import register_problem

def register(name, misbehave):
    @register_problem(name, "1-2-1", population_size={}, max_evaluations=400, description=name)
    def make(rng):
        if multiprocessing.parent_process() is not None:
            misbehave()
        x = rng.uniform(-1, 1, size=(20, 1))
        return x, x**2

register("dies", lambda: os._exit(3))
register("leaves", lambda: sys.exit(4))
register("hangs", lambda: time.sleep(600))
"""


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """The options of a study of a problem that misbehaves, and of another one."""
    (tmp_path / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_registry, "_MAKERS", dict(_registry._MAKERS))
    monkeypatch.delitem(sys.modules, "evil", raising=False)

    def options(name, repetitions=2):
        import_modules(["evil"])
        text = f'problems = ["{name}", "syn5"]\nmethods = ["DE"]\nrepetitions = {repetitions}'
        spec = StudySpec.parse(text + "\nbudgets.syn5 = 400")
        return {"spec": spec, "store": tmp_path / "a.db", "imports": ["evil"]}

    return options


@pytest.mark.parametrize(
    ("name", "words"),
    [("dies", "its worker died 5 times, at last: .* exit code 3"), ("leaves", "SystemExit: 4")],
)
def test_a_run_that_ends_its_worker_fails_and_the_others_go_on(evil, tmp_path, name, words):
    assert run_study(**evil(name), workers=2) == (2, 2, False)
    with Store(tmp_path / "a.db") as store:
        failures = store.failures()
    assert failures.problem.tolist() == [name] * 2
    assert failures.traceback.str.contains(words).all()


def test_an_executor_that_breaks_is_said_and_a_second_start_finishes(evil, tmp_path):
    options = evil("dies", repetitions=1)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(ExecutorError, match=r"BrokenProcessPool.*start again to go on"),
    ):
        run_study(**options, executor=executor)
    assert run_study(**options, workers=2).failed == 1
    assert len(results(tmp_path / "a.db")) == 1


def test_ctrl_c_ends_a_study_whose_run_hangs(evil, tmp_path, monkeypatch):
    monkeypatch.setattr(_driver, "GRACE", 0.5)
    done, said = [], []

    def press(update):
        if update.status == "finished":
            done.append(update.run.problem)
            if len(done) == 2:
                signal.raise_signal(signal.SIGINT)

    told = {"on_run": press, "on_news": said.append}
    result = run_study(**evil("hangs"), workers=3, checkpoint_every=0.1, **told)
    assert result == (2, 0, True)
    assert done == ["syn5"] * 2
    assert said == ["stopping, which may take 1 s; Ctrl-C again stops at once"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_a_study_under_random_kills_equals_one_that_is_left_alone(tmp_path):
    study, whole, broken = (tmp_path / name for name in ("s.toml", "whole.db", "killed.db"))
    study.write_text(SHORT_RUNS.format(repetitions=40))
    left_alone(study, whole, 2)
    kills = killed(study, broken, 2, 160, pauses=(0.5, 2.0), max_kills=3, seed=3)
    assert kills.total() >= 2
    assert results(broken) == results(whole)
    assert len(results(broken)) == 160
