"""Files as tables: text in its many dialects, spreadsheets, NumPy archives and parquet."""

from __future__ import annotations

import csv
import io
import sys
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType

from symbreak._support.checks import check_flag, check_path, check_text
from symbreak._support.words import few, needed
from symbreak.problems._tables import NUMERIC, SHOWN, Column, Table, check_size
from symbreak.problems._text import checked_names, is_read_as, read_text, read_text_file

#: Booleans, integers, floats and strings.
KINDS = "biufUS"


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
        return read_text_file(path, header, encoding)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from None


def _check_archive(path: Path) -> None:
    """Refuse an archive that would expand to too much."""
    with zipfile.ZipFile(path) as archive:
        check_size(path, sum(member.file_size for member in archive.infolist()))


def _table(path: Path, names: Sequence[str], columns: Iterable[Column], form: str) -> Table:
    """The table of a file that names its columns."""
    found = checked_names(path, names)
    return Table(path, dict(zip(found, columns, strict=True)), True, found[-1:], form)


def read_arrays(path: str | Path) -> dict[str, Column]:
    """All arrays of an ``.npz`` file; none may hold objects.

    Raises:
        ValueError: if the file is not one of plain arrays, is damaged, encrypted or too large.
    """
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}.")
    with is_read_as(path, "an .npz file of plain arrays (save plain arrays with numpy.savez)"):
        _check_archive(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: _checked_array(name, array) for name, array in file.items()}


def _checked_array(name: str, array: Column) -> Column:
    if array.dtype.kind not in KINDS or not array.dtype.itemsize:
        raise ValueError(f"{name} holds {array.dtype}; save numbers or strings")
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4")
        if codes.max(initial=0) > sys.maxunicode:  # NumPy does not notice, Python would crash
            raise ValueError(f"{name} holds no text")
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


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
        found = few([f"{name} {array.shape}" for name, array in arrays.items()], SHOWN)
        raise ValueError(
            f"{path} must hold arrays X and y, or columns of one length by name, as numpy.savez "
            f"writes them, got {found or 'nothing'}."
        )
    return _table(path, list(arrays), arrays.values(), form)


def _read_parquet(path: Path) -> Table:
    """Columns of a parquet file; an index of pandas is a column if it has a name."""
    pq = needed("pyarrow.parquet", "parquet", "parquet files need")
    with is_read_as(path, "a parquet file"), path.open("rb") as file:
        facts = pq.ParquetFile(file)
        check_size(path, 8 * facts.metadata.num_rows * len(facts.schema_arrow))
        whole = facts.read()
        whole.validate(full=True)
        frame = whole.to_pandas()
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
    check_size(path, sum(map(len, cells)))
    return np.array(cells, dtype=StringDType())


def _read_excel(path: Path, header: bool | None) -> Table:
    """Read the first sheet of a spreadsheet, with the values that its formulas had when saved."""
    openpyxl = needed("openpyxl", "excel", ".xlsx files need")
    with is_read_as(path, "an .xlsx file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about looks that it does not read
        _check_archive(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
        book.close()
    width = max((i for row in rows for i, cell in enumerate(row, 1) if cell is not None), default=0)
    lines = io.StringIO()
    csv.writer(lines).writerows(row[:width] for row in rows)
    table = read_text(path, lines.getvalue(), ",", header)
    return replace(table, format="the first sheet" + ("" if table.named else ", no header"))
