"""Ctrl-C: in words while modules are loaded, and between steps instead of in the middle of one.

Imported before all else, so it imports little itself.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


def leave_at_interrupt() -> None:
    """Until ``done_loading``, end at Ctrl-C in words.

    A KeyboardInterrupt in the middle of an import would print a traceback, or a package would
    swallow it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def done_loading() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"Error: stopped before anything was done.\n")
    os._exit(130)


class _Handler:
    """Asks at the first signal and raises at the second."""

    def __init__(self, ask: Callable[[], None], numbers: Iterable[int]) -> None:
        self._ask, self._asked = ask, False
        self.before = {number: signal.getsignal(number) for number in numbers}

    def __call__(self, number: int, frame: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._ask()
        if isinstance(outer := self.before[number], _Handler):
            outer(number, frame)


@contextmanager
def deferred_interrupts(
    ask: Callable[[], None], numbers: tuple[signal.Signals, ...] = (signal.SIGINT,)
) -> Iterator[None]:
    """Call ``ask`` at the first of some signals; the second raises KeyboardInterrupt.

    Where two are nested, the inner one hears a signal first and passes it on. Signals go to the
    main thread; in other threads nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _Handler(ask, numbers)
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for each, before in handler.before.items():
            signal.signal(each, before)
