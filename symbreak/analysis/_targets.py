"""How many evaluations it takes to reach a target error, as COCO reports it.

Targets are multiples of the best mean training error of any method on the problem, or the goal that
the problem has. Expected running time is Hansen et al.'s: the evaluations of all runs, each until
it hits the target or ends, divided by the number of hits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from symbreak._support.checks import Array
from symbreak._support.random import stream
from symbreak.analysis._lineup import Lineup

#: Targets are so many times the best mean.
FACTORS = (10.0, 3.0, 1.5, 1.1)
N_BOOTSTRAP = 2_000
#: Columns that say to what a time to a target belongs.
KEYS = ["problem", "family", "method", "factor"]
RUN = ["problem", "method", "repetition"]


def target_table(runs: pd.DataFrame) -> pd.DataFrame:
    """The targets of each problem: problem, factor and target, a row per problem and factor.

    Curves are of training errors, so the best mean is of ``error``, over all methods. A
    problem without a finite mean has no targets.
    """
    errors = runs.astype({"error": np.float64}).groupby(["problem", "method"], sort=False)["error"]
    means = errors.mean()
    best = means[np.isfinite(means)].groupby("problem", sort=False).min().reset_index()
    table = best.merge(pd.DataFrame({"factor": FACTORS}), how="cross")
    table["target"] = table.pop("error") * table["factor"]
    if "goal" in runs:
        goal = table["problem"].map(runs.groupby("problem")["goal"].first())
        table["target"] = goal.astype(np.float64).fillna(table["target"])
    return table


def evaluations_to_targets(
    runs: pd.DataFrame, curves: pd.DataFrame, targets: pd.DataFrame
) -> pd.DataFrame:
    """When each run first reached each target, a row per run and factor.

    Columns problem, family, method, repetition, factor, target; ``hit``, evaluations at the first
    error no greater than the target, NaN if there is none; ``solved``; ``total`` evaluations of
    the run; ``spent``, ``hit`` or else ``total``.
    """
    names = [*RUN, "family", "factor", "target", "hit", "solved", "spent", "total"]
    if curves.empty:
        return pd.DataFrame(columns=names)
    ends = curves.groupby(RUN, sort=False)["evaluations"].last().rename("total").reset_index()
    ends["family"] = ends["method"].map(runs.groupby("method")["family"].first())
    hits = ends.dropna(subset="family").merge(targets, on="problem").assign(hit=np.nan)
    for factor, table in targets.groupby("factor"):
        goal = curves["problem"].map(table.set_index("problem")["target"])
        reached = curves[curves["error"] <= goal].groupby(RUN)["evaluations"].first()
        of_factor = hits["factor"] == factor
        rows = pd.MultiIndex.from_frame(hits.loc[of_factor, RUN])
        hits.loc[of_factor, "hit"] = reached.reindex(rows).to_numpy(np.float64)
    return hits.assign(solved=hits["hit"].notna(), spent=hits["hit"].fillna(hits["total"]))[names]


def running_times(hits: pd.DataFrame, lineup: Lineup) -> pd.DataFrame:
    """Expected running times and speed-ups, a row per problem, family, method and factor.

    ``successes`` of ``n`` runs; ``ert``, infinite where no run reached the target; ``speed_up``,
    how many times fewer evaluations than the plain method of the family, the ratio of running
    times: infinite where only the method reaches the target, 0 where only the plain one does, NaN
    where neither does or there is nothing to compare. ``low`` and ``high`` are its 95 % interval
    by a bootstrap over runs; resamples in which neither reaches the target are left out.
    """
    samples: dict[Any, Array] = {
        names: _sampled_times(group, names) for names, group in hits.groupby(KEYS, sort=False)
    }
    rows = []
    for (problem, family, method, factor), times in samples.items():
        plain = lineup.first(family, "plain")
        others = None if method == plain else samples.get((problem, family, plain, factor))
        found = (np.nan,) * 3 if others is None else _speed_up(others, times)
        rows.append((problem, family, method, factor, times[0], *found))
    table = pd.DataFrame(rows, columns=[*KEYS, "ert", "speed_up", "low", "high"])
    groups = hits.groupby(KEYS, sort=False, as_index=False)
    counts = groups.agg(successes=("solved", "sum"), n=("solved", "size"))
    kinds = {"factor": np.float64}  # also where there are none
    return counts.astype(kinds).merge(table.astype(kinds), on=KEYS)


def ecdf(hits: pd.DataFrame) -> pd.DataFrame:
    """Share of (run, target) pairs reached by so many evaluations, as points of a step function.

    A curve per method. It starts with share 0 at one evaluation and ends where the longest run
    does.
    """
    parts = {method: _steps(group) for method, group in hits.groupby("method", sort=False)}
    if not parts:
        return pd.DataFrame(columns=["method", "evaluations", "share"])
    return pd.concat(parts, names=["method"]).reset_index(level="method").reset_index(drop=True)


def _ratio(above: ArrayLike, below: ArrayLike) -> Array:
    """Division where x / 0 is infinite and 0 / 0 as well as inf / inf is NaN."""
    above, below = (np.asarray(values, dtype=np.float64) for values in (above, below))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(above, below)


def _sampled_times(group: pd.DataFrame, names: tuple[Any, ...]) -> Array:
    """Expected running time of the runs, then of bootstrap samples of them if there are two.

    SciPy's bootstrap takes no infinities, which a sample without any hit gives.
    """
    spent, solved = group["spent"].to_numpy(np.float64), group["solved"].to_numpy(np.float64)
    n = len(group)
    rng = stream(0, *map(str, names))  # what else is in the store changes nothing here
    rows = np.vstack([np.arange(n), rng.integers(n, size=(N_BOOTSTRAP if n > 1 else 0, n))])
    return _ratio(spent[rows].sum(axis=1), solved[rows].sum(axis=1))


def _speed_up(plain: Array, other: Array) -> tuple[float, float, float]:
    """The ratio of two running times with its interval, if both have repetitions."""
    low = high = np.nan
    if min(len(plain), len(other)) > 1:
        ratios = _ratio(plain[1:], other[1:])
        if len(ratios := ratios[~np.isnan(ratios)]):  # infinities cannot be interpolated
            low = np.quantile(ratios, 0.025, method="lower")
            high = np.quantile(ratios, 0.975, method="higher")
    return float(_ratio(plain[0], other[0])), float(low), float(high)


def _steps(group: pd.DataFrame) -> pd.DataFrame:
    hits = np.sort(group["hit"].dropna().to_numpy(np.float64))
    evaluations = np.concatenate([[1.0], hits, [group["total"].max()]])
    reached = np.append(np.arange(len(hits) + 1), len(hits))
    last = np.diff(evaluations, append=np.inf) > 0  # of those at the same evaluation
    return pd.DataFrame({"evaluations": evaluations[last], "share": reached[last] / len(group)})
