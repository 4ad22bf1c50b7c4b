"""Tables in binary files: NumPy archives and parquet; sizes are checked before anything expands."""

from __future__ import annotations

import math
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType
from numpy.lib import format as npy

from symbreak._support.checks import check_path
from symbreak._support.words import how_to_install
from symbreak.problems._tables import MAX_BYTES, Column, Table, check_names, too_large

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
    arrays = read_arrays(path)
    if {"X", "y"} <= arrays.keys():
        X, y = arrays["X"], arrays["y"]
        if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
            raise ValueError(f"{path}: X (K, d) and y (K,) or (K, q), got {X.shape} and {y.shape}.")
        outputs = _numbered(path, "y", y) if y.ndim == 2 else {"y": y}
        return Table(
            path, _numbered(path, "x", X) | outputs, False, tuple(outputs), "NumPy archive"
        )
    if arrays.keys() == {"X"} and arrays["X"].ndim == 2:  # new data, to be predicted
        return Table(path, _numbered(path, "x", arrays["X"]), False, (), "NumPy archive")
    shapes = {array.shape for array in arrays.values()}
    if not arrays or len(shapes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        found = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:5])
        raise ValueError(
            f"{path} must hold arrays X and y, or columns of one length by name, as numpy.savez "
            f"writes them, got {found or 'nothing'}."
        )
    names = check_names(path, list(arrays))
    columns = dict(zip(names, arrays.values(), strict=True))
    return Table(path, columns, True, names[-1:], "NumPy archive")


def _numbered(path: Path, letter: str, matrix: Column) -> dict[str, Column]:
    names = check_names(path, [f"{letter}{i + 1}" for i in range(matrix.shape[1])])
    return dict(zip(names, matrix.T, strict=True))


def read_arrays(path: str | Path) -> dict[str, Column]:
    """All arrays of an ``.npz`` file; none may hold objects, and their sizes must be as said.

    Raises:
        ValueError: if the file is not one of plain arrays, is damaged, encrypted or too large.
    """
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) <= MAX_BYTES:
                return _read_archive(archive)
    except Exception as error:  # on damaged bytes, zipfile and NumPy raise whatever Python does
        raise ValueError(
            f"{path} is not an .npz file of plain arrays, or is damaged ({str(error)[:200]}); save "
            "plain arrays with numpy.savez."
        ) from None
    raise too_large(path)


def _read_archive(archive: zipfile.ZipFile) -> dict[str, Column]:
    arrays: dict[str, Column] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in arrays:
            raise ValueError("it holds two arrays of the same name")
        if member.compress_type not in COMPRESSIONS:
            raise ValueError(f"{name} is compressed in a way that NumPy does not use")
        with archive.open(member) as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file)
        if dtype.kind not in KINDS or not dtype.itemsize:
            raise ValueError(f"{name} holds {dtype}; save numbers or strings")
        if (
            not 0 <= dtype.itemsize * math.prod(shape) <= member.file_size
            or min(shape, default=0) < 0
        ):
            raise ValueError(f"{name} is cut short, or not as large as it says")
        with archive.open(member) as file:
            arrays[name] = npy.read_array(file, allow_pickle=False)
        if dtype.kind == "U":
            codes = np.frombuffer(arrays[name].tobytes(), dtype.str[0] + "u4")
            if codes.max(initial=0) > sys.maxunicode:  # NumPy does not notice, Python would crash
                raise ValueError(f"{name} holds no text")
    return arrays


def read_parquet(path: Path) -> Table:
    """Columns of a parquet file; an index of pandas is a column if it has a name."""
    try:
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ValueError(
            f"parquet files need pyarrow; install it with: {how_to_install('parquet')}"
        ) from None
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
    columns = [_plain(path, frame[name]) for name in frame]
    found = check_names(path, names)
    return Table(path, dict(zip(found, columns, strict=True)), True, found[-1:], "parquet")


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
    if column.dtype.kind in "biuf":
        return column
    cells = [
        ""
        if lost
        else cell.decode("utf-8", "backslashreplace")
        if isinstance(cell, bytes)
        else str(cell)
        for cell, lost in zip(values, values.isna(), strict=True)
    ]
    if sum(map(len, cells)) > MAX_BYTES:
        raise too_large(path)
    return np.array(cells, dtype=StringDType())
