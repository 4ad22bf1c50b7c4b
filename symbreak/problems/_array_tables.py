"""Tables in binary files: NumPy archives and parquet; sizes are checked before anything expands."""

from __future__ import annotations

import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from symbreak._support.checks import Array, check_path
from symbreak._support.extras import how_to_install
from symbreak.problems._tables import (
    MAX_BYTES,
    Faults,
    check_names,
    find_columns,
    is_missing_label,
    too_large,
)

Column = NDArray[Any]
#: What NumPy writes; others can take gigabytes to expand.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Truth values, whole numbers, floats and texts.
KINDS = "biufUS"
#: What pandas calls an index without a name in a parquet file.
UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """Columns in memory."""

    path: Path
    columns: Mapping[str, Column]
    named: bool
    targets: tuple[str, ...]
    format: str = "NumPy archive"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def numbers(self, names: Sequence[str]) -> Array:
        """Columns (K, n) of finite numbers."""
        find_columns(self, names)
        return as_numbers(self.path, {name: self.columns[name] for name in names})

    def labels(self, name: str) -> Column:
        """A column (K,) as it stands."""
        find_columns(self, [name])
        return _checked_labels(self.path, name, _decoded(self.path, name, self.columns[name]))


def _checked_labels(path: Path, name: str, values: Column) -> Column:
    """Labels (K,), none of them missing."""
    if values.dtype.kind == "f":
        as_numbers(path, {name: values})
    elif values.dtype.kind == "U":
        labels, places = np.unique(values, return_inverse=True)
        lost = np.array([is_missing_label(str(label)) for label in labels], dtype=bool)
        faults = Faults()
        faults.note_rows(name, np.flatnonzero(lost[places]) + 1, "")
        if faults:
            raise faults.error(path)
    return values


def _decoded(path: Path, name: str, values: Column) -> Column:
    """Texts that came as bytes."""
    if values.dtype.kind != "S":
        return values
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: column {name!r} is not text in UTF-8.") from None


def as_numbers(path: Path, columns: Mapping[str, Column]) -> Array:
    """Columns (K, n) of finite numbers; row 1 is the first sample."""
    faults = Faults()
    for name, values in columns.items():
        if values.dtype.kind not in "biuf":
            faults.note_column(name, "text")
        elif values.dtype.kind == "f":
            faults.note_rows(name, np.flatnonzero(np.isnan(values)) + 1, "nan")
            faults.note_rows(name, np.flatnonzero(np.isinf(values)) + 1, "inf")
    if faults:
        raise faults.error(path)
    return np.column_stack([values.astype(np.float64) for values in columns.values()])


def read_npz(path: Path) -> ArrayTable:
    """Arrays X (K, d) and y (K,) or (K, q), X alone, or columns (K,) by name, of numpy.savez."""
    arrays = read_arrays(path)
    if {"X", "y"} <= arrays.keys():
        X, y = arrays["X"], arrays["y"]
        if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
            raise ValueError(f"{path}: X (K, d) and y (K,) or (K, q), got {X.shape} and {y.shape}.")
        outputs = _numbered("y", y) if y.ndim == 2 else {"y": y}
        return ArrayTable(path, _numbered("x", X) | outputs, False, tuple(outputs))
    if arrays.keys() == {"X"} and arrays["X"].ndim == 2:  # new data, to be predicted
        return ArrayTable(path, _numbered("x", arrays["X"]), False, ())
    shapes = {array.shape for array in arrays.values()}
    if not arrays or len(shapes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        found = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:5])
        raise ValueError(
            f"{path} must hold arrays X and y, or columns of one length by name, as numpy.savez "
            f"writes them, got {found or 'nothing'}."
        )
    names = check_names(path, list(arrays))
    return ArrayTable(path, dict(zip(names, arrays.values(), strict=True)), True, names[-1:])


def _numbered(letter: str, matrix: Column) -> dict[str, Column]:
    return {f"{letter}{i + 1}": column for i, column in enumerate(matrix.T)}


def read_arrays(path: str | Path) -> dict[str, Column]:
    """All arrays of an ``.npz`` file; none may hold objects, and their sizes must be as said.

    Raises:
        ValueError: if the file is not one of plain arrays, is damaged, encrypted or too large.
    """
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}.")
    with path.open("rb") as file:
        try:
            return _read_archive(path, file)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is not an .npz file, or is damaged ({error}).") from None
        except DAMAGE as error:
            raise ValueError(
                f"{path} is not an .npz file of plain arrays ({error}); save plain arrays with "
                "numpy.savez."
            ) from None


def _read_archive(path: Path, file: BinaryIO) -> dict[str, Column]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > MAX_BYTES:
            raise too_large(path)
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names):
            raise _BadArrayError("it holds two arrays of the same name")
        return {
            name: _read_array(archive, member) for name, member in zip(names, members, strict=True)
        }


class _BadArrayError(Exception):
    """Why an archive's member is not a plain array."""


