"""One driver per store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from symbreak.experiments._errors import StoreError


@contextmanager
def only_driver(path: Path) -> Iterator[None]:
    """Hold the right to work on a store; the system takes it back when the process dies.

    Raises:
        StoreError: if another process has it.
    """
    file = path.resolve()  # the same lock, whichever link leads to the store
    file = file.with_name(file.name + ".lock")
    try:
        lock = FileLock(file).acquire(timeout=0.2)
    except Timeout:
        raise StoreError(
            f"another study is running on {path}. Wait for it; or give each its own --store and "
            "--shard, and join them with 'symbreak store merge'."
        ) from None
    with lock:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it when it is released
                file.unlink()  # filelock notices that, where another process has it open already
