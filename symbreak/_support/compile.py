"""Functions compiled by numba and kept on disk, where there is a folder to keep them in.

``numba.njit(cache=True)`` raises on import where no folder can be written, and on the first call
where a kept file is damaged. Here every process compiles for itself in the first case, and the
function is compiled once more in the second.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

Decorator = Callable[[Callable[..., Any]], Any]


def compiled(**options: Any) -> Decorator:
    """Like ``njit(cache=True, nogil=True, **options)``, but works where nothing can be kept."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        if hasattr(dispatcher, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            with suppress(RuntimeError, OSError):  # no folder can be written
                dispatcher._cache = _SturdyCache(function)
        return dispatcher

    return decorate


#: For parts of compiled functions, where a call would take as long as what it does.
inlined: Decorator = njit(inline="always")


def load_compiler() -> None:
    """Load now what numba would load at the first call of a compiled function, in .15 s."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


_said = threading.Event()  # one notice is enough for a process


@contextmanager
def notice_of_compilation(function: Any) -> Iterator[None]:
    """Say on standard error what takes long, if the first call of a function does."""
    if getattr(function, "signatures", None):  # it is compiled, and a timer would take 60 us
        yield
        return
    is_kept = isinstance(getattr(function, "_cache", None), _SturdyCache)
    kept = "once" if is_kept else "each time, since no folder can be written"

    def say() -> None:
        if not _said.is_set():
            _said.set()
            message = f"symbreak: compiling the kernels, which may take half a minute, {kept} ..."
            print(message, file=sys.stderr, flush=True)

    notice = threading.Timer(2.0, say)
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


class _SturdyCache(FunctionCache):
    """Numba's cache; what cannot be read counts as missing, what cannot be written is skipped."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file can raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            with suppress(OSError):  # the disk may be full, or the index damaged
                self.flush()
                super().save_overload(sig, data)
