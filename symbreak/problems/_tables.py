"""The columns of a data file in memory: as numbers, as labels, or a message on what is wrong."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array, IntArray, Mask, check_width, shown, unknown

Column = NDArray[Any]

#: Neither an expanded file nor a table may be larger.
MAX_BYTES = 2 * 2**30
LEAVE_OUT = (
    "Correct these, leave the column out (ignore, --ignore), or name it (categories, --categories)."
)
#: How many rows, columns and so on a message names.
SHOWN = 3
SHOWN_NAMES, MAX_COMPARED = 20, 1_000

MISSING = {"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", ".", "#n/a", "missing"}
#: Those of them that nobody would call a class.
MISSING_LABELS = {"", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"}
#: How text files write booleans, in any case.
BOOLEANS = {"true": 1.0, "false": 0.0}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([ _'.,\u00a0\u202f]\d{3})+([.,]\d*)?")


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

    def numbers(self, names: Sequence[str], advice: str = LEAVE_OUT) -> Array:
        """Columns (K, n) of finite numbers; one of nothing but booleans holds 1 and 0.

        Raises:
            ValueError: if a column is unknown or holds anything else, with columns and rows.
        """
        check_known(self, names)
        faults = Faults()
        numbers = [self._numbers(name, faults) for name in names]
        faults.check(self.path, advice)
        return np.column_stack(numbers)

    def labels(self, name: str) -> Column:
        """A column (K,) as it stands; all cells of a text file are strings.

        Raises:
            ValueError: if the column is unknown or has missing values, with their rows.
        """
        check_known(self, [name])
        faults = Faults()
        column = self.columns[name]
        if column.dtype.kind in "biuf":
            self._numbers(name, faults)
        else:
            cells = [cell.strip() for cell in self.cells(name)]
            missing = np.array([cell.lower() in MISSING_LABELS for cell in cells])
            faults.note(name, self._rows(missing), itertools.repeat(""))
            if 4 * max(map(len, cells)) * len(cells) > MAX_BYTES:  # NumPy pads all to the longest
                raise too_large(self.path)
            column = np.array(cells)
        faults.check(self.path, LEAVE_OUT)
        return column

    def raw(
        self, names: Sequence[str], categories: Sequence[str] = (), numbers: Sequence[str] = ()
    ) -> dict[str, Column]:
        """Columns (K,) by name: numbers, NaN where one is missing, or objects, None there.

        Where most cells are numbers, all others must be missing; unless a column is among
        ``categories``. Those of ``numbers`` must hold nothing else.

        Raises:
            ValueError: if a column is unknown, or has what is no number among numbers.
        """
        check_known(self, [*names, *categories, *numbers])
        faults = Faults()
        columns = {
            name: self._numbers(name, faults, gaps=True)
            if name in numbers or (name not in categories and self._is_numeric(name))
            else self._texts(name)
            for name in names
        }
        faults.check(self.path, LEAVE_OUT)
        return columns

    def _is_numeric(self, name: str) -> bool:
        if self.columns[name].dtype.kind in "biuf":
            return True
        cells = [cell for cell in self.cells(name) if cell.strip().lower() not in MISSING]
        n_numbers = np.isfinite(to_floats(cells, self.decimal)).sum()
        points = sum(kind_of(cell).startswith("numbers") for cell in cells)
        return bool(2 * max(n_numbers, points) > len(cells)) or all(map(is_boolean, cells))

    def _texts(self, name: str) -> Column:
        cells = np.array(self.cells(name), dtype=object)
        if self.columns[name].dtype.kind not in "biuf":
            cells[[cell.strip().lower() in MISSING_LABELS for cell in cells]] = None
        return cells

    def missing(self, names: Sequence[str]) -> Mask:
        """Rows (K,) that lack one of these columns."""
        lost = np.zeros(len(next(iter(self.columns.values()))), dtype=np.bool_)
        for name in names:
            column = self.columns[name]
            numeric = column.dtype.kind in "biuf"
            lost |= (
                np.isnan(column.astype(np.float64))
                if numeric
                else np.array([cell.strip().lower() in MISSING_LABELS for cell in self.cells(name)])
            )
        return lost

    def take(self, rows: Mask) -> Table:
        """The table of some rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        lines = np.arange(1, len(rows) + 1) if self.lines is None else self.lines
        return replace(self, columns=columns, lines=lines[rows])

    def _numbers(self, name: str, faults: Faults, gaps: bool = False) -> Array:
        """A column (K,); what is no finite number in it is added to the faults.

        With ``gaps``, missing cells are none.
        """
        column = self.columns[name]
        if column.dtype.kind in "biuf":
            values = column.astype(np.float64)
            bad = ~(np.isfinite(values) | (gaps & np.isnan(values)))
            faults.note(name, self._rows(bad), map(str, values[bad]))
            return values
        cells = self.cells(name)
        lost = np.array([gaps and cell.strip().lower() in MISSING for cell in cells])
        if all(is_boolean(cell) or no for cell, no in zip(cells, lost, strict=True)):
            return np.array([BOOLEANS.get(cell.strip().lower(), math.nan) for cell in cells])
        values = to_floats(cells, self.decimal)
        bad = ~np.isfinite(values) & ~lost
        if bad.all():  # booleans are no fault of a column without numbers
            bad = np.array([not is_boolean(cell) for cell in cells])
        faults.note(name, self._rows(bad), (cells[i] for i in np.flatnonzero(bad)))
        return values

    def cells(self, name: str) -> list[Any]:
        """A column (K,) as Python values, none of them bytes."""
        cells = self.columns[name].tolist()
        try:
            return [cell.decode() if isinstance(cell, bytes) else cell for cell in cells]
        except UnicodeDecodeError:
            raise ValueError(f"{self.path}: column {name!r} is not text in UTF-8.") from None

    def _rows(self, chosen: Mask) -> list[int]:
        """Where some samples stand in the file."""
        places = np.flatnonzero(chosen)
        rows: list[int] = (places + 1 if self.lines is None else self.lines[places]).tolist()
        return rows


