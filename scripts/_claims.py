"""Every sentence of the paper's Section 6 about a result, checked on the results at hand.

Sentences on significance are about the tests of ``statistics``; what words such as "fails" and
"fastest" mean here in numbers is said with each check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from symbreak._support.checks import Array
from symbreak._support.random import stream
from symbreak.analysis._paper import PAPER_METHODS
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import FEW, LEVEL, pairwise

WORDS = {True: "confirmed", False: "contradicted", None: "undecided"}
NOT_RUN, INCOMPLETE = "not run yet", "incomplete"
#: The paper's; with fewer, tests that find no difference say nothing on its sentences.
REPETITIONS = 50
#: Medians within this factor are the same error.
SAME = 1.1
#: The whole interval of a ratio must lie in [1 / MARGIN, MARGIN] to be called similar.
MARGIN = 1.25

Answer = tuple[bool | None, str]
Check = Callable[[Results, str], Answer]


class Claim(NamedTuple):
    """A sentence of the paper, the methods it is about, and how to check it on a problem."""

    problem: str
    sentence: str
    methods: tuple[str, ...]
    check: Check


def paper_claims(results: Results, family: str = "") -> pd.DataFrame:
    """Each claim with its verdict: problem, claim, verdict, numbers; those of a family, or all.

    A claim is judged when each method that it names has the paper's 50 runs on the problem;
    with five of each its numbers are shown.
    """
    rows = []
    done = Counter(zip(results.runs["problem"], results.runs["method"], strict=True))
    for claim in CLAIMS:
        if not all(method.startswith(family) for method in claim.methods):
            continue
        n = min(done[claim.problem, method] for method in claim.methods)
        answer, numbers = claim.check(results, claim.problem) if n >= FEW else (None, "")
        verdict = WORDS[answer] if n >= REPETITIONS else INCOMPLETE if n >= FEW else NOT_RUN
        rows.append(
            {
                "problem": claim.problem,
                "claim": claim.sentence,
                "verdict": verdict,
                "numbers": numbers,
            }
        )
    return pd.DataFrame(rows)


def no_difference(family: str) -> Check:
    """The Kruskal-Wallis test over the three does not reject."""

    def check(results: Results, problem: str) -> Answer:
        p = _row(results.kruskal_wallis, problem, family).p
        return bool(p >= LEVEL), f"Kruskal-Wallis p = {p:.2g}"

    return check


def significant(*pairs: tuple[str, str], rate: str = "") -> Check:
    """Every pair differs by the rank-sum test; with ``rate`` in that column of the runs."""

    def check(results: Results, problem: str) -> Answer:
        tests = [_test(results, problem, pair, rate) for pair in pairs]
        failed = [test for test in tests if not test.significant]
        shown = failed or [max(tests, key=lambda test: test.p)]
        words = "; ".join(f"{test.a} against {test.b} p = {test.p:.2g}" for test in shown)
        if failed and not rate and _has_rates(results, problem):
            trained = [_test(results, problem, (test.a, test.b), "train_error") for test in failed]
            words += f" (on training data {', '.join(f'{test.p:.2g}' for test in trained)})"
        return not failed, words if failed else f"largest p: {words}"

    return check


def not_significant(a: str, b: str, rate: str = "") -> Check:
    """The rank-sum test finds no difference."""

    def check(results: Results, problem: str) -> Answer:
        test = _test(results, problem, (a, b), rate)
        return not test.significant, f"p = {test.p:.2g}, A12 {test.a12:.2f}"

    return check


def better(a: str, *others: str) -> Check:
    """Smaller by the rank-sum test; contradicted if the difference is the other way."""

    def check(results: Results, problem: str) -> Answer:
        tests = [_test(results, problem, (a, other)) for other in others]
        means = _means(results, problem)
        numbers = [f"{name} {means[name]:.3g}" for name in (a, *others)]
        answer = _all(None if not t.better else t.better == a for t in tests)
        p = max(test.p for test in tests)
        return answer, f"means {', '.join(numbers)}; p = {p:.2g}"

    return check


def larger_mean(a: str, b: str) -> Check:
    """The mean alone: where few runs fail, ranks say nothing on it."""

    def check(results: Results, problem: str) -> Answer:
        means = _means(results, problem)
        return means[a] > means[b], f"means {a} {means[a]:.3g}, {b} {means[b]:.3g}"

    return check


def same_error(family: str) -> Check:
    """Medians within a tenth of each other; contradicted beyond a half."""

    def check(results: Results, problem: str) -> Answer:
        medians = _medians(results, problem, family)
        ratio = max(medians.values()) / min(medians.values())
        answer = True if ratio <= SAME else False if ratio > 1.5 else None
        numbers = ", ".join(f"{method} {value:.4g}" for method, value in medians.items())
        return answer, f"medians {numbers}"

    return check


def fastest(method: str, family: str) -> Check:
    """The lowest convergence curve: the smallest mean logarithm of the error over a run.

    That is the area under the best training error so far, on logarithmic axes for errors, so it
    needs no target that all methods reach. Rank-sum test against each of the others.
    """

    def check(results: Results, problem: str) -> Answer:
        areas = {m: _areas(results, problem, m) for m in PAPER_METHODS[family]}
        medians = {m: float(np.median(values)) for m, values in areas.items()}
        others = [m for m in areas if m != method]
        p = {m: float(stats.mannwhitneyu(areas[method], areas[m]).pvalue) for m in others}
        answers = [medians[method] < medians[m] if p[m] < LEVEL else None for m in others]
        numbers = ", ".join(f"{m} {np.exp(value):.3g}" for m, value in medians.items())
        return _all(answers), f"mean over the run: {numbers}; p = {max(p.values()):.2g}"

    return check


def failing(method: str, shares: tuple[float, float], limit: float) -> Check:
    """A run fails if it ends above ``limit``, as a share of the targets' variance.

    The share of such runs must lie within ``shares``.
    """

    def check(results: Results, problem: str) -> Answer:
        errors = _errors(results, problem, method)
        failed = int((errors > limit).sum())
        answer = shares[0] <= failed / len(errors) <= shares[1]
        return answer, f"{failed} of {len(errors)} runs end above {limit:g}"

    return check


def almost_identical(family: str) -> Check:
    """The 95 % interval of the ratio of means lies within [0.8, 1.25]; undecided around 1."""

    def check(results: Results, problem: str) -> Answer:
        method = PAPER_METHODS[family][2]
        ours, ideal = (_errors(results, problem, name) for name in (method, f"{method}-BF"))
        p = float(stats.mannwhitneyu(ours, ideal).pvalue)
        ratio, low, high = ratio_of_means(ideal, ours, stream(0, problem, family))
        similar = low >= 1 / MARGIN and high <= MARGIN
        answer = True if similar else None if low <= 1 <= high else False
        numbers = f"ratio of means {ratio:.2f}, interval {low:.2f} to {high:.2f}"
        return answer, f"{numbers}; rank-sum p = {p:.2g}"

    return check


def ratio_of_means(
    above: Array, below: Array, rng: np.random.Generator
) -> tuple[float, float, float]:
    """A ratio with the 95 % percentile interval of a bootstrap."""
    low, high = stats.bootstrap(
        (above, below),
        lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis),
        n_resamples=2_000,
        vectorized=True,
        method="percentile",
        random_state=rng,
    ).confidence_interval
    return float(above.mean() / below.mean()), float(low), float(high)


def _row(frame: pd.DataFrame, problem: str, family: str) -> Any:
    return frame[(frame["problem"] == problem) & (frame["family"] == family)].iloc[0]


def _test(results: Results, problem: str, pair: tuple[str, str], rate: str = "") -> Any:
    """The row of the rank-sum test of two methods, in whichever order."""
    tests = pairwise(results.runs, rate) if rate else results.pairwise
    here = tests["problem"] == problem
    either = [here & (tests["a"] == a) & (tests["b"] == b) for a, b in (pair, pair[::-1])]
    return tests[either[0] | either[1]].iloc[0]


def _has_rates(results: Results, problem: str) -> bool:
    """Whether a problem is one of classes."""
    rates = results.part_errors
    return bool(len(rates) and (rates["problem"] == problem).any())


def _errors(results: Results, problem: str, method: str) -> Array:
    runs = results.runs
    chosen = (runs["problem"] == problem) & (runs["method"] == method)
    return runs.loc[chosen, "error"].to_numpy(np.float64)


def _medians(results: Results, problem: str, family: str) -> dict[str, float]:
    """Median final error of each of the paper's methods of a family."""
    methods = PAPER_METHODS[family]
    return {m: float(np.median(_errors(results, problem, m))) for m in methods}


