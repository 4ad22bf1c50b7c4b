"""Rows of a store with their checksums: what is read is what was written."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from symbreak.experiments._columns import Row
from symbreak.experiments._errors import SEE_CHECK, StoreError
from symbreak.experiments._schema import TABLES


def insert_row(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> bool:
    """Write a row, unless there is one with its key; whether it was written."""
    names = TABLES[table].names()
    values = [row[name] for name in names]
    return bool(
        connection.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}, checksum) "
            f"VALUES ({', '.join('?' * len(names))}, ?)",
            [*values, checksum(table, values)],
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
                f"it is damaged: a row of {table} is not what was written{SEE_CHECK}. Restore a "
                "copy, or merge the shards again."
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
        yield dict(zip(names, found, strict=True)), checksum(table, found) == expected


def seal_rows(connection: sqlite3.Connection, table: str) -> None:
    """Give every row of a table the checksum of what it holds now."""
    names = ", ".join(TABLES[table].names())
    for (number,) in connection.execute(f"SELECT rowid FROM {table}").fetchall():
        query = f"SELECT {names} FROM {table} WHERE rowid = ?"
        found = connection.execute(query, (number,)).fetchone()
        update = f"UPDATE {table} SET checksum = ? WHERE rowid = ?"
        connection.execute(update, (checksum(table, found), number))


def checksum(table: str, values: Sequence[Any]) -> str:
    """A hash of all that a row holds, and of its table."""
    blobs = [value for value in values if isinstance(value, bytes)]
    rest = [len(value) if isinstance(value, bytes) else value for value in values]
    digest = hashlib.blake2b(repr([table, *rest]).encode(), digest_size=8)
    for blob in blobs:
        digest.update(blob)
    return digest.hexdigest()
