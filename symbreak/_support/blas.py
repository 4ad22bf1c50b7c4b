"""One BLAS thread for our small matrices: faster, and results do not depend on their number.

They do depend on the BLAS: its version, and the kernel that it chose for this processor.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

# The thread pool of a BLAS belongs to the process: the first caller to come in, from whatever
# thread, sets it to one, the last to leave sets it back.
_lock = threading.Lock()
_inside = 0
_before: list[tuple[Any, int]] = []  # libraries to set back


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  (its BLAS is that of compiled code, which loads it later)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@cache
def blas_in_words() -> str:
    """Every BLAS here with its version and its kernel, as in ``openblas 0.3.30 Haswell``."""
    known = [library.info() for library in _libraries()]
    parts = ("internal_api", "version", "architecture")  # only OpenBLAS and BLIS say the last
    names = (" ".join(str(info[part]) for part in parts if info.get(part)) for info in known)
    return ", ".join(sorted(set(names))) or "unknown"


def _set_num_threads(library: Any, n: int) -> None:
    # threadpoolctl 3.8 heeds only one thread of a process; our count heeds them all.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n)


class one_blas_thread(ContextDecorator):  # noqa: N801  (used like a function)
    """Let matrix products use one thread, in a ``with`` statement or a decorated function.

    It takes 5 us; threadpoolctl's own way takes 18 us (2026-11).
    """

    def __enter__(self) -> None:
        global _inside, _before
        with _lock:
            if _inside == 0:
                counts = ((library, library.get_num_threads()) for library in _libraries())
                _before = [(library, n) for library, n in counts if n != 1]
                for library, _ in _before:
                    _set_num_threads(library, 1)
            _inside += 1

    def __exit__(self, *_: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0:
                for library, n in _before:
                    _set_num_threads(library, n)
