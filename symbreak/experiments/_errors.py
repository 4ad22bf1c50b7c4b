"""What the failures of a store or an executor mean, in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(RuntimeError):
    """A store cannot be read or written; the message says why and what to do.

    Attributes:
        path: The store; None if the message does not begin with it.
    """

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message if path is None else f"store {path}: {message}")
        self.path = path


class ExecutorError(RuntimeError):
    """An executor or a cluster cannot be used, or was lost; the message says what to do."""


class LostConnectionError(ExecutorError):
    """The connection to a cluster was lost."""


class CheckpointError(ValueError):
    """A checkpoint is damaged or does not fit the run, which can only start again."""


#: Parts of SQLite's messages, and ours.
_MEANINGS = {
    "disk is full": "the disk is full. Free some space and start again; finished runs are safe",
    "readonly": "it is read-only. Make it writable, or copy it elsewhere",
    "unable to open": "it cannot be opened. Does its folder exist, and may you write there",
    "locked": "another process keeps it locked. Wait for that to finish and start again",
    "not a database": "it is not a store: not an SQLite file, or its beginning is damaged",
    "malformed": "it is damaged. Restore a copy, or merge the shards again",
    "disk i/o error": "reading or writing failed. Is the disk full or damaged",
    "no such": "it is damaged: its tables are not those of a store. Restore a copy",
    "decode": "it is damaged: a string in it is not UTF-8. Restore a copy",
}


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a ``StoreError`` that says what to do."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where a name is damaged
        for part, meaning in _MEANINGS.items():
            if part in str(error).lower():
                raise StoreError(f"{meaning} ({error}).", path) from error
        raise StoreError(f"{error}.", path) from error
