"""Ctrl-C between steps instead of in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Handler:
    """Asks at the first signal and raises at the second."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask, self._asked = ask, False
        self.before: dict[int, Any] = {}

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
    handler = _Handler(ask)
    handler.before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for each, before in handler.before.items():
            signal.signal(each, before)
