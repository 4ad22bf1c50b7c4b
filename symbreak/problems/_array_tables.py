"""Tables in binary files: NumPy archives and parquet; sizes are checked before they expand."""

from __future__ import annotations

import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType

from symbreak._support.checks import check_path
from symbreak._support.words import needed
from symbreak.problems._tables import MAX_BYTES, NUMERIC, Column, Table, check_names, too_large

#: What NumPy writes; others can take gigabytes to expand.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Booleans, integers, floats and strings.
KINDS = "biufUS"
#: What parquet files have for the last.
STRINGS = ("string", "large_string", "binary", "large_binary")
#: What pandas calls an index without a name in a parquet file.
UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def read_npz(path: Path) -> Table:
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
    if not arrays or len(shapes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        found = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:5])
        raise ValueError(
            f"{path} must hold arrays X and y, or columns of one length by name, as numpy.savez "
            f"writes them, got {found or 'nothing'}."
        )
    return _table(path, list(arrays), list(arrays.values()), form)


def _table(path: Path, names: list[str], columns: list[Column], form: str) -> Table:
    found = check_names(path, names)
    return Table(path, dict(zip(found, columns, strict=True)), True, found[-1:], form)


def read_arrays(path: str | Path) -> dict[str, Column]:
    """All arrays of an ``.npz`` file; none may hold objects.

    Raises:
        ValueError: if the file is not one of plain arrays, is damaged, encrypted or too large.
    """
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        if sum(member.file_size for member in members) <= MAX_BYTES:
            if len({member.filename for member in members}) < len(members):
                raise ValueError("it holds two arrays of the same name")
            if any(member.compress_type not in COMPRESSIONS for member in members):
                raise ValueError("it is compressed in a way that NumPy does not use")
            with np.load(path, allow_pickle=False) as file:
                return {name: _checked(name, array) for name, array in file.items()}
    except Exception as error:  # on damaged bytes, zipfile and NumPy raise whatever Python does
        raise ValueError(
            f"{path} is not an .npz file of plain arrays, or is damaged ({str(error)[:200]}); save "
            "plain arrays with numpy.savez."
        ) from None
    raise too_large(path)


def _checked(name: str, array: Column) -> Column:
    if array.dtype.kind not in KINDS or not array.dtype.itemsize:
        raise ValueError(f"{name} holds {array.dtype}; save numbers or strings")
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4")
        if codes.max(initial=0) > sys.maxunicode:  # NumPy does not notice, Python would crash
            raise ValueError(f"{name} holds no text")
    return array


def read_parquet(path: Path) -> Table:
    """Columns of a parquet file; an index of pandas is a column if it has a name."""
    pq = needed("pyarrow.parquet", "parquet", "parquet files need")
    frame = None
    try:
        with path.open("rb") as file:
            schema = (facts := pq.ParquetFile(file)).schema_arrow
            names = _without_index(schema)
            if 8 * facts.metadata.num_rows * len(names) <= MAX_BYTES:
                # In a dictionary, equal strings take the memory of one.
                strings = [one.name for one in schema if str(one.type) in STRINGS]
                whole = pq.ParquetFile(file, read_dictionary=strings).read().select(names)
                whole.validate(full=True)
                frame = whole.replace_schema_metadata().to_pandas()
    except Exception as error:  # on damaged bytes pyarrow raises whatever Python does
        raise ValueError(f"{path} is not a parquet file, or is damaged ({error}).") from None
    if frame is None:
        raise too_large(path)
    if frame.empty:
        raise ValueError(f"{path} has no samples.")
    return _table(path, names, [_plain(path, frame[name]) for name in frame], "parquet")


def _without_index(schema: Any) -> list[str]:
    """Names of the columns; of what pandas took for the index, those it had names for come first.

    Others, such as ``__index_level_0__``, only number the rows.
    """
    try:
        said = list(schema.pandas_metadata["index_columns"])
    except Exception:  # none, or no JSON, or anything else
        said = []
    index = [name for name in schema.names if name in said and not UNNAMED_INDEX.fullmatch(name)]
    return index + [name for name in schema.names if name not in said]


def _plain(path: Path, values: Any) -> Column:
    """A column of pandas as one of booleans, numbers or strings; a missing string is empty."""
    column: Column = values.to_numpy()
    if column.dtype.kind in NUMERIC:
        return column
    cells = ["" if lost else _text(cell) for cell, lost in zip(values, values.isna(), strict=True)]
    if sum(map(len, cells)) > MAX_BYTES:
        raise too_large(path)
    return np.array(cells, dtype=StringDType())


def _text(cell: object) -> str:
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)
