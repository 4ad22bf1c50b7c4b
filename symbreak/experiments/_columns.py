"""The facts of a run: one table of columns makes the SQL, the rows, the fingerprint and the frame.

A new fact is one line in ``RUN``, with ``since`` the next ``FORMAT``; runs of older stores get its
``before``.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from symbreak.experiments._codec import PackedArray, decompress, inflate
from symbreak.experiments._spec import NUMERICS_VERSION, RunSpec
from symbreak.models import MAX_FILE, Model
from symbreak.training import RunRecord

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table of the store.

    Attributes:
        name: In the table.
        sql: Type and constraints.
        value: Makes the value from a finished run; None if the store fills it in itself.
        frame: Its name in ``Store.frame``; empty if it is not in the frame, or not as it is.
        since: The first format that has it.
        before: What rows of earlier formats get, in SQL.
        in_result: Whether the fingerprint covers it: what determines a result, or follows from
            it; times and versions do not.
    """

    name: str
    sql: str
    value: Callable[[RunSpec, RunRecord], Any] | None = None
    frame: str = ""
    since: int = 1
    before: str = "NULL"
    in_result: bool = False


def _of_run(name: str, sql: str, **options: Any) -> Column:
    get = attrgetter(name)
    return Column(name, sql, lambda run, record: get(run), in_result=True, **options)


def _of_record(name: str, sql: str, *, frame: str = "", in_result: bool = True) -> Column:
    get = attrgetter(name)
    return Column(name, sql, lambda run, record: get(record), frame or name, in_result=in_result)


def _last_error(name: str, position: int) -> Column:
    """An error at the last improvement on the validation set."""

    def value(run: RunSpec, record: RunRecord) -> float | None:
        return float(record.rates[-1, position]) if len(record.rates) else None

    return Column(name, "REAL", value, name, in_result=True)


def _format(run: RunSpec, record: RunRecord) -> int:
    return FORMAT


def _numerics(run: RunSpec, record: RunRecord) -> int:
    return NUMERICS_VERSION


def _settings(run: RunSpec, record: RunRecord) -> str:
    return json.dumps(dict(run.method_settings), sort_keys=True)


def _counters(run: RunSpec, record: RunRecord) -> str:
    return json.dumps(dict(record.counters), sort_keys=True)


def _versions(run: RunSpec, record: RunRecord) -> str:
    return json.dumps(dict(record.versions), sort_keys=True)


def now(*_: object) -> str:
    """The time, as the store writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


#: Roles of methods in stores that do not keep them yet. Never to be changed.
OLD_ROLES = {
    "DE": "plain",
    "DE-INV-SB": "invariant",
    "DE-SB": "proximity",
    "DE-SB-BF": "exhaustive",
    "DE-SB-LA": "variant",
    "DE-SB-LA-W": "variant",
    "CMA-ES": "plain",
    "CMA-ES-INV-SB": "invariant",
    "CMA-ES-SB": "proximity",
    "CMA-ES-SB-BF": "exhaustive",
    "CMA-ES-SB-LA": "variant",
    "CMA-ES-SB-LA-P": "variant",
}
#: What such stores count, each in a column ``n_...`` of its own. Never to be changed.
OLD_COUNTERS = ("nonfinite", "repairs", "bounded")

#: The version of the numerics in stores that do not say it. Never to be changed.
OLD_NUMERICS = 2

_TEXT, _INTEGER, _REAL = "TEXT NOT NULL", "INTEGER NOT NULL", "REAL NOT NULL"

#: The columns of a finished run.
RUN = (
    _of_run("key", "TEXT PRIMARY KEY", frame="key"),
    Column("problem_id", "INTEGER NOT NULL REFERENCES problem (id)"),
    Column("format", _INTEGER, _format, since=2, before="1"),
    Column("numerics", _INTEGER, _numerics, since=2, before=str(OLD_NUMERICS)),
    _of_run("method", _TEXT),
    _of_record("family", _TEXT),
    Column("role", _TEXT, lambda run, record: record.role, since=2, before="'variant'"),
    _of_run("repetition", _INTEGER),
    _of_record("error", _REAL),
    _of_record("network_error", _REAL),
    _of_record("penalty", _REAL),
    _last_error("train_error", 1),
    _last_error("validation_error", 2),
    _last_error("test_error", 3),
    _of_record("n_evaluations", _INTEGER, frame="evaluations"),
    _of_run("max_evaluations", _INTEGER, frame="max_evaluations"),
    _of_record("population_size", _INTEGER),
    _of_record("seconds", _REAL, in_result=False),
    Column("counters", _TEXT, _counters, since=2, before="'{}'", in_result=True),
    _of_run("seed", _INTEGER, frame="seed"),
    _of_run("data_seed", _INTEGER, frame="data_seed"),
    Column("settings", _TEXT, _settings, "settings", in_result=True),
    Column("versions", _TEXT, _versions, "versions"),
    Column("fingerprint", _TEXT, frame="fingerprint"),
    Column("finished_at", _TEXT, now),
)

#: The format of the stores that are written; ``_migrations`` brings older ones to it.
FORMAT: int = max(column.since for column in RUN)

#: What of a record is kept as arrays.
ARRAYS = (
    "evaluations",
    "errors",
    "theta",
    "output_weights",
    "generation_evaluations",
    "modified_share",
    "step_size",
    "spread",
    "rates",
)


def run_row(run: RunSpec, record: RunRecord, arrays: Mapping[str, PackedArray]) -> Row:
    """The row of a finished run, but for the problem's number."""
    row = {column.name: plain(column.value(run, record)) for column in RUN if column.value}
    return row | {"fingerprint": fingerprint(row, arrays)}


def packed_of(row: Row) -> PackedArray:
    """The array in a row."""
    return PackedArray(row["dtype"], row["shape"], row["data"])


def model_row(key: str, model: Model) -> Row:
    """The row of the network of a run."""
    return {"key": key, "data": zlib.compress(model.to_json().encode())}


def read_model(row: Row) -> Model:
    """The network of ``model_row``."""
    return Model.from_json(decompress(row["data"], MAX_FILE, exactly=False).decode())


def plain(value: Any) -> Any:
    """A number as SQLite gives it back: there is no NaN, and no zero with a sign."""
    if isinstance(value, float):
        return None if value != value else float(value) + 0.0
    return value


def fingerprint(row: Row, arrays: Mapping[str, PackedArray]) -> str:
    """A hash of a result, times and versions apart: equal for equal results, bit by bit.

    It covers what the format that wrote the run had.
    """
    if row["format"] == 1:
        values = _format_1(row)
    else:
        values = {c.name: row[c.name] for c in RUN if c.in_result and c.since <= row["format"]}
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(inflate(arrays[name]))  # compressors differ, data do not
    return digest.hexdigest()[:32]


def _format_1(row: Row) -> Row:
    """What the fingerprint of the first format covers, under the names that it had there."""
    counters = json.loads(row["counters"])
    same = (
        "key method family repetition seed data_seed population_size max_evaluations settings "
        "error penalty network_error test_error n_evaluations"
    )
    return {
        **{name: row[name] for name in same.split()},
        "train_rate": row["train_error"],
        "validation_rate": row["validation_error"],
        **{f"n_{name}": counters.get(name, 0) for name in OLD_COUNTERS},
    }
