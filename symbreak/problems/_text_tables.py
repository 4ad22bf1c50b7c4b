"""Tables in text files: CSV in its many dialects, read row by row so that memory is bounded."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array
from symbreak.problems._tables import (
    MAX_BYTES,
    TRUTHS,
    Faults,
    check_magic,
    check_names,
    find_columns,
    is_number,
    is_truth,
    short,
    too_large,
)

#: The csv module holds a whole row, so this bounds it.
MAX_ROW = 32 * 2**20
#: From these rows the dialect is recognised.
SAMPLE = 100
#: A file that expands by more than this factor holds no measurements, unless it is small.
MAX_EXPANSION, MIN_BYTES = 100, 64 * 2**20
#: What a label takes in memory, at least.
LABEL_BYTES = 64
#: In the order of preference, if nothing else decides.
DELIMITERS = {";": "';'", "\t": "tabs", "|": "'|'", ",": "','"}

Row = tuple[int, list[str]]


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table in a text file. Every reading goes through the file anew."""

    path: Path
    names: tuple[str, ...]
    named: bool
    delimiter: str

    @classmethod
    def open(cls, path: Path, header: bool | None) -> TextTable:
        """Recognise delimiter and header from the first rows."""
        delimiters = ["\t"] if ".tsv" in path.suffixes else list(DELIMITERS)
        samples = {delimiter: _sample(path, delimiter) for delimiter in delimiters}
        delimiter = max(samples, key=lambda each: _likelihood(samples[each], each))
        rows = [row for _, row in samples[delimiter]]
        if len(rows) < 2:
            rows = [row for _, row in islice(_rows(path, delimiter), 2)]  # or says why not
        named = _has_header(path, rows, delimiter) if header is None else header
        if len(rows) < 1 + named:
            found = "only that" if rows else "nothing"
            raise ValueError(
                f"{path} must have a header line and at least one sample, got {found}."
            )
        names = rows[0] if named else [f"x{i + 1}" for i in range(len(rows[0]))]
        return cls(path, check_names(path, names), named, delimiter)

    @property
    def targets(self) -> tuple[str, ...]:
        """The last column."""
        return self.names[-1:]

    @property
    def format(self) -> str:
        """Delimiter, decimal comma and header, as recognised."""
        comma = ", decimal comma" if self.decimal == "," else ""
        header = "" if self.named else ", no header"
        return f"text, separated by {DELIMITERS[self.delimiter]}{comma}{header}"

    @cached_property
    def decimal(self) -> str:
        """What the first number with a fraction has; a file with both is refused when read."""
        if self.delimiter == ",":
            return "."
        for _, row in self._samples():
            for cell in row:
                if "." in cell and is_number(cell):
                    return "."
                if "," in cell and is_number(cell.replace(",", ".", 1)):
                    return ","
        return "."

    def numbers(self, names: Sequence[str]) -> Array:
        """Columns (K, n) of finite numbers; those of nothing but truth values hold 1 and 0."""
        where = find_columns(self, names)
        truths = self._truths(where)
        values = array("d")
        for _, row in self._samples():
            cells = [row[i] for i in where]
            for j in truths:
                cells[j] = TRUTHS[cells[j].strip().lower()]
            if not _extend(values, cells, self.decimal):
                raise self._faults(where)
            if values.itemsize * len(values) > MAX_BYTES:
                raise too_large(self.path)
        matrix = np.frombuffer(values, dtype=np.float64).reshape(-1, len(where))
        if not np.isfinite(matrix).all():
            raise self._faults(where)
        return matrix

    def labels(self, name: str) -> NDArray[Any]:
        """A column of texts (K,)."""
        (where,) = find_columns(self, [name])
        known: dict[str, str] = {}  # equal labels share their memory
        cells: list[str] = []
        missing = Faults()
        for number, row in self._samples():
            cell = row[where].strip()
            cells.append(known.setdefault(cell, cell))
            if not cell:
                missing.note(name, number, cell)
            if LABEL_BYTES * len(cells) > MAX_BYTES:
                raise too_large(self.path)
        if "" in known:
            raise missing.error(self.path)
        if 4 * max(map(len, known)) * len(cells) > MAX_BYTES:  # NumPy pads all to the longest
            raise too_large(self.path)
        return np.array(cells)

    def _samples(self) -> Iterator[Row]:
        """All rows but the header, of the right length."""
        rows = _rows(self.path, self.delimiter)
        for number, row in islice(rows, int(self.named), None):
            if len(row) != len(self.names):
                raise ValueError(
                    f"{self.path}, row {number}: expected {len(self.names)} values, got {len(row)}."
                )
            yield number, row

    def _truths(self, where: Sequence[int]) -> list[int]:
        """Which of some columns hold nothing but truth values, as places in ``where``."""
        places = list(range(len(where)))
        for _, row in self._samples():
            places = [j for j in places if is_truth(row[where[j]])]
            if not places:
                break
        return places

    def _faults(self, where: Sequence[int]) -> ValueError:
        """The error that names all cells that are not finite numbers."""
        faults, numeric = Faults(), set()
        for number, row in self._samples():
            for i in where:
                if _is_finite(row[i], self.decimal):
                    numeric.add(i)
                else:
                    faults.note(self.names[i], number, row[i])
        for i in set(where) - numeric:
            faults.forgive_truths(self.names[i])
        return faults.error(self.path)


