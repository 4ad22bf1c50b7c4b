"""The user's own data files, made into problems; the one place for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import (
    IntArray,
    check_choice,
    check_real,
    check_text,
    shown,
)
from symbreak._support.random import stream
from symbreak.problems._data import warn_of_outliers
from symbreak.problems._encoding import Encoding
from symbreak.problems._problem import Problem, Task
from symbreak.problems._readers import read_table
from symbreak.problems._tables import Table, check_known, is_number, kind_of

#: Integers with more different values than this are measured or counted, not classes.
MAX_CLASSES = 20
#: And each class must have this many rows on average, unless there are two.
ROWS_PER_CLASS = 10
PARTS = ("train", "validation", "test")
#: A network that was trained on fewer rows says nothing about others.
MIN_TRAINING = 5


def read_problem(
    data: str | Path | Table,
    *,
    name: str,
    targets: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    numbers: str | Sequence[str] = (),
    like: Encoding | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    hidden: Sequence[int] = (5,),
    task: Task | Literal["auto"] = "regression",
    validation: float = 0.0,
    test: float = 0.0,
    seed: int = 0,
    **settings: Any,
) -> Problem:
    """Make a problem of a data file.

    Inputs that are text, dates or missing become numbers by an ``Encoding``, which is learned from
    the training rows. Rows without a target are left out, and counted in the description. A
    warning names columns with a value far from all others.

    Args:
        data: What ``read_table`` reads, or what it returns.
        name: What to call the problem.
        targets: Columns to predict; the last one that is not ignored, or y of an ``.npz`` file, if
            none is named. All others are inputs.
        ignore: Columns that are neither.
        categories: Inputs whose values are levels, whatever they look like; text is that anyway.
        numbers: Inputs that must be numbers.
        like: An earlier encoding: kinds of columns, and places of their levels, are those of it.
        header: Whether a text file or sheet begins with names of columns; None to recognise it.
        encoding: Of a text file, see ``read_table``.
        hidden: Sizes of the hidden layers.
        task: ``"regression"``, ``"classification"``, or ``"auto"``, see ``recognise_task``.
        validation: Share of the samples kept for validation.
        test: Share of the samples kept for the test.
        seed: Of the shuffle that divides the samples; each part has its share of every class.
        **settings: Other fields of ``Problem``.

    Raises:
        ValueError: if the file is not such a table, or has too few rows for the shares.
    """
    check_text("name", name)
    if isinstance(data, Table) and (header is not None or encoding is not None):
        raise ValueError("header and encoding are for files; give them to read_table.")
    table = data
    if not isinstance(table, Table):
        table = read_table(table, header=header, encoding=encoding)
    inputs, outputs = _choose_columns(table, _names("targets", targets), _names("ignore", ignore))
    check_choice("task", task, ("auto", *get_args(Task)))
    if (lost := table.missing(outputs)).any() and not lost.all():
        table = table.take(~lost)
        settings.setdefault("description", f"{lost.sum():,} rows without a target are left out")
    kinds = _names("categories", categories), _names("numbers", numbers)
    named = {*kinds[0], *kinds[1]}
    if others := named & {*table.names} - {*inputs}:
        raise ValueError(f"{table.path}: {others.pop()!r} is no input; for a target there is task.")
    left = {*inputs} - named
    for known in like.columns if like else ():
        if known.name in left and known.kind in ("category", "number"):
            kinds[known.kind == "number"].append(known.name)
    raw = table.raw(inputs, *kinds)
    task, y = _read_targets(table, outputs, task)
    labels = y if task == "classification" else None
    columns = raw if labels is not None else raw | dict(zip(outputs, y.T, strict=True))
    numeric = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    warn_of_outliers(numeric, rows=table.rows)
    rows = divide(seed, len(y), validation, test, labels)
    if labels is not None and (labels == labels[0]).all():
        raise ValueError(
            f"{table.path}: the target {outputs[0]!r} is the same in all {len(labels):,} rows, "
            f"{str(labels[0])[:30]!r}, so there are no classes to tell apart. Name another target."
        )
    rule = Encoding.learn({name: raw[name][rows["train"]] for name in inputs}, *kinds, like)
    with warnings.catch_warnings(action="ignore"):  # of rare levels, which are said otherwise
        codes = rule.codes(raw)
    X = rule.inputs(codes)
    plain = not rule.in_words and not np.isnan(codes).any()
    parts = {part: (X[chosen], y[chosen]) for part, chosen in rows.items()}
    return Problem.from_arrays(
        *parts["train"],
        hidden=hidden,
        task=task,
        validation=parts.get("validation"),
        test=parts.get("test"),
        name=name,
        name_outliers=False,
        feature_names=tuple(feature.name for feature in rule.features),
        encoding=None if plain else rule,
        target_names=() if task == "classification" else tuple(outputs),
        **settings,
    )


def recognise_task(table: Table, target: str, labels: NDArray[Any]) -> Task:
    """Classification if the labels (K,) of the only target are classes, else regression.

    Classes are strings, booleans, or integers with at most 20 different values that have ten rows
    each on average; two different integers are classes always.
    """
    values, counts = np.unique(labels, return_counts=True)
    if labels.dtype.kind in "US":
        texts = [str(value).replace(",", ".", 1) for value in values]  # or a decimal comma
        numeric = np.array([is_number(text) for text in texts])
        if counts[numeric].sum() * 2 < len(labels):
            _check_classes(table, target, values, len(labels))
            return "classification"
        if not numeric.all():
            return "regression"  # reading the numbers will then name what is none
        values = np.unique(np.array(texts, dtype=np.float64))
    if values.dtype.kind == "b":
        return "classification"
    whole = bool(np.all(np.floor(values) == values))
    few = len(values) <= MAX_CLASSES and ROWS_PER_CLASS * len(values) <= len(labels)
    return "classification" if whole and (few or len(values) == 2) else "regression"


def _read_targets(
    table: Table, outputs: list[str], task: Task | Literal["auto"]
) -> tuple[Task, NDArray[Any]]:
    """The task, recognised if it is to be, and targets: (K, q), or (K,) labels."""
    if task == "classification" and len(outputs) > 1:
        raise ValueError(f"classification has one target, got {', '.join(outputs)}.")
    if task in ("auto", "classification") and len(outputs) == 1:
        labels = table.labels(outputs[0])
        if task == "auto":
            task = recognise_task(table, outputs[0], labels)
        if task == "classification":
            return task, labels
    return "regression" if task == "auto" else task, table.numbers(outputs)


def _check_classes(table: Table, target: str, values: NDArray[Any], n_rows: int) -> None:
    """Refuse strings that are surely not classes."""
    kinds = {kind_of(str(value)) for value in values[:10]}
    if len(values) > max(2, n_rows / 2) or kinds == {"dates or times"}:
        raise ValueError(
            f"{table.path}: the target {target!r} is neither numbers nor classes, it has "
            f"{len(values):,} different strings in {n_rows:,} rows, such as "
            f"{str(values[0])[:30]!r}. "
            "Name another target."
        )


def _names(argument: str, names: str | Sequence[str]) -> list[str]:
    """A name, or several; a string is one name and not its letters."""
    chosen = [names] if isinstance(names, str) else names
    if not isinstance(chosen, list | tuple) or not all(isinstance(name, str) for name in chosen):
        raise ValueError(f"{argument} must be names of columns, got {shown(names)}.")
    chosen = list(chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{argument} names a column twice: {', '.join(chosen)}.")
    return chosen


def default_targets(table: Table, ignore: Sequence[str] = ()) -> list[str]:
    """The columns to predict if nobody names them: the table's own, or the last that is left."""
    if not table.targets:
        raise ValueError(f"{table.path} has no y; name the column to predict (targets, --target).")
    own = [name for name in table.targets if name not in ignore]
    left = own or [name for name in table.names if name not in ignore][-1:]
    if not left:
        raise ValueError(f"{table.path} has no columns left; it was read as {table.format}.")
    return left


def _choose_columns(
    table: Table, targets: list[str], ignore: list[str]
) -> tuple[list[str], list[str]]:
    """Names of inputs and targets."""
    outputs = targets or default_targets(table, ignore)
    check_known(table, [*outputs, *ignore])
    if both := set(outputs) & set(ignore):
        raise ValueError(f"{table.path}: {both.pop()!r} is a target, so it cannot be ignored.")
    left_out = {*outputs, *ignore}
    inputs = [name for name in table.names if name not in left_out]
    if not inputs:
        raise ValueError(
            f"{table.path} has no columns left for the inputs; it was read as {table.format}."
        )
    return inputs, outputs


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
        codes = np.unique(labels, return_inverse=True)[1]
        quotas = class_quotas(np.bincount(codes), sizes)
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
                f"{part} must be a share that gives at least one row, got {share:g} of {n_rows}."
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
