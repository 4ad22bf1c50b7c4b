"""Files as tables: text in its many dialects, spreadsheets, NumPy archives and parquet."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
import zipfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType

from symbreak._support.checks import (
    IntArray,
    check_flag,
    check_path,
    check_text,
    check_width,
    shown,
)
from symbreak._support.words import counted, needed
from symbreak.problems._cells import MISSING, NUMERIC, Column, is_boolean, is_number, short
from symbreak.problems._tables import MAX_BYTES, Table, TooLargeError, too_large

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
MAGIC = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a parquet file",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls)",
}
#: Booleans, integers, floats and strings.
KINDS = "biufUS"

#: Number of the line, and cells.
Row = tuple[int, list[str]]


def read_table(
    path: str | Path, *, header: bool | None = None, encoding: str | None = None
) -> Table:
    """Read a data file: ``.csv``, ``.csv.gz``, ``.tsv``, ``.xlsx``, ``.parquet``, ``.npz``.

    Any other name is taken for text with columns. Delimiter and decimal comma are recognised.

    Args:
        path: The file.
        header: Whether a text file or sheet begins with names of columns; None to recognise it.
        encoding: Of a text file, such as ``"cp1252"``; None for UTF-8, or UTF-16 if it says so.

    Raises:
        ValueError: if there is no such file, or it is damaged, too large or not a table.
    """
    path = check_path("path", path)
    if header is not None:
        header = check_flag("header", header)
    if encoding is not None:
        check_text("encoding", encoding)
    try:
        if not path.is_file():
            hint = "; it is a folder, name a file in it" if path.is_dir() else ""
            raise ValueError(f"no data file {str(path)!r}{hint}.")
        kind = path.suffix.lower()
        if kind == ".npz":
            return _read_npz(path)
        if kind == ".parquet":
            return _read_parquet(path)
        if kind == ".xlsx":
            return _read_excel(path, header)
        delimiters = "\t" if ".tsv" in path.name.lower() else "".join(DELIMITERS)
        return _read_text(path, _decoded(path, _content(path), encoding), delimiters, header)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from None


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Say that a file is damaged, for which readers raise whatever Python does."""
    try:
        yield
    except TooLargeError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not {kind}, or is damaged ({str(error)[:200]}).") from None


def _check_size(path: Path) -> None:
    """Refuse an archive that would expand to too much."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
            raise too_large(path)


def _table(path: Path, names: Sequence[str], columns: Iterable[Column], form: str) -> Table:
    """The table of a file that names its columns."""
    found = _checked_names(path, names)
    return Table(path, dict(zip(found, columns, strict=True)), True, found[-1:], form)


def _checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once; a column without a name is called by its number."""
    check_width(str(path), len(names))
    full = [name.strip() or f"column {i}" for i, name in enumerate(names, start=1)]
    for name, n in Counter(full).items():
        if n > 1:
            raise ValueError(f"{path}: columns must have different names, got {name!r} twice.")
    return tuple(full)


# NumPy archives, parquet and spreadsheets


def read_arrays(path: str | Path) -> dict[str, Column]:
    """All arrays of an ``.npz`` file; none may hold objects.

    Raises:
        ValueError: if the file is not one of plain arrays, is damaged, encrypted or too large.
    """
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}.")
    with _reading(path, "an .npz file of plain arrays (save plain arrays with numpy.savez)"):
        _check_size(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: _checked_array(name, array) for name, array in file.items()}


def _checked_array(name: str, array: Column) -> Column:
    if array.dtype.kind not in KINDS or not array.dtype.itemsize:
        raise ValueError(f"{name} holds {array.dtype}; save numbers or strings")
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4")
        if codes.max(initial=0) > sys.maxunicode:  # NumPy does not notice, Python would crash
            raise ValueError(f"{name} holds no text")
    return array


def _read_npz(path: Path) -> Table:
    """Arrays X (K, d) and y (K,) or (K, q), X alone, or columns (K,) by name, of numpy.savez."""
    arrays, form = read_arrays(path), "NumPy archive"
    X, y = arrays.get("X"), arrays.get("y")
    if X is not None and (y is not None or (len(arrays) == 1 and X.ndim == 2)):
        y = np.empty((len(X), 0)) if y is None else y  # new data, to be predicted
        if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
            raise ValueError(f"{path}: X (K, d) and y (K,) or (K, q), got {X.shape} and {y.shape}.")
        inputs = [f"x{i + 1}" for i in range(X.shape[1])]
        outputs = [f"y{i + 1}" for i in range(y.shape[1])] if y.ndim == 2 else ["y"]
        columns = [*X.T, *(y.T if y.ndim == 2 else [y])]
        table = _table(path, [*inputs, *outputs], columns, form)
        return replace(table, named=False, targets=tuple(outputs))
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(*shapes) != 1:
        found = ", ".join(short([f"{name} {array.shape}" for name, array in arrays.items()]))
        raise ValueError(
            f"{path} must hold arrays X and y, or columns of one length by name, as numpy.savez "
            f"writes them, got {found or 'nothing'}."
        )
    return _table(path, list(arrays), arrays.values(), form)


def _read_parquet(path: Path) -> Table:
    """Columns of a parquet file; an index of pandas is a column if it has a name."""
    pq = needed("pyarrow.parquet", "parquet", "parquet files need")
    with _reading(path, "a parquet file"), path.open("rb") as file:
        facts = pq.ParquetFile(file)
        if 8 * facts.metadata.num_rows * len(facts.schema_arrow) > MAX_BYTES:
            raise too_large(path)
        whole = facts.read()
        whole.validate(full=True)
        try:
            frame = whole.to_pandas()
        except Exception:  # what it says of an index may be anything
            frame = whole.replace_schema_metadata().to_pandas()
        frame = frame.reset_index([name for name in frame.index.names if name is not None])
    if frame.empty:
        raise ValueError(f"{path} has no samples.")
    columns = (_plain(path, frame[name]) for name in frame)
    return _table(path, list(map(str, frame)), columns, "parquet")


