"""Columns of frames, such as those of pandas, polars and pyarrow, which it does not load."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symbreak._support.checks import (
    Array,
    as_floats,
    check_unmasked,
    check_width,
    did_you_mean,
    nearest,
    shown,
)
from symbreak._support.words import few

#: What columns are called that nobody named.
NUMBERED = re.compile(r"[xy]\d+")
#: Of so many names a message looks for similar ones.
MAX_COMPARED = 1_000


def take_columns(name: str, values: ArrayLike, wanted: Sequence[str] = ()) -> ArrayLike:
    """The columns of a frame that are ``wanted``, in their order, as numbers (K, n).

    All of them, as they stand, where ``choose_columns`` finds no names to go by. What is no frame
    comes back as it came.

    Raises:
        ValueError: if a column is missing, is there twice, or does not hold finite numbers; with
            its name.
    """
    labels = column_labels(values)
    chosen = choose_columns(name, labels, wanted) or labels
    if not chosen or max(Counter(chosen).values()) > 1:  # not to be told apart by name
        return values
    columns = [_numbers(name, values, label) for label in chosen]
    for label, column in zip(chosen, columns, strict=True):
        if len(bad := np.flatnonzero(~np.isfinite(column))):
            raise ValueError(
                f"{name} must be finite, got {len(bad):,} NaN or infinite values in column "
                f"{shown(label)}, the first at index {bad[0]}; remove or impute them."
            )
    return np.column_stack(columns)


def check_columns(name: str, values: ArrayLike) -> ArrayLike:
    """Return ``values`` if all columns of a frame, or an array, may be numbers, or missing.

    Raises:
        ValueError: if a column of a frame holds anything else, with its name; or if an array holds
            dates or times, which NumPy would convert, or masked entries, which it would use; or if
            it is too wide.
    """
    check_unmasked(name, values)
    check_width(name, (*getattr(values, "shape", ()), 0, 0)[1])
    for label in dict.fromkeys(column_labels(values)):
        _numbers(name, values, label)
    if _is_time(dtype := getattr(values, "dtype", None)):
        raise ValueError(f"{name} must hold numbers, got {dtype}; encode or leave out its dates.")
    return values


def choose_columns(where: str, labels: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
    """The labels of the columns that are ``wanted``, in their order; none if they have no names.

    They have none if no label is a text, if nothing is ``wanted``, or if that is ``x1, x2, ...``,
    as in a file without a header, and no label is among it. Spaces around labels do not count, as
    in files.

    Raises:
        ValueError: if a column is missing, with the nearest names, or is there twice.
    """
    texts = [label for label in labels if isinstance(label, str)]
    exact, loose = Counter(texts), Counter(map(str.strip, texts))
    distinct = len(set(map(str.strip, wanted))) == len(wanted)
    strip = str.strip if distinct else str
    counts = {name: exact[name] or loose[strip(name)] for name in wanted}
    missing = [name for name in wanted if not counts[name]]
    unnamed = len(missing) == len(wanted) and all(map(NUMBERED.fullmatch, wanted))
    if not texts or unnamed:
        return []
    if missing:
        close = (near for name in missing[:3] for near in nearest(name, texts[:MAX_COMPARED])[:1])
        lacking, there = (few(list(map(shown, names))) for names in (missing, texts))
        raise ValueError(
            f"{where} lacks columns that are needed: {lacking}."
            f"{did_you_mean(dict.fromkeys(close))} Add or rename them; it has {there}."
        )
    for name, n in counts.items():
        if n > 1:
            raise ValueError(
                f"{where} must have each needed column once, got {n} columns {shown(name)}; remove "
                "or rename all but one."
            )
    places = {label.strip(): label for label in texts} | {label: label for label in texts}
    return [places.get(name) or places[strip(name)] for name in wanted]


def column_labels(values: object) -> list[Any]:
    """Labels of the columns of a frame; none if it is no frame.

    Raises:
        ValueError: if it is a lazy frame, which has no data yet.
    """
    if hasattr(values, "collect") and not hasattr(values, "__array__"):
        raise ValueError(
            f"expected data, got a lazy frame ({type(values).__name__}); give what its collect() "
            "returns."
        )
    names = getattr(values, "column_names", None)  # of pyarrow, whose columns are arrays
    labels = names if isinstance(names, list) else getattr(values, "columns", None)
    return list(labels) if isinstance(labels, Iterable) else []


def column_names(values: object) -> tuple[str, ...]:
    """The names, if all of them are strings and differ from each other; otherwise none."""
    labels = column_labels(values)
    named = all(isinstance(label, str) for label in labels) and len(set(labels)) == len(labels)
    return tuple(labels) if named else ()


def _numbers(name: str, frame: Any, label: Any) -> Array:
    """A column (K,), which may have missing values.

    By itself, since frames of several columns may make numbers of dates.
    """
    column = np.asarray(frame[label])
    if column.dtype.kind == "O":
        from pandas import isna  # only here: objects mostly come from it, and it is slow to load

        column = np.where(isna(column), np.nan, column)
    try:
        return as_floats(name, column)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold numbers, but column {shown(label)} has {_first_fault(name, column)}"
            "; encode or impute what is no number."
        ) from None


def _first_fault(name: str, column: NDArray[Any]) -> str:
    """The first cell that is no number."""
    for cell in column:
        try:
            as_floats(name, np.asarray([cell]))
        except (TypeError, ValueError):
            return f"dates or times, {cell}" if _is_time(column.dtype) else shown(cell)
    return shown(column)


def _is_time(dtype: object) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "mM"
