"""Joining and checking stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from symbreak.experiments._schema import StoreError, connect, explained
from symbreak.experiments._store import RESULT_COLUMNS, Store, fingerprint_of

_RUN_COLUMNS = ", ".join([*RESULT_COLUMNS, "fingerprint", "seconds", "versions", "finished_at"])


def merge_stores(target: str | Path, sources: Sequence[str | Path]) -> int:
    """Join the finished runs of ``sources`` into ``target``, all or none of each source.

    Answers how many runs were added. A run that is there already must have the same result.

    Raises:
        StoreError: if the same run has different results in two stores.
    """
    added = 0
    for source in sources:
        connect(Path(source), create=False).close()  # all must be whole
    connection = connect(Path(target), create=True)
    try:
        for source in sources:
            with explained(Path(source)):
                connection.execute("ATTACH ? AS source", (str(source),))
                try:
                    added += _take_over(connection, Path(source))
                finally:
                    connection.execute("DETACH source")
    finally:
        connection.close()
    return added


def _take_over(connection: sqlite3.Connection, source: Path) -> int:
    (conflicts, example) = connection.execute(
        "SELECT count(*), min(theirs.key) FROM source.run AS theirs JOIN main.run AS ours "
        "USING (key) WHERE theirs.fingerprint != ours.fingerprint"
    ).fetchone()
    if conflicts:
        raise StoreError(
            f"{conflicts} runs of {source} have other results than those already here (such as "
            f"{example}); they come from another machine or version. Nothing of it was taken."
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("INSERT OR IGNORE INTO main.study SELECT * FROM source.study")
        connection.execute(
            "INSERT OR IGNORE INTO main.problem (name, facts) "
            "SELECT name, facts FROM source.problem"
        )
        added: int = connection.execute(
            f"INSERT OR IGNORE INTO main.run (problem_id, {_RUN_COLUMNS}) "
            f"SELECT ours.id, {_RUN_COLUMNS} FROM source.run AS run "
            "JOIN source.problem AS theirs ON theirs.id = run.problem_id "
            "JOIN main.problem AS ours ON ours.facts = theirs.facts"
        ).rowcount
        connection.execute("INSERT OR IGNORE INTO main.run_array SELECT * FROM source.run_array")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return added


def check_store(path: str | Path) -> list[str]:
    """What is wrong with a store, in words; nothing if it is sound.

    Every page, every reference, and every result against its fingerprint.
    """
    faults = []
    with Store(path, create=False) as store, explained(store.path):
        for (verdict,) in store._connection.execute("PRAGMA integrity_check"):
            if verdict != "ok":
                faults.append(f"page structure: {verdict}")
        for table, row, parent, _ in store._connection.execute("PRAGMA foreign_key_check"):
            faults.append(f"row {row} of {table} refers to a {parent} that is not there")
        for run in store.frame().itertuples():
            name = f"{run.problem}, {run.method}, repetition {run.repetition}"
            try:
                if fingerprint_of(store, str(run.key)) != run.fingerprint:
                    faults.append(f"{name}: the result is not what was written")
            except StoreError as error:
                faults.append(f"{name}: {error}")
    return faults
