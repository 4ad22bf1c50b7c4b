"""The rows of a text file, one after the other, within bounds: CSV in any dialect."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from symbreak.problems._tables import MAX_BYTES, check_magic, too_large

#: The csv module holds a whole row, so this bounds it.
MAX_ROW = 32 * 2**20
#: A file that expands by more than this factor holds no measurements, unless it is small.
MAX_EXPANSION, MIN_BYTES = 100, 64 * 2**20

#: What may part the cells of a row, in the order of preference if nothing else decides. A blank
#: means any run of spaces and tabs.
DELIMITERS = {";": "';'", "\t": "tabs", "|": "'|'", ",": "','", " ": "blanks"}

#: The line by which a file tells Excel its delimiter.
SAYS_DELIMITER = re.compile(r'"?sep=(.)"?', re.IGNORECASE)

#: Number of the line, and cells.
Row = tuple[int, list[str]]


class DialectError(ValueError):
    """Not CSV in this dialect."""


@dataclass(frozen=True)
class Preamble:
    """What stands before a table: blank lines, comments, and the line that Excel reads.

    Attributes:
        n_lines: How many lines that is.
        n_comments: How many of them begin with ``#``.
        last_comment: The last of these, without that sign.
        delimiter: What a line such as ``sep=;`` says; empty if there is none.
    """

    n_lines: int = 0
    n_comments: int = 0
    last_comment: str = ""
    delimiter: str = ""


def read_preamble(path: Path) -> Preamble:
    """All that stands before the first row of a text file.

    Raises:
        ValueError: if it names a delimiter that is none.
    """
    n_lines, n_comments, last_comment, delimiter = 0, 0, "", ""
    with _reading(path) as lines:
        for line in lines:
            lines.in_row = 0
            text = line.strip()
            if text.startswith("#"):
                n_comments, last_comment = n_comments + 1, text.lstrip("#").strip()
            elif not delimiter and (said := SAYS_DELIMITER.fullmatch(line.rstrip("\r\n"))):
                delimiter = said[1]
            elif text:
                break
            n_lines += 1
    if delimiter and delimiter not in DELIMITERS:
        raise ValueError(
            f"{path} begins with sep={delimiter}, but columns must be separated by one of "
            f"{', '.join(DELIMITERS.values())}; save it anew."
        )
    return Preamble(n_lines, n_comments, last_comment, delimiter)


def rows_of(path: Path, delimiter: str, skip: int = 0) -> Iterator[Row]:
    """Rows with their line numbers, after some lines; blank ones are left out."""
    with _reading(path) as lines:
        for _ in islice(lines, skip):
            lines.in_row = 0
        plain = map(_without_tabs, lines) if delimiter == " " else lines
        reader = _csv_reader(plain, delimiter)
        try:
            for row in reader:
                lines.in_row = 0
                if any(map(str.strip, row)):
                    yield skip + reader.line_num, row
        except csv.Error as error:
            number = skip + reader.line_num
            raise DialectError(f"{path}, row {number}: bad CSV ({error}).") from None


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of a single line; none if it is not CSV."""
    try:
        return next(_csv_reader([_without_tabs(line) if delimiter == " " else line], delimiter), [])
    except csv.Error:
        return []


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    # Spaces after a delimiter are skipped, and so are all of a run of them.
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


@contextmanager
def _reading(path: Path) -> Iterator[_Lines]:
    """The lines of a text file; what is wrong with its bytes is said in words."""
    with _open_text(path) as file:
        try:
            yield _Lines(path, file)
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8; save it as UTF-8.") from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip archive ({error}).") from None


def _without_tabs(line: str) -> str:
    """A line whose cells are parted by spaces only, with none around them."""
    return line.replace("\t", " ").strip(" \r\n") + "\n"


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
