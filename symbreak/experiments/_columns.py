"""The tables of a store; the columns of a run make its SQL, row, fingerprint and frame.

A new fact is one line in ``RUN``, with ``since`` the next ``FORMAT``; runs of older stores get its
``before``. Arrays are plain bytes and networks JSON: nothing read back can execute code.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symbreak._model_file import MAX_FILE
from symbreak.experiments._spec import NUMERICS_VERSION, RunSpec, sorted_json
from symbreak.models import Model
from symbreak.training import RunRecord

Row: TypeAlias = dict[str, Any]

#: Formats before this one were never released.
FIRST_FORMAT = 2

DTYPES = ("float64", "int64", "uint32", "bool")  # all that is ever written, little-endian
MAX_BYTES = 2**32  # of an array; more is not a result of a small network


@dataclass(frozen=True)
class Column:
    """A column of a table of the store."""

    name: str
    sql: str  # type and constraints
    value: Callable[[RunSpec, RunRecord], Any] | None = None  # None: the store fills it in itself
    frame: str = ""  # its name in ``Store.runs``; empty if it is not there, or not as it is
    since: int = FIRST_FORMAT  # the first format that has it
    before: Any = None  # what rows of earlier formats have there
    in_result: bool = False  # whether the fingerprint covers it: not times and versions


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


def now() -> str:
    """The time, as the store writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


_KEY = "TEXT PRIMARY KEY"
_TEXT, _INTEGER, _REAL = "TEXT NOT NULL", "INTEGER NOT NULL", "REAL NOT NULL"
_BLOB = "BLOB NOT NULL"

#: The columns of a finished run.
RUN = (
    _of_run("key", _KEY, frame="key"),
    Column("problem_id", "INTEGER NOT NULL REFERENCES problem (id)"),
    Column("format", _INTEGER, lambda run, record: FORMAT),
    Column("numerics", _INTEGER, lambda run, record: NUMERICS_VERSION),
    _of_run("method", _TEXT),
    _of_record("family", _TEXT),
    Column("role", _TEXT, lambda run, record: record.role),
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
    Column("counters", _TEXT, lambda run, record: sorted_json(record.counters), in_result=True),
    _of_run("seed", _INTEGER, frame="seed"),
    _of_run("data_seed", _INTEGER, frame="data_seed"),
    Column(
        "settings",
        _TEXT,
        lambda run, record: sorted_json(run.method_settings),
        "settings",
        in_result=True,
    ),
    Column("versions", _TEXT, lambda run, record: sorted_json(record.versions), "versions"),
    Column("fingerprint", _TEXT, frame="fingerprint"),
    Column("finished_at", _TEXT, lambda run, record: now()),
)

#: The format of the stores that are written; older ones can be read.
FORMAT: int = max(column.since for column in RUN)

APPLICATION_ID = 0x53594D42  # "SYMB"


@dataclass(frozen=True)
class Table:
    """Columns, and what holds between them."""

    columns: tuple[Column, ...]
    constraint: str = ""

    def names(self) -> list[str]:
        """Names of the columns, the checksum apart."""
        return [column.name for column in self.columns]

    def sql(self, name: str) -> str:
        """The statement that makes it."""
        columns = [f"{column.name} {column.sql}" for column in self.columns]
        checksum = f"checksum {_TEXT}"  # of all the rest of the row, verified whenever it is read
        parts = [*columns, checksum, self.constraint] if self.constraint else [*columns, checksum]
        return f"CREATE TABLE {name} ({', '.join(parts)}) STRICT"


def _table(**columns: str) -> Table:
    return Table(tuple(Column(name, sql) for name, sql in columns.items()))


def _arrays_of(table: str) -> Table:
    owner = f"TEXT NOT NULL REFERENCES {table} (key) ON DELETE CASCADE"
    columns = _table(key=owner, name=_TEXT, dtype=_TEXT, shape=_TEXT, data=_BLOB).columns
    return Table(columns, "PRIMARY KEY (key, name)")


