"""Tables in text files: CSV in its many dialects, which are recognised from the first rows."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
import zipfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType

from symbreak._support.checks import IntArray, shown
from symbreak._support.words import counted, needed
from symbreak.problems._tables import (
    MAX_BYTES,
    MISSING,
    Column,
    Table,
    check_names,
    is_boolean,
    is_number,
    short,
    too_large,
)

#: What may separate the cells of a row, in the order of preference if nothing else decides. A blank
#: is any run of spaces and tabs.
DELIMITERS = {";": "';'", "\t": "tabs", "|": "'|'", ",": "','", " ": "blanks"}
#: The line by which a file tells Excel its delimiter.
SAYS_DELIMITER = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
#: From these rows the dialect is recognised.
SAMPLE = 100
#: No number between blanks ends like this.
OTHERS = (";", "|", ",")
#: Cells that are Python strings at a time; an array of strings takes a fourth of their memory.
BLOCK, CELL_BYTES = 2**16, 16
#: A file that expands by more than this factor holds no measurements, unless it is small.
MAX_EXPANSION, MIN_BYTES = 100, 64 * 2**20

MAGIC = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a parquet file",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls)",
    b"\x93NUMPY": "a single NumPy array (.npy)",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}

#: Number of the line, and cells.
Row = tuple[int, list[str]]


def read_text(path: Path, header: bool | None, encoding: str | None) -> Table:
    """Read a text file, compressed or not; delimiter and header are recognised."""
    delimiters = "\t" if ".tsv" in path.name.lower() else "".join(DELIMITERS)
    return _read(path, _decoded(path, _content(path), encoding), delimiters, header)


def read_excel(path: Path, header: bool | None) -> Table:
    """Read the first sheet of a spreadsheet, with the values that its formulas had when saved."""
    openpyxl = needed("openpyxl", "excel", ".xlsx files need")
    try:
        with zipfile.ZipFile(path) as archive:
            large = sum(member.file_size for member in archive.infolist()) > MAX_BYTES
        rows: list[tuple[Any, ...]] = []
        if not large:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about looks that it does not read
                book = openpyxl.load_workbook(path, read_only=True, data_only=True)
                rows = list(book.worksheets[0].iter_rows(values_only=True))
                book.close()
    except Exception as error:  # on damaged bytes openpyxl raises whatever Python does
        raise ValueError(f"{path} is not an .xlsx file, or is damaged ({error}).") from None
    if large:
        raise too_large(path)
    width = max((i for row in rows for i, cell in enumerate(row, 1) if cell is not None), default=0)
    lines = io.StringIO()
    csv.writer(lines).writerows(row[:width] for row in rows)
    table = _read(path, lines.getvalue().encode(), ",", header)
    return replace(table, format="the first sheet" + ("" if table.named else ", no header"))


def _read(path: Path, content: bytes, delimiters: str, header: bool | None) -> Table:
    text = _Text.of(path, content)
    samples = {one: text.sample(one) for one in text.delimiter or delimiters}
    delimiter = _likeliest(samples)
    first = [row for _, row in samples[delimiter]]
    if len(first) < 2:  # or says why not
        first = [row for _, row in islice(text.rows(delimiter), 2)]
    in_comment = [] if header is False else _names_in_comment(text, first, delimiter)
    named = bool(in_comment) or (_names_columns(first, delimiter) if header is None else header)
    if named is None:
        raise ValueError(
            f"{path}: the first line may be names or a sample, {', '.join(short(first[0]))}; name "
            "the columns in words, or say whether there is a header."
        )
    n_heads = int(named and not in_comment)
    if len(first) <= n_heads:
        nothing = "only comments" if text.comments else "nothing"
        raise ValueError(
            f"{path} must have a header line and at least one sample, got "
            f"{'only that' if first else nothing}."
        )
    numbered = [f"x{i + 1}" for i in range(len(first[0]))]
    names = check_names(path, in_comment or (first[0] if named else numbered))
    lines, cells, decimal = _read_cells(text, delimiter, n_heads, len(names))
    said = " as its first line says" if text.delimiter else ""
    n_skipped = len(text.comments) - bool(in_comment)
    words = [
        "text",
        "a single column" if len(names) == 1 else f"separated by {DELIMITERS[delimiter]}{said}",
        *["decimal comma"] * (decimal == ","),
        *["no header"] * (not named),
        *["names in a comment"] * bool(in_comment),
        *[f"{counted(n_skipped, 'line')} of comments skipped"] * bool(n_skipped),
    ]
    columns = dict(zip(names, cells.T, strict=True))
    return Table(path, columns, named, names[-1:], ", ".join(words), delimiter, decimal, lines)


@dataclass(frozen=True)
class _Text:
    """The content of a text file, in UTF-8, and what stands before its table.

    Attributes:
        n_before: Lines before the table: blank ones, comments, and the one that Excel reads.
        comments: Those of them that begin with ``#``, without it.
        delimiter: What a line such as ``sep=;`` says; empty if there is none.
    """

    path: Path
    content: bytes
    n_before: int
    comments: list[str]
    delimiter: str

    @classmethod
    def of(cls, path: Path, content: bytes) -> _Text:
        """Read what stands before the table; a delimiter that is none is refused."""
        n_before, comments, delimiter = 0, [], ""
        for line in _lines(content):
            text = line.strip()
            if text.startswith("#"):
                comments.append(text.lstrip("#").strip())
            elif not delimiter and (said := SAYS_DELIMITER.fullmatch(line.rstrip("\r\n"))):
                delimiter = said[1]
            elif text:
                break
            n_before += 1
        if delimiter and delimiter not in DELIMITERS:
            raise ValueError(
                f"{path} begins with sep={delimiter}, but columns must be separated by one of "
                f"{', '.join(DELIMITERS.values())}; save it anew."
            )
        return cls(path, content, n_before, comments, delimiter)

    def rows(self, delimiter: str) -> Iterator[Row]:
        """Rows of the table with their line numbers; blank ones are left out."""
        reader = _csv_reader(islice(_lines(self.content), self.n_before, None), delimiter)
        try:
            for row in reader:
                if any(map(str.strip, row)):
                    yield self.n_before + reader.line_num, row
        except csv.Error as error:
            number = self.n_before + reader.line_num
            raise ValueError(f"{self.path}, row {number}: bad CSV ({error}).") from None

    def sample(self, delimiter: str) -> list[Row]:
        """The first rows, as far as they can be read with this delimiter."""
        rows: list[Row] = []
        with suppress(ValueError):
            rows.extend(islice(self.rows(delimiter), SAMPLE))
        return rows


def _content(path: Path) -> bytes:
    """The bytes of a text file, expanded if it is compressed."""
    size = path.stat().st_size
    packed = path.suffix.lower() == ".gz"
    limit = min(MAX_BYTES, max(MAX_EXPANSION * size, MIN_BYTES)) if packed else MAX_BYTES
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            content = file.read(limit + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a gzip archive, or damaged ({error}).") from None
    if len(content) > limit:
        raise too_large(path, limit)
    for magic, kind in MAGIC.items():
        if content.startswith(magic):
            raise ValueError(f"{path} is {kind}, not a text file with columns; rename or save it.")
    return content


def _decoded(path: Path, content: bytes, encoding: str | None) -> bytes:
    """The same in UTF-8, from this encoding, or else from UTF-8 or, if it says so, UTF-16."""
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    said = encoding or ("utf-16" if wide else "utf-8-sig")
    try:
        return content.decode(said).encode()
    except UnicodeError:
        raise ValueError(
            f"{path} is not text in {encoding or 'UTF-8'}; save it as UTF-8, or name its encoding, "
            "such as cp1252 of Windows (encoding, --encoding)."
        ) from None
    except (LookupError, ValueError):
        known = "one that Python knows, such as cp1252"
        raise ValueError(f"encoding must be {known}, got {shown(said)}.") from None


def _lines(content: bytes) -> Iterable[str]:
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    if delimiter == " ":  # cells are separated by spaces only, with none around them
        lines = (line.replace("\t", " ").strip(" \r\n") + "\n" for line in lines)
    # Spaces after a delimiter are skipped, and so are all of a run of them.
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _read_cells(
    text: _Text, delimiter: str, n_heads: int, n_columns: int
) -> tuple[IntArray, Column, str]:
    """Lines (K,), cells (K, n) and the decimal sign of all rows but the header."""
    lines, cells, decimal = array("q"), [], "." if delimiter == "," else ""
    blocks: list[Column] = []
    for number, row in islice(text.rows(delimiter), n_heads, None):
        if len(row) != n_columns:
            raise ValueError(
                f"{text.path}, row {number}: expected {n_columns} values, got {len(row)}."
            )
        lines.append(number)
        cells += row
        decimal = decimal or next(filter(None, map(_decimal_of, row)), "")
        if len(cells) >= BLOCK:
            blocks.append(np.array(cells, dtype=StringDType()))
            cells = []
        if CELL_BYTES * n_columns * len(lines) > MAX_BYTES:
            raise too_large(text.path)
    blocks.append(np.array(cells, dtype=StringDType()))
    whole = np.concatenate(blocks).reshape(-1, n_columns)
    return np.frombuffer(lines, dtype=np.int64), whole, decimal or "."


def _decimal_of(cell: str) -> str:
    """The decimal sign of a number; empty if it has none. Who writes both is refused later."""
    if "." in cell and is_number(cell):
        return "."
    return "," if "," in cell and is_number(cell.replace(",", ".", 1)) else ""


def _likeliest(samples: Mapping[str, list[Row]]) -> str:
    """The delimiter that explains the first rows best."""
    likely = {delimiter: _likelihood(rows, delimiter) for delimiter, rows in samples.items()}
    if likely.get("\t", (False,))[0]:
        likely.pop(" ", None)  # strings between tabs may hold blanks
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
    if is_number(cell) or is_boolean(cell):
        return True
    return delimiter != "," and is_number(cell.replace(",", ".", 1))


def _names_in_comment(text: _Text, rows: list[list[str]], delimiter: str) -> list[str]:
    """Names of the columns in the last comment, as NumPy writes them; none if it is no header.

    It has a word for every column, all different, and the first row is not a header itself.
    """
    names: list[str] = []
    with suppress(csv.Error):
        names = next(_csv_reader(text.comments[-1:], delimiter), [])
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
