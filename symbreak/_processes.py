"""Starting processes that are ours alone."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def detached_start() -> Iterator[None]:
    """Start processes that neither hear Ctrl-C nor import the user's script.

    Ctrl-C is for the process that started them. And they do not need the script, which may have no
    guard against being run again, or come from standard input.
    """
    main, in_main_thread = (
        sys.modules["__main__"],
        threading.current_thread() is threading.main_thread(),
    )
    sys.modules["__main__"] = ModuleType("__main__")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main_thread else None
    try:
        yield
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before)
        sys.modules["__main__"] = main
