"""The store of a study: one SQLite file, one transaction per run, nothing lost when killed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from symbreak._support.checks import check_choice, check_count, check_kind, check_path, check_text
from symbreak.experiments import _frames
from symbreak.experiments._codec import PackedArray, join_state, pack, split_state, unpack
from symbreak.experiments._columns import (
    ARRAYS,
    Row,
    model_row,
    now,
    packed_of,
    read_model,
    run_row,
)
from symbreak.experiments._database import Database
from symbreak.experiments._errors import CheckpointError, StoreError
from symbreak.experiments._identity import (
    Facts,
    agree,
    describe_differences,
    facts_of,
    facts_of_row,
    label_runs,
)
from symbreak.experiments._schema import TABLES
from symbreak.experiments._spec import RunSpec
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

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write what is written inside in one transaction, since most of the time is its end."""
        with self._database.transaction():
            yield

    def add_study(self, spec: StudySpec) -> None:
        """Keep the study file, so that a report can say how to reproduce it."""
        check_kind("spec", spec, StudySpec, "as StudySpec.load gives")
        digest = hashlib.sha256(spec.text.encode()).hexdigest()
        row = {"digest": digest, "name": spec.name, "text": spec.text}
        with self._database.transaction():
            self._database.insert("study", row)

    def add(self, run: RunSpec, record: RunRecord, facts: Facts | None = None) -> None:
        """Write one finished run; its checkpoint and earlier failure go.

        ``facts`` are those of ``facts_of(run)``, if they were found elsewhere already.
        """
        check_kind("run", run, RunSpec, "as StudySpec.runs gives")
        check_kind("record", record, RunRecord, "as execute gives")
        arrays = {name: getattr(record, name) for name in ARRAYS}
        packed = {name: pack(value) for name, value in arrays.items() if value is not None}
        row = run_row(run, record, packed)
        model = record.model
        facts = facts_of(run) if facts is None else facts
        with self._database.transaction():
            row["problem_id"] = self._problem_number(run, facts)
            if self._database.insert("run", row):
                self._insert_arrays("run_array", run.key, packed)
                if model is not None:
                    self._database.insert("run_model", model_row(run.key, model))
            self._database.delete("checkpoint", run.key)
            self._database.delete("failure", run.key)

    def _problem_number(self, run: RunSpec, facts: Facts) -> int:
        """The row of a problem; that of an older store, if all that is known of it agrees."""
        text = json.dumps(facts, sort_keys=True)
        rows = list(self._database.rows("problem", "WHERE name = ?", (run.problem,)))
        for row in rows:
            known = json.loads(row["facts"])
            if row["facts"] == text or ("data" not in known and self._same_data(row, run, facts)):
                return int(row["id"])
        number = 1 + max((row["id"] for row in self._database.rows("problem")), default=0)
        self._database.insert("problem", {"id": number, "name": run.problem, "facts": text})
        return number

    def _same_data(self, problem: Row, run: RunSpec, facts: Facts) -> bool:
        """Whether a run is on a problem of a store that did not say its data."""
        runs = self._database.rows("run", "WHERE problem_id = ?", (problem["id"],))
        seeds = {row["data_seed"] for row in runs if row["format"] == 1}
        same = len(seeds) > 1 if run.data == "redrawn" else seeds == {run.data_seed}
        return same and agree(json.loads(problem["facts"]), facts)

    def add_failure(self, run: RunSpec, traceback: str) -> None:
        """Record that a run raised; it is left out until a retry is asked for."""
        check_kind("run", run, RunSpec, "as StudySpec.runs gives")
        row = {
            "key": run.key,
            "problem": run.problem,
            "method": run.method,
            "repetition": run.repetition,
            "traceback": check_text("traceback", traceback),
            "failed_at": now(),
        }
        with self._database.transaction():
            self._database.delete("failure", run.key)
            self._database.insert("failure", row)
            self._database.delete("checkpoint", run.key)

    def has(self, key: str) -> bool:
        """Whether a run is finished."""
        return self._database.has("run", check_text("key", key))

    def has_failed(self, key: str) -> bool:
        """Whether a run has failed."""
        return self._database.has("failure", check_text("key", key))

    def save_checkpoint(self, key: str, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint of a run under way, unless it is finished elsewhere."""
        check_text("key", key)
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
        check_text("key", key)
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
        check_text("key", key)
        with self._database.transaction():
            self._database.delete("checkpoint", key)

    def count(self, table: str) -> int:
        """Number of rows of ``run``, ``failure`` or ``checkpoint``."""
        return self._database.count(check_choice("table", table, TABLES))

    def studies(self) -> list[tuple[str, str]]:
        """Name and text of the study files whose runs are here."""
        rows = self._database.rows("study")
        return sorted((row["name"], row["text"]) for row in rows)

    def problems(self) -> dict[str, Facts]:
        """Facts about the problems of finished runs, by their names in the frames."""
        runs, facts = self._runs()
        labels = label_runs(runs, facts)
        found = {}
        for run in sorted(runs, key=lambda run: (run["problem_id"], run["max_evaluations"])):
            label = labels[run["key"]]
            found[label.problem] = facts_of_row(run, facts) | {"identity": label.identity}
        return found

    def differences(self, spec: StudySpec) -> list[str]:
        """Where runs of a study would not be comparable with those here of the same name."""
        check_kind("spec", spec, StudySpec, "as StudySpec.load gives")
        return describe_differences(spec.first_runs(), *self._runs())

    def checkpoints(self) -> set[str]:
        """Keys of the runs under way."""
        return {row["key"] for row, _ in self._database.checked_rows("checkpoint")}

    def failures(self) -> pd.DataFrame:
        """Runs that raised, with their tracebacks."""
        return _frames.failures(self._database.rows("failure"))

    def frame(self) -> pd.DataFrame:
        """Finished runs, a row each.

        ``error`` is the training error of the record; ``train_error``, ``validation_error`` and
        ``test_error`` are those of the network that the validation set selected, rates for
        classification and else normalised mean squared errors; ``table_error`` is what the
        paper's Table 1 shows, the test rate of classification and else the error. What was
        counted has columns ``n_...``.
        """
        return _frames.runs(*self._runs())

    def curves(self) -> pd.DataFrame:
        """Best error so far of every run, a row per improvement and one at the end."""
        return self._long_frame(_frames.CURVES)

    def rates(self) -> pd.DataFrame:
        """Errors on training, validation and test set, a row per improvement of the second."""
        return self._long_frame(_frames.RATES)

    def traces(self, max_points: int | None = None) -> pd.DataFrame:
        """Share of modified candidates, and step size of CMA-ES, after every generation.

        With ``max_points`` equal numbers of generations are averaged, so that no run has more
        rows than that; the evaluations are those at the last of them.
        """
        if max_points is not None:
            check_count("max_points", max_points, 1)
        return self._long_frame(_frames.traces_of(max_points))

    def spread(self) -> pd.DataFrame:
        """How the candidates of every run were spread over partitions, a row per measurement."""
        return self._long_frame(_frames.SPREAD)

    def arrays(self, key: str) -> dict[str, NDArray[Any]]:
        """Everything stored of a run as arrays: theta, output_weights, curve and traces."""
        return self._arrays("run_array", check_text("key", key))

    def model(self, key: str) -> Model:
        """The network of a finished run.

        Raises:
            StoreError: if there is none.
        """
        check_text("key", key)
        for row in self._database.rows("run_model", "WHERE key = ?", (key,)):
            return read_model(row)
        known = "it was run before stores kept models, or found no network" if self.has(key) else ""
        raise StoreError(
            f"store {self.path} has no model of run {key}: {known or 'there is no such run'}."
        )

    def _runs(self) -> tuple[list[Row], dict[int, Facts]]:
        """Rows of the finished runs, and facts about their problems by number."""
        runs = list(self._database.rows("run"))
        facts = {row["id"]: json.loads(row["facts"]) for row in self._database.rows("problem")}
        if lost := {run["problem_id"] for run in runs} - set(facts):
            raise StoreError(f"store {self.path} is damaged: problems {lost} are missing.")
        return runs, facts

    def _long_frame(self, kind: _frames.LongFrame) -> pd.DataFrame:
        runs, facts = self._runs()
        arrays = (self._arrays("run_array", run["key"], kind.arrays) for run in runs)
        try:
            return _frames.long(kind, runs, label_runs(runs, facts), arrays)
        except KeyError as missing:
            raise StoreError(f"store {self.path} is damaged: {missing} is missing.") from None

    def _arrays(self, table: str, key: str, names: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
        condition = "WHERE key = ?"
        if names:
            condition += f" AND name IN ({', '.join('?' * len(names))})"
        rows = self._database.rows(table, condition, (key, *names))
        return {row["name"]: unpack(packed_of(row)) for row in rows}

    def _insert_arrays(self, table: str, key: str, arrays: Mapping[str, PackedArray]) -> None:
        for name, packed in arrays.items():
            self._database.insert(table, {"key": key, "name": name, **packed._asdict()})
