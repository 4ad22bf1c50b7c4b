"""Text as a table, in its many dialects."""

from __future__ import annotations

import csv
import gzip
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.dtypes import StringDType

from symbreak._support.checks import IntArray, check_width, shown
from symbreak._support.words import counted, few
from symbreak.problems._tables import (
    BOOLEANS,
    MAX_BYTES,
    MISSING,
    SHOWN,
    Column,
    Table,
    TooLargeError,
    check_size,
    is_number,
)

#: What may separate the cells of a row, in the order of preference if nothing else decides. A blank
#: is any run of spaces and tabs.
DELIMITERS = {";": "';'", "\t": "tabs", "|": "'|'", ",": "','", " ": "blanks"}
#: The line by which a file tells Excel its delimiter, which is recognised anyway.
SAYS_DELIMITER = re.compile(r'"?sep=.?"?', re.IGNORECASE)
#: From these rows the dialect is recognised.
SAMPLE = 100
#: No number between blanks ends like this.
OTHERS = (";", "|", ",")
#: Cells that are Python strings at a time; an array of strings takes a fourth of their memory.
BLOCK, CELL_BYTES = 2**16, 16
MAGIC = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a parquet file",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls)",
}
#: Number of the line, and cells.
Row = tuple[int, list[str]]


@contextmanager
def is_read_as(path: Path, kind: str) -> Iterator[None]:
    """Say that a file is damaged, for which readers raise whatever Python does."""
    try:
        yield
    except TooLargeError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not {kind}, or is damaged ({str(error)[:200]}).") from None


def checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once; a column without a name is called by its number."""
    check_width(str(path), len(names))
    full = [name.strip() or f"column {i}" for i, name in enumerate(names, start=1)]
    for name, n in Counter(full).items():
        if n > 1:
            raise ValueError(f"{path}: columns must have different names, got {name!r} twice.")
    return tuple(full)


def read_text_file(path: Path, header: bool | None, encoding: str | None) -> Table:
    """The table of a file that has no other format by its name."""
    delimiters = "\t" if ".tsv" in path.name.lower() else "".join(DELIMITERS)
    return read_text(path, _decoded(path, _content(path), encoding), delimiters, header)


def _content(path: Path) -> bytes:
    """The bytes of a text file, expanded if it is compressed."""
    if path.suffix.lower() == ".gz":
        with is_read_as(path, "a gzip archive"), gzip.open(path) as archive:
            content = archive.read(MAX_BYTES + 1)
    else:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    check_size(path, len(content))
    for magic, kind in MAGIC.items():
        if content.startswith(magic):
            raise ValueError(f"{path} is {kind}, not a text file with columns; rename or save it.")
    return content


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    """Text in this encoding, or else in UTF-8 or, if it says so, UTF-16."""
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    said = encoding or ("utf-16" if wide else "utf-8-sig")
    try:
        return content.decode(said)
    except UnicodeError:
        raise ValueError(
            f"{path} is not text in {encoding or 'UTF-8'}; save it as UTF-8, or name its encoding, "
            "such as cp1252 of Windows (encoding, --encoding)."
        ) from None
    except (LookupError, ValueError):
        known = "one that Python knows, such as cp1252"
        raise ValueError(f"encoding must be {known}, got {shown(said)}.") from None


class _Lines(NamedTuple):
    """Text with a table, and what stands before that."""

    path: Path
    text: str
    n_before: int
    comments: list[str]

    @classmethod
    def of(cls, path: Path, text: str) -> _Lines:
        """Lines before the table are blank, comments, or say a delimiter."""
        n_before, comments = 0, []
        for line in io.StringIO(text, newline=""):
            words = line.strip()
            if words.startswith("#"):
                comments.append(words.lstrip("#").strip())
            elif words and not SAYS_DELIMITER.fullmatch(words):
                break
            n_before += 1
        return cls(path, text, n_before, comments)

    def rows(self, delimiter: str, first: int = 0, last: int | None = None) -> Iterator[Row]:
        """Rows of the table with their line numbers; blank ones are left out."""
        lines = islice(io.StringIO(self.text, newline=""), self.n_before, None)
        reader = _csv_reader(lines, delimiter)
        full = (row for row in reader if any(map(str.strip, row)))
        try:
            for row in islice(full, first, last):
                yield self.n_before + reader.line_num, row
        except csv.Error as error:
            number = self.n_before + reader.line_num
            raise ValueError(f"{self.path}, row {number}: bad CSV ({error}).") from None


def read_text(path: Path, text: str, delimiters: str, header: bool | None) -> Table:
    """The table of a text, in the likeliest of dialects."""
    lines = _Lines.of(path, text)
    delimiter, first = _first_rows(lines, delimiters)
    in_comment = [] if header is False else _names_in_comment(lines.comments, first, delimiter)
    named = bool(in_comment) or (_names_columns(first, delimiter) if header is None else header)
    if named is None:
        raise ValueError(
            f"{path}: the first line may be names or a sample, {few(first[0], SHOWN)}; name the "
            "columns in words, or say whether there is a header."
        )
    n_heads = int(named and not in_comment)
    if len(first) <= n_heads:
        found = "only that" if first else "only comments" if lines.comments else "nothing"
        raise ValueError(f"{path} must have a header line and at least one sample, got {found}.")
    numbered = [f"x{i + 1}" for i in range(len(first[0]))]
    names = checked_names(path, in_comment or (first[0] if named else numbered))
    numbers, cells = _read_cells(path, lines.rows(delimiter, n_heads), len(names))
    decimal = "." if delimiter == "," else _decimal_of(cells)
    n_skipped = len(lines.comments) - bool(in_comment)
    words = [
        "text",
        "a single column" if len(names) == 1 else f"separated by {DELIMITERS[delimiter]}",
        *["decimal comma"] * (decimal == ","),
        *["no header"] * (not named),
        *["names in a comment"] * bool(in_comment),
        *[f"{counted(n_skipped, 'line')} of comments skipped"] * bool(n_skipped),
    ]
    columns = dict(zip(names, cells.T, strict=True))
    return Table(path, columns, named, names[-1:], ", ".join(words), delimiter, decimal, numbers)


def _first_rows(lines: _Lines, delimiters: str) -> tuple[str, list[list[str]]]:
    """The delimiter that explains the first rows best, and these; or why they are none."""
    samples: dict[str, list[list[str]]] = {one: [] for one in delimiters}
    for one, sample in samples.items():
        with suppress(ValueError):  # as far as they can be read with this delimiter
            for _, row in lines.rows(one, last=SAMPLE):
                sample.append(row)
    likely = {one: _likelihood(rows, one) for one, rows in samples.items()}
    if likely.get("\t", (False,))[0]:
        likely.pop(" ", None)  # strings between tabs may hold blanks
    delimiter = max(likely, key=likely.__getitem__)
    if len(samples[delimiter]) < 2:
        return delimiter, [row for _, row in lines.rows(delimiter, last=2)]
    return delimiter, samples[delimiter]


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    if delimiter == " ":  # cells are separated by spaces only, with none around them
        lines = (line.replace("\t", " ").strip(" \r\n") + "\n" for line in lines)
    # Spaces after a delimiter are skipped, and so are all of a run of them.
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _read_cells(path: Path, rows: Iterable[Row], n_columns: int) -> tuple[IntArray, Column]:
    """Lines (K,) and cells (K, n) of all samples."""
    lines, cells = array("q"), []
    blocks: list[Column] = []
    for number, row in rows:
        if len(row) != n_columns:
            raise ValueError(f"{path}, row {number}: expected {n_columns} values, got {len(row)}.")
        lines.append(number)
        cells += row
        if len(cells) >= BLOCK:
            blocks.append(np.array(cells, dtype=StringDType()))
            cells = []
        check_size(path, CELL_BYTES * n_columns * len(lines))
    blocks.append(np.array(cells, dtype=StringDType()))
    whole = np.concatenate(blocks).reshape(-1, n_columns)
    return np.frombuffer(lines, dtype=np.int64), whole


def _decimal_of(cells: Column) -> str:
    """The decimal sign of the first number that has one; who writes both is refused later."""
    for cell in cells.flat:
        if "." in cell and is_number(cell):
            return "."
        if "," in cell and is_number(cell.replace(",", ".", 1)):
            return ","
    return "."


def _likelihood(rows: list[list[str]], delimiter: str) -> tuple[bool, float, int]:
    """How well a delimiter explains the first rows: equally long, and full of numbers."""
    sizes = {len(row) for row in rows} or {0}
    # Blanks in some rows only, such as the first, are within cells.
    n_cells = min(sizes) if delimiter == " " else max(sizes)
    if n_cells < 2:
        return False, 0.0, n_cells
    cells = [cell for row in rows[1:] for cell in row]
    share = sum(_is_number(cell, delimiter) for cell in cells) / max(len(cells), 1)
    return len(sizes) == 1, share, n_cells


def _is_number(cell: str, delimiter: str) -> bool:
    """Whether a cell is a number, perhaps with a decimal comma, or stands for one."""
    if delimiter == " " and cell.endswith(OTHERS):
        return False  # between blanks, 1, is no number but the start of 1, 2
    if is_number(cell) or cell.strip().lower() in BOOLEANS:
        return True
    return delimiter != "," and is_number(cell.replace(",", ".", 1))


def _names_in_comment(comments: list[str], rows: list[list[str]], delimiter: str) -> list[str]:
    """Names of the columns in the last comment, as NumPy writes them; none if it is no header.

    It has a word for every column, all different, and the first row is not a header itself.
    """
    names: list[str] = []
    with suppress(csv.Error):
        names = next(_csv_reader(comments[-1:], delimiter), [])
    different = len({name.strip() for name in names}) == len(names) > 1
    if not different or not rows or len(names) != len(rows[0]):
        return []
    if all(_is_number(name, delimiter) for name in names) or _names_columns(rows, delimiter):
        return []
    return [names[0].strip() or "#", *names[1:]]


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
