"""An executor of processes, whose deaths stay isolated."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import CancelledError, wait
from operator import mul
from pathlib import Path

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


def wait_for(path):
    deadline = time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
def test_what_a_call_raises_is_raised_by_its_future(call, kind, words):
    with WorkerProcesses(1) as executor:
        with pytest.raises(kind, match=words):
            executor.submit(*call).result(DEADLINE)
        assert executor.submit(abs, -1).result(DEADLINE) == 1  # it goes on


def test_an_exception_says_where_it_was_raised():
    with WorkerProcesses(1) as executor:
        error = executor.submit(int, "x").exception(DEADLINE)
    assert "Traceback" in error.__notes__[0]


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
    wait_for(tmp_path / "begun")
    with pytest.raises(KeyboardInterrupt), executor:
        signal.raise_signal(signal.SIGINT)
    assert time.monotonic() - started < DEADLINE
    wait([under_way], DEADLINE)
    assert isinstance(under_way.exception(), WorkerDiedError)
    with pytest.raises(CancelledError):
        waiting.result(DEADLINE)
