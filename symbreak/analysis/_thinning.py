"""From the rows of all runs to the few that a chart needs.

Curves are thinned to a common grid of evaluations before they are drawn, so that a chart holds a
few hundred rows and never the curves of all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from symbreak._support.checks import Array

#: Points per curve, one every five pixels.
N_POINTS = 60


def select(frame: pd.DataFrame, problem: str, methods: Iterable[str]) -> pd.DataFrame:
    """The rows of some methods on a problem; quick if the frame holds no other problem."""
    if frame.empty:
        return frame
    of_problem = frame[frame["problem"] == problem]
    return of_problem[of_problem["method"].isin(list(methods))]


def finite(frame: pd.DataFrame, column: str) -> pd.Series[bool]:
    """Which rows have a finite number there."""
    values = pd.Series(dtype=float) if frame.empty else frame[column]
    return pd.Series(np.isfinite(values.to_numpy(np.float64)), index=values.index)


def _runs(frame: pd.DataFrame, column: str) -> Iterator[tuple[Array, Array]]:
    """Evaluations and values of each run of a method."""
    evaluations, values = (frame[name].to_numpy(np.float64) for name in ("evaluations", column))
    changes = np.diff(frame["repetition"].to_numpy()) != 0
    starts = np.flatnonzero(changes | (np.diff(evaluations) < 0)) + 1
    yield from zip(np.split(evaluations, starts), np.split(values, starts), strict=True)


def quartiles(frame: pd.DataFrame, column: str, logarithmic: bool = False) -> pd.DataFrame:
    """Quartiles over runs on a grid of evaluations, where all runs of a method have values.

    The frame has the columns method, repetition, evaluations and the one asked for, whose
    values hold until the next row.
    """
    if frame.empty:
        return pd.DataFrame(columns=["method", "evaluations", "lower", "median", "upper"])
    grid = _grid(frame["evaluations"], logarithmic)
    parts = []
    for method in frame["method"].unique():
        runs = list(_runs(frame[frame["method"] == method], column))
        first = max(evaluations[0] for evaluations, _ in runs)
        last = min(evaluations[-1] for evaluations, _ in runs)
        points = grid[(grid >= first) & (grid <= last)]
        held = [values[np.searchsorted(at, points, side="right") - 1] for at, values in runs]
        parts.append(_quartile_rows(method, points, np.array(held)))
    data = pd.concat(parts, ignore_index=True)
    return data[np.isfinite(data["median"])]


def _grid(evaluations: pd.Series[Any], logarithmic: bool = False) -> Array:
    """Points up to the last evaluation; logarithmic ones span three decades."""
    end = max(1.0, float(evaluations.max()))
    low = max(1.0, end / 1000) if logarithmic else end / N_POINTS
    spaced = np.geomspace if logarithmic else np.linspace
    return np.unique(np.append(spaced(low, end, N_POINTS).round(), end))


def _quartile_rows(method: str, points: Array, values: Array) -> pd.DataFrame:
    with np.errstate(invalid="ignore"):  # infinite errors
        quartiles = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    data = pd.DataFrame({"method": method, "evaluations": points.astype(np.int64)})
    for name, row in zip(("lower", "median", "upper"), quartiles, strict=True):
        data[name] = [float(f"{value:.4g}") for value in row]  # a third of the size of a chart
    return data


def until_the_end(rates: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Rates with a last row at the end of each run; they come at improvements only."""
    if rates.empty or runs.empty:
        return rates.iloc[:0]
    keys = ["method", "repetition"]
    last = rates.groupby(keys, as_index=False).last().drop(columns="evaluations")
    ends = last.merge(runs[[*keys, "evaluations"]], on=keys)
    return pd.concat([rates, ends]).sort_values([*keys, "evaluations"], kind="stable")


def averaged(traces: pd.DataFrame) -> pd.DataFrame:
    """Shares averaged over the generations between two points of a logarithmic grid."""
    if traces.empty:
        return traces
    grid = _grid(traces["evaluations"], logarithmic=True)
    points = grid[np.searchsorted(grid, traces["evaluations"])]
    keys = ["method", "repetition", "evaluations"]
    shares = traces.assign(evaluations=points).groupby(keys)["modified_share"]
    return shares.mean().reset_index()
