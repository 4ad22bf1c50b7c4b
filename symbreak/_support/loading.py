"""Ctrl-C while modules are loaded; this one imports almost nothing, so that it comes first."""

from __future__ import annotations

import os
import signal


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
