"""Cells that may hold anything, and tables of them: as numbers, days, levels, or what is wrong."""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array, IntArray, Mask, nearest, unknown
from symbreak._support.words import few

Column = NDArray[Any]

#: Kinds of NumPy's numbers and booleans.
NUMERIC = "biuf"
#: What says that a value is missing, in any case; the first are nothing that is called a class.
MISSING_LABELS = {"", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"}
MISSING = {*MISSING_LABELS, "none", "nil", "-", ".", "missing"}
MISSING_VALUES = "missing values"
#: How text files write booleans, in any case.
BOOLEANS = {"true": 1.0, "false": 0.0}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([ _'.,\u00a0\u202f]\d{3})+([.,]\d*)?")
#: How text may write dates: as ISO 8601 says, or else so; the first that reads all of a column.
ISO = "ISO 8601"
PATTERNS = (
    ISO,
    *(f"{day}{time}" for day in ("%d.%m.%Y", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")),
    *("%H:%M", "%H:%M:%S", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
)
#: Neither are numbers, nor can they be made of them.
NO_NUMBERS = (complex, datetime.date, datetime.time)
EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400e6  # microseconds
#: Neither an expanded file nor a table may be larger.
MAX_BYTES = 2 * 2**30
LEAVE_OUT = (
    "Correct these, leave the column out (ignore, --ignore), or name it (categories, --categories)."
)
#: So many rows and columns a message names; so many names are listed; and among so many it looks
#: for a similar one.
SHOWN, SHOWN_NAMES, MAX_COMPARED = 3, 20, 1_000


def kind_of(cell: str) -> str:
    """What a cell holds that is not a finite number, in words."""
    text = cell.strip().lower()
    if text in MISSING:
        return MISSING_VALUES
    if text in BOOLEANS:
        return "booleans"
    if DATE.fullmatch(text):
        return "dates or times"
    if is_number(text):
        return "numbers with a decimal point" if math.isfinite(float(text)) else "infinite numbers"
    if THOUSANDS.fullmatch(text) or is_number(text.replace("_", "")):
        return "numbers with separators"
    return "numbers with a decimal comma" if is_number(text.replace(",", ".", 1)) else "text"


def are(words: Collection[str], cells: Sequence[str]) -> Mask:
    """Which cells are one of these words, in any case."""
    return np.array([cell.strip().lower() in words for cell in cells], dtype=np.bool_)


def number(text: str) -> float | None:
    """A string as Python reads it, but for its underscores; None if it is no number."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def is_number(text: str) -> bool:
    """Whether a string is a number."""
    return number(text) is not None


def to_floats(cells: Sequence[str], decimal: str) -> Array:
    """Strings as numbers (K,); NaN where one is no number."""
    if decimal == ",":
        cells = ["" if "." in cell else cell.replace(",", ".", 1) for cell in cells]
    return np.array([number(cell) for cell in cells], dtype=np.float64)


def to_numbers(
    cells: Sequence[str], decimal: str, missing: Collection[str] = MISSING
) -> tuple[Array, Mask]:
    """Strings as numbers (K,), NaN where one is missing; and which of them are neither.

    Nothing but booleans are 1 and 0.
    """
    lost, booleans = are(missing, cells), are(BOOLEANS, cells)
    if (lost | booleans).all():
        values = np.array([BOOLEANS.get(cell.strip().lower(), math.nan) for cell in cells])
        return values, np.zeros(len(cells), dtype=np.bool_)
    values = to_floats(cells, decimal)
    bad = np.isnan(values) & ~lost
    return np.where(lost, np.nan, values), bad & ~booleans if bad.all() else bad


def plain(values: Any) -> Column:
    """A column of a frame: numbers, dates, or objects, None where one is missing."""
    column = np.asarray(values)
    if column.dtype.kind == "b":
        return column.astype(np.float64)
    if column.dtype.kind in "iufM":
        return column
    from pandas import isna  # only here: it is slow to load, and knows all kinds of missing

    cells = column.astype(object)
    cells[np.asarray(isna(cells), dtype=bool)] = None
    return cells


def is_plain(values: Any) -> bool:
    """Whether a column of a frame, or an array, holds numbers alone, and none is missing."""
    numbers = numbers_of(plain(values)) if np.asarray(values).dtype.kind in "biufO" else None
    return numbers is not None and not np.isnan(numbers).any()


def text_of(cell: object) -> str:
    """A cell as the name of a level; a whole number has no decimal point."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return cell.strip() if isinstance(cell, str) else str(cell)


def texts_of(cells: Column) -> list[str | None]:
    """Cells as names of levels, None where one is missing."""
    texts = [None if cell is None or cell != cell else text_of(cell) for cell in cells.tolist()]
    return [None if t is None or t.lower() in MISSING_LABELS else t for t in texts]


def numbers_of(cells: Column) -> Array | None:
    """Cells as numbers, NaN where one is missing; None if there is anything else."""
    if cells.dtype.kind in NUMERIC:
        return cells.astype(np.float64)
    if cells.dtype.kind != "O" or any(isinstance(cell, NO_NUMBERS) for cell in cells):
        return None
    values, bad = to_numbers([text or "" for text in texts_of(cells)], ".", {""})
    return None if bad.any() else values


class MixedZonesError(ValueError):
    """A column whose moments cannot be compared."""


def days_of(cells: Column, pattern: str) -> Array | None:
    """Days since 1970, NaN where there is no date; None if one is not written like this.

    Raises:
        MixedZonesError: if some times have a zone and others none, which may be any.
    """
    if cells.dtype.kind == "M":
        micros = cells.astype("datetime64[us]")
        return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / DAY)
    if cells.dtype.kind != "O":
        return None
    try:
        moments = [_moment(cell, pattern) for cell in cells]
        if len({moment.tzinfo is None for moment in moments if moment}) > 1:
            raise MixedZonesError("times with a zone beside times without one")
        return np.array([_days(moment) for moment in moments])
    except MixedZonesError:
        raise
    except (ValueError, OverflowError):
        return None


def _moment(cell: Any, pattern: str) -> datetime.datetime | None:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING_LABELS):
        return None
    if isinstance(cell, datetime.datetime):
        return cell
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    text = cell.strip() if isinstance(cell, str) else ""
    if pattern != ISO:
        return datetime.datetime.strptime(text, pattern)
    if "-" not in text or not text[:4].isdigit():  # 20240101 is a number
        raise ValueError("no date")
    return datetime.datetime.fromisoformat(text)


def _days(moment: datetime.datetime | None) -> float:
    if moment is None:
        return math.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - EPOCH) / datetime.timedelta(days=1)


@dataclass(frozen=True, eq=False)
class Table:
    """A data file that has been read.

    Attributes:
        path: The file.
        columns: Columns (K,) by name, in the order of the file: booleans, numbers, or strings.
        named: Whether the file names them itself.
        targets: The columns to predict if nobody says otherwise.
        format: How the file was understood, in a few words.
        delimiter: What separates columns; a comma if the file is no text.
        decimal: The decimal sign of numbers in strings.
        lines: The line of the file (K,) that each sample is in; None if they count from 1.
    """

    path: Path
    columns: Mapping[str, Column]
    named: bool
    targets: tuple[str, ...]
    format: str
    delimiter: str = ","
    decimal: str = "."
    lines: IntArray | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    @property
    def rows(self) -> IntArray:
        """Where the samples (K,) stand in the file."""
        n_rows = len(next(iter(self.columns.values())))
        return np.arange(1, n_rows + 1) if self.lines is None else self.lines

    def numbers(self, names: Sequence[str], advice: str = LEAVE_OUT) -> Array:
        """Columns (K, n) of finite numbers; one of nothing but booleans holds 1 and 0.

        Raises:
            ValueError: if a column is unknown or holds anything else, with columns and rows.
        """
        check_known(self, names)
        return np.column_stack([*self._floats(names, missing=(), advice=advice).values()])

    def labels(self, name: str) -> Column:
        """A column (K,) as it stands; all cells of a text file are strings.

        Raises:
            ValueError: if the column is unknown or has missing values, with their rows.
        """
        check_known(self, [name])
        if self._holds_numbers(name):
            self._floats([name], missing=())
            return self.columns[name]
        self._refuse({name: self.missing([name])})
        cells = [cell.strip() for cell in self.cells(name)]
        check_size(self.path, 4 * max(map(len, cells)) * len(cells))  # NumPy pads to the longest
        return np.array(cells)

    def raw(
        self, names: Sequence[str], categories: Sequence[str] = (), numbers: Sequence[str] = ()
    ) -> dict[str, Column]:
        """Columns (K,) by name: numbers, NaN where one is missing, or objects, None there.

        Where most cells are numbers, all others must be missing; unless a column is among
        ``categories``. Those of ``numbers`` must hold nothing else.
        """
        check_known(self, [*names, *categories, *numbers])
        some = [n for n in names if n in numbers or (n not in categories and self._is_numeric(n))]
        found = self._floats(some)
        for name in names:
            if name not in found:
                cells = np.array(self.cells(name), dtype=object)
                cells[self.missing([name])] = None
                found[name] = cells
        return {name: found[name] for name in names}

    def missing(self, names: Sequence[str]) -> Mask:
        """Rows (K,) that lack one of these columns."""
        lost = [
            np.isnan(self.columns[name].astype(np.float64))
            if self._holds_numbers(name)
            else are(MISSING_LABELS, self.cells(name))
            for name in names
        ]
        return np.any(lost, axis=0)

    def take(self, rows: Mask) -> Table:
        """The table of some rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.rows[rows])

    def cells(self, name: str) -> list[Any]:
        """A column (K,) as Python values."""
        cells: list[Any] = self.columns[name].tolist()
        return cells

    def _holds_numbers(self, name: str) -> bool:
        return self.columns[name].dtype.kind in NUMERIC

    def _is_numeric(self, name: str) -> bool:
        """Whether most of what is not missing is a number, or all of it is a boolean."""
        if self._holds_numbers(name):
            return True
        cells = [cell for cell in self.cells(name) if cell.strip().lower() not in MISSING]
        if np.isfinite(to_floats(cells, self.decimal)).all():
            return True
        n_numbers = sum(kind_of(cell).startswith("numbers") for cell in cells)
        return 2 * n_numbers > len(cells) or bool(are(BOOLEANS, cells).all())

    def _floats(
        self, names: Sequence[str], missing: Collection[str] = MISSING, advice: str = LEAVE_OUT
    ) -> dict[str, Array]:
        """Columns (K,) of finite numbers, NaN where one is ``missing``, if that may be."""
        found, bad = {}, {}
        for name in names:
            if self._holds_numbers(name):
                values = self.columns[name].astype(np.float64)
                found[name], bad[name] = values, np.isnan(values) & (not missing)
            else:
                found[name], bad[name] = to_numbers(self.cells(name), self.decimal, missing)
            bad[name] = bad[name] | np.isinf(found[name])
        self._refuse(bad, advice)
        return found

    def _refuse(self, bad: Mapping[str, Mask], advice: str = LEAVE_OUT) -> None:
        """Raise if there are bad cells in columns, with their kinds and rows."""
        faults = []
        for name, chosen in bad.items():
            places = np.flatnonzero(chosen)
            cells, found = self.cells(name) if len(places) else [], defaultdict(list)
            for i, row in zip(places.tolist(), self.rows[places].tolist(), strict=True):
                kind = kind_of(str(cells[i]))
                says = "" if kind == MISSING_VALUES else f" ({str(cells[i])[:30]!r})"
                found[kind].append(f"row {row}{says}")
            faults += [
                f"column {name!r} has {kind} in {few(where, SHOWN)}"
                for kind, where in found.items()
            ]
        if faults:
            some = few(faults, SHOWN, "; ")
            raise ValueError(f"{self.path}: expected finite numbers, but {some}. {advice}")


def check_known(table: Table, names: Sequence[str]) -> None:
    """Raise unless a table has all these columns; the message names the nearest one."""
    for name in names:
        if name not in table.columns:
            near = nearest(name, table.names[:MAX_COMPARED])
            known = dict.fromkeys([*table.names[:SHOWN_NAMES], *near])  # not all of thousands
            raise unknown(f"column of {table.path.name}", name, known)


class TooLargeError(ValueError):
    """A file that would take too much memory."""


def check_size(path: Path, n_bytes: int) -> None:
    """Refuse it, whatever the file says about itself."""
    if n_bytes > MAX_BYTES:
        raise TooLargeError(
            f"{path} holds more than {MAX_BYTES / 2**30:.2g} GiB; a small network needs fewer "
            "rows, take a part of them."
        )
