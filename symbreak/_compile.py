"""Functions compiled by numba and kept on disk, where there is a folder to keep them in.

``numba.njit(cache=True)`` raises on import where no folder can be written, and on the first call
where a kept file is damaged. Here the one means compiling in each process, the other once more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

Decorator = Callable[[Callable[..., Any]], Any]


def compiled(**options: Any) -> Decorator:
    """A decorator like ``njit(cache=True, nogil=True, **options)`` that never fails to keep."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        if hasattr(dispatcher, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            with suppress(RuntimeError, OSError):  # no folder can be written
                dispatcher._cache = _SturdyCache(function)
        return dispatcher

    return decorate


#: For parts of compiled functions, where a call would take as long as what it does.
inlined: Decorator = njit(inline="always")


def is_kept(function: Any) -> bool:
    """Whether the next process will find a compiled function on disk."""
    return isinstance(getattr(function, "_cache", None), _SturdyCache)


class _SturdyCache(FunctionCache):
    """Numba's cache; what cannot be read counts as not there, what cannot be written is left."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file can raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self._begin_anew(sig, data)

    def _begin_anew(self, sig: Any, data: Any) -> None:
        """A damaged index stands in the way of saving; a full disk stays in the way."""
        with suppress(OSError):
            self.flush()
            super().save_overload(sig, data)
