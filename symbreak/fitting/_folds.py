"""Cross-validation: parts of the samples that are left out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from symbreak._support.checks import Mask
from symbreak.problems import Dataset, Problem

#: Into so many parts the samples are divided; each part is predicted once from the others.
FOLDS = 5


def folds(problem: Problem) -> Iterator[tuple[Problem, Problem]]:
    """For each part, the problem with all other samples, and the one with the part alone.

    Parts have shares of every class that are as equal as can be.
    """
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


def _part(data: Dataset, chosen: Mask) -> Dataset:
    arrays = (getattr(data, field.name) for field in fields(data))
    return Dataset(*(values if values is None else values[chosen] for values in arrays))  # type: ignore[arg-type]