def _plain(path: Path, values: Any) -> Column:
    """A column of pandas as one of booleans, numbers or strings; a missing string is empty."""
    column: Column = values.to_numpy()
    if column.dtype.kind in NUMERIC:
        return column
    known = ("" if lost else cell for cell, lost in zip(values, values.isna(), strict=True))
    cells = [
        cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)
        for cell in known
    ]
    if sum(map(len, cells)) > MAX_BYTES:
        raise too_large(path)
    return np.array(cells, dtype=StringDType())


def _read_excel(path: Path, header: bool | None) -> Table:
    """Read the first sheet of a spreadsheet, with the values that its formulas had when saved."""
    openpyxl = needed("openpyxl", "excel", ".xlsx files need")
    with _reading(path, "an .xlsx file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about looks that it does not read
        _check_size(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
        book.close()
    width = max((i for row in rows for i, cell in enumerate(row, 1) if cell is not None), default=0)
    lines = io.StringIO()
    csv.writer(lines).writerows(row[:width] for row in rows)
    table = _read_text(path, lines.getvalue(), ",", header)
    return replace(table, format="the first sheet" + ("" if table.named else ", no header"))


# Text


def _content(path: Path) -> bytes:
    """The bytes of a text file, expanded if it is compressed."""
    packed = path.suffix.lower() == ".gz"
    if packed:
        with _reading(path, "a gzip archive"), gzip.open(path) as archive:
            content = archive.read(MAX_BYTES + 1)
    else:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise too_large(path)
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


def _read_text(path: Path, text: str, delimiters: str, header: bool | None) -> Table:
    n_before, comments, said = _preamble(path, text)

    def rows(delimiter: str) -> Iterator[Row]:
        """Rows of the table with their line numbers; blank ones are left out."""
        lines = islice(io.StringIO(text, newline=""), n_before, None)
        reader = _csv_reader(lines, delimiter)
        try:
            for row in reader:
                if any(map(str.strip, row)):
                    yield n_before + reader.line_num, row
        except csv.Error as error:
            number = n_before + reader.line_num
            raise ValueError(f"{path}, row {number}: bad CSV ({error}).") from None

    samples: dict[str, list[list[str]]] = {one: [] for one in said or delimiters}
    for one, sample in samples.items():
        with suppress(ValueError):  # as far as they can be read with this delimiter
            for _, row in islice(rows(one), SAMPLE):
                sample.append(row)
    delimiter = _likeliest(samples)
    first = samples[delimiter]
    if len(first) < 2:  # or says why not
        first = [row for _, row in islice(rows(delimiter), 2)]
    in_comment = [] if header is False else _names_in_comment(comments, first, delimiter)
    named = bool(in_comment) or (_names_columns(first, delimiter) if header is None else header)
    if named is None:
        raise ValueError(
            f"{path}: the first line may be names or a sample, {', '.join(short(first[0]))}; name "
            "the columns in words, or say whether there is a header."
        )
    n_heads = int(named and not in_comment)
    if len(first) <= n_heads:
        found = "only that" if first else "only comments" if comments else "nothing"
        raise ValueError(f"{path} must have a header line and at least one sample, got {found}.")
    numbered = [f"x{i + 1}" for i in range(len(first[0]))]
    names = _checked_names(path, in_comment or (first[0] if named else numbered))
    numbers, cells = _read_cells(path, islice(rows(delimiter), n_heads, None), len(names))
    decimal = "." if delimiter == "," else _decimal_of(cells)
    n_skipped = len(comments) - bool(in_comment)
    says = " as its first line says" if said else ""
    words = [
        "text",
        "a single column" if len(names) == 1 else f"separated by {DELIMITERS[delimiter]}{says}",
        *["decimal comma"] * (decimal == ","),
        *["no header"] * (not named),
        *["names in a comment"] * bool(in_comment),
        *[f"{counted(n_skipped, 'line')} of comments skipped"] * bool(n_skipped),
    ]
    columns = dict(zip(names, cells.T, strict=True))
    return Table(path, columns, named, names[-1:], ", ".join(words), delimiter, decimal, numbers)


def _preamble(path: Path, text: str) -> tuple[int, list[str], str]:
    """How many lines stand before a table, the comments among them, and the delimiter they say."""
    n_before, comments, delimiter = 0, [], ""
    for line in io.StringIO(text, newline=""):
        words = line.strip()
        if words.startswith("#"):
            comments.append(words.lstrip("#").strip())
        elif not delimiter and (said := SAYS_DELIMITER.fullmatch(line.rstrip("\r\n"))):
            delimiter = said[1]
        elif words:
            break
        n_before += 1
    if delimiter and delimiter not in DELIMITERS:
        raise ValueError(
            f"{path} begins with sep={delimiter}, but columns must be separated by one of "
            f"{', '.join(DELIMITERS.values())}; save it anew."
        )
    return n_before, comments, delimiter


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
        if CELL_BYTES * n_columns * len(lines) > MAX_BYTES:
            raise too_large(path)
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


def _likeliest(samples: Mapping[str, list[list[str]]]) -> str:
    """The delimiter that explains the first rows best."""
    likely = {delimiter: _likelihood(rows, delimiter) for delimiter, rows in samples.items()}
    if likely.get("\t", (False,))[0]:
        likely.pop(" ", None)  # strings between tabs may hold blanks
    return max(likely, key=likely.__getitem__)


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
    if is_number(cell) or is_boolean(cell):
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
