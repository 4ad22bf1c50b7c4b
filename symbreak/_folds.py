"""Parts of the samples that are left out in turn, to see what a network makes of the unseen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from symbreak._checks import Mask
from symbreak.problems import Dataset, Problem

#: Each sample is predicted once from the others, in so many parts.
FOLDS = 5


def folds(problem: Problem) -> Iterator[tuple[Problem, Problem]]:
    """Parts, with as equal shares of every class as can be, that are shown and left out."""
    y, K = problem.train.y, len(problem.train)
    classes = y.argmax(axis=1) if problem.task == "classification" else np.zeros(K)
    fold = np.empty(K, dtype=np.int64)
    fold[np.argsort(classes, kind="stable")] = np.arange(K) % FOLDS
    for f in range(min(FOLDS, K)):
        left_out = fold == f
        yield (
            replace(problem, train=_part(problem.train, ~left_out)),
            replace(problem, train=_part(problem.train, left_out)),
        )


def weight_of(data: Dataset) -> float:
    """How much the samples count together."""
    return float(len(data) if data.weights is None else data.weights.sum())


def _part(data: Dataset, chosen: Mask) -> Dataset:
    arrays = (getattr(data, field.name) for field in fields(data))
    return Dataset(*(values if values is None else values[chosen] for values in arrays))  # type: ignore[arg-type]
