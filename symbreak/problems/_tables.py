"""What all tables share: columns by name, bounds, and messages about what is wrong with them.

Nothing in a file can execute code, and nothing in it decides how much memory reading it takes.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from symbreak._support.checks import Array, IntArray, shown, unknown

#: Neither an expanded file nor a table may be larger.
MAX_BYTES = 2 * 2**30
#: How many rows, columns and so on a message names.
SHOWN = 3
SHOWN_NAMES, MAX_COMPARED = 20, 1_000

MISSING = {"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", ".", "#n/a", "missing"}
#: Those of them that nobody would call a class.
MISSING_LABELS = {"", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"}
#: How a text file says truth values, in any case, and the numbers that they are.
TRUTHS = {"true": "1", "false": "0"}
TRUTH_VALUES = "truth values"
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([ _'.,\u00a0\u202f]\d{3})+([.,]\d*)?")

MAGIC = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a parquet file",
    b"\x93NUMPY": "a single NumPy array (.npy)",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}


class Table(Protocol):
    """Columns of a data file, read when they are asked for."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the file."""

    @property
    def named(self) -> bool:
        """Whether the file names them itself."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to predict if nobody says otherwise."""

    @property
    def format(self) -> str:
        """How the file was understood, in a few words."""

    def numbers(self, names: Sequence[str]) -> Array:
        """Columns (K, n) of finite numbers, or a ValueError that names columns and rows."""

    def labels(self, name: str) -> NDArray[Any]:
        """A column (K,) as it stands; in a text file all entries are texts."""


def find_columns(table: Table, names: Sequence[str]) -> list[int]:
    """Where columns are in a table; a ValueError names the nearest one."""
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"names must be a list of columns, at least one, got {shown(names)}.")
    places = {name: i for i, name in enumerate(table.names)}
    for name in names:
        if not isinstance(name, str) or name not in places:
            near = difflib.get_close_matches(shown(name), table.names[:MAX_COMPARED])
            known = dict.fromkeys([*table.names[:SHOWN_NAMES], *near])  # not all of thousands
            raise unknown(f"column of {table.path.name}", name, known)
    return [places[name] for name in names]


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once; a column without a name is called by its number."""
    full = [name.strip() or f"column {i}" for i, name in enumerate(names, start=1)]
    seen: set[str] = set()
    for name in full:
        if name in seen:
            raise ValueError(f"{path}: columns must have different names, got {name!r} twice.")
        seen.add(name)
    return tuple(full)


def too_large(path: Path, limit: int = MAX_BYTES) -> ValueError:
    """The error for a file that would take too much memory."""
    return ValueError(
        f"{path} holds more than {limit / 2**30:.2g} GiB; a small network needs fewer rows, "
        "take a part of them."
    )


def short(items: Sequence[Any], limit: int = SHOWN) -> list[str]:
    """The first few items as texts, and how many more there are."""
    first = [str(item) for item in items[:limit]]
    return [*first, f"{len(items) - limit:,} more"] if len(items) > limit else first


def check_magic(path: Path, start: bytes) -> None:
    """Refuse a file of another kind under the name of a text file."""
    for magic, kind in MAGIC.items():
        if start.startswith(magic):
            raise ValueError(f"{path} is {kind}, not a text file with columns; rename or save it.")


@dataclass
class _Fault:
    """Cells of one column that have the same fault."""

    n: int = 0
    rows: list[int] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)


class BadCellsError(ValueError):
    """Cells that are not finite numbers: ``what`` names them, and an advice follows.

    Their ``faults`` can be joined with others.
    """

    def __init__(self, what: str, advice: str, faults: Faults) -> None:
        super().__init__(what, advice, faults)  # all, so that it can be pickled
        self.what, self.advice, self.faults = what, advice, faults

    def __str__(self) -> str:
        return f"{self.what} {self.advice}"


class Faults:
    """What is wrong in which columns and rows, for one message about all of it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Fault] = defaultdict(_Fault)

    def __bool__(self) -> bool:
        return bool(self._found)

    def note(self, column: str, row: int, cell: str) -> None:
        """A cell that is not a finite number."""
        fault = self._found[column, kind_of(cell)]
        fault.n += 1
        if len(fault.rows) < SHOWN:
            fault.rows.append(row)
            fault.cells.append(cell)

    def note_rows(self, column: str, rows: Sequence[int] | IntArray, cell: str) -> None:
        """The same cell in several rows."""
        if len(rows):
            fault = self._found[column, kind_of(cell)]
            fault.n += len(rows)
            fault.rows = [int(row) for row in rows[:SHOWN]]
            fault.cells = [cell] * len(fault.rows)

    def note_column(self, column: str, kind: str) -> None:
        """A column that has no numbers at all."""
        self._found[column, kind].n = 0

    def forgive_truths(self, column: str) -> None:
        """Truth values are no fault of a column that has no numbers."""
        self._found.pop((column, TRUTH_VALUES), None)

    def add(self, others: Faults) -> None:
        """Those of other columns."""
        self._found.update(others._found)

    def error(self, path: Path) -> BadCellsError:
        """The error that names them."""
        parts = [
            f"column {column!r} has {kind}{_places(fault, kind)}"
            for (column, kind), fault in self._found.items()
        ]
        some = short(parts)
        return BadCellsError(
            f"{path}: expected finite numbers, but {'; '.join(some)}.",
            "Remove or encode these, or leave the column out (ignore, --ignore).",
            self,
        )


def _places(fault: _Fault, kind: str) -> str:
    if not fault.n:
        return ""
    says = kind != "missing values"
    cells = [
        f"row {row} ({cell[:30]!r})" if says else f"row {row}"
        for row, cell in zip(fault.rows, fault.cells, strict=True)
    ]
    more = [f"{fault.n - SHOWN:,} more"] if fault.n > SHOWN else []
    return f" in {', '.join([*cells, *more])}"


def kind_of(cell: str) -> str:
    """What a cell holds that is not a finite number, in words."""
    text = cell.strip().lower()
    if text in MISSING:
        return "missing values"
    if is_truth(text):
        return TRUTH_VALUES
    if DATE.fullmatch(text):
        return "dates or times"
    if is_number(text):
        return "numbers with a decimal point" if math.isfinite(float(text)) else "infinite numbers"
    if THOUSANDS.fullmatch(text) or ("_" in text and _converts(text)):
        return "numbers with separators"
    return "numbers with a decimal comma" if is_number(text.replace(",", ".", 1)) else "text"


def is_missing_label(label: str) -> bool:
    """Whether a text in place of a class says that there is none."""
    return label.strip().lower() in MISSING_LABELS


def is_truth(cell: str) -> bool:
    """Whether a cell of a text file is a truth value."""
    return cell.strip().lower() in TRUTHS


def is_number(text: str) -> bool:
    """Whether a text is a number; Python's underscores do not count."""
    return "_" not in text and _converts(text)


def _converts(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
