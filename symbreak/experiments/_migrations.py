"""Stores of earlier formats become stores of this one; every format so far can be read.

Most of a step follows from the columns that are new in it; ``STEPS`` has what does not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from symbreak.experiments._codec import PackedArray
from symbreak.experiments._columns import FORMAT, OLD_COUNTERS, OLD_ROLES, fingerprint
from symbreak.experiments._errors import StoreError
from symbreak.experiments._rows import read_rows, seal_rows
from symbreak.experiments._schema import CHECKSUM, TABLES


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a store to the present format, all of it or nothing of it.

    Raises:
        StoreError: if what is there is not what was written.
    """
    if format_of(connection) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(format_of(connection), FORMAT):  # another process may have done it
            _step(connection, version + 1)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def format_of(connection: sqlite3.Connection) -> int:
    """The format that a store has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _step(connection: sqlite3.Connection, version: int) -> None:
    """From the format before to ``version``."""
    changed = []
    for name, table in TABLES.items():
        new = [c for c in (*table.columns, CHECKSUM) if c.since == version]
        if table.since == version:
            connection.execute(table.sql(name))
        elif new and table.since < version:
            changed.append(name)
            if version > CHECKSUM.since:  # no damage gets a new checksum
                for _ in read_rows(connection, name, version=version - 1):
                    pass
            for column in new:
                definition = f"{column.name} {column.sql} DEFAULT {column.before}"
                connection.execute(f"ALTER TABLE {name} ADD COLUMN {definition}")
    STEPS.get(version, lambda connection: None)(connection)
    for name in changed:
        seal_rows(connection, name)
    connection.execute(f"PRAGMA user_version = {version}")


def _add_roles_and_checksums(connection: sqlite3.Connection) -> None:
    """To format 2: roles, counters in one column, errors of regression, checksums."""
    execute = connection.execute
    execute("DELETE FROM checkpoint_array")  # without checksums they cannot be trusted; those
    execute("DELETE FROM checkpoint")  # runs start again
    for name in ("train", "validation"):
        execute(f"ALTER TABLE run RENAME COLUMN {name}_rate TO {name}_error")
    for method, role in OLD_ROLES.items():
        execute("UPDATE run SET role = ? WHERE method = ?", (role, method))
    counts = ", ".join(f"n_{name}" for name in OLD_COUNTERS)
    for key, *values in execute(f"SELECT key, {counts} FROM run").fetchall():
        counters = json.dumps(dict(zip(OLD_COUNTERS, values, strict=True)), sort_keys=True)
        execute("UPDATE run SET counters = ? WHERE key = ?", (counters, key))
    for name in OLD_COUNTERS:
        execute(f"ALTER TABLE run DROP COLUMN n_{name}")
    _check_fingerprints(connection)


def _check_fingerprints(connection: sqlite3.Connection) -> None:
    """Format 1 had no other checksums."""
    names = TABLES["run"].names()
    for found in connection.execute(f"SELECT {', '.join(names)} FROM run").fetchall():
        row = dict(zip(names, found, strict=True))
        query = "SELECT name, dtype, shape, data FROM run_array WHERE key = ?"
        arrays = connection.execute(query, (row["key"],)).fetchall()
        packed = {name: PackedArray(*parts) for name, *parts in arrays}
        if fingerprint(row, packed) != row["fingerprint"]:
            raise StoreError(
                f"the result of {row['method']}, repetition {row['repetition']} (run {row['key']}) "
                "is not what was written."
            )


#: What a step does besides adding columns, by the format that it leads to.
STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {2: _add_roles_and_checksums}