def _extend(values: array[float], cells: list[str], decimal: str) -> bool:
    """Add numbers; False if a cell is none, or has the other decimal sign."""
    joined = "".join(cells)
    if "_" in joined or (decimal == "," and "." in joined):
        return False
    if decimal == ",":
        cells = [cell.replace(",", ".", 1) for cell in cells]
    try:
        values.extend(map(float, cells))
    except ValueError:
        return False
    return True


def _is_finite(cell: str, decimal: str) -> bool:
    values = array("d")
    return _extend(values, [cell], decimal) and math.isfinite(values[0])


class _DialectError(ValueError):
    """Not CSV in this dialect."""


def _sample(path: Path, delimiter: str) -> list[Row]:
    """The first rows, as far as they can be read with this delimiter."""
    rows: list[Row] = []
    with suppress(_DialectError):
        rows.extend(islice(_rows(path, delimiter), SAMPLE))
    return rows


def _rows(path: Path, delimiter: str) -> Iterator[Row]:
    """Rows with their line numbers; blank ones are left out."""
    with _open_text(path) as file:
        lines = _Lines(path, file)
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for row in reader:
                lines.in_row = 0
                if any(map(str.strip, row)):
                    yield reader.line_num, row
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8; save it as UTF-8.") from None
        except csv.Error as error:
            raise _DialectError(f"{path}, row {reader.line_num}: bad CSV ({error}).") from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip archive ({error}).") from None


class _Lines:
    """The lines of a file, with a bound on a row and on all of them."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path, self._file = path, file
        expanded = max(MAX_EXPANSION * path.stat().st_size, MIN_BYTES)
        self._limit = min(expanded, MAX_BYTES) if path.suffix == ".gz" else MAX_BYTES
        self.in_row = self.in_all = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(MAX_ROW + 1)
        if not line:
            raise StopIteration
        self.in_row += len(line)
        self.in_all += len(line)
        if self.in_row > MAX_ROW:
            raise ValueError(f"{self._path} has a row of more than {MAX_ROW >> 20} MiB.")
        if self.in_all > self._limit:
            raise too_large(self._path, self._limit)
        return line


def _open_text(path: Path) -> TextIO:
    """A text file, compressed or not, in UTF-8 or, if it says so, UTF-16."""
    if path.stat().st_size > MAX_BYTES:
        raise too_large(path)
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            start = file.read(16)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a gzip archive, or damaged ({error}).") from None
    check_magic(path, start)
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if wide else "utf-8-sig"
    if packed:
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def _likelihood(rows: list[Row], delimiter: str) -> tuple[bool, float, int]:
    """How well a delimiter explains the first rows: equally long, and full of numbers."""
    sizes = {len(row) for _, row in rows}
    cells = [cell for _, row in rows[1:] for cell in row]
    share = sum(_is_number(cell, delimiter) for cell in cells) / max(len(cells), 1)
    several = max(sizes, default=0) > 1
    return several and len(sizes) == 1, share if several else 0, max(sizes, default=0)


def _is_number(cell: str, delimiter: str) -> bool:
    """Whether a cell is a number, perhaps with a decimal comma, or stands for one."""
    if is_number(cell) or is_truth(cell):
        return True
    return delimiter != "," and is_number(cell.replace(",", ".", 1))


def _has_header(path: Path, rows: list[list[str]], delimiter: str) -> bool:
    """Whether the first row names the columns: it does if text stands above numbers."""
    if not rows:
        return True
    first = [_is_number(cell, delimiter) for cell in rows[0]]
    if all(first):
        return False
    below = [
        all(_is_number(cell, delimiter) for cell in column)
        for column in zip(*rows[1:], strict=False)
    ]
    above_numbers = any(below[i] and not number for i, number in enumerate(first[: len(below)]))
    if above_numbers or not any(first):
        return True
    fractions = any("." in cell or "," in cell for cell, n in zip(rows[0], first, strict=True) if n)
    if fractions:  # nobody calls a column 5.1
        return False
    raise ValueError(
        f"{path}: the first line may be names or a sample, {', '.join(short(rows[0]))}; name the "
        "columns in words, or say whether there is a header."
    )
