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

from symbreak.experiments._columns import APPLICATION_ID, FIRST_FORMAT, FORMAT, TABLES, Row
from symbreak.experiments._errors import StoreError, translate_errors

ARCHIVE_HEAD = "archive.json"  # what tells an archive from other folders


class Database:
    """An open store, as tables of checked rows.

    Args:
        path: The file.
        create: Make it if it is missing or empty.
        read_only: Never write to it; so it is anyway where it cannot be written to.
    """

    def __init__(self, path: Path, *, create: bool, read_only: bool = False) -> None:
        self.path = path
        if path.is_dir():
            raise StoreError(_instead_of_a_file(path), path)
        if not path.exists() and (read_only or not create):
            raise StoreError(f"no store at {path}. Run a study first, with --store {path}.")
        self.read_only = read_only or (path.exists() and not _is_writable(path))
        with self._named_errors():
            self._connection = _open(path, create=create, read_only=self.read_only)
        self._file = os.stat(path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def rows(self, table: str, condition: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """Rows of a table, each checked."""
        with self._named_errors():
            yield from read_rows(self._connection, table, condition, values)

    def checked_rows(
        self, table: str, condition: str = "", values: Sequence[Any] = ()
    ) -> Iterator[tuple[Row, bool]]:
        """Rows of a table, and whether each is what was written."""
        with self._named_errors():
            yield from check_rows(self._connection, table, condition, values)

    def has(self, table: str, key: str) -> bool:
        """Whether a table has a row with a key."""
        with self._named_errors():
            query = f"SELECT 1 FROM {table} WHERE key = ?"
            return self._connection.execute(query, (key,)).fetchone() is not None

    def count(self, table: str) -> int:
        """Number of rows."""
        with self._named_errors():
            return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def insert(self, table: str, row: Mapping[str, Any]) -> bool:
        """Write a row, unless there is one with its key; whether it was written."""
        return insert_row(self._connection, table, row)

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
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk rolls back by itself
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See what the store holds at one moment, whatever others write meanwhile."""
        with self._named_errors():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def _check_presence(self) -> None:
        """SQLite would go on writing into a file that was deleted, and all of it would be lost."""
        if self.read_only:
            raise StoreError("it is read-only. Make it writable, or copy it elsewhere.")
        if not self.path.exists() or not os.path.samestat(os.stat(self.path), self._file):
            raise StoreError("it was removed or replaced while it was in use.")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Say which store an error is about, once."""
        try:
            with translate_errors(self.path):
                yield
        except StoreError as error:
            if error.path is not None:
                raise
            raise StoreError(str(error), self.path) from error


def _instead_of_a_file(folder: Path) -> str:
    if ARCHIVE_HEAD in os.listdir(folder):
        return (
            "that is an archive, for 'symbreak report' and 'symbreak study --archive'; give the "
            "file of a store."
        )
    return f"that is a folder; give a file, such as {folder / 'study.db'}."


def _open(path: Path, *, create: bool, read_only: bool) -> sqlite3.Connection:
    """A connection to a whole store of the present format."""
    connection = _connect(path, read_only)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if _is_empty(connection):
            if read_only or not create:
                raise StoreError("the file is empty, not a store. Run a study first.")
            _make(connection)
        _check(connection)
        if read_only and _format_of(connection) != FORMAT:
            connection = _in_memory(connection)
        _migrate(connection)
        if not read_only:
            _use_log(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        return sqlite3.connect(path, timeout=60, isolation_level=None)
    # On read-only media SQLite cannot make the files that it shares with others; there are none.
    alone = not os.access(path.resolve().parent, os.W_OK) and not _log_of(path).exists()
    uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    return sqlite3.connect(uri, uri=True, timeout=60, isolation_level=None)


def _log_of(path: Path) -> Path:
    path = path.resolve()
    return path.with_name(path.name + "-wal")


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing is there yet: a kill while a store is made leaves such a file."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and not connection.execute("PRAGMA application_id").fetchone()[0]


def _make(connection: sqlite3.Connection) -> None:
    """All tables in one transaction; several processes may come here at once."""
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):
        for name, table in TABLES.items():
            connection.execute(table.sql(name))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _use_log(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at the same time, from now on."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):  # by another process, which does the same
            raise


def _check(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError("this SQLite file was not written by symbreak.")
    version = _format_of(connection)
    if version > FORMAT:
        raise StoreError(
            f"it has format {version}, of a newer version; this symbreak reads formats up to "
            f"{FORMAT}; upgrade symbreak."
        )
    if version < FIRST_FORMAT:
        raise StoreError(
            f"it has format {version}, of a version before the first release; this symbreak reads "
            f"formats from {FIRST_FORMAT} on. Run the study again into another store."
        )
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise StoreError(f"it is damaged: {verdict}. Restore a copy, or merge the shards again.")


def _in_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A copy that can be brought to the present format."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    connection.backup(copy)
    connection.close()
    return copy


def _format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring a store to the present format, all of it or nothing of it."""
    if _format_of(connection) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_format_of(connection), FORMAT):  # another process may have done it
            _step(connection, version + 1)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _step(connection: sqlite3.Connection, version: int) -> None:
    """Add the tables and columns that are new in a format."""
    for name, table in TABLES.items():
        new = [column for column in table.columns if column.since == version]
        if table.since == version:
            connection.execute(table.sql(name))
        elif new and table.since < version:
            for _ in read_rows(connection, name, version=version - 1):
                pass  # no damage gets a new checksum
            for column in new:
                definition = f"{column.name} {column.sql} DEFAULT {column.before}"
                connection.execute(f"ALTER TABLE {name} ADD COLUMN {definition}")
            _seal_rows(connection, name)
    connection.execute(f"PRAGMA user_version = {version}")


def insert_row(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> bool:
    """Write a row, unless there is one with its key; whether it was written."""
    names = TABLES[table].names()
    values = [row[name] for name in names]
    return bool(
        connection.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}, checksum) "
            f"VALUES ({', '.join('?' * len(names))}, ?)",
            [*values, _checksum(table, values)],
        ).rowcount
    )


def read_rows(
    connection: sqlite3.Connection,
    table: str,
    condition: str = "",
    values: Sequence[Any] = (),
    version: int | None = None,
) -> Iterator[Row]:
    """Rows of a table, each checked.

    Raises:
        StoreError: if a row is not what was written.
    """
    for row, sound in check_rows(connection, table, condition, values, version):
        if not sound:
            raise StoreError(
                f"it is damaged: a row of {table} is not what was written; 'symbreak store "
                "check' says more. Restore a copy, or merge the shards again."
            )
        yield row


def check_rows(
    connection: sqlite3.Connection,
    table: str,
    condition: str = "",
    values: Sequence[Any] = (),
    version: int | None = None,
) -> Iterator[tuple[Row, bool]]:
    """Rows of a table, and whether each is what was written."""
    names = TABLES[table].names(version)
    query = f"SELECT {', '.join(names)}, checksum FROM {table} {condition}"
    for *found, expected in connection.execute(query, values):
        yield dict(zip(names, found, strict=True)), _checksum(table, found) == expected


def _seal_rows(connection: sqlite3.Connection, table: str) -> None:
    """Give every row of a table the checksum of what it holds now."""
    names = ", ".join(TABLES[table].names())
    for (number,) in connection.execute(f"SELECT rowid FROM {table}").fetchall():
        query = f"SELECT {names} FROM {table} WHERE rowid = ?"
        found = connection.execute(query, (number,)).fetchone()
        update = f"UPDATE {table} SET checksum = ? WHERE rowid = ?"
        connection.execute(update, (_checksum(table, found), number))


def _checksum(table: str, values: Sequence[Any]) -> str:
    """A hash of all that a row holds, and of its table."""
    blobs = [value for value in values if isinstance(value, bytes)]
    rest = [len(value) if isinstance(value, bytes) else value for value in values]
    digest = hashlib.blake2b(repr([table, *rest]).encode(), digest_size=8)
    for blob in blobs:
        digest.update(blob)
    return digest.hexdigest()
