"""Summaries and rank tests of finished runs, as in Section 6.

Every function takes ``runs``, a row per run with the columns problem, family, role, method,
repetition and the value to judge by; rows without that value are left out. What stands in the way
of a number is said in the column ``note``. A ``lineup`` says which methods a family has if ``runs``
are only a part of the runs, such as those on one problem.

Tests are made ``among`` the compared of a family (plain, invariant and proximity, as in the
paper), all methods of a family, or all methods of a problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from symbreak._support.checks import Array
from symbreak._support.random import stream
from symbreak.analysis._lineup import Lineup

#: Level of significance of all tests.
LEVEL = 0.05
#: Below so many repetitions the asymptotic p-values of rank tests are rough.
FEW = 5
#: The whole interval of a ratio must lie in [1 / MARGIN, MARGIN] to be called similar.
MARGIN = 1.25

Samples = Mapping[str, Array]
Among = Literal["compared", "family", "all"]


def summary(
    runs: pd.DataFrame, value: str = "table_error", lineup: Lineup | None = None
) -> pd.DataFrame:
    """Moments and quartiles, a row per problem, family and method.

    Normalised values are divided by the largest mean of the family's compared methods;
    ``best`` marks the smallest mean of these, where there are two to compare.
    """
    columns = ["problem", "family", "method", "n", "mean", "std", "median", "q1", "q3"]
    columns += ["normalised_mean", "normalised_std", "normalised_median", "best", "note"]
    rows: list[dict[str, Any]] = []
    lineup = lineup or Lineup.of(runs)
    for problem, family, samples in _families(runs, value):
        compared = lineup.compared(family)
        means = {method: samples[method].mean() for method in compared if method in samples}
        scale, trouble = _normaliser(means, compared)
        for method, values in samples.items():
            row = _moments(values)
            for name in ("mean", "std", "median"):
                row[f"normalised_{name}"] = row[name] / scale
            best = len(means) > 1 and method in means and means[method] == min(means.values())
            row |= {"best": bool(best), "note": "; ".join(_caveats(values) + trouble)}
            rows.append({"problem": problem, "family": family, "method": method, **row})
    return pd.DataFrame(rows, columns=columns)


def kruskal_wallis(
    runs: pd.DataFrame,
    value: str = "table_error",
    lineup: Lineup | None = None,
    among: Among = "compared",
) -> pd.DataFrame:
    """Is there any difference? A row per problem and group of methods.

    Ranks are corrected for ties. Without two samples of two runs p is NaN.
    """
    columns = ["problem", "family", "methods", "statistic", "p", "significant", "ties", "note"]
    rows = [
        {"problem": problem, "family": family, **_kruskal(samples, methods)}
        for problem, family, methods, samples in _groups(runs, value, lineup, among)
    ]
    return pd.DataFrame(rows, columns=columns)


def pairwise(
    runs: pd.DataFrame,
    value: str = "table_error",
    lineup: Lineup | None = None,
    among: Among = "compared",
) -> pd.DataFrame:
    """Wilcoxon rank-sum tests, a row per problem, group of methods and pair ``(a, b)`` of them.

    ``p`` is two-sided and asymptotic with tie correction, ``p_holm`` Holm's adjustment over the
    pairs of the group. A pair is ``significant`` only if the Kruskal-Wallis test of the group
    rejects too; within a family by ``p``, as in the paper, and among all methods by ``p_holm``.
    ``a12`` is Vargha and Delaney's effect size: the probability that a run of ``a`` has a smaller,
    hence better, error than one of ``b``, ties counting half; ``better`` names the one it favours
    if the pair is significant.
    """
    columns = ["problem", "family", "a", "b", "n_a", "n_b", "median_a", "median_b", "p", "p_holm"]
    columns += ["a12", "significant", "significant_holm", "better", "ties", "note"]
    rows: list[dict[str, Any]] = []
    for problem, family, methods, samples in _groups(runs, value, lineup, among):
        rejected = _kruskal(samples, methods)["significant"]
        pairs = [_compare(samples, a, b) for a, b in combinations(methods, 2)]
        for pair, p_holm in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
            significant = bool(rejected and (p_holm if among == "all" else pair["p"]) < LEVEL)
            favoured = pair["a"] if pair["a12"] > 0.5 else pair["b"]
            pair["p_holm"] = p_holm
            pair["significant"] = significant
            pair["significant_holm"] = bool(rejected and p_holm < LEVEL)
            pair["better"] = favoured if significant else ""
            rows.append({"problem": problem, "family": family, **pair})
    return pd.DataFrame(rows, columns=columns)


class Ranks(NamedTuple):
    """Methods on several problems, by their ranks (Demsar 2006).

    Attributes:
        table: Columns method, family and ``rank``, its mean over the problems, the smallest first.
        n_problems: On so many problems all these methods have runs.
        p: Of Friedman's test: is there any difference?
        critical_difference: Mean ranks that differ by less cannot be told apart (Nemenyi's test).
    """

    table: pd.DataFrame
    n_problems: int
    p: float
    critical_difference: float


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


def ideal_against_approximate(
    runs: pd.DataFrame,
    seed: int = 0,
    n_bootstrap: int = 2000,
    value: str = "table_error",
    lineup: Lineup | None = None,
) -> pd.DataFrame:
    """Mean of the exhaustive method divided by that of the proximity method.

    A row per problem and family that has both.

    ``low`` and ``high`` are the 95 % percentile interval of a bootstrap. The two are
    ``similar`` if all of it lies in [0.8, 1.25]; ``verdict`` is ``"similar"``, else
    ``"ideal better"`` or ``"ideal worse"`` if the interval leaves out 1, else ``"undecided"``.
    """
    columns = ["problem", "family", "n_ideal", "n_approximate", "mean_ideal", "mean_approximate"]
    columns += ["ratio", "low", "high", "similar", "verdict", "note"]
    rows: list[dict[str, Any]] = []
    lineup = lineup or Lineup.of(runs)
    for problem, family, samples in _families(runs, value):
        names = lineup.first(family, "exhaustive") or "", lineup.first(family, "proximity") or ""
        if any(name not in samples for name in names):
            continue
        ideal, approximate = (samples[name] for name in names)
        row = {"n_ideal": len(ideal), "n_approximate": len(approximate)}
        row |= {"mean_ideal": ideal.mean(), "mean_approximate": approximate.mean()}
        rng = stream(seed, problem, family)  # other problems in the store change nothing here
        row |= _ratio_of_means(ideal, approximate, names, rng, n_bootstrap)
        rows.append({"problem": problem, "family": family, **row})
    return pd.DataFrame(rows, columns=columns)


def holm(p_values: ArrayLike) -> Array:
    """Holm's step-down adjustment; NaN, a test not made, stays NaN and does not count."""
    p = np.array(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return p


def _groups(
    runs: pd.DataFrame, value: str, lineup: Lineup | None, among: Among
) -> Iterator[tuple[str, str, tuple[str, ...], Samples]]:
    """Problem, family, the methods that are tested against each other, and their values."""
    lineup = lineup or Lineup.of(runs)
    found: dict[str, dict[str, Array]] = {}
    for problem, family, samples in _families(runs, value):
        found.setdefault(problem, {}).update(samples)
        if among != "all":
            methods = lineup.compared(family)
            if among == "family":
                methods = tuple(m for m in lineup.methods(family) if m in samples)
            yield problem, family, methods, samples
    for problem, samples in found.items() if among == "all" else ():
        yield problem, "", tuple(m.method for m in lineup.members if m.method in samples), samples


def _families(runs: pd.DataFrame, value: str) -> Iterator[tuple[str, str, dict[str, Array]]]:
    """Problem, family and the values of each of its methods, in the order of the rows."""
    judged = runs.dropna(subset=[value])
    for (problem, family), group in judged.groupby(["problem", "family"], sort=False):
        by_method = group.groupby("method", sort=False)[value]
        samples = {str(method): part.to_numpy(np.float64) for method, part in by_method}
        yield str(problem), str(family), samples


def _moments(values: Array) -> dict[str, Any]:
    with np.errstate(invalid="ignore"):  # infinite errors have no spread
        std = values.std(ddof=1) if len(values) > 1 else np.nan
        q1, q3 = np.quantile(values, [0.25, 0.75])
    return {
        "n": len(values),
        "mean": values.mean(),
        "std": std,
        "median": np.median(values),
        "q1": q1,
        "q3": q3,
    }


def _caveats(values: Array) -> list[str]:
    notes = ["one run, no standard deviation"] if len(values) == 1 else []
    return notes if np.all(np.isfinite(values)) else [*notes, "infinite errors"]


def _normaliser(means: Mapping[str, float], compared: tuple[str, ...]) -> tuple[float, list[str]]:
    """The largest mean, NaN if it cannot divide, and what is to be said about it."""
    scale = max(means.values(), default=np.nan)
    if not means:
        return np.nan, ["nothing to normalise by: no plain, invariant or proximity method"]
    if scale == 0 or not np.isfinite(scale):
        return np.nan, [f"nothing to normalise by: the largest mean is {scale:g}"]
    missing = [method for method in compared if method not in means]
    return scale, [f"normalised without {', '.join(missing)}"] if missing else []


def _obstacles(samples: Samples, methods: tuple[str, ...]) -> list[str]:
    """What stands in the way of a result, in words."""
    sizes = {method: len(samples.get(method, ())) for method in methods}
    missing = [method for method, n in sizes.items() if n == 0]
    single = [method for method, n in sizes.items() if n == 1]
    notes = [f"missing: {', '.join(missing)}"] if missing else []
    return [*notes, f"too few repetitions: {', '.join(single)}"] if single else notes


def _rough(samples: Iterable[Array], result: str = "p") -> list[str]:
    few = any(len(values) < FEW for values in samples)
    return [f"fewer than {FEW} repetitions: {result} is rough"] if few else []


def _kruskal(samples: Samples, methods: tuple[str, ...]) -> dict[str, Any]:
    tested = {m: samples[m] for m in methods if len(samples.get(m, ())) > 1}
    notes = _obstacles(samples, methods)
    pooled = np.concatenate([*tested.values(), []])
    if len(tested) < 2:
        statistic = p = np.nan
        notes.append("no test")
    elif np.all(pooled == pooled[0]):  # SciPy divides 0 by 0
        statistic, p = 0.0, 1.0
        notes.append("all errors are equal")
    else:
        statistic, p = stats.kruskal(*tested.values())
        notes += _rough(tested.values())
    row = {"methods": ", ".join(tested), "statistic": float(statistic), "p": float(p)}
    return {**row, "significant": bool(p < LEVEL), "ties": _ties(pooled), "note": "; ".join(notes)}


def _compare(samples: Samples, a: str, b: str) -> dict[str, Any]:
    """The rank-sum test of one pair, before anything is said of the family."""
    none = np.empty(0)
    x, y = samples.get(a, none), samples.get(b, none)
    notes = _obstacles(samples, (a, b))
    row: dict[str, Any] = {"a": a, "b": b, "n_a": len(x), "n_b": len(y), "p": np.nan, "a12": np.nan}
    row["median_a"], row["median_b"] = (np.median(v) if len(v) else np.nan for v in (x, y))
    row["ties"] = _ties(pooled := np.concatenate([x, y]))
    if len(x) and len(y):
        test = stats.mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
        row["a12"] = 1 - float(test.statistic) / (len(x) * len(y))  # its U counts a > b
        if min(len(x), len(y)) > 1:
            row["p"] = float(test.pvalue)
            equal = np.all(pooled == pooled[0])
            notes += ["all errors are equal"] if equal else _rough((x, y))
    return {**row, "note": "; ".join(notes + (["no test"] if np.isnan(row["p"]) else []))}


def _ties(values: Array) -> bool:
    return len(np.unique(values)) < len(values)


def _ratio_of_means(
    ideal: Array,
    approximate: Array,
    names: tuple[str, str],
    rng: np.random.Generator,
    n_bootstrap: int,
) -> dict[str, Any]:
    """The ratio, its interval and what they mean."""
    samples = dict(zip(names, (ideal, approximate), strict=True))
    notes = _obstacles(samples, names)
    low = high = np.nan
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # means of 0 or infinity
        ratio = float(ideal.mean() / approximate.mean())
        if min(len(ideal), len(approximate)) > 1:
            low, high = stats.bootstrap(
                (ideal, approximate),
                lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis),
                n_resamples=n_bootstrap,
                vectorized=True,
                method="percentile",
                random_state=rng,
            ).confidence_interval
    known = not np.isnan(low + high)
    notes += _rough(samples.values(), "the interval") if known else ["no interval"]
    similar = bool(low >= 1 / MARGIN and high <= MARGIN)
    verdict = "ideal better" if high < 1 else "ideal worse" if low > 1 else "undecided"
    row = {"ratio": ratio, "low": float(low), "high": float(high), "similar": similar}
    return {**row, "verdict": "similar" if similar else verdict, "note": "; ".join(notes)}
