"""Cells that may hold anything: as numbers, as days, as names of levels, or what is wrong."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import Array, Mask

Column = NDArray[Any]

#: Kinds of NumPy's numbers and booleans.
NUMERIC = "biuf"
#: What says that a value is missing, in any case; the first are nothing that is called a class.
MISSING_LABELS = {"", "na", "n/a", "nan", "null", "?", "#n/a", "<na>"}
MISSING = {*MISSING_LABELS, "none", "nil", "-", ".", "missing"}
MISSING_VALUES = "missing values"
#: How text files write booleans, in any case.
BOOLEANS = {"true": 1.0, "false": 0.0}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([ _'.,\u00a0\u202f]\d{3})+([.,]\d*)?")
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
#: How many rows, columns and so on a message names.
SHOWN = 3


def short(items: Sequence[Any], limit: int = SHOWN) -> list[str]:
    """The first few items as strings, and how many more there are."""
    first = [str(item) for item in items[:limit]]
    return [*first, f"{len(items) - limit:,} more"] if len(items) > limit else first


def kind_of(cell: str) -> str:
    """What a cell holds that is not a finite number, in words."""
    text = cell.strip().lower()
    if text in MISSING:
        return MISSING_VALUES
    if is_boolean(text):
        return "booleans"
    if DATE.fullmatch(text):
        return "dates or times"
    if is_number(text):
        return "numbers with a decimal point" if math.isfinite(float(text)) else "infinite numbers"
    if THOUSANDS.fullmatch(text) or is_number(text.replace("_", "")):
        return "numbers with separators"
    return "numbers with a decimal comma" if is_number(text.replace(",", ".", 1)) else "text"


def are(words: Collection[str], cells: Sequence[str]) -> Mask:
    """Which cells are one of these words, in any case."""
    return np.array([cell.strip().lower() in words for cell in cells], dtype=np.bool_)


def is_boolean(cell: str) -> bool:
    """Whether a string is a boolean."""
    return cell.strip().lower() in BOOLEANS


def is_number(text: str) -> bool:
    """Whether a string is a number; Python's underscores do not count."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def to_floats(cells: Sequence[str], decimal: str) -> Array:
    """Strings as numbers (K,), exactly as Python reads them; NaN where one is no number."""
    if decimal == ",":
        cells = ["" if "." in cell else cell.replace(",", ".", 1) for cell in cells]
    return np.array([_float(cell) for cell in cells])


def _float(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


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
    lost = np.array([text is None for text in texts])
    known = [text for text in texts if text is not None]
    if all(map(is_boolean, known)):
        found = np.array([BOOLEANS[text.lower()] for text in known])
    else:
        found = to_floats(known, ".")
    values = np.full(len(texts), math.nan)
    values[~lost] = found
    return None if np.isnan(found).any() else values


class MixedZonesError(ValueError):
    """A column whose moments cannot be compared."""


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