def _means(results: Results, problem: str) -> dict[str, float]:
    rows = results.summary[results.summary["problem"] == problem]
    return dict(zip(rows["method"], rows["mean"], strict=True))


def _areas(results: Results, problem: str, method: str) -> Array:
    """Mean logarithm of the best error so far over the evaluations of each run."""
    curves, runs = (
        frame[(frame["problem"] == problem) & (frame["method"] == method)]
        for frame in (results.curves, results.runs)
    )
    evaluations = curves["evaluations"].astype(np.float64)
    end = float(runs["max_evaluations"].max())
    held = evaluations.groupby(curves["repetition"]).shift(-1).fillna(end) - evaluations
    limits = np.finfo(np.float64)
    logarithms = np.log(curves["error"].clip(limits.tiny, limits.max))
    sums = [values.groupby(curves["repetition"]).sum() for values in (logarithms * held, held)]
    return np.asarray(sums[0] / sums[1], dtype=np.float64)


def _all(answers: Any) -> bool | None:
    """False if one is, else undecided if one is, else True."""
    found = list(answers)
    return False if False in found else None if None in found else True


def _all_significant(problem: str) -> Iterator[Claim]:
    for family, three in PAPER_METHODS.items():
        sentence = f"{family} family: all pairwise differences are significant"
        yield Claim(problem, sentence, three, significant(*combinations(three, 2)))


