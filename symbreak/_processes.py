"""Starting processes that are ours alone."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import ModuleType


@contextmanager
def detached_start() -> Iterator[None]:
    """Start processes that neither hear Ctrl-C nor import the user's script.

    Ctrl-C is for the process that started them; the mask that keeps it from them is inherited. And
    they do not need the script, which may have no guard against being run again, or come from
    standard input.
    """
    resource_tracker.ensure_running()  # now, since it takes the mask off when it starts
    main, mask = sys.modules["__main__"], signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        with _interrupts_afterwards():
            yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _interrupts_afterwards() -> Iterator[None]:
    """Hold back Ctrl-C, which comes in by other threads too: a process half started is no good."""
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
