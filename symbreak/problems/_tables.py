"""The columns of a data file in memory: as numbers, as labels, or a message on what is wrong."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
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
        found = {name: self._numbers(name) for name in names}
        self._refuse({name: bad for name, (_, bad) in found.items()}, advice)
        return np.column_stack([values for values, _ in found.values()])

    def labels(self, name: str) -> Column:
        """A column (K,) as it stands; all cells of a text file are strings.

        Raises:
            ValueError: if the column is unknown or has missing values, with their rows.
        """
        check_known(self, [name])
        column = self.columns[name]
        if column.dtype.kind in NUMERIC:
            self._refuse({name: self._numbers(name)[1]})
            return column
        self._refuse({name: self.missing([name])})
        cells = [cell.strip() for cell in self.cells(name)]
        if 4 * max(map(len, cells)) * len(cells) > MAX_BYTES:  # NumPy pads all to the longest
            raise too_large(self.path)
        return np.array(cells)

    def raw(
        self, names: Sequence[str], categories: Sequence[str] = (), numbers: Sequence[str] = ()
    ) -> dict[str, Column]:
        """Columns (K,) by name: numbers, NaN where one is missing, or objects, None there.

        Where most cells are numbers, all others must be missing; unless a column is among
        ``categories``. Those of ``numbers`` must hold nothing else.
        """
        check_known(self, [*names, *categories, *numbers])
        columns, bad = {}, {}
        for name in names:
            if name in numbers or (name not in categories and self._is_numeric(name)):
                columns[name], bad[name] = self._numbers(name, gaps=True)
            else:
                columns[name] = np.array(self.cells(name), dtype=object)
                if self.columns[name].dtype.kind not in NUMERIC:
                    columns[name][self.missing([name])] = None
        self._refuse(bad)
        return columns

    def missing(self, names: Sequence[str]) -> Mask:
        """Rows (K,) that lack one of these columns."""
        lost = [
            np.isnan(self.columns[name].astype(np.float64))
            if self.columns[name].dtype.kind in NUMERIC
            else _are(MISSING_LABELS, self.cells(name))
            for name in names
        ]
        return np.any(lost, axis=0)

    def take(self, rows: Mask) -> Table:
        """The table of some rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.rows[rows])

    def _is_numeric(self, name: str) -> bool:
        """Whether most of what is not missing is a number, or all of it is a boolean."""
        if self.columns[name].dtype.kind in NUMERIC:
            return True
        cells = [cell for cell in self.cells(name) if cell.strip().lower() not in MISSING]
        if np.isfinite(to_floats(cells, self.decimal)).all():
            return True
        n_numbers = sum(kind_of(cell).startswith("numbers") for cell in cells)
        return 2 * n_numbers > len(cells) or all(map(is_boolean, cells))

    def _numbers(self, name: str, gaps: bool = False) -> tuple[Array, Mask]:
        """A column (K,), and which of its cells are no finite numbers, or ``gaps`` that may be."""
        column = self.columns[name]
        if column.dtype.kind in NUMERIC:
            values = column.astype(np.float64)
            return values, ~(np.isfinite(values) | (gaps & np.isnan(values)))
        cells = self.cells(name)
        lost, booleans = gaps & _are(MISSING, cells), _are(BOOLEANS, cells)
        if (lost | booleans).all():
            values = np.array([BOOLEANS.get(cell.strip().lower(), math.nan) for cell in cells])
            return values, np.zeros(len(cells), dtype=np.bool_)
        values = to_floats(cells, self.decimal)
        bad = ~np.isfinite(values) & ~lost
        return values, bad & ~booleans if bad.all() else bad  # then they are no fault

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
                f"column {name!r} has {kind} in {', '.join(short(where))}"
                for kind, where in found.items()
            ]
        if faults:
            some = "; ".join(short(faults))
            raise ValueError(f"{self.path}: expected finite numbers, but {some}. {advice}")

    def cells(self, name: str) -> list[Any]:
        """A column (K,) as Python values, none of them bytes."""
        cells = self.columns[name].tolist()
        try:
            return [cell.decode() if isinstance(cell, bytes) else cell for cell in cells]
        except UnicodeDecodeError:
            raise ValueError(f"{self.path}: column {name!r} is not text in UTF-8.") from None


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


def kind_of(cell: str) -> str:
    """What a cell holds that is not a finite number, in words."""
    text = cell.strip().lower()
    if text in MISSING:
        return MISSING_VALUES
    if is_boolean(text):
        return "booleans"
    if DATE.fullmatch(text):
        return "dates or times"
    if is_number(text):
        return "numbers with a decimal point" if math.isfinite(float(text)) else "infinite numbers"
    if THOUSANDS.fullmatch(text) or is_number(text.replace("_", "")):
        return "numbers with separators"
    return "numbers with a decimal comma" if is_number(text.replace(",", ".", 1)) else "text"


def _are(words: Collection[str], cells: Sequence[str]) -> Mask:
    """Which cells are one of these words, in any case."""
    return np.array([cell.strip().lower() in words for cell in cells], dtype=np.bool_)


def is_boolean(cell: str) -> bool:
    """Whether a string is a boolean."""
    return cell.strip().lower() in BOOLEANS


def is_number(text: str) -> bool:
    """Whether a string is a number; Python's underscores do not count."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


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