def _fastest(problem: str, sentence: str) -> Iterator[Claim]:
    for family, three in PAPER_METHODS.items():
        yield Claim(problem, sentence.format(three[2]), three, fastest(three[2], family))


def _best(problem: str, sentence: str) -> Iterator[Claim]:
    for three in PAPER_METHODS.values():
        yield Claim(problem, sentence.format(three[2]), three, better(three[2], *three[:2]))


def _claims() -> Iterator[Claim]:
    """In the order of the paper."""
    de, cma = PAPER_METHODS.values()
    yield from _syn5(de, cma)
    yield from _all_significant("sinc")
    yield Claim("sinc", "DE-SB clearly outperforms DE and DE-INV-SB", de, better(de[2], *de[:2]))
    yield Claim("sinc", "CMA-ES-SB is the fastest of its family", cma, fastest(cma[2], "CMA-ES"))
    yield from _all_significant("inc-sinc")
    sentence = "INV-SB leads to an improvement for DE"
    yield Claim("inc-sinc", sentence, de, better("DE-INV-SB", "DE"))
    sentence = "INV-SB shows inferior performance on CMA-ES"
    yield Claim("inc-sinc", sentence, cma, better("CMA-ES", "CMA-ES-INV-SB"))
    yield from _fastest("inc-sinc", "{} is the fastest of its family")
    yield from _sinc2d(de, cma)
    yield from _all_significant("sinc3d")
    yield from _fastest("sinc3d", "{} is the fastest of its family")
    sentence = "CMA-ES-INV-SB clearly outperforms CMA-ES"
    yield Claim("sinc3d", sentence, cma, better("CMA-ES-INV-SB", "CMA-ES"))
    yield from _all_significant("autoenc-circle")
    yield from _best("autoenc-circle", "{} improves the training")
    yield from _all_significant("autoenc-spiral")
    yield from _all_significant("autoenc-sphere")
    yield from _fastest("autoenc-sphere", "{} is significantly faster than the others")
    yield from _all_significant("two-circles")
    yield from _best("two-circles", "{} dominates the performances")
    yield from _two_spirals(de, cma)
    yield from _all_significant("digits")
    yield from _fastest("digits", "{} is the fastest of its family")
    for problem in ("syn5", "sinc", "inc-sinc"):
        for family, three in PAPER_METHODS.items():
            sentence = f"{three[2]} and {three[2]}-BF are almost identical"
            both = (three[2], f"{three[2]}-BF")
            yield Claim(problem, sentence, both, almost_identical(family))


