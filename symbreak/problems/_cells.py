"""The cells of a column that may hold anything: as numbers, as days, or as names of levels."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array, shown
from symbreak._support.frames import column_labels
from symbreak.problems._tables import (
    BOOLEANS,
    MISSING_LABELS,
    NUMERIC,
    Column,
    is_boolean,
    to_floats,
)

#: How text may write dates: as ISO 8601 says, or else so; the first that reads all of a column.
ISO = "ISO 8601"
PATTERNS = (
    ISO,
    *(f"{day}{time}" for day in ("%d.%m.%Y", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")),
    *("%H:%M", "%H:%M:%S", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
)
#: Neither are numbers, nor can they be made of them.
NO_NUMBERS = (complex, datetime.date, datetime.time)
EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400e6  # microseconds


def labels_of(table: Any) -> list[Any]:
    """Names of the columns, if there are any."""
    return list(table) if isinstance(table, Mapping) else column_labels(table)


def rows_of(table: Any) -> NDArray[Any]:
    """Rows of cells as objects (K, n)."""
    try:
        rows = [list(row) for row in table]
    except TypeError:
        rows = []
    if not rows or len({len(row) for row in rows}) > 1:
        raise ValueError("X must be a frame, columns by name, or rows of equal length.")
    cells = np.empty((len(rows), len(rows[0])), dtype=object)
    cells[:] = rows
    return cells


def plain(values: Any) -> Column:
    """A column of a frame: numbers, dates, or objects, None where one is missing."""
    column = np.asarray(values)
    if column.dtype.kind == "b":
        return column.astype(np.float64)
    if column.dtype.kind in "iufM":
        return column
    from pandas import isna  # only here: it is slow to load, and knows all kinds of missing

    cells = column.astype(object)
    cells[np.asarray(isna(cells), dtype=bool)] = None
    return cells


def is_plain(values: Any) -> bool:
    """Whether a column of a frame, or an array, holds numbers alone, and none is missing."""
    numbers = numbers_of(plain(values)) if np.asarray(values).dtype.kind in "biufO" else None
    return numbers is not None and not np.isnan(numbers).any()


def text_of(cell: object) -> str:
    """A cell as the name of a level; a whole number has no decimal point."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return cell.strip() if isinstance(cell, str) else str(cell)


def texts_of(cells: Column) -> list[str | None]:
    """Cells as names of levels, None where one is missing."""
    texts = [None if cell is None or cell != cell else text_of(cell) for cell in cells.tolist()]
    return [None if t is None or t.lower() in MISSING_LABELS else t for t in texts]


def numbers_of(cells: Column) -> Array | None:
    """Cells as numbers, NaN where one is missing; None if there is anything else."""
    if cells.dtype.kind in NUMERIC:
        return cells.astype(np.float64)
    if cells.dtype.kind != "O" or any(isinstance(cell, NO_NUMBERS) for cell in cells):
        return None
    texts = texts_of(cells)
    if all(text is None or is_boolean(text) for text in texts):
        return np.array([math.nan if text is None else BOOLEANS[text.lower()] for text in texts])
    values = to_floats([text or "nan" for text in texts], ".")
    lost = np.array([text is None for text in texts])
    return None if np.isnan(values[~lost]).any() else values


def days_of(cells: Column, pattern: str) -> Array | None:
    """Days since 1970, NaN where there is no date; None if one is not written like this.

    Raises:
        MixedZonesError: if some times have a zone and others none, which may be any.
    """
    if cells.dtype.kind == "M":
        micros = cells.astype("datetime64[us]")
        return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / DAY)
    if cells.dtype.kind != "O":
        return None
    try:
        moments = [_moment(cell, pattern) for cell in cells]
        if len({moment.tzinfo is None for moment in moments if moment}) > 1:
            raise MixedZonesError("times with a zone beside times without one")
        return np.array([_days(moment) for moment in moments])
    except MixedZonesError:
        raise
    except (ValueError, OverflowError):
        return None


class MixedZonesError(ValueError):
    """A column whose moments cannot be compared."""


def _moment(cell: Any, pattern: str) -> datetime.datetime | None:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING_LABELS):
        return None
    if isinstance(cell, datetime.datetime):
        return cell
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    text = cell.strip() if isinstance(cell, str) else ""
    if pattern != ISO:
        return datetime.datetime.strptime(text, pattern)
    if "-" not in text or not text[:4].isdigit():  # 20240101 is a number
        raise ValueError("no date")
    return datetime.datetime.fromisoformat(text)


def _days(moment: datetime.datetime | None) -> float:
    if moment is None:
        return math.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - EPOCH) / datetime.timedelta(days=1)


def first_of(cells: Column) -> str:
    """A cell that tells what a column holds."""
    some = next((cell for cell in cells.tolist() if isinstance(cell, str)), cells.tolist()[0])
    return shown(some)
