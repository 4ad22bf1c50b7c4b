"""Frames of a store: its runs, a row each, and their arrays below each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symbreak.experiments._columns import RUN, Row
from symbreak.experiments._identity import Facts, Label, label_runs
from symbreak.experiments._schema import TABLES

if TYPE_CHECKING:
    import pandas as pd

Arrays = Mapping[str, NDArray[Any]]

_ERRORS = ["train_error", "validation_error", "test_error"]


def runs(rows: Sequence[Row], problems: Mapping[int, Facts]) -> pd.DataFrame:
    """A row per run, ordered by problem, method and repetition."""
    import pandas as pd

    by_key = label_runs(rows, problems)
    rows = sorted(rows, key=lambda row: _place(by_key[row["key"]]))
    labels = [by_key[row["key"]] for row in rows]
    frame: dict[str, list[Any]] = {
        title: [label[k] for label in labels] for k, title in enumerate(Label._fields)
    }
    frame["task"] = [problems[row["problem_id"]]["task"] for row in rows]
    for column in RUN:
        if column.frame:
            frame[column.frame] = [row[column.name] for row in rows]
    for name in _ERRORS:
        frame[name] = [np.nan if error is None else error for error in frame[name]]
    frame["table_error"] = [_table_error(*row) for row in zip(frame["task"], rows, strict=True)]
    counters = [json.loads(row["counters"]) for row in rows]
    for name in sorted({name for counts in counters for name in counts}):
        frame[f"n_{name}"] = [counts.get(name, 0) for counts in counters]
    frame["key"] = frame.pop("key")  # the longest and least read comes last
    return pd.DataFrame(frame)


def _table_error(task: str, row: Row) -> float:
    """What the paper's Table 1 shows of a run."""
    shown = row["test_error"] if task == "classification" else None
    return float(row["error"] if shown is None else shown)


def failures(rows: Iterable[Row]) -> pd.DataFrame:
    """A row per failure."""
    import pandas as pd

    ordered = sorted(rows, key=lambda row: (row["problem"], row["method"], row["repetition"]))
    return pd.DataFrame(ordered, columns=TABLES["failure"].names())


class LongFrame(NamedTuple):
    """Which arrays make a frame, and how; the function is given the population size too."""

    arrays: tuple[str, ...]
    columns: Callable[[int, Arrays], dict[str, NDArray[Any]]]


def _table(name: str, *columns: str) -> LongFrame:
    """A frame of one array with these columns."""

    def split(size: int, arrays: Arrays) -> dict[str, NDArray[Any]]:
        table = arrays.get(name, np.empty((0, len(columns))))
        return dict(zip(columns, table.T, strict=True))

    return LongFrame((name,), split)


CURVES = LongFrame(
    ("evaluations", "errors"),
    lambda size, arrays: {"evaluations": arrays["evaluations"], "error": arrays["errors"]},
)
RATES = _table("rates", "evaluations", *_ERRORS)
SPREAD = _table("spread", "evaluations", "partition_share", "conventions")


def traces_of(max_points: int | None) -> LongFrame:
    """Means of equal numbers of generations, at most ``max_points`` a run."""

    def means(size: int, arrays: Arrays) -> dict[str, NDArray[Any]]:
        shares = arrays["modified_share"]
        n = len(shares)
        steps = arrays.get("step_size", np.full(n, np.nan))
        # stores did not always keep them, when generations were all alike
        evaluations = arrays.get("generation_evaluations", size * np.arange(1, n + 1))
        group = -(-n // max_points) if max_points else 1
        starts = np.arange(0, n, max(group, 1))
        lengths = np.diff(np.append(starts, n))
        return {
            "evaluations": evaluations[starts + lengths - 1],
            "modified_share": np.add.reduceat(shares, starts) / lengths,
            "step_size": np.add.reduceat(steps, starts) / lengths,
        }

    return LongFrame(("modified_share", "step_size", "generation_evaluations"), means)


def long(
    kind: LongFrame,
    rows: Sequence[Row],
    labels: Mapping[str, Label],
    arrays: Iterable[Arrays],
) -> pd.DataFrame:
    """The arrays of all runs below each other, with the names of the runs."""
    import pandas as pd

    parts = [kind.columns(row["population_size"], a) for row, a in zip(rows, arrays, strict=True)]
    order = sorted(range(len(rows)), key=lambda i: _place(labels[rows[i]["key"]]))
    lengths = [len(parts[i]["evaluations"]) for i in order]
    places = [_place(labels[rows[i]["key"]]) for i in order]
    frame: dict[str, Any] = {
        title: np.repeat([place[k] for place in places], lengths)
        for k, title in enumerate(("problem", "method", "repetition"))
    }
    for name in parts[0] if parts else ():
        frame[name] = np.concatenate([parts[i][name] for i in order])
    return pd.DataFrame(frame)


def _place(label: Label) -> tuple[str, str, int]:
    return label.problem, label.method, label.repetition
