"""Joining and checking stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from symbreak.experiments._columns import TABLES, Row, fingerprint, read_model
from symbreak.experiments._database import Database
from symbreak.experiments._errors import StoreError
from symbreak.experiments._spec import differences
from symbreak.experiments._store import Store


def merge_stores(target: Path, sources: Sequence[Path]) -> int:
    """Join the finished and failed runs of ``sources`` into ``target``.

    All of a source is taken or nothing. A run that is there already must have the same result.

    Returns:
        How many finished runs were added.

    Raises:
        StoreError: if the same run has different results in two stores, or runs of one name could
            not be compared.
    """
    with ExitStack() as stack:
        theirs = [
            stack.enter_context(Store(path, create=False, read_only=True))
            for path in sources
            if not (path.exists() and target.exists() and path.samefile(target))
        ]  # all must be whole before one is touched
        ours = stack.enter_context(Store(target))
        return sum(_merge(ours, each) for each in theirs)


def _merge(ours: Store, theirs: Store) -> int:
    target, source = ours._database, theirs._database
    with target.transaction():
        _refuse_conflicts(ours, theirs)
        numbers = {
            row["id"]: ours._problem_number(row["name"], row["facts"])
            for row in source.rows("problem")
        }
        for study in source.rows("study"):
            target.insert("study", study)
        added = 0
        for run in source.rows("run"):
            if target.insert("run", run | {"problem_id": numbers[run["problem_id"]]}):
                added += 1
                for table in ("run_array", "run_model"):
                    for row in source.rows(table, "WHERE key = ?", (run["key"],)):
                        target.insert(table, row)
                for table in ("failure", "checkpoint"):
                    target.delete(table, run["key"])
        for failure in source.rows("failure"):
            if not ours.has(failure["key"]):
                target.insert("failure", failure)
    return added


def _refuse_conflicts(ours: Store, theirs: Store) -> None:
    if found := differences(ours.conditions(), theirs.conditions()):
        raise StoreError(
            f"the runs of {theirs.path} could not be compared with those already here: it has "
            f"{'; '.join(found)}. Nothing of it was taken; give it a store of its own."
        )
    known = {run["key"]: run for run in ours._database.rows("run")}
    pairs = [(known.get(run["key"], run), run) for run in theirs._database.rows("run")]
    conflicts = [(a, b) for a, b in pairs if a["fingerprint"] != b["fingerprint"]]
    if conflicts:
        here, there = min(conflicts, key=lambda pair: pair[0]["key"])
        a, b = (json.loads(run["versions"]) for run in (here, there))
        shared = [name for name in b if name in a]  # earlier versions kept fewer
        others = [f"{name} {b[name]} instead of {a[name]}" for name in shared if a[name] != b[name]]
        raise StoreError(
            f"{len(conflicts)} runs of {theirs.path} have other results than those already here "
            f"(such as {here['key']}); they come from another machine or version"
            f"{': ' if others else ''}{', '.join(others)}. Nothing of it was taken."
        )


def check_store(path: Path) -> list[str]:
    """What is wrong with a store, in words; nothing if it is sound.

    Every page, every row, every reference, and every result against its fingerprint.

    Raises:
        StoreError: if it cannot be opened, or has damaged pages.
    """
    with closing(Database(path, create=False, read_only=True)) as database:
        rows = [
            f"{_name(row)}: a row of {table} is not what was written"
            for table in TABLES
            for row, sound in database.checked_rows(table)
            if not sound
        ]
        return [*rows, *database.faults(), *_result_faults(database)]


def _result_faults(database: Database) -> Iterator[str]:
    for run, sound in database.checked_rows("run"):
        if sound:
            arrays = {row["name"]: row for row in _sound(database, "run_array", run["key"])}
            try:
                if fingerprint(run, arrays) != run["fingerprint"]:
                    yield f"{_name(run)}: the result is not what was written"
                for row in _sound(database, "run_model", run["key"]):
                    read_model(row)
            except (ValueError, KeyError, TypeError) as error:
                yield f"{_name(run)}: {error}"


def _sound(database: Database, table: str, key: str) -> list[Row]:
    rows = database.checked_rows(table, "WHERE key = ?", (key,))
    return [row for row, sound in rows if sound]


def _name(row: Row) -> str:
    named = ("method", "repetition", "name", "key", "id", "digest")
    return ", ".join(f"{part} {row[part]}" for part in named if part in row)
