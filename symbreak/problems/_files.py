"""Problems from the user's own files: a CSV table with a header, or an ``.npz`` of arrays."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from symbreak._checks import check_real, unknown
from symbreak._random import stream
from symbreak.problems._problem import Problem, Task

Pair = tuple[ArrayLike, ArrayLike]


def read_problem(
    path: Path,
    *,
    name: str,
    targets: Sequence[str] = (),
    hidden: Sequence[int] = (5,),
    task: Task = "regression",
    validation: float = 0.0,
    test: float = 0.0,
    seed: int = 0,
    **settings: Any,
) -> Problem:
    """Make a problem of a data file.

    Args:
        path: A ``.csv`` file with a header line, or a ``.npz`` file with arrays X and y.
        name: What to call the problem.
        targets: Columns of the CSV file to predict; the last one if none is named. All others
            are inputs.
        hidden: Sizes of the hidden layers.
        task: ``"regression"`` or ``"classification"``.
        validation: Share of the samples kept for validation.
        test: Share of the samples kept for the test.
        seed: Of the shuffle that divides the samples.
        **settings: Other fields of ``Problem``.
    """
    if not path.is_file():
        raise ValueError(f"no data file {str(path)!r}.")
    X, y = _read_npz(path) if path.suffix == ".npz" else _read_csv(path, targets, task)
    validation = check_real("validation", validation, 0, 1)
    test = check_real("test", test, 0, 1)
    n_validation, n_test = round(validation * len(X)), round(test * len(X))
    if n_validation + n_test >= len(X):
        raise ValueError(
            f"validation and test must leave samples for training, got shares {validation:g} and "
            f"{test:g} of {len(X)}."
        )
    order = stream(seed, "division", name).permutation(len(X))

    def part(first: int, n: int) -> tuple[Any, Any] | None:
        rows = order[first : first + n]
        return (X[rows], y[rows]) if n else None

    train = part(n_validation + n_test, len(X) - n_validation - n_test)
    assert train is not None
    return Problem.from_arrays(
        *train,
        hidden=hidden,
        task=task,
        validation=part(0, n_validation),
        test=part(n_validation, n_test),
        name=name,
        **settings,
    )


def _read_npz(path: Path) -> tuple[Any, Any]:
    try:
        arrays = np.load(path, allow_pickle=False)
        X, y = arrays["X"], arrays["y"]
    except (KeyError, ValueError, OSError, BadZipFile):
        raise ValueError(f"{path} must hold arrays X and y, as numpy.savez writes them.") from None
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"{path}: X (K, d) and y (K,) or (K, q), got {X.shape} and {y.shape}.")
    return X, y


def _read_csv(path: Path, targets: Sequence[str], task: Task) -> tuple[Any, Any]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8: {error}.") from None
    if len(rows) < 2:
        raise ValueError(f"{path} must have a header line and at least one sample.")
    header = [column.strip() for column in rows[0]]
    if all(map(_is_number, header)):
        raise ValueError(f"{path}: the first line must name the columns, got {rows[0]}.")
    for column in header:
        if header.count(column) > 1:
            raise ValueError(f"{path}: columns must have different names, got {column!r} twice.")
    targets = list(targets) or header[-1:]
    for target in targets:
        if target not in header:
            raise unknown(f"column of {path.name}", target, header)
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, row {number}: expected {len(header)} values, got {len(row)}."
            )
    inputs = [column for column in header if column not in targets]
    if not inputs:
        raise ValueError(f"{path} has no columns left for the inputs.")
    X = _numbers(path, header, rows[1:], inputs)
    if task == "classification":
        labels = [row[header.index(targets[0])].strip() for row in rows[1:]]
        return X, np.array(labels)
    return X, _numbers(path, header, rows[1:], targets)


def _numbers(path: Path, header: list[str], rows: list[list[str]], columns: list[str]) -> Any:
    where = [header.index(column) for column in columns]
    values = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(where):
            place = f"{path}, row {i + 2}, column {header[column]!r}"
            if not _is_number(row[column]):
                raise ValueError(f"{place}: expected a number, got {row[column]!r}.")
            values[i, j] = float(row[column])
            if not np.isfinite(values[i, j]):
                raise ValueError(f"{place}: expected a finite number, got {row[column]!r}.")
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
