"""Summaries and rank tests of finished runs, as in Section 6, and times to targets, as in COCO.

Every function takes ``runs``, a row per run with the columns problem, family, role, method and
the value to judge by; rows without that value are left out. What stands in the way of a number is
said in the column ``note``.

Tests are made ``among`` the compared of a family (plain, invariant and proximity, as in the
paper), all methods of a family, or all methods of a problem.

Targets are multiples of the best mean training error of any method on the problem, or the goal that
the problem has. Expected running time is Hansen et al.'s: the evaluations of all runs, each until
it hits the target or ends, divided by the number of hits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from symbreak._support.checks import Array
from symbreak._support.random import stream
from symbreak.analysis._lineup import COMPARED, Lineup

#: Level of significance of all tests.
LEVEL = 0.05
#: Below so many repetitions the asymptotic p-values of rank tests are rough.
FEW = 5

#: Targets are so many times the best mean.
FACTORS = (10.0, 3.0, 1.5, 1.1)
N_BOOTSTRAP = 2_000
#: Columns that say to what a time to a target belongs.
KEYS = ["problem", "family", "method", "factor"]
RUN = ["problem", "method", "repetition"]

Samples = Mapping[str, Array]
Among = Literal["compared", "family", "all"]


def summary(runs: pd.DataFrame, value: str = "table_error") -> pd.DataFrame:
    """Moments and quartiles, a row per problem, family and method.

    Normalised values are divided by the largest mean of the family's compared methods;
    ``best`` marks the smallest mean of these, where there are two to compare.
    """
    lineup, keys = Lineup.of(runs), ["problem", "family", "method"]
    judged = runs.dropna(subset=[value]).astype({value: np.float64})
    values = judged.groupby(keys, sort=False)[value]
    with np.errstate(invalid="ignore"):  # infinite errors have no spread
        table = values.agg(n="size", mean="mean", std="std", median="median")
        table = table.assign(q1=values.quantile(0.25), q3=values.quantile(0.75)).reset_index()
    compared = [member.method for member in lineup.members if member.role in COMPARED]
    means = table["mean"].where(table["method"].isin(compared))
    of_family = means.groupby([table["problem"], table["family"]])
    largest = of_family.transform("max")
    scale = largest.where((largest > 0) & np.isfinite(largest))
    for name in ("mean", "std", "median"):
        table[f"normalised_{name}"] = table[name] / scale
    table["best"] = (means == of_family.transform("min")) & (of_family.transform("count") > 1)
    there = set(zip(table["problem"], table["method"], strict=True))
    table["note"] = [_caveats(row, lineup, there) for row in table.itertuples()]
    return table


def _caveats(row: Any, lineup: Lineup, there: set[tuple[str, str]]) -> str:
    """What is odd about a row of the summary."""
    missing = [m for m in lineup.methods(row.family, *COMPARED) if (row.problem, m) not in there]
    alone, by = np.isnan(row.normalised_mean), f"normalised without {', '.join(missing)}"
    notes = {
        "one run, no standard deviation": row.n == 1,
        "infinite errors": not np.isfinite(row.mean),
        "nothing to normalise by": alone,
        by: missing and not alone,
    }
    return "; ".join(note for note, holds in notes.items() if holds)


def kruskal_wallis(
    runs: pd.DataFrame, value: str = "table_error", among: Among = "compared"
) -> pd.DataFrame:
    """Is there any difference? A row per problem and group of methods.

    Ranks are corrected for ties. Without two samples of two runs p is NaN.
    """
    columns = ["problem", "family", "methods", "statistic", "p", "significant", "note"]
    rows = [
        {"problem": problem, "family": family, **_kruskal(samples)}
        for problem, family, samples in _groups(runs, value, among)
    ]
    return pd.DataFrame(rows, columns=columns)


def pairwise(
    runs: pd.DataFrame, value: str = "table_error", among: Among = "compared"
) -> pd.DataFrame:
    """Wilcoxon rank-sum tests, a row per problem, group of methods and pair ``(a, b)`` of them.

    ``p`` is two-sided and asymptotic with tie correction, ``p_holm`` Holm's adjustment over the
    pairs of the group. A pair is ``significant`` only if the Kruskal-Wallis test of the group
    rejects too; within a family by ``p``, as in the paper, and among all methods by ``p_holm``.
    ``a12`` is Vargha and Delaney's effect size: the probability that a run of ``a`` has a smaller,
    hence better, error than one of ``b``, ties counting half; ``better`` names the one it favours
    if the pair is significant.
    """
    columns = ["problem", "family", "a", "b", "n_a", "n_b", "p", "p_holm", "a12"]
    columns += ["significant", "significant_holm", "better", "note"]
    frames = [pd.DataFrame(columns=columns)]
    for problem, family, samples in _groups(runs, value, among):
        pairs = [_compare({m: samples[m] for m in pair}) for pair in combinations(samples, 2)]
        if not pairs:
            continue
        table = pd.DataFrame(pairs).assign(problem=problem, family=family)
        rejected = _kruskal(samples)["significant"]
        table["p_holm"] = holm(table["p"])
        table["significant_holm"] = rejected & (table["p_holm"] < LEVEL)
        significant = rejected & (table["p"] < LEVEL)
        table["significant"] = table["significant_holm"] if among == "all" else significant
        favoured = table["a"].where(table["a12"] > 0.5, table["b"])
        table["better"] = favoured.where(table["significant"], "")
        frames.append(table[columns])
    return pd.concat(frames[1:] or frames, ignore_index=True)


class Ranks(NamedTuple):
    """Methods on several problems, by their ranks (Demsar 2006)."""

    table: pd.DataFrame  # method, family and rank, its mean over the problems, the smallest first
    n_problems: int  # on so many all these methods have runs
    p: float  # of Friedman's test: is there any difference?
    critical_difference: float  # mean ranks less apart cannot be told apart (Nemenyi's test)


def overall_ranks(summary_frame: pd.DataFrame) -> Ranks | None:
    """Ranks by mean error of all methods that have runs on every problem, from ``summary``.

    None without two problems and three methods.
    """
    means = summary_frame.pivot_table(index="problem", columns="method", values="mean")
    means = means[means.columns[means.notna().all()]]
    n, k = means.shape
    if n < 2 or k < 3:
        return None
    ranks = means.rank(axis=1)
    quantile = stats.studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    families = summary_frame.groupby("method")["family"].first()
    table = ranks.mean().rename("rank").reset_index().sort_values("rank", kind="stable")
    table = table.assign(family=table["method"].map(families)).reset_index(drop=True)
    difference = float(quantile * np.sqrt(k * (k + 1) / (6 * n)))
    equal = (table["rank"] == table["rank"].iloc[0]).all()  # SciPy may divide 0 by 0
    p = 1.0 if equal else float(stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    return Ranks(table, n, p, difference)


def holm(p_values: ArrayLike) -> Array:
    """Holm's step-down adjustment; NaN, a test not made, stays NaN and does not count."""
    p = np.array(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return p


def _groups(runs: pd.DataFrame, value: str, among: Among) -> Iterator[tuple[str, str, Samples]]:
    """Problem, family, and the values of the methods that are tested against each other."""
    lineup, roles = Lineup.of(runs), COMPARED if among == "compared" else None
    keys = ["problem"] if among == "all" else ["problem", "family"]
    for (problem, *family), group in runs.dropna(subset=[value]).groupby(keys, sort=False):
        values = dict(list(group.groupby("method")[value]))
        samples = {
            member.method: values[member.method].to_numpy(np.float64)
            for member in lineup.members
            if member.method in values and (roles is None or member.role in roles)
        }
        yield str(problem), "".join(map(str, family)), samples


def _note(samples: Samples, made: bool) -> str:
    """What stands in the way of a test, in words."""
    single = [method for method, values in samples.items() if len(values) == 1]
    notes = [f"too few repetitions: {', '.join(single)}"] if single else []
    if not made:
        notes.append("no test")
    elif any(len(values) < FEW for values in samples.values()):
        notes.append(f"fewer than {FEW} repetitions: the test is rough")
    return "; ".join(notes)


def _kruskal(samples: Samples) -> dict[str, Any]:
    tested = {method: values for method, values in samples.items() if len(values) > 1}
    statistic = p = np.nan
    if len(tested) > 1:
        equal = len(np.unique(np.concatenate([*tested.values()]))) == 1  # SciPy divides 0 by 0
        statistic, p = (0.0, 1.0) if equal else map(float, stats.kruskal(*tested.values()))
    row = {"methods": ", ".join(tested), "statistic": statistic, "p": p}
    return {**row, "significant": p < LEVEL, "note": _note(samples, len(tested) > 1)}


def _compare(pair: Samples) -> dict[str, Any]:
    """The rank-sum test of two methods, before anything is said of their group."""
    (a, b), (x, y) = pair.keys(), pair.values()
    test, made = stats.mannwhitneyu(x, y, method="asymptotic"), min(len(x), len(y)) > 1
    row = {"a": a, "b": b, "n_a": len(x), "n_b": len(y)}
    row |= {"p": float(test.pvalue) if made else np.nan, "note": _note(pair, made)}
    return {**row, "a12": 1 - float(test.statistic) / (len(x) * len(y))}  # its U counts a > b


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
    parts = [pd.DataFrame(columns=["method", "evaluations", "share"])]
    for method, group in hits.groupby("method", sort=False):
        reached = np.sort(group["hit"].dropna().to_numpy(np.float64))
        evaluations = np.concatenate([[1.0], reached, [group["total"].max()]])
        shares = np.append(np.arange(len(reached) + 1), len(reached)) / len(group)
        last = np.diff(evaluations, append=np.inf) > 0  # of those at the same evaluation
        points = {"method": method, "evaluations": evaluations[last], "share": shares[last]}
        parts.append(pd.DataFrame(points))
    return pd.concat(parts[1:] or parts, ignore_index=True)


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
