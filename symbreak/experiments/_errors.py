"""What the failures of a store or an executor mean, in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(RuntimeError):
    """A store cannot be read or written; the message says why and what to do."""


class ExecutorError(RuntimeError):
    """An executor or a cluster cannot be used, or was lost; the message says what to do."""


class LostConnectionError(ExecutorError):
    """The connection to a cluster was lost."""


class CheckpointError(ValueError):
    """A checkpoint is damaged or does not fit the run, which can only start again."""


#: Where a check of all bytes says more; the check itself leaves it out.
SEE_CHECK = "; 'symbreak store check' says more"

#: Parts of SQLite's messages, and ours.
_MEANINGS = {
    "disk is full": "the disk is full. Free some space and start again; finished runs are safe",
    "readonly": "it is read-only. Make it writable, or copy it elsewhere",
    "unable to open": "it cannot be opened. Does its folder exist, and may you write there",
    "locked": "another process keeps it locked. Wait for that to finish and start again",
    "not a database": "it is not a store: not an SQLite file, or its beginning is damaged",
    "malformed": f"it is damaged{SEE_CHECK}. Restore a copy, or merge the shards again",
    "disk i/o error": "reading or writing failed. Is the disk full or damaged",
    "no such": "it is damaged: its tables are not those of a store. Restore a copy",
    "decode": "it is damaged: a text in it is not UTF-8. Restore a copy",
}


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a ``StoreError`` that says what to do."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where a name is damaged
        for part, meaning in _MEANINGS.items():
            if part in str(error).lower():
                raise StoreError(f"store {path}: {meaning} ({error}).") from error
        raise StoreError(f"store {path}: {error}.") from error
