"""Values so far from all others of their column that they are slips, or stand for missing ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from symbreak._support.checks import Array, IntArray
from symbreak._support.words import few

#: A value so many interquartile ranges from the quartiles, and so many times as far from them as
#: the next ones, may be no measurement.
FAR, GAP = 50, 20
#: What often stands for a missing value is none so many ranges away, if all others are nearer.
CODES, FAR_CODE = (99.0, 999.0, 9_999.0, 99_999.0, 999_999.0), 5
#: Outliers have at most so many different values, or this part of the samples: many are no
#: exceptions.
MAX_VALUES, MAX_SHARE = 3, 0.01
#: A range that is this part of its ends is rounding.
SAME = 1e-9
#: More columns are counted.
MAX_COLUMNS = 3


def warn_of_outliers(
    columns: Mapping[str, Array], *, rows: IntArray | None = None, stacklevel: int = 3
) -> None:
    """Name columns (K,) with outliers in one warning, each with its farthest and where that is.

    ``rows`` are those of a file, if the columns are from one; else samples have an index.
    """
    found = {name: outliers(values) for name, values in columns.items()}
    said = []
    for name, places in found.items():
        if len(places):
            at = f"index {places[0]}" if rows is None else f"row {rows[places[0]]}"
            more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
            said.append(f"{name} {columns[name][places[0]]:g} ({at}{more})")
    if said:
        warnings.warn(
            f"Far from all other values: {few(said, MAX_COLUMNS)}. A network bends towards such a "
            "value. If it is a slip or a code for missing, correct it or leave the sample out.",
            stacklevel=stacklevel,
        )


def named_columns(values: Array, names: Sequence[str], letter: str) -> dict[str, Array]:
    """Columns of values (K, n) by name; x1, x2, ... if they have none."""
    names = names or [f"{letter}{i + 1}" for i in range(values.shape[1])]
    return dict(zip(names, values.T, strict=True))


@np.errstate(over="ignore", invalid="ignore")
def outliers(values: Array) -> IntArray:
    """Places of values of a column (K,) that are very far from all others; the farthest first.

    Very far is beyond ``FAR`` interquartile ranges from the quartiles, and ``GAP`` times as far as
    the next ones: a tail that is merely heavy has values all the way. A column that is mostly the
    same has no range. NaN counts for nothing.
    """
    known = np.flatnonzero(np.isfinite(values))
    values, nothing = values[known], np.empty(0, dtype=np.int64)
    if len(values) == 0:
        return nothing
    low, high = np.quantile(values, [0.25, 0.75])
    width = high - low
    if width <= SAME * max(abs(low), abs(high)):
        return nothing
    distances = np.maximum(low - values, values - high)
    if distances.max() <= FAR_CODE * width:
        return nothing
    codes = np.isin(np.abs(values), CODES) & (distances > FAR_CODE * width)
    if codes.any() and (distances[~codes] <= FAR_CODE * width).all():
        return known[codes]
    order = np.argsort(distances, kind="stable")
    ladder = np.maximum(distances[order], width)
    steps = (ladder[1:] > FAR * width) & (ladder[1:] > GAP * ladder[:-1])
    apart = order[1 + int(np.argmax(steps)) :][::-1] if steps.any() else nothing
    most = max(MAX_VALUES, MAX_SHARE * len(values))
    return known[apart] if len(np.unique(values[apart])) <= most else nothing
