"""Tables in text files: CSV in its many dialects, read row by row so that memory is bounded."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array
from symbreak.problems._tables import (
    MAX_BYTES,
    MISSING,
    TRUTHS,
    Faults,
    check_names,
    find_columns,
    is_missing_label,
    is_number,
    is_truth,
    short,
    too_large,
)
from symbreak.problems._text_rows import (
    DELIMITERS,
    DialectError,
    Preamble,
    Row,
    read_preamble,
    rows_of,
    split_line,
)

#: From these rows the dialect is recognised.
SAMPLE = 100
#: No number between blanks ends like this.
OTHERS = (";", "|", ",")
#: What a label takes in memory, at least.
LABEL_BYTES = 64


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table in a text file. Every reading goes through the file anew."""

    path: Path
    names: tuple[str, ...]
    named: bool
    delimiter: str
    preamble: Preamble
    names_in_comment: bool

    @classmethod
    def open(cls, path: Path, header: bool | None) -> TextTable:
        """Recognise delimiter and header from the first rows."""
        preamble = read_preamble(path)
        delimiters = ["\t"] if ".tsv" in path.suffixes else list(DELIMITERS)
        if preamble.delimiter:
            delimiters = [preamble.delimiter]
        samples = {delimiter: _sample(path, delimiter, preamble) for delimiter in delimiters}
        delimiter = _likeliest(samples)
        rows = [row for _, row in samples[delimiter]]
        if len(rows) < 2:  # or says why not
            rows = [row for _, row in islice(rows_of(path, delimiter, preamble.n_lines), 2)]
        names = [] if header is False else _names_in_comment(preamble, rows, delimiter)
        named = bool(names) or (_has_header(path, rows, delimiter) if header is None else header)
        if len(rows) < 1 + (named and not names):
            nothing = "only comments" if preamble.n_comments else "nothing"
            raise ValueError(
                f"{path} must have a header line and at least one sample, got "
                f"{'only that' if rows else nothing}."
            )
        first = rows[0] if named else [f"x{i + 1}" for i in range(len(rows[0]))]
        found = check_names(path, names or first)
        return cls(path, found, named, delimiter, preamble, bool(names))

    @property
    def targets(self) -> tuple[str, ...]:
        """The last column."""
        return self.names[-1:]

    @property
    def format(self) -> str:
        """Delimiter, decimal comma and header, as recognised, and what was skipped."""
        said = " as its first line says" if self.preamble.delimiter else ""
        separated = f"separated by {DELIMITERS[self.delimiter]}{said}"
        words = ["text", "a single column" if len(self.names) == 1 else separated]
        if self.decimal == ",":
            words.append("decimal comma")
        if not self.named:
            words.append("no header")
        if self.names_in_comment:
            words.append("names in a comment")
        if n := self.preamble.n_comments - self.names_in_comment:
            words.append(f"{n:,} line{'s' if n > 1 else ''} of comments skipped")
        return ", ".join(words)

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
            if is_missing_label(cell):
                missing.note(name, number, "")
            if LABEL_BYTES * len(cells) > MAX_BYTES:
                raise too_large(self.path)
        if missing:
            raise missing.error(self.path)
        if 4 * max(map(len, known)) * len(cells) > MAX_BYTES:  # NumPy pads all to the longest
            raise too_large(self.path)
        return np.array(cells)

    def _samples(self) -> Iterator[Row]:
        """All rows but the header, of the right length."""
        rows = rows_of(self.path, self.delimiter, self.preamble.n_lines)
        for number, row in islice(rows, int(self.named and not self.names_in_comment), None):
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


def _sample(path: Path, delimiter: str, preamble: Preamble) -> list[Row]:
    """The first rows, as far as they can be read with this delimiter."""
    rows: list[Row] = []
    with suppress(DialectError):
        rows.extend(islice(rows_of(path, delimiter, preamble.n_lines), SAMPLE))
    return rows


def _likeliest(samples: Mapping[str, list[Row]]) -> str:
    """The delimiter that explains the first rows best."""
    likely = {delimiter: _likelihood(rows, delimiter) for delimiter, rows in samples.items()}
    if likely.get("\t", (False,))[0]:
        likely.pop(" ", None)  # texts between tabs may hold blanks
    return max(likely, key=likely.__getitem__)


def _likelihood(rows: list[Row], delimiter: str) -> tuple[bool, float, int]:
    """How well a delimiter explains the first rows: equally long, and full of numbers."""
    sizes = {len(row) for _, row in rows} or {0}
    # Blanks in some rows only, such as the first, are within cells.
    n_cells = min(sizes) if delimiter == " " else max(sizes)
    if n_cells < 2:
        return False, 0.0, n_cells
    cells = [cell for _, row in rows[1:] for cell in row]
    share = sum(_is_number(cell, delimiter) for cell in cells) / max(len(cells), 1)
    return len(sizes) == 1, share, n_cells


def _is_number(cell: str, delimiter: str) -> bool:
    """Whether a cell is a number, perhaps with a decimal comma, or stands for one."""
    if delimiter == " " and cell.endswith(OTHERS):
        return False  # between blanks, 1, is no number but the start of 1, 2
    if is_number(cell) or is_truth(cell):
        return True
    return delimiter != "," and is_number(cell.replace(",", ".", 1))


def _names_in_comment(preamble: Preamble, rows: list[list[str]], delimiter: str) -> list[str]:
    """Names of the columns in the last comment, as NumPy writes them; none if it is no header.

    It has a word for every column, all different, and the first row is not a header itself.
    """
    names = split_line(preamble.last_comment, delimiter)
    different = len({name.strip() for name in names}) == len(names) > 1
    if not different or not rows or len(names) != len(rows[0]):
        return []
    if all(_is_number(name, delimiter) for name in names) or _names_columns(rows, delimiter):
        return []
    return [names[0].strip() or "#", *names[1:]]


def _has_header(path: Path, rows: list[list[str]], delimiter: str) -> bool:
    """Whether the first row names the columns; a ValueError if it may be either."""
    named = _names_columns(rows, delimiter)
    if named is None:
        raise ValueError(
            f"{path}: the first line may be names or a sample, {', '.join(short(rows[0]))}; name "
            "the columns in words, or say whether there is a header."
        )
    return named


def _names_columns(rows: list[list[str]], delimiter: str) -> bool | None:
    """Whether the first row names the columns: it does if text stands above numbers.

    What says that a value is missing is no such text. None if it may be either.
    """
    if not rows:
        return True
    first = [_is_number(cell, delimiter) for cell in rows[0]]
    if all(first):
        return False
    texts = [cell.strip().lower() not in MISSING for cell in rows[0]]
    below = [
        all(_is_number(cell, delimiter) for cell in column)
        for column in zip(*rows[1:], strict=False)
    ]
    known = zip(first, texts, below, strict=False)
    if any(text and numbers and not number for number, text, numbers in known) or not any(first):
        return True
    fractions = any("." in cell or "," in cell for cell, n in zip(rows[0], first, strict=True) if n)
    return False if fractions else None  # nobody calls a column 5.1