#: What reading a damaged archive raises.
DAMAGE = (_BadArrayError, zlib.error, EOFError, NotImplementedError, OSError, struct.error)


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Column:
    name = member.filename
    if member.flag_bits & 1:
        raise _BadArrayError(f"{name} is encrypted")
    if member.compress_type not in COMPRESSIONS:
        raise _BadArrayError(f"{name} is compressed in a way that NumPy does not use")
    with archive.open(member) as file:
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except (zipfile.BadZipFile, zlib.error):
            raise
        except Exception as error:  # NumPy's parser raises whatever Python's does
            raise _BadArrayError(f"{name}: {error}"[:200]) from None
        if dtype.kind not in KINDS or not dtype.itemsize:
            raise _BadArrayError(f"{name} holds {dtype}; save numbers or texts")
        content = file.read()
    if dtype.itemsize * math.prod(shape) != len(content) or any(n < 0 for n in shape):
        raise _BadArrayError(f"{name} is cut short, or not as large as it says")
    flat = np.frombuffer(content, dtype) if content else np.empty(0, dtype)
    if dtype.kind == "U":
        codes = np.frombuffer(content, dtype.str[0] + "u4") if content else np.empty(0)
        if codes.max(initial=0) > sys.maxunicode:  # NumPy would not notice, and Python would crash
            raise _BadArrayError(f"{name} holds no text")
    return flat.reshape(shape, order="F" if fortran else "C")


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A parquet file, read column by column; ``stored`` are the names in the file."""

    path: Path
    names: tuple[str, ...]
    stored: tuple[str, ...]
    named: bool = True
    format: str = "parquet"

    @classmethod
    def open(cls, path: Path) -> ParquetTable:
        """Read names and sizes."""
        pa, pq = _pyarrow()
        try:
            facts = pq.read_metadata(path)
            names = _without_index(pq.read_schema(path))
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} is not a parquet file, or is damaged ({error}).") from None
        if not facts.num_rows or not names:
            raise ValueError(f"{path} has no samples.")
        if 8 * facts.num_rows * len(names) > MAX_BYTES:
            raise too_large(path)
        return cls(path, check_names(path, names), tuple(names))

    @property
    def targets(self) -> tuple[str, ...]:
        """The last column."""
        return self.names[-1:]

    def numbers(self, names: Sequence[str]) -> Array:
        """Columns (K, n) of finite numbers."""
        find_columns(self, names)
        return as_numbers(self.path, {name: self._column(name) for name in names})

    def labels(self, name: str) -> Column:
        """A column (K,) as it stands."""
        find_columns(self, [name])
        return _checked_labels(self.path, name, self._column(name))

    def _column(self, name: str) -> Column:
        pa, pq = _pyarrow()
        stored = self.stored[self.names.index(name)]
        try:
            # as a dictionary, equal texts take the memory of one
            whole = pq.read_table(
                self.path, columns=[stored], read_dictionary=[stored], memory_map=True
            )
            return _as_array(self.path, name, whole.column(0), pa)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.path} is damaged in column {name!r} ({error}).") from None


def _without_index(schema: Any) -> list[str]:
    """Names of the columns; of what pandas took for the index, those it had names for come first.

    Others, such as ``__index_level_0__``, only number the rows.
    """
    try:
        said = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):  # no JSON, or not an object
        said = []
    named = [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
    index = [name for name in schema.names if name in named]
    columns = [name for name in schema.names if name not in named]
    return [name for name in index if not UNNAMED_INDEX.fullmatch(name)] + columns


def _as_array(path: Path, name: str, column: Any, pa: Any) -> Column:
    """An Arrow column as a NumPy one; what is neither numbers nor texts is refused."""
    kind = column.type
    if pa.types.is_temporal(kind) or not _is_plain(kind, pa):
        faults = Faults()
        faults.note_column(name, "dates or times" if pa.types.is_temporal(kind) else str(kind))
        raise faults.error(path)
    if pa.types.is_dictionary(kind):
        return _texts(path, name, column)
    if pa.types.is_boolean(kind) and column.null_count:
        column = column.cast(pa.int8())
    if pa.types.is_decimal(kind) or column.null_count:
        column = column.cast(pa.float64(), safe=False)  # large whole numbers lose their last digits
    values: Column = column.to_numpy()
    return values


def _is_plain(kind: Any, pa: Any) -> bool:
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return pa.types.is_dictionary(kind) or any(check(kind) for check in numbers)


def _texts(path: Path, name: str, column: Any) -> Column:
    """Labels of a column in dictionary form."""
    parts = []
    for first, chunk in zip(_starts(column), column.chunks, strict=True):
        if chunk.null_count:
            rows = first + 1 + np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False))
            faults = Faults()
            faults.note_rows(name, rows, "")
            raise faults.error(path)
        labels = np.array(chunk.dictionary.to_pylist())
        if labels.dtype.itemsize * len(column) > MAX_BYTES:
            raise too_large(path)
        parts.append(labels[chunk.indices.to_numpy()])
    return _decoded(path, name, np.concatenate(parts))


def _starts(column: Any) -> list[int]:
    return [0, *np.cumsum([len(chunk) for chunk in column.chunks])[:-1].tolist()]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ValueError(
            f"parquet files need pyarrow; install it with: {how_to_install('parquet')}"
        ) from None
    return pa, pq
