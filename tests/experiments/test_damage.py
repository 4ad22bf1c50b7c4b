"""A damaged store is noticed, and a store is whole whatever happens while it is made."""

import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from symbreak.experiments import Store, StoreError, StudySpec, execute, run_study
from symbreak.experiments._frames import TABLE_OF
from symbreak.experiments._run import CheckpointError
from symbreak.experiments._store import check_store

TEXT = """
problems = ["syn5"]
methods = ["CMA-ES-SB"]
repetitions = 3
[budgets]
syn5 = 400
"""
N_FLIPS = 100


def checkpoint_of(run):
    """A state in the middle of a run."""
    state = execute(run, max_time=0)
    assert isinstance(state, dict)
    return state


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Bytes of a store that has a bit of everything."""
    spec, path = StudySpec.parse(TEXT), tmp_path_factory.mktemp("whole") / "a.db"
    done, failed, under_way = spec.runs()
    with Store(path) as store:
        store.add_study(spec)
        store.add(done, execute(done))
        store.add_failure(failed, "Traceback: oh")
        store.save_checkpoint(under_way.key, checkpoint_of(under_way))
    return path.read_bytes()


def everything(path, runs):
    """All that can be read of a store."""
    with Store(path, create=False) as store:
        found = store.frames()
        frames = [getattr(found, name) for name in (*TABLE_OF, "failures")]
        return (
            [repr(frame.to_dict("list")) for frame in frames],
            found.studies,
            found.problems,
            pickle.dumps(store.arrays(runs[0].key)),
            pickle.dumps(store.load_checkpoint(runs[2].key)),
            [(store.has(run.key), store.has_failed(run.key)) for run in runs],
        )


def is_sound(path):
    try:
        return check_store(path) == []
    except StoreError:
        return False


def flip_each(content, positions, path):
    """Flip bytes one at a time; return how often that was noticed."""
    rng, noticed, runs = random.Random(0), 0, list(StudySpec.parse(TEXT).runs())
    path.write_bytes(content)
    whole = everything(path, runs)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            found = everything(path, runs)
        except (StoreError, CheckpointError):
            noticed += 1
            assert not is_sound(path)
        else:
            assert found == whole, position
    return noticed


def used(content):
    return [i for i, byte in enumerate(content) if byte]


def test_a_flipped_byte_is_noticed_or_changes_nothing(content, tmp_path):
    rng = random.Random(0)
    some = [*rng.sample(used(content), N_FLIPS), *rng.sample(range(len(content)), N_FLIPS // 4)]
    assert flip_each(content, some, tmp_path / "a.db") > N_FLIPS / 2


@pytest.mark.slow
def test_every_flipped_byte_is_noticed_or_changes_nothing(content, tmp_path):
    everywhere = used(content)
    noticed = flip_each(content, everywhere, tmp_path / "a.db")
    print(f"{len(everywhere)} flips, {noticed} noticed, of {len(content)} bytes")  # pytest -s
    assert noticed > 0.9 * len(everywhere)


def test_a_damaged_checkpoint_is_reported_and_the_run_starts_again(content, tmp_path):
    spec, path, seen = StudySpec.parse(TEXT), tmp_path / "a.db", []
    path.write_bytes(content)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        query = "SELECT rowid, data FROM checkpoint_array WHERE name GLOB '*/C'"
        ((number, data),) = connection.execute(query).fetchall()
        damaged = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        connection.execute(
            "UPDATE checkpoint_array SET data = ? WHERE rowid = ?", (damaged, number)
        )
    assert "a row of checkpoint_array is not what was written" in check_store(path)[0]
    run_study(spec, path, workers=1, retry_failed=True, on_run=seen.append)
    assert [update.status for update in seen].count("restarted") == 1
    last = list(spec.runs())[2]
    with Store(path) as store:
        assert store.count("run") == 3
        assert store.arrays(last.key)["errors"].tolist() == execute(last).errors.tolist()
    assert check_store(path) == []


def test_a_checkpoint_that_does_not_fit_is_refused():
    run, other = list(StudySpec.parse(TEXT).runs())[:2]
    state = checkpoint_of(run)
    with pytest.raises(CheckpointError, match="it is another run's"):
        execute(other, checkpoint=state)
    for name in state.keys() - {"outputs"}:  # of optima, of which there are none yet
        lacking = {key: value for key, value in state.items() if key != name}
        with pytest.raises(CheckpointError, match="does not fit"):
            execute(run, checkpoint=lacking)


@pytest.mark.parametrize("start", ["nothing", "empty", "header"])
def test_a_store_whose_making_was_cut_short_is_made(tmp_path, start):
    path = tmp_path / "a.db"
    if start != "nothing":
        path.touch()
    if start == "header":  # what a kill used to leave
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    assert not is_sound(path)
    with pytest.raises(StoreError, match=r"no store|is empty, not a store"):
        Store(path, create=False)
    Store(path).close()
    assert check_store(path) == []


MAKE = "import sys; from symbreak.experiments import Store; print('ready', flush=True); input(); "


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_kill_while_a_store_is_made_leaves_nothing_broken(tmp_path):
    """Many stores are made one after the other, and the process is killed in one of them."""
    loop = "[Store(f'{sys.argv[1]}/{i}.db').close() for i in range(10_000)]"
    process = start_python(MAKE + loop, tmp_path)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    for path in tmp_path.glob("*.db"):
        Store(path).close()
        assert check_store(path) == []


def start_python(code, *arguments):
    """A process that has imported what it needs and is told to go on."""
    command = [sys.executable, "-c", code, *map(os.fspath, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def test_several_processes_may_make_a_store_at_once(tmp_path):
    code = MAKE + "[Store(f'{sys.argv[1]}/{i}.db').close() for i in range(20)]"
    processes = [start_python(code, tmp_path) for _ in range(3)]
    for process in processes:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert all(check_store(path) == [] for path in tmp_path.glob("*.db"))
