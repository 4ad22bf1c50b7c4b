"""The rows of a text file, one after the other, within bounds: CSV in any dialect."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from symbreak.problems._tables import MAX_BYTES, check_magic, too_large

#: The csv module holds a whole row, so this bounds it.
MAX_ROW = 32 * 2**20
#: A file that expands by more than this factor holds no measurements, unless it is small.
MAX_EXPANSION, MIN_BYTES = 100, 64 * 2**20

#: What may part the cells of a row, in the order of preference if nothing else decides. A blank
#: means any run of spaces and tabs.
DELIMITERS = {";": "';'", "\t": "tabs", "|": "'|'", ",": "','", " ": "blanks"}

#: Number of the line, and cells.
Row = tuple[int, list[str]]


class DialectError(ValueError):
    """Not CSV in this dialect."""


def rows_of(path: Path, delimiter: str) -> Iterator[Row]:
    """Rows with their line numbers; blank ones are left out."""
    with _open_text(path) as file:
        lines = _Lines(path, file)
        plain = map(_without_tabs, lines) if delimiter == " " else lines
        # Spaces after a delimiter are skipped, and so are all of a run of them.
        reader = csv.reader(plain, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for row in reader:
                lines.in_row = 0
                if any(map(str.strip, row)):
                    yield reader.line_num, row
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8; save it as UTF-8.") from None
        except csv.Error as error:
            raise DialectError(f"{path}, row {reader.line_num}: bad CSV ({error}).") from None
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