def check_known(table: Table, names: Sequence[str]) -> None:
    """Raise unless a table has all these columns; the message names the nearest one."""
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"names must be a list of columns, at least one, got {shown(names)}.")
    for name in names:
        if not isinstance(name, str) or name not in table.columns:
            near = difflib.get_close_matches(shown(name), table.names[:MAX_COMPARED])
            known = dict.fromkeys([*table.names[:SHOWN_NAMES], *near])  # not all of thousands
            raise unknown(f"column of {table.path.name}", name, known)


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once; a column without a name is called by its number."""
    check_width(str(path), len(names))
    full = [name.strip() or f"column {i}" for i, name in enumerate(names, start=1)]
    for name, n in Counter(full).items():
        if n > 1:
            raise ValueError(f"{path}: columns must have different names, got {name!r} twice.")
    return tuple(full)


def too_large(path: Path, limit: int = MAX_BYTES) -> ValueError:
    """The error for a file that would take too much memory."""
    return ValueError(
        f"{path} holds more than {limit / 2**30:.2g} GiB; a small network needs fewer rows, "
        "take a part of them."
    )


def short(items: Sequence[Any], limit: int = SHOWN) -> list[str]:
    """The first few items as strings, and how many more there are."""
    first = [str(item) for item in items[:limit]]
    return [*first, f"{len(items) - limit:,} more"] if len(items) > limit else first


class Faults:
    """What is wrong in which columns and rows, for one message about all of it."""

    def __init__(self) -> None:
        #: By column and kind of fault: the first rows with their cells, and how many there are.
        self._places: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, column: str, rows: Iterable[int], cells: Iterable[str]) -> None:
        """Cells of a column that are not finite numbers, and their rows."""
        for row, cell in zip(rows, cells, strict=False):
            key = column, kind_of(cell)
            self._counts[key] += 1
            if self._counts[key] <= SHOWN:
                self._places[key].append((row, cell))

    def check(self, path: Path, advice: str) -> None:
        """Raise if there are any."""
        parts = [
            f"column {column!r} has {kind} in {self._where(column, kind)}"
            for column, kind in self._counts
        ]
        if parts:
            some = "; ".join(short(parts))
            raise ValueError(f"{path}: expected finite numbers, but {some}. {advice}")

    def _where(self, column: str, kind: str) -> str:
        says = kind != "missing values"
        rows = [
            f"row {row} ({cell[:30]!r})" if says else f"row {row}"
            for row, cell in self._places[column, kind]
        ]
        n = self._counts[column, kind]
        return ", ".join([*rows, f"{n - SHOWN:,} more"] if n > SHOWN else rows)


def kind_of(cell: str) -> str:
    """What a cell holds that is not a finite number, in words."""
    text = cell.strip().lower()
    if text in MISSING:
        return "missing values"
    if is_boolean(text):
        return "booleans"
    if DATE.fullmatch(text):
        return "dates or times"
    if is_number(text):
        return "numbers with a decimal point" if math.isfinite(float(text)) else "infinite numbers"
    if THOUSANDS.fullmatch(text) or ("_" in text and _converts(text)):
        return "numbers with separators"
    return "numbers with a decimal comma" if is_number(text.replace(",", ".", 1)) else "text"


def is_boolean(cell: str) -> bool:
    """Whether a string is a boolean."""
    return cell.strip().lower() in BOOLEANS


def is_number(text: str) -> bool:
    """Whether a string is a number; Python's underscores do not count."""
    return "_" not in text and _converts(text)


def to_floats(cells: Sequence[str], decimal: str) -> Array:
    """Strings as numbers (K,), exactly as Python reads them; NaN where one is no number."""
    if decimal == ",":
        cells = ["" if "." in cell else cell.replace(",", ".", 1) for cell in cells]
    try:
        if not any("_" in cell for cell in cells):
            return np.array([float(cell) for cell in cells])
    except ValueError:
        pass
    return np.array([float(cell) if is_number(cell) else math.nan for cell in cells])


def _converts(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
