"""Results as frames: runs, a row each, and what was noted during them, below each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symbreak.experiments._columns import RUN, Row
from symbreak.experiments._spec import Condition, Facts

if TYPE_CHECKING:
    import pandas as pd

Arrays = Mapping[str, NDArray[Any]]

_ERRORS = ["train_error", "validation_error", "test_error"]
#: What names a run in every frame.
NAMES = ["problem", "method", "repetition"]
#: The frames of one row per run or more, and the tables of an archive that hold them.
TABLE_OF = {
    **{"runs": "runs", "curves": "curves", "part_errors": "rates"},
    **{"traces": "traces", "spread": "spread"},
}


@dataclass(frozen=True, eq=False)
class Frames:
    """All results of a store or an archive; docs/studies.md says what the columns are."""

    runs: pd.DataFrame  # finished runs
    curves: pd.DataFrame  # best error so far, a row per improvement and one at the end
    part_errors: pd.DataFrame  # on each part of the data, where validation improves
    traces: pd.DataFrame  # share of modified candidates, and step size, after every generation
    spread: pd.DataFrame  # how candidates were spread over partitions, a row per measurement
    failures: pd.DataFrame  # runs that raised, with their tracebacks
    problems: dict[str, Facts]  # by the column ``identity`` of the runs
    studies: list[tuple[str, str]]  # names and texts of the study files

    def facts(self) -> dict[str, Facts]:
        """Facts about the problems, by name."""
        pairs = self.runs[["problem", "identity"]].drop_duplicates()
        return {name: self.problems[one] for name, one in pairs.itertuples(index=False)}

    def conditions(self) -> list[Condition]:
        """Under what each run was done."""
        columns = [*NAMES, "key", "settings", "data_seed", "identity"]
        rows: list[Any] = self.runs[columns].to_numpy(object).tolist()
        return [Condition._make((*row[:-1], self.problems[row[-1]])) for row in rows]


def runs_frame(found: Sequence[tuple[Row, Facts]]) -> pd.DataFrame:
    """A row per run, from those of a store and facts about their problems."""
    import pandas as pd

    rows, facts = [row for row, _ in found], [each for _, each in found]
    frame: dict[str, list[Any]] = {"problem": [each["name"] for each in facts]}
    for name in ("method", "role", "repetition"):
        frame[name] = [row[name] for row in rows]
    for name in ("identity", "task"):
        frame[name] = [each[name] for each in facts]
    frame["goal"] = [each.get("goal", np.nan) for each in facts]
    for column in RUN:
        if column.frame:
            frame[column.frame] = [row[column.name] for row in rows]
    for name in _ERRORS:
        frame[name] = [np.nan if error is None else error for error in frame[name]]
    shown = zip(frame["task"], frame["test_error"], frame["error"], strict=True)
    frame["table_error"] = [
        error if task != "classification" or np.isnan(tested) else tested
        for task, tested, error in shown
    ]
    counters = [json.loads(row["counters"]) for row in rows]
    for name in sorted({name for counts in counters for name in counts}):
        frame[f"n_{name}"] = [counts.get(name, 0) for counts in counters]
    frame["key"] = frame.pop("key")  # the longest and least read comes last
    return pd.DataFrame(frame)


def _traces(arrays: Arrays, max_points: int | None) -> dict[str, NDArray[Any]]:
    """Means of equal numbers of generations, at most ``max_points`` a run."""
    shares = arrays["modified_share"]
    n = len(shares)
    steps = arrays.get("step_size", np.full(n, np.nan))
    group = -(-n // max_points) if max_points else 1
    starts = np.arange(0, n, max(group, 1))
    lengths = np.diff(np.append(starts, n))
    return {
        "evaluations": arrays["generation_evaluations"][starts + lengths - 1],
        "modified_share": np.add.reduceat(shares, starts) / lengths,
        "step_size": np.add.reduceat(steps, starts) / lengths,
    }


def _long_columns(arrays: Arrays, max_points: int | None) -> dict[str, dict[str, NDArray[Any]]]:
    """The columns that a run adds to each of the long frames."""

    def columns_of(name: str, *columns: str) -> dict[str, NDArray[Any]]:
        table = arrays.get(name, np.empty((0, len(columns))))  # some runs have none
        return dict(zip(columns, table.T, strict=True))

    return {
        "curves": {"evaluations": arrays["evaluations"], "error": arrays["errors"]},
        "part_errors": columns_of("rates", "evaluations", *_ERRORS),
        "traces": _traces(arrays, max_points),
        "spread": columns_of("spread", "evaluations", "partition_share", "conventions"),
    }


def long_frames(
    runs: pd.DataFrame, arrays: Iterable[Arrays], max_points: int | None
) -> dict[str, pd.DataFrame]:
    """The arrays of runs below each other, with their names; a KeyError if a run lacks one."""
    import pandas as pd

    parts, frames = [_long_columns(each, max_points) for each in arrays], {}
    for kind in TABLE_OF.keys() - {"runs"}:
        of_runs = [part[kind] for part in parts]
        lengths = [len(part["evaluations"]) for part in of_runs]
        frame: dict[str, Any] = {name: np.repeat(runs[name].to_numpy(), lengths) for name in NAMES}
        for name in of_runs[0] if of_runs else ():
            frame[name] = np.concatenate([part[name] for part in of_runs])
        frames[kind] = pd.DataFrame(frame)
    return frames


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames by name; a run that several have is taken from the first."""
    import pandas as pd

    there = [frame.assign(source=i) for i, frame in enumerate(frames) if len(frame)]
    if len(there) < 2:
        return there[0].drop(columns="source") if there else frames[0]
    rows = pd.concat(there)
    first = rows.groupby(NAMES)["source"].transform("min") == rows.pop("source")
    return rows[first].sort_values(NAMES, kind="stable", ignore_index=True)