TABLES = {
    "study": _table(digest=_KEY, name=_TEXT, text=_TEXT),
    "problem": _table(id="INTEGER PRIMARY KEY", name=_TEXT, facts="TEXT NOT NULL UNIQUE"),  # JSON
    "run": Table(RUN),
    "run_array": _arrays_of("run"),
    "run_model": _table(key=f"{_KEY} REFERENCES run (key) ON DELETE CASCADE", data=_BLOB),  # zlib
    "checkpoint": _table(key=_KEY, state=_TEXT),
    "checkpoint_array": _arrays_of("checkpoint"),
    "failure": _table(
        **{"key": _KEY, "problem": _TEXT, "method": _TEXT, "repetition": _INTEGER},
        **{"traceback": _TEXT, "failed_at": _TEXT},
    ),
}

#: What of a record is kept as arrays.
ARRAYS = (
    *("evaluations", "errors", "theta", "output_weights", "generation_evaluations"),
    *("modified_share", "step_size", "spread", "rates"),
)


def run_row(run: RunSpec, record: RunRecord, arrays: Mapping[str, Row]) -> Row:
    """The row of a finished run, but for the problem's number; its arrays are packed."""
    row = {column.name: plain(column.value(run, record)) for column in RUN if column.value}
    return row | {"fingerprint": fingerprint(row, arrays)}


def plain(value: Any) -> Any:
    """A number as SQLite gives it back: there is no NaN, and no zero with a sign."""
    if isinstance(value, float):
        return None if value != value else float(value) + 0.0
    return value


def fingerprint(row: Row, arrays: Mapping[str, Row]) -> str:
    """A hash of a result, times and versions apart: equal for equal results, bit by bit.

    It covers what the format that wrote the run had.
    """
    values = {c.name: row[c.name] for c in RUN if c.in_result and c.since <= row["format"]}
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array['dtype']} {array['shape']}".encode())
        digest.update(_inflated(array))  # compressors differ, data do not
    return digest.hexdigest()[:32]


def pack(array: NDArray[Any]) -> Row:
    """An array as columns of a row: its kind, shape and compressed bytes."""
    if array.dtype.name not in DTYPES:
        raise TypeError(f"arrays are stored as {', '.join(DTYPES)}, got {array.dtype}.")
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    shape = json.dumps(array.shape)
    return {"dtype": array.dtype.name, "shape": shape, "data": zlib.compress(data, 6)}


def unpack(row: Row) -> NDArray[Any]:
    """The array that was packed into a row; a ValueError if the bytes are not those of one."""
    little = np.frombuffer(_inflated(row), dtype=np.dtype(row["dtype"]).newbyteorder("<"))
    return little.reshape(json.loads(row["shape"])).astype(row["dtype"])


def read_model(row: Row) -> Model:
    """The network in a row."""
    return Model.from_json(_decompressed(row["data"], MAX_FILE, exactly=False).decode())


def _inflated(row: Row) -> bytes:
    """The bytes of an array, as many as its shape says."""
    if row["dtype"] not in DTYPES:
        raise ValueError(f"unknown kind of array {row['dtype']!r}")
    try:
        size = math.prod(json.loads(row["shape"])) * np.dtype(row["dtype"]).itemsize
    except (TypeError, ValueError):
        size = -1
    if not 0 <= size <= MAX_BYTES:
        raise ValueError(f"damaged array: no shape {row['shape']!r:.40}")
    return _decompressed(row["data"], size)


def _decompressed(data: bytes, size: int, *, exactly: bool = True) -> bytes:
    """Data of a known size, or of that size at most; never more is taken in."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"damaged data: {error}") from None
    if len(raw) > size or (exactly and len(raw) < size) or not stream.eof:
        raise ValueError(f"damaged data: not the {size:,} bytes that were expected")
    return raw
