"""How the rows of a table are divided: those for training, for validation and for the test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import IntArray, check_real
from symbreak._support.random import stream
from symbreak.problems._tables import short

PARTS = ("train", "validation", "test")
#: A network that was trained on fewer rows says nothing about others.
MIN_TRAINING = 5


def divide(
    seed: int, n_rows: int, validation: float, test: float, labels: NDArray[Any] | None = None
) -> dict[str, IntArray]:
    """Numbers of the rows of each part that has any, shuffled.

    Of each class that ``labels`` (K,) name, a part gets its share to within one row. Nothing but
    the arguments decides: neither what else is in the rows nor what they are called.
    """
    sizes = _part_sizes(n_rows, validation, test)
    shuffled = stream(seed, "division").permutation(n_rows)
    codes, quotas = np.zeros(n_rows, dtype=np.intp), sizes[None]
    if labels is not None and sizes[0] < n_rows:
        classes, codes = np.unique(labels, return_inverse=True)
        quotas = class_quotas(np.bincount(codes), sizes)
        _check_classes(classes, quotas)
    by_class = np.argsort(codes[shuffled], kind="stable")
    part = np.empty(n_rows, dtype=np.intp)
    part[by_class] = np.repeat(np.tile(np.arange(len(PARTS)), len(quotas)), quotas.ravel())
    return {name: shuffled[part == i] for i, name in enumerate(PARTS) if sizes[i]}


def class_quotas(class_sizes: IntArray, part_sizes: IntArray) -> IntArray:
    """How many rows (C, P) each part gets of each class: its share, to within one row.

    Sums over classes are the sizes (P,) of the parts, sums over parts those (C,) of the classes.
    What is left after rounding down goes to the parts that lack most, which always comes out even
    (the theorem of Gale and Ryser); small classes choose first, and of two parts the first.
    """
    quotas: IntArray = np.outer(class_sizes, part_sizes) // class_sizes.sum()
    lacking = part_sizes - quotas.sum(axis=0)
    for i in np.argsort(class_sizes, kind="stable"):
        n_left = class_sizes[i] - quotas[i].sum()
        most = np.argsort(-lacking, kind="stable")[:n_left]
        quotas[i, most] += 1
        lacking[most] -= 1
    return quotas


def _part_sizes(n_rows: int, validation: float, test: float) -> IntArray:
    """Numbers of rows (P,) for training, validation and test."""
    shares = [check_real("validation", validation, 0, 1), check_real("test", test, 0, 1)]
    sizes = [round(share * n_rows) for share in shares]
    for part, share, size in zip(PARTS[1:], shares, sizes, strict=True):
        if share and not size:
            raise ValueError(
                f"{part} must be a share that gives at least one row, got {share:g} of {n_rows}; "
                f"this share needs {np.floor(0.5 / share) + 1:.15g} rows."
            )
    n_train = n_rows - sum(sizes)
    if n_train < MIN_TRAINING:
        found = f"got {n_rows}."
        if any(sizes):
            found = (
                f"but validation and test, shares {shares[0]:g} and {shares[1]:g} of {n_rows}, "
                f"leave {max(n_train, 0)}; take smaller shares, or more rows."
            )
        raise ValueError(f"a network needs at least {MIN_TRAINING} rows for training, {found}")
    return np.array([n_train, *sizes])


def _check_classes(classes: NDArray[Any], quotas: IntArray) -> None:
    """Raise if the training part lacks a class."""
    if lost := [str(label) for label in classes[quotas[:, 0] == 0]]:
        raise ValueError(
            "training needs rows of every class, but validation and test take all that there are "
            f"of {', '.join(short(lost))}; take smaller shares, add rows of these, or leave them "
            "out."
        )
