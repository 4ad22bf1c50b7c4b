"""How many evaluations it takes to reach a target error, as COCO reports it.

Targets are multiples of the best mean training error of any method on the problem, or the goal that
the problem has. Expected
running time is Hansen et al.'s: the evaluations of all runs, each until it hits the target or
ends, divided by the number of hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from symbreak._support.checks import Array, IntArray
from symbreak._support.random import stream
from symbreak.analysis._lineup import Lineup

#: Targets are so many times the best mean.
FACTORS = (10.0, 3.0, 1.5, 1.1)
#: Columns that say to what a time to a target belongs.
KEYS = ["problem", "family", "method", "factor"]


def target_table(runs: pd.DataFrame, factors: Sequence[float] = FACTORS) -> pd.DataFrame:
    """The targets of each problem, a row per problem and factor.

    Curves are of training errors, so the best mean is of ``error``, over all methods. A
    problem without a finite mean has no targets.
    """
    errors = runs[["problem", "method"]].assign(error=_column(runs, "error"))
    means = errors.groupby(["problem", "method"], sort=False)["error"].mean().reset_index()
    means = means[np.isfinite(means["error"])]
    best = means.loc[means.groupby("problem", sort=False)["error"].idxmin()]
    best = best.rename(columns={"method": "best_method", "error": "best_mean"})
    table = best.merge(pd.DataFrame({"factor": np.array(factors, dtype=np.float64)}), how="cross")
    goals = runs.assign(goal=_column(runs, "goal") if "goal" in runs else np.nan)
    goal = table["problem"].map(goals.groupby("problem")["goal"].first())
    return table.assign(target=goal.fillna(table["best_mean"] * table["factor"]))


def evaluations_to_targets(
    runs: pd.DataFrame, curves: pd.DataFrame, targets: pd.DataFrame
) -> pd.DataFrame:
    """When each run first reached each target, a row per run and factor.

    Args:
        runs: Says the family of each method.
        curves: Best errors so far, run by run and in order, as ``Store.curves`` gives them.
        targets: From ``target_table``.

    Returns:
        Columns problem, family, method, repetition, factor, target; ``hit``, evaluations at the
        first error no greater than the target, NaN if there is none; ``solved``; ``total``
        evaluations of the run; ``spent``, ``hit`` or else ``total``.
    """
    starts = _run_starts(curves)
    heads = curves.iloc[starts][["problem", "method", "repetition"]].reset_index(drop=True)
    heads["family"] = heads["method"].map(runs.groupby("method")["family"].first())
    ends = np.append(starts[1:], len(curves))[: len(starts)]
    heads["total"] = _column(curves, "evaluations")[ends - 1].astype(np.int64)
    parts = []
    for factor, table in targets.groupby("factor", sort=False):
        target = heads["problem"].map(table.set_index("problem")["target"]).to_numpy(np.float64)
        hit = _first_hits(curves, starts, np.repeat(target, ends - starts))
        parts.append(heads.assign(factor=factor, target=target, hit=hit))
    hits = pd.concat(parts) if parts else heads.assign(factor=np.nan, target=np.nan, hit=np.nan)
    hits = hits.dropna(subset=["family", "target"]).reset_index(drop=True)
    hits = hits.assign(solved=hits["hit"].notna(), spent=hits["hit"].fillna(hits["total"]))
    names = ["problem", "family", "method", "repetition", "factor", "target"]
    return hits[[*names, "hit", "solved", "spent", "total"]]


def expected_running_time(hits: pd.DataFrame) -> pd.DataFrame:
    """Successes of n runs and ``ert``, a row per problem, family, method and factor.

    ``ert`` is infinite where no run reached the target.
    """
    table = hits.groupby(KEYS, sort=False, as_index=False).agg(
        successes=("solved", "sum"), n=("solved", "size"), spent=("spent", "sum")
    )
    ert = _ratio(table["spent"].to_numpy(np.float64), table["successes"].to_numpy(np.float64))
    return table.drop(columns="spent").assign(ert=ert)


def speed_up(
    hits: pd.DataFrame, lineup: Lineup, seed: int = 0, n_bootstrap: int = 2000
) -> pd.DataFrame:
    """How many times fewer evaluations than the plain method: the ratio of running times.

    A row per problem, family, method but the plain one, and factor; a family without a plain
    method has none. Above 1 the method is faster than the family's plain one. ``low`` and
    ``high`` are the 95 % interval of a bootstrap over runs; resamples in which neither reaches
    the target are left out of it. The ratio is infinite where only the method reaches the target,
    0 where only the plain one does, NaN where neither does; ``note`` says so.
    """
    times: dict[tuple[Any, ...], Array] = {}
    for names, group in hits.groupby(KEYS, sort=False):
        rng = stream(seed, *map(str, names))  # what else is in the store changes nothing here
        times[names] = _running_times(group, rng, n_bootstrap)
    rows: list[dict[str, Any]] = []
    for (problem, family, method, factor), time in times.items():
        plain = lineup.first(family, "plain")
        if plain is not None and method != plain:
            row = dict(zip(KEYS, (problem, family, method, factor), strict=True))
            plain_time = times.get((problem, family, plain, factor))
            rows.append(row | _speed_up(plain_time, time, plain, method))
    columns = [*KEYS, "speed_up", "low", "high", "note"]
    return pd.DataFrame(rows, columns=columns)


def ecdf(hits: pd.DataFrame, by_problem: bool = False) -> pd.DataFrame:
    """Share of (run, target) pairs reached by so many evaluations, as points of a step function.

    A curve per family and method, and per problem if wanted. It starts with share 0 at one
    evaluation and ends where the longest run does. Over problems, methods compare only where
    ``n_problems`` agrees: brute force runs on the easy ones.
    """
    keys = [*(["problem"] if by_problem else []), "family", "method"]
    parts = {names: _steps(group) for names, group in hits.groupby(keys, sort=False)}
    if not parts:
        return pd.DataFrame(columns=[*keys, "evaluations", "share", "n_problems"])
    return pd.concat(parts, names=keys).reset_index(level=keys).reset_index(drop=True)


def _column(frame: pd.DataFrame, name: str) -> Array:
    """A column as floats; empty if it is missing, as in a store without runs."""
    return frame[name].to_numpy(np.float64) if name in frame else np.empty(0)


def _run_starts(curves: pd.DataFrame) -> IntArray:
    """Rows where a run begins: other names, or evaluations that start again."""
    if not len(curves):
        return np.empty(0, dtype=np.int64)
    new = np.diff(_column(curves, "evaluations"), prepend=np.inf) < 0
    for name in ("problem", "method", "repetition"):
        codes, _ = pd.factorize(curves[name])
        new |= np.diff(codes, prepend=-1) != 0
    return np.flatnonzero(new)


def _first_hits(curves: pd.DataFrame, starts: IntArray, target: Array) -> Array:
    """Evaluations at the first point of each run that is on target, NaN if there is none."""
    if not len(starts):
        return np.empty(0)
    reached = _column(curves, "error") <= target
    evaluations = np.where(reached, _column(curves, "evaluations"), np.inf)
    first = np.minimum.reduceat(evaluations, starts)
    return np.where(np.isfinite(first), first, np.nan)


def _ratio(above: ArrayLike, below: ArrayLike) -> Array:
    """Division where x / 0 is infinite and 0 / 0 as well as inf / inf is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(above, below, dtype=np.float64)


