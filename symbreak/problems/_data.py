"""Samples, the scaling that normalises them, and values so far from others that they are slips."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symbreak._support.checks import (
    Array,
    IntArray,
    Mask,
    check_count,
    check_finite,
    check_memory,
    check_vectors,
    shown,
)
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


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples: inputs ``X`` (K, d) and targets ``y`` (K, q).

    Positive ``weights`` (K,) say how much each counts; None means alike. ``counts`` (K,) say how
    many equal rows were merged into each; None means one.
    """

    X: Array
    y: Array
    weights: Array | None = None
    counts: Array | None = None

    def __post_init__(self) -> None:
        for name in ("X", "y"):
            object.__setattr__(self, name, _checked_matrix(name, getattr(self, name)))
        if len(self.X) != len(self.y):
            raise ValueError(
                f"X and y must have the same number K of samples, got {len(self.X)} and "
                f"{len(self.y)}."
            )
        if self.weights is not None:
            object.__setattr__(self, "weights", sample_weights(self.weights, len(self.X)))

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice | Mask) -> Dataset:
        weights = None if self.weights is None else self.weights[rows]
        counts = None if self.counts is None else self.counts[rows]
        return Dataset(self.X[rows], self.y[rows], weights, counts)

    @property
    def n_rows(self) -> int:
        """How many rows there were before equal ones were merged."""
        return len(self) if self.counts is None else int(self.counts.sum())

    @property
    def n_effective(self) -> float:
        """How many rows of equal weight say as much of a mean (Kish); those merged weigh alike."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        counts = np.ones(len(self)) if self.counts is None else self.counts
        return float(self.total_weight**2 / np.sum(weights**2 / counts))

    @property
    def total_weight(self) -> float:
        """How much the samples count together: the sum of their weights, or their number."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"Dataset({len(self)} samples, {self.X.shape[1]} to {self.y.shape[1]}{weighted})"


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map to zero mean and unit variance of the training set, column by column."""

    mean: Array
    scale: Array

    def __post_init__(self) -> None:
        for name in ("mean", "scale"):
            vector = check_vectors(getattr(self, name), "(n,)", name)
            check_finite(name, vector)
            object.__setattr__(self, name, vector)
        if self.mean.ndim != 1 or self.scale.shape != self.mean.shape:
            raise ValueError(
                "mean and scale must both have shape (n,), a number per column, got "
                f"{self.mean.shape} and {self.scale.shape}."
            )
        if not (self.scale > 0).all():
            raise ValueError(f"scale must be positive, got {self.scale.min():g}.")

    @classmethod
    def fit(cls, values: Array, weights: Array | None = None) -> Scaling:
        """Measure ``values`` (K, n) of samples with ``weights``; a constant column gets scale 1."""
        values = _checked_matrix("values", values)
        if weights is not None:
            weights = sample_weights(weights, len(values))
        centre = values[0]
        constant = np.all(values == centre, axis=0)
        # Measured in units of the largest deviation, or squares would under- or overflow.
        with np.errstate(over="ignore"):
            unit = np.where(constant, 1, np.abs(values - centre).max(axis=0))
        if not np.isfinite(unit).all():
            raise ValueError(f"values are too large to normalise, up to {np.abs(values).max():g}.")
        deviations = (values - centre) / unit
        if weights is None:
            mean, spread = deviations.mean(axis=0), deviations.std(axis=0)
        else:
            mean = np.average(deviations, axis=0, weights=weights)
            spread = np.sqrt(np.average((deviations - mean) ** 2, axis=0, weights=weights))
        scale = unit * spread
        return cls(centre + unit * mean, np.where(constant | (scale == 0), 1, scale))

    @classmethod
    def fit_in_place(cls, values: Array, weights: Array | None) -> Scaling:
        """Normalise the columns of an array in place, one by one, and say how."""
        columns = [cls.fit(values[:, [j]], weights) for j in range(values.shape[1])]
        scaling = cls(
            np.concatenate([column.mean for column in columns]),
            np.concatenate([column.scale for column in columns]),
        )
        values -= scaling.mean
        values /= scaling.scale
        return scaling

    @classmethod
    def identity(cls, n: int) -> Scaling:
        """No change."""
        n = check_count("n", n, 1)
        check_memory(f"scales of {shown(n)} columns", 16 * n, "use fewer")
        return cls(np.zeros(n), np.ones(n))

    def __call__(self, values: Array) -> Array:
        """To normalised units."""
        values = self._checked(values)
        with np.errstate(over="ignore"):
            return _finite(np.ascontiguousarray((values - self.mean) / self.scale))

    def undo(self, values: Array) -> Array:
        """Back to the units of the data."""
        values = self._checked(values)
        with np.errstate(over="ignore"):
            return _finite(values * self.scale + self.mean)

    def _checked(self, values: Array) -> Array:
        n = len(self.mean)
        values = check_vectors(values, f"(K, {n})", "values")
        if values.shape[-1:] != (n,):
            raise ValueError(f"values must have shape (K, n) = (K, {n}), got {values.shape}.")
        check_finite("values", values)
        return values


def _checked_matrix(name: str, values: ArrayLike) -> Array:
    """A matrix that is not copied if it is one of finite float64 already."""
    matrix = check_vectors(values, "(K, n)", name)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(
            f"{name} must have shape (K, n) and not be empty, got shape {matrix.shape}."
        )
    check_finite(name, matrix)
    return matrix


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError("values are too large for the scaling of the data.")
    return values


def sample_weights(weights: ArrayLike, n: int, part: str = "train") -> Array:
    """Positive numbers, one a sample."""
    column = check_vectors(weights, f"(K,) = ({n},)", f"{part} weights").copy()
    if column.shape != (n,):
        raise ValueError(
            f"{part} weights must have shape (K,) = ({n},), one a sample, got {column.shape}."
        )
    check_finite(f"{part} weights", column)
    if not (column > 0).all():
        raise ValueError(
            f"{part} weights must be positive, got {column.min():g}; leave out samples that do "
            "not count."
        )
    return column


def merge_samples(
    X: Array, y: NDArray[Any], weights: Array | None
) -> tuple[IntArray, Array | None, Array | None]:
    """Rows to keep, in an order of their own, their weights, and of how many rows each is made.

    Both are None if they are 1 for all.

    Equal samples become one, with the sum of their weights. So neither the order of samples, nor
    repeating one instead of giving it more weight, changes a bit of what is trained on them.
    """
    Y = np.unique(y, return_inverse=True)[1][:, None] if y.ndim == 1 else y
    keys = _row_keys(X, Y)
    rows = np.argsort(keys, kind="stable")
    before, after = rows[:-1], rows[1:]
    alike = np.flatnonzero(keys[before] == keys[after])
    same = [(Z[before[alike]] == Z[after[alike]]).all(axis=1) for Z in (X, Y)]
    is_first = np.ones(len(rows), dtype=np.bool_)
    is_first[alike + 1] = ~(same[0] & same[1])
    groups = np.cumsum(is_first) - 1
    counts = np.bincount(groups).astype(np.float64)
    merged = counts if weights is None else np.bincount(groups, weights[rows])
    weights = None if np.all(merged == 1) else merged.astype(np.float64)
    return rows[is_first], weights, None if np.all(counts == 1) else counts


def _row_keys(*parts: NDArray[Any]) -> NDArray[np.uint64]:
    """A hash of each row, column by column: a sort of whole rows would need copies of them all."""
    keys = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        for column in part.T:
            keys ^= (column + 0.0).view(np.uint64)  # -0 and 0 are equal
            keys *= np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
    return keys


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
