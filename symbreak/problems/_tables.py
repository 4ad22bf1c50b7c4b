"""The columns of a data file in memory: as numbers, as labels, or a message on what is wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from symbreak._support.checks import Array, IntArray, Mask, nearest, unknown
from symbreak.problems._cells import (
    BOOLEANS,
    MISSING,
    MISSING_LABELS,
    MISSING_VALUES,
    NUMERIC,
    Column,
    are,
    is_boolean,
    kind_of,
    short,
    to_floats,
)

#: Neither an expanded file nor a table may be larger.
MAX_BYTES = 2 * 2**30
LEAVE_OUT = (
    "Correct these, leave the column out (ignore, --ignore), or name it (categories, --categories)."
)
#: So many names are listed; and among so many a message looks for a similar one.
SHOWN_NAMES, MAX_COMPARED = 20, 1_000


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
            else are(MISSING_LABELS, self.cells(name))
            for name in names
        ]
        return np.any(lost, axis=0)

    def take(self, rows: Mask) -> Table:
        """The table of some rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.rows[rows])

    def cells(self, name: str) -> list[Any]:
        """A column (K,) as Python values, none of them bytes."""
        cells = self.columns[name].tolist()
        try:
            return [cell.decode() if isinstance(cell, bytes) else cell for cell in cells]
        except UnicodeDecodeError:
            raise ValueError(f"{self.path}: column {name!r} is not text in UTF-8.") from None

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
        lost, booleans = gaps & are(MISSING, cells), are(BOOLEANS, cells)
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


def check_known(table: Table, names: Sequence[str]) -> None:
    """Raise unless a table has all these columns; the message names the nearest one."""
    for name in names:
        if name not in table.columns:
            near = nearest(name, table.names[:MAX_COMPARED])
            known = dict.fromkeys([*table.names[:SHOWN_NAMES], *near])  # not all of thousands
            raise unknown(f"column of {table.path.name}", name, known)


class TooLargeError(ValueError):
    """A file that would take too much memory."""


def too_large(path: Path) -> TooLargeError:
    """What to say of it."""
    return TooLargeError(
        f"{path} holds more than {MAX_BYTES / 2**30:.2g} GiB; a small network needs fewer rows, "
        "take a part of them."
    )