def _syn5(de: tuple[str, ...], cma: tuple[str, ...]) -> Iterator[Claim]:
    claim = partial(Claim, "syn5")
    yield claim("DE family: no significant difference", de, no_difference("DE"))
    sentence = "CMA-ES and CMA-ES-SB do not differ, by a narrow margin (p = 0.08)"
    yield claim(sentence, cma, not_significant("CMA-ES", "CMA-ES-SB"))
    check = significant(("CMA-ES", "CMA-ES-INV-SB"), ("CMA-ES-INV-SB", "CMA-ES-SB"))
    yield claim("CMA-ES family: the other pairs differ significantly", cma, check)
    yield claim("all DE variants reach the same low error", de, same_error("DE"))
    yield claim("DE-SB shows the fastest decrease in error", de, fastest("DE-SB", "DE"))
    check = failing("CMA-ES", (0.01, 0.25), limit=0.002)
    yield claim("CMA-ES fails to reach a low error in a few runs", cma, check)
    yield claim("which leads to a larger mean error", cma, larger_mean("CMA-ES", "CMA-ES-SB"))
    check = failing("CMA-ES-SB", (0, 0), limit=0.002)
    yield claim("CMA-ES-SB reaches a relatively low error in all runs", cma, check)


def _sinc2d(de: tuple[str, ...], cma: tuple[str, ...]) -> Iterator[Claim]:
    claim = partial(Claim, "sinc2d")
    sentence = "DE family: all pairwise differences are significant"
    yield claim(sentence, de, significant(*combinations(de, 2)))
    check = significant(("CMA-ES", "CMA-ES-SB"), ("CMA-ES-INV-SB", "CMA-ES-SB"))
    yield claim("CMA-ES-SB differs significantly from CMA-ES and CMA-ES-INV-SB", cma, check)
    check = not_significant("CMA-ES", "CMA-ES-INV-SB")
    yield claim("CMA-ES and CMA-ES-INV-SB do not differ significantly", cma, check)
    for method in cma[:2]:
        check = failing(method, (0.9, 1), limit=0.1)
        yield claim(f"{method} fails to solve the problem completely", cma, check)
    check = failing("CMA-ES-SB", (0, 0.5), limit=0.1)
    yield claim("CMA-ES-SB trains in the majority of the runs", cma, check)


def _two_spirals(de: tuple[str, ...], cma: tuple[str, ...]) -> Iterator[Claim]:
    claim = partial(Claim, "two-spirals")
    rate = "train_error"
    sentence = "DE and DE-INV-SB do not differ significantly on the {} set"
    yield claim(sentence.format("training"), de, not_significant("DE", "DE-INV-SB", rate))
    yield claim(sentence.format("test"), de, not_significant("DE", "DE-INV-SB"))
    sentence = "CMA-ES and CMA-ES-INV-SB do not differ significantly on the test set"
    yield claim(sentence, cma, not_significant("CMA-ES", "CMA-ES-INV-SB"))
    check = significant(("CMA-ES", "CMA-ES-INV-SB"), rate=rate)
    yield claim("CMA-ES and CMA-ES-INV-SB do on the training set", cma, check)
    for three in (de, cma):
        for where, column in (("test", ""), ("training", rate)):
            check = significant((three[0], three[2]), (three[1], three[2]), rate=column)
            sentence = f"{three[2]} differs significantly from the others on the {where} set"
            yield claim(sentence, three, check)
    yield from _best("two-spirals", "{} continues to show the best results")


#: All of them.
CLAIMS = tuple(_claims())
