"""Helper processes that hear no Ctrl-C, do not run the user's script, and end with their parent."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import wait
from types import ModuleType


def end_with_parent() -> None:
    """In a process that ``multiprocessing`` started: end it when its parent is gone.

    Call it first of all, or give it to a pool as initializer. It works whatever killed the parent,
    and even if that happened before the call.
    """
    parent = parent_process()
    if parent is None:
        return  # multiprocessing did not start this one

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


@contextmanager
def detached_start() -> Iterator[None]:
    """Start processes that neither hear Ctrl-C nor import the user's script.

    Ctrl-C is for the process that starts them: they inherit a signal mask that keeps it from them
    (on Windows, which has none, they must ignore it themselves). And they do not need the script,
    which may have no guard against being run again, or come from standard input.
    """
    with _masked_interrupts(), _interrupts_afterwards(), _without_script():
        yield


class _Hidden:
    """The user's script while processes are started, perhaps by several threads."""

    lock = threading.Lock()
    depth = 0
    script: ModuleType


@contextmanager
def _without_script() -> Iterator[None]:
    """Start processes that do not import the user's script."""
    with _Hidden.lock:
        if not _Hidden.depth:
            _Hidden.script = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
        _Hidden.depth += 1
    try:
        yield
    finally:
        with _Hidden.lock:
            _Hidden.depth -= 1
            if not _Hidden.depth:
                sys.modules["__main__"] = _Hidden.script


@contextmanager
def _masked_interrupts() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # now, since it takes the mask off when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _interrupts_afterwards() -> Iterator[None]:
    """Hold Ctrl-C back until processes have started; other threads hear it in spite of the mask."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: came.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came.is_set():
            signal.raise_signal(signal.SIGINT)
