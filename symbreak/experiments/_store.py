"""The store of a study: one SQLite file, one transaction per run, nothing lost when killed."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from symbreak._support.checks import check_choice, check_count, check_kind, check_path
from symbreak._support.state import join_state, split_state
from symbreak.experiments._columns import (
    ARRAYS,
    TABLES,
    Row,
    fingerprint,
    now,
    pack,
    read_model,
    run_row,
    unpack,
)
from symbreak.experiments._database import Database, StoreError
from symbreak.experiments._frames import NAMES, Frames, long_frames, runs_frame
from symbreak.experiments._run import CheckpointError
from symbreak.experiments._spec import Condition, Facts, RunSpec, differences, identity_of
from symbreak.experiments._study import StudySpec
from symbreak.models import Model
from symbreak.training import RunRecord

if TYPE_CHECKING:
    import pandas as pd


class Store:
    """Finished runs, failures and checkpoints of a study.

    Every process opens its own. A run is written whole or not at all, and a run that is
    there already is left as it is. Whatever is read is checked to be what was written.

    Args:
        path: The file.
        create: Make it if it is missing.
        read_only: Never write to it; so it is anyway where it cannot be written to.

    Raises:
        StoreError: if it cannot be opened, is damaged, or a later version's.
    """

    def __init__(self, path: str | Path, *, create: bool = True, read_only: bool = False) -> None:
        self.path = check_path("path", path)
        self._database = Database(self.path, create=create, read_only=read_only)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batch(self) -> AbstractContextManager[None]:
        """Write what is written inside in one transaction, since most of the time is its end."""
        return self._database.transaction()

    def add_study(self, spec: StudySpec) -> None:
        """Keep the study file, so that a report can say how to reproduce it.

        Raises:
            ValueError: if its runs could not be compared with those here of the same names.
        """
        self.check_study(spec)
        digest = hashlib.sha256(spec.text.encode()).hexdigest()
        row = {"digest": digest, "name": spec.name, "text": spec.text}
        with self._database.transaction():
            self._database.insert("study", row)

    def add(self, run: RunSpec, record: RunRecord, facts: Facts | None = None) -> None:
        """Write one finished run; its checkpoint and earlier failure go.

        ``facts`` are those of ``run.facts()``, if they were found elsewhere already.
        """
        check_kind("run", run, RunSpec, "as StudySpec.runs gives")
        check_kind("record", record, RunRecord, "as execute gives")
        arrays = {name: getattr(record, name) for name in ARRAYS}
        packed = {name: pack(value) for name, value in arrays.items() if value is not None}
        row = run_row(run, record, packed)
        text = json.dumps(run.facts() if facts is None else facts, sort_keys=True)
        with self._database.transaction():
            row["problem_id"] = self._problem_number(run.problem, text)
            if self._database.insert("run", row):
                self._insert_arrays("run_array", run.key, packed)
                if record.model is not None:
                    data = zlib.compress(record.model.to_json().encode())
                    self._database.insert("run_model", {"key": run.key, "data": data})
            self._database.delete("checkpoint", run.key)
            self._database.delete("failure", run.key)

    def _problem_number(self, name: str, text: str) -> int:
        """The row of a problem with some facts (JSON)."""
        numbers = {row["facts"]: row["id"] for row in self._database.rows("problem")}
        if text not in numbers:
            numbers[text] = 1 + max(numbers.values(), default=0)
            row = {"id": numbers[text], "name": name, "facts": text}
            self._database.insert("problem", row)
        return int(numbers[text])

    def add_failure(self, run: RunSpec, traceback: str) -> None:
        """Record that a run raised; it is left out until a retry is asked for."""
        check_kind("run", run, RunSpec, "as StudySpec.runs gives")
        row = {name: getattr(run, name) for name in ("key", *NAMES)}
        row |= {"traceback": traceback, "failed_at": now()}
        with self._database.transaction():
            self._database.delete("failure", run.key)
            self._database.insert("failure", row)
            self._database.delete("checkpoint", run.key)

    def has(self, key: str) -> bool:
        """Whether a run is finished."""
        return self._database.has("run", key)

    def has_failed(self, key: str) -> bool:
        """Whether a run has failed."""
        return self._database.has("failure", key)

    def save_checkpoint(self, key: str, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint of a run under way, unless it is finished elsewhere."""
        try:
            plain, arrays = split_state(check_kind("state", state, Mapping, "of state()"))  # type: ignore[type-abstract]
            packed = {name: pack(array) for name, array in arrays.items()}
            text = json.dumps({"state": plain, "arrays": sorted(packed)})
        except (TypeError, RecursionError) as error:
            raise ValueError(f"a state holds arrays and JSON-able values: {error}.") from None
        with self._database.transaction():
            if self.has(key):
                return
            self._database.delete("checkpoint", key)
            self._database.insert("checkpoint", {"key": key, "state": text})
            self._insert_arrays("checkpoint_array", key, packed)

    def load_checkpoint(self, key: str) -> dict[str, Any] | None:
        """The state that a killed run can go on from, or None.

        Raises:
            CheckpointError: if it is damaged.
        """
        try:
            rows = list(self._database.rows("checkpoint", "WHERE key = ?", (key,)))
            arrays = self._arrays("checkpoint_array", key)
        except StoreError as error:
            raise CheckpointError(f"the checkpoint of run {key} is damaged: {error}") from error
        if not rows:
            return None
        facts = json.loads(rows[0]["state"])
        if facts["arrays"] != sorted(arrays):
            raise CheckpointError(f"the checkpoint of run {key} is damaged: arrays are missing.")
        return join_state(facts["state"], arrays)

    def delete_checkpoint(self, key: str) -> None:
        """Let a run start again."""
        with self._database.transaction():
            self._database.delete("checkpoint", key)

    def count(self, table: str) -> int:
        """Number of rows of ``run``, ``failure`` or ``checkpoint``."""
        return self._database.count(check_choice("table", table, TABLES))

    def check_study(self, spec: StudySpec) -> None:
        """Raise unless all runs of a study may be compared with those here of the same names.

        Raises:
            ValueError: saying what differs.
        """
        check_kind("spec", spec, StudySpec, "as StudySpec.load gives")
        here = self.conditions()
        repetitions = {run[:2]: run.repetition for run in here}
        planned = [spec.run(*pair, repetitions.get(pair, 0)).condition() for pair in spec.pairs()]
        if found := differences(here, planned):
            raise ValueError(
                f"the study cannot go into {self.path}, whose runs could not be compared with its "
                f"own: it has {'; '.join(found)}. Use another --store."
            )

    def conditions(self) -> list[Condition]:
        """Under what each run here was done."""
        columns = itemgetter("method", "repetition", "key", "settings", "data_seed")
        return [
            Condition._make((facts["name"], *columns(row), facts)) for row, facts in self._runs()
        ]

    def failures(self) -> pd.DataFrame:
        """Runs that raised, with their tracebacks."""
        import pandas as pd

        frame = pd.DataFrame(self._database.rows("failure"), columns=TABLES["failure"].names())
        return frame.sort_values(NAMES, ignore_index=True)

    def runs(self) -> pd.DataFrame:
        """Finished runs, a row each, as in ``Frames``."""
        return runs_frame(self._runs())

    def frames(self, max_points: int | None = None) -> Frames:
        """All results, as they are at one moment.

        With ``max_points`` equal numbers of generations are averaged in ``traces``, so that no run
        has more rows than that; the evaluations are those at the last of them.
        """
        if max_points is not None:
            check_count("max_points", max_points, 1)
        with self._database.snapshot():
            found = self._runs()
            runs = runs_frame(found)
            arrays = (self.arrays(row["key"]) for row, _ in found)
            try:
                long = long_frames(runs, arrays, max_points)
            except KeyError as missing:
                raise StoreError(f"it is damaged: {missing} is missing.", self.path) from None
            problems = {facts["identity"]: facts for _, facts in found}
            studies = sorted((row["name"], row["text"]) for row in self._database.rows("study"))
            failures = self.failures()
        return Frames(runs, **long, failures=failures, problems=problems, studies=studies)

    def arrays(self, key: str) -> dict[str, NDArray[Any]]:
        """Everything stored of a run as arrays: theta, output_weights, curve and traces."""
        return self._arrays("run_array", key)

    def model(self, key: str) -> Model:
        """The network of a finished run.

        Raises:
            StoreError: if there is none.
        """
        for row in self._database.rows("run_model", "WHERE key = ?", (key,)):
            return read_model(row)
        why = "it found no network" if self.has(key) else "there is no such run"
        raise StoreError(f"it has no model of run {key}: {why}.", self.path)

    def _runs(self) -> list[tuple[Row, Facts]]:
        """Rows of the finished runs by name, each with facts about its problem."""
        problems = {row["id"]: json.loads(row["facts"]) for row in self._database.rows("problem")}
        rows = list(self._database.rows("run"))
        if lost := {row["problem_id"] for row in rows} - set(problems):
            raise StoreError(f"it is damaged: problems {lost} are missing.", self.path)
        found = []
        for row in rows:
            allowed = {name: row[name] for name in ("max_evaluations", "numerics")}
            facts = problems[row["problem_id"]] | allowed
            found.append((row, facts | {"identity": identity_of(facts)}))
        names = itemgetter("method", "repetition", "key")
        return sorted(found, key=lambda pair: (pair[1]["name"], *names(pair[0])))

    def _arrays(self, table: str, key: str) -> dict[str, NDArray[Any]]:
        rows = self._database.rows(table, "WHERE key = ?", (key,))
        return {row["name"]: unpack(row) for row in rows}

    def _insert_arrays(self, table: str, key: str, arrays: Mapping[str, Row]) -> None:
        for name, packed in arrays.items():
            self._database.insert(table, {"key": key, "name": name, **packed})


def merge_stores(target: Path, sources: Sequence[Path]) -> int:
    """Join the finished and failed runs of ``sources`` into ``target``; how many were finished.

    All of a source is taken or nothing. A run that is there already must have the same result, and
    runs of one name must be comparable.
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

    Every row, every reference, and every result against its fingerprint; pages when it is opened.
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
    return [row for row, ok in database.checked_rows(table, "WHERE key = ?", (key,)) if ok]


def _name(row: Row) -> str:
    named = ("method", "repetition", "name", "key", "id", "digest")
    return ", ".join(f"{part} {row[part]}" for part in named if part in row)
