"""The tables of a store, and what its failures mean in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

APPLICATION_ID = 0x53594D42  # "SYMB"
SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE study (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE problem (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    facts TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    problem_id INTEGER NOT NULL REFERENCES problem (id),
    method TEXT NOT NULL,
    family TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    data_seed INTEGER NOT NULL,
    population_size INTEGER NOT NULL,
    max_evaluations INTEGER NOT NULL,
    settings TEXT NOT NULL,
    error REAL NOT NULL,
    penalty REAL NOT NULL,
    network_error REAL NOT NULL,
    train_rate REAL,
    validation_rate REAL,
    test_error REAL,
    n_evaluations INTEGER NOT NULL,
    n_nonfinite INTEGER NOT NULL,
    n_repairs INTEGER NOT NULL,
    n_bounded INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    seconds REAL NOT NULL,
    versions TEXT NOT NULL,
    finished_at TEXT NOT NULL
) STRICT;
CREATE TABLE run_array (
    key TEXT NOT NULL REFERENCES run (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (key, name)
) STRICT;
CREATE TABLE checkpoint (
    key TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT;
CREATE TABLE checkpoint_array (
    key TEXT NOT NULL REFERENCES checkpoint (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (key, name)
) STRICT;
CREATE TABLE failure (
    key TEXT PRIMARY KEY,
    problem TEXT NOT NULL,
    method TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    traceback TEXT NOT NULL,
    failed_at TEXT NOT NULL
) STRICT;
CREATE INDEX run_by_problem ON run (problem_id, method, repetition);
"""


class StoreError(RuntimeError):
    """A store cannot be read or written; the message says why and what to do."""


#: Parts of SQLite's messages, and ours.
_MEANINGS = {
    "disk is full": "the disk is full. Free some space and start again; finished runs are safe",
    "readonly": "it is read-only. Make it writable, or copy it elsewhere",
    "unable to open": "it cannot be opened. Does its folder exist, and may you write there",
    "locked": "another process keeps it locked. Wait for that to finish and start again",
    "not a database": "it is not a store: not an SQLite file, or its beginning is damaged",
    "malformed": "it is damaged. 'symbreak store check' says more; restore a copy, or merge the "
    "shards again",
    "disk i/o error": "reading or writing failed. Is the disk full or damaged",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a ``StoreError`` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        for part, meaning in _MEANINGS.items():
            if part in str(error).lower():
                raise StoreError(f"store {path}: {meaning} ({error}).") from error
        raise StoreError(f"store {path}: {error}.") from error


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open a store, checked whole; make it if it is missing and may be made."""
    if not path.exists() and not create:
        raise StoreError(f"no store at {path}. Run a study first, with --store {path}.")
    if path.is_dir():
        raise StoreError(
            f"store {path}: that is a folder; give a file, such as {path / 'study.db'}."
        )
    with explained(path):
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            _make_if_empty(connection)
            _check_version(connection, path)
            _check_integrity(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _make_if_empty(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA page_count").fetchone()[0] > 0:
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")  # two processes may come here at once
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"store {path}: this SQLite file was not written by symbreak.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        advice = "upgrade symbreak" if version > SCHEMA_VERSION else "use the one that wrote it"
        raise StoreError(
            f"store {path} has format {version}, this symbreak reads {SCHEMA_VERSION}; {advice}."
        )


def _check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StoreError(f"store {path} is damaged: {verdict}. Restore a copy.")