def _running_times(group: pd.DataFrame, rng: np.random.Generator, n_bootstrap: int) -> Array:
    """Expected running time of the runs, then of bootstrap samples of them if there are two.

    SciPy's bootstrap takes no infinities, which a sample without any hit gives.
    """
    spent, solved = group["spent"].to_numpy(np.float64), group["solved"].to_numpy(np.float64)
    n = len(group)
    samples = rng.integers(n, size=(n_bootstrap if n > 1 else 0, n))
    rows = np.vstack([np.arange(n), samples])
    return _ratio(spent[rows].sum(axis=1), solved[rows].sum(axis=1))


def _speed_up(plain: Array | None, other: Array, plain_name: str, name: str) -> dict[str, Any]:
    """The ratio of two running times, its interval, and what is odd about them."""
    if plain is None:
        return {"speed_up": np.nan, "low": np.nan, "high": np.nan, "note": f"missing: {plain_name}"}
    notes = _never(plain[0], other[0], plain_name, name)
    low = high = np.nan
    if min(len(plain), len(other)) > 1:
        low, high = _interval(_ratio(plain[1:], other[1:]))
    else:
        notes.append("too few repetitions for an interval")
    ratio = float(_ratio(plain[0], other[0]))
    return {"speed_up": ratio, "low": low, "high": high, "note": "; ".join(notes)}


def _never(plain: float, other: float, plain_name: str, name: str) -> list[str]:
    if np.isinf(plain) and np.isinf(other):
        return ["neither reaches the target"]
    if np.isinf(plain):
        return [f"only {name} reaches the target"]
    return [f"only {plain_name} reaches the target"] if np.isinf(other) else []


def _interval(samples: Array) -> tuple[float, float]:
    """The 2.5 % and 97.5 % order statistics; infinities cannot be interpolated."""
    ordered = np.sort(samples[~np.isnan(samples)])
    if not len(ordered):
        return np.nan, np.nan
    last = len(ordered) - 1
    return float(ordered[int(0.025 * last)]), float(ordered[int(np.ceil(0.975 * last))])


def _steps(group: pd.DataFrame) -> pd.DataFrame:
    hits = np.sort(group["hit"].dropna().to_numpy(np.float64))
    evaluations = np.concatenate([[1.0], hits, [group["total"].max()]])
    reached = np.append(np.arange(len(hits) + 1), len(hits))
    last = np.diff(evaluations, append=np.inf) > 0  # of those at the same evaluation
    points = {"evaluations": evaluations[last], "share": reached[last] / len(group)}
    return pd.DataFrame(points).assign(n_problems=group["problem"].nunique())
