"""An executor of processes, whose deaths stay isolated."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait
from operator import mul
from pathlib import Path

import numpy as np
import pytest

from symbreak._support.workers import WorkerDiedError, WorkerProcesses

DEADLINE = 300


class UnreadableError(Exception):
    """Can be pickled, but not be read back."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raise_unreadable():
    raise UnreadableError(1, 2)


def touch_and_sleep(path):
    Path(path).touch()
    time.sleep(DEADLINE)


def wait_until(is_so):
    deadline = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def executor():
    """One process, which no test ends."""
    with WorkerProcesses(1) as workers:
        yield workers


def test_results_come_in_order_from_other_processes():
    with WorkerProcesses(2) as executor:
        assert list(executor.map(mul, range(20), range(20))) == [i * i for i in range(20)]
        pids = {executor.submit(os.getpid).result(DEADLINE) for _ in range(10)}
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids


def test_a_death_raises_in_its_own_future_and_the_others_go_on():
    with WorkerProcesses(2) as executor:
        dead = [executor.submit(os._exit, code) for code in (3, 4, 5)]
        alive = [executor.submit(abs, -i) for i in range(10)]
        for future, code in zip(dead, (3, 4, 5), strict=True):
            with pytest.raises(WorkerDiedError, match=f"exit code {code}"):
                future.result(DEADLINE)
        assert [future.result(DEADLINE) for future in alive] == list(range(10))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ((int, "x"), ValueError, "invalid literal"),
        ((sys.exit, 1), RuntimeError, "SystemExit: 1"),
        ((raise_unreadable,), RuntimeError, "1 and 2"),
        ((lambda: 1,), Exception, "pickle"),
        ((abs, threading.Lock()), TypeError, "pickle"),
        ((threading.Lock,), TypeError, "pickle"),  # what it returns
    ],
)
def test_what_a_call_raises_is_raised_by_its_future(executor, call, kind, words):
    with pytest.raises(kind, match=words):
        executor.submit(*call).result(DEADLINE)
    assert executor.submit(abs, -1).result(DEADLINE) == 1  # it goes on


def test_an_exception_says_where_it_was_raised(executor):
    error = executor.submit(int, "x").exception(DEADLINE)
    assert "Traceback" in error.__notes__[0]


def import_and_draw(name):
    return __import__(name).__name__, os.environ["NEW"], np.random.random()  # noqa: NPY002


def test_workers_are_like_fresh_processes_of_their_moment(executor, tmp_path, monkeypatch):
    """Also those that a server forks that was there before."""
    executor.submit(abs, 1).result(DEADLINE)
    (tmp_path / "made_just_now.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NEW", "here")
    drawn = set()
    for _ in range(2):
        with WorkerProcesses(1) as new:
            *found, number = new.submit(import_and_draw, "made_just_now").result(DEADLINE)
        assert found == ["made_just_now", "here"]
        drawn.add(number)
    assert len(drawn) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers start by themselves")
def test_a_killed_fork_server_is_replaced_and_its_workers_go_on(executor):
    server = executor.submit(os.getppid).result(DEADLINE)
    os.kill(server, signal.SIGKILL)
    with WorkerProcesses(1) as other:
        assert other.submit(os.getppid).result(DEADLINE) != server
    assert executor.submit(abs, -1).result(DEADLINE) == 1
    with pytest.raises(WorkerDiedError, match="exit code 255"):
        executor.submit(os._exit, 3).result(DEADLINE)
    assert executor.submit(abs, -2).result(DEADLINE) == 2


def test_shutdown_waits_for_what_was_submitted_and_takes_no_more():
    executor = WorkerProcesses(1)
    futures = [executor.submit(abs, -i) for i in range(5)]
    executor.shutdown()
    assert [future.result(0) for future in futures] == list(range(5))
    with pytest.raises(RuntimeError, match="was shut down"):
        executor.submit(abs, 1)


def test_a_block_that_an_exception_ends_kills_what_is_under_way(tmp_path):
    executor, started = WorkerProcesses(1), time.monotonic()
    under_way = executor.submit(touch_and_sleep, tmp_path / "begun")
    waiting = executor.submit(abs, 1)
    wait_until((tmp_path / "begun").exists)
    with pytest.raises(KeyboardInterrupt), executor:
        signal.raise_signal(signal.SIGINT)
    assert time.monotonic() - started < DEADLINE
    wait([under_way], DEADLINE)
    assert isinstance(under_way.exception(), WorkerDiedError)
    with pytest.raises(CancelledError):
        waiting.result(DEADLINE)


POOL = """
import os, time
from symbreak._support.workers import WorkerProcesses
with WorkerProcesses(1) as executor:
    print(executor.submit(os.getpid).result(), executor.submit(os.getppid).result(), flush=True)
    executor.submit(time.sleep, 600).result()
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes through /proc")
def test_the_helpers_of_a_killed_process_end():
    command = [sys.executable, "-c", POOL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        helpers = process.stdout.readline().split()
        assert helpers
        assert all(Path(f"/proc/{pid}").exists() for pid in helpers)
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in helpers))
