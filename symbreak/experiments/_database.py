"""A store's SQLite file: made, opened, read and written so that nothing is lost or damaged unseen.

Opening checks every page and every index, reading checks every row.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from symbreak.experiments._columns import APPLICATION_ID, FORMAT, TABLES, Row

ARCHIVE_HEAD = "archive.json"  # what tells an archive from other folders

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


class StoreError(RuntimeError):
    """A store cannot be read or written; the message says why and what to do."""

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message if path is None else f"store {path}: {message}")
        self.path = path  # None if the message does not begin with it


class Database:
    """An open store, as tables of checked rows; options are those of ``Store``."""

    def __init__(self, path: Path, *, create: bool, read_only: bool = False) -> None:
        self.path = path
        if path.is_dir():
            archive = (path / ARCHIVE_HEAD).exists()
            what = "an archive, for 'symbreak report'" if archive else "a folder"
            raise StoreError(f"that is {what}; give the file of a store, such as study.db.", path)
        if not path.exists() and (read_only or not create):
            raise StoreError(f"no store at {path}. Run a study first, with --store {path}.")
        writable = os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)
        self.read_only = read_only or (path.exists() and not writable)
        with self._named_errors():
            self._connection = _connect(path, self.read_only)
            try:
                self._open(create and not self.read_only)
            except BaseException:
                self.close()
                raise
        self._file = os.stat(path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def rows(self, table: str, condition: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Rows of a table; an error if one is not what was written."""
        with self._named_errors():
            for row, sound in self.checked_rows(table, condition, values):
                if not sound:
                    raise StoreError(
                        f"it is damaged: a row of {table} is not what was written; 'symbreak store "
                        "check' says more. Restore a copy, or merge the shards again."
                    )
                yield row

    def checked_rows(
        self, table: str, condition: str = "", values: Sequence[Any] = ()
    ) -> Iterator[tuple[Row, bool]]:
        """Rows of a table, and whether each is what was written."""
        columns, version = TABLES[table].columns, self._format()
        names = [column.name for column in columns if column.since <= version]
        since = {column.name: column.before for column in columns if column.since > version}
        query = f"SELECT {', '.join(names)}, checksum FROM {table} {condition}"
        with self._named_errors():
            for *found, expected in self._connection.execute(query, values):
                row = dict(zip(names, found, strict=True)) | since
                yield row, _checksum(table, found) == expected

    def has(self, table: str, key: str) -> bool:
        """Whether a table has a row with a key."""
        return bool(self._value(f"SELECT count(*) FROM {table} WHERE key = ?", key))

    def count(self, table: str) -> int:
        """Number of rows."""
        return int(self._value(f"SELECT count(*) FROM {table}"))

    def _value(self, query: str, *values: Any) -> Any:
        with self._named_errors():
            return self._connection.execute(query, values).fetchone()[0]

    def insert(self, table: str, row: Mapping[str, Any]) -> bool:
        """Write a row, unless there is one with its key; whether it was written."""
        names = TABLES[table].names()
        values = [row[name] for name in names]
        query = (
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}, checksum) "
            f"VALUES ({', '.join('?' * len(names))}, ?)"
        )
        return bool(self._connection.execute(query, [*values, _checksum(table, values)]).rowcount)

    def delete(self, table: str, key: str) -> None:
        """Remove the row with a key, and what belongs to it."""
        self._connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,))

    def faults(self) -> Iterator[str]:
        """References that lead nowhere."""
        with self._named_errors():
            for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
                yield f"row {row} of {table} refers to a {parent} that is not there"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing, also when the process is killed inside; nested ones are one."""
        if self._connection.in_transaction:
            yield
            return
        with self._named_errors():
            self._check_presence()
            with self._begun("IMMEDIATE"):
                yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See what the store holds at one moment, whatever others write meanwhile."""
        with self._named_errors(), self._begun():
            yield

    @contextmanager
    def _begun(self, how: str = "") -> Iterator[None]:
        self._connection.execute(f"BEGIN {how}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk rolls back by itself
                self._connection.execute("ROLLBACK")
            raise

    def _check_presence(self) -> None:
        """SQLite would go on writing into a file that was deleted, and all of it would be lost."""
        if self.read_only:
            raise StoreError("it is read-only. Make it writable, or copy it elsewhere.")
        if self._format() != FORMAT:
            raise StoreError(
                f"it has format {self._format()}, which can be read, not written to. Go on with "
                f"another one: symbreak store merge NEW.db {self.path.name}"
            )
        if not self.path.exists() or not os.path.samestat(os.stat(self.path), self._file):
            raise StoreError("it was removed or replaced while it was in use.")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into a ``StoreError`` that says what to do, and in which store."""
        try:
            yield
        except StoreError as error:
            if error.path is not None:
                raise
            raise StoreError(str(error), self.path) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where a name is damaged
            known = (words for part, words in _MEANINGS.items() if part in str(error).lower())
            meaning = next(known, None)
            said = f"{error}." if meaning is None else f"{meaning} ({error})."
            raise StoreError(said, self.path) from error

    def _open(self, create: bool) -> None:
        """Make sure that it is a whole store, of a format that can be read."""
        self._connection.execute("PRAGMA foreign_keys = ON")
        if self._is_empty():
            if not create:
                raise StoreError("the file is empty, not a store. Run a study first.")
            self._make()
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError("this SQLite file was not written by symbreak.")
        if (version := self._format()) > FORMAT:
            raise StoreError(
                f"it has format {version}, of a newer version; this symbreak reads formats up to "
                f"{FORMAT}; upgrade symbreak."
            )
        if (verdict := self._pragma("integrity_check(1)")) != "ok":
            raise StoreError(
                f"it is damaged: {verdict}. Restore a copy, or merge the shards again."
            )
        if not self.read_only and version == FORMAT:
            try:  # let readers and a writer work at the same time, from now on
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):  # by another process, which does the same
                    raise

    def _pragma(self, name: str) -> Any:
        return self._value(f"PRAGMA {name}")

    def _format(self) -> int:
        return int(self._pragma("user_version"))

    def _is_empty(self) -> bool:
        """Whether nothing is there yet: a kill while a store is made leaves such a file."""
        return not self.count("sqlite_master") and not self._pragma("application_id")

    def _make(self) -> None:
        """All tables in one transaction; several processes may come here at once."""
        with self._begun("IMMEDIATE"):
            if self._is_empty():
                for name, table in TABLES.items():
                    self._connection.execute(table.sql(name))
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {FORMAT}")


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        return sqlite3.connect(path, timeout=60, isolation_level=None)
    # On read-only media SQLite cannot make the files that it shares with others; there are none.
    whole = path.resolve()
    log = whole.with_name(whole.name + "-wal")
    alone = not os.access(whole.parent, os.W_OK) and not log.exists()
    uri = f"{whole.as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    return sqlite3.connect(uri, uri=True, timeout=60, isolation_level=None)


def _checksum(table: str, values: Sequence[Any]) -> str:
    """A hash of all that a row holds, and of its table."""
    blobs = [value for value in values if isinstance(value, bytes)]
    rest = [len(value) if isinstance(value, bytes) else value for value in values]
    digest = hashlib.blake2b(repr([table, *rest]).encode(), digest_size=8)
    for blob in blobs:
        digest.update(blob)
    return digest.hexdigest()
