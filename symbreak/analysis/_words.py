"""What the numbers say, in sentences: who won where, and how sure that is."""

from __future__ import annotations

import numpy as np
import pandas as pd

from symbreak.analysis._results import FAMILIES, Results
from symbreak.analysis._statistics import FEW, compared_methods


def summary_sentences(results: Results) -> list[str]:
    """A few sentences for the head of a report; nothing in them is not in its tables."""
    if results.runs.empty:
        return ["The store holds no finished run yet."]
    sentences = [_extent(results)]
    for family in FAMILIES:
        sentences += _family_sentences(results, family)
    sentences += _paper_sentences(results)
    sentences += _mixture_sentences(results)
    sentences += _missing_sentences(results)
    return sentences


def _extent(results: Results) -> str:
    runs, n = results.runs, len(results.runs)
    repetitions = runs.groupby(["problem", "method"]).size()
    spread = f"{repetitions.min()}"
    if repetitions.min() != repetitions.max():
        spread += f" to {repetitions.max()}"
    return (
        f"{_count(n, 'finished run')}: {_count(len(results.problems), 'problem')}, "
        f"{_count(runs['method'].nunique(), 'method')}, {spread} "
        f"repetition{'s' if repetitions.max() > 1 else ''} each."
    )


def _family_sentences(results: Results, family: str) -> list[str]:
    """Wins of the family's symmetry breaking, their certainty and the speed-up."""
    plain, _, breaking = compared_methods(family)
    table = results.summary[results.summary["family"] == family]
    complete = table[table["method"].isin(compared_methods(family))].groupby("problem").size() == 3
    problems = list(complete[complete].index)
    if not problems:
        return []
    judged = table[table["problem"].isin(problems)]
    wins = judged[judged["best"] & (judged["method"] == breaking)]["problem"]
    of = f"{len(problems)} problems" if len(problems) > 1 else f"1 problem ({problems[0]})"
    sentence = f"{breaking} has the smallest mean error of its family on {len(wins)} of {of}"
    pairs = results.pairwise
    against = pairs[
        (pairs["a"] == plain) & (pairs["b"] == breaking) & pairs["problem"].isin(problems)
    ]
    sure = against[against["significant"]]
    better, worse = (sure["better"] == breaking).sum(), (sure["better"] == plain).sum()
    sentence += (
        f"; against {plain} it is significantly better on {better} and significantly worse on "
        f"{worse} (Wilcoxon rank-sum at 0.05)."
    )
    sentences = [sentence]
    if (against[["n_a", "n_b"]].min(axis=1) < FEW).any():
        sentences.append(f"With fewer than {FEW} repetitions such a test can hardly reject.")
    return sentences + _speed_sentences(results, plain, breaking)


def _speed_sentences(results: Results, plain: str, breaking: str, factor: float = 3.0) -> list[str]:
    """How many evaluations it takes to come near the best error."""
    ups = results.speed_ups
    ups = ups[(ups["method"] == breaking) & (ups["factor"] == factor) & ups["speed_up"].notna()]
    only = ups[np.isinf(ups["speed_up"])]["problem"]
    both = ups[np.isfinite(ups["speed_up"]) & (ups["speed_up"] > 0)]["speed_up"]
    goal = f"to come within {factor:g} times the best mean error"
    sentences = []
    if len(both):
        over = f"median over {_count(len(both), 'problem')}"
        pace = _pace(float(both.median()))
        sentences.append(f"{breaking} needs {pace} {plain} {goal} ({over}).")
    if len(only):
        sentences.append(f"{plain} never manages {goal} on {', '.join(only)}; {breaking} does.")
    return sentences


def _pace(speed_up: float) -> str:
    if speed_up >= 1.1:
        return f"{speed_up:.1f} times fewer evaluations than"
    if speed_up <= 0.9:
        return f"{1 / speed_up:.1f} times more evaluations than"
    return "about as many evaluations as"


def _paper_sentences(results: Results) -> list[str]:
    """How far the results agree with the paper, where it can be said."""
    families = results.agreement.families
    known = families[families["same_winner"].notna()]
    if known.empty:
        return []
    winners = int(known["same_winner"].astype(bool).sum())
    sentence = f"The paper's winner is confirmed in {winners} of {_count(len(known), 'comparison')}"
    compared = int(families["pairs_compared"].sum())
    if compared:
        agreeing = int(families["pairs_agreeing"].sum())
        sentence += f", its verdict on significance in {agreeing} of {_count(compared, 'pair')}"
    return [sentence + "."]


def _mixture_sentences(results: Results) -> list[str]:
    """A warning where runs are pooled that are not alike, as in a merged store."""
    kinds = ["max_evaluations", "population_size", "settings"]
    cells = results.runs.groupby(["problem", "method"])[kinds].nunique().max(axis=1)
    mixed = [f"{method} on {problem}" for problem, method in cells[cells > 1].index]
    if not mixed:
        return []
    return [f"Runs with different budgets or settings are pooled: {', '.join(mixed)}."]


def _missing_sentences(results: Results) -> list[str]:
    sentences = []
    missing: pd.DataFrame = results.missing
    if len(missing):
        total = int(missing["planned"].sum())
        sentences.append(
            f"{_count(int(missing['missing'].sum()), 'planned run')} of {total:,} on "
            f"{_count(missing['problem'].nunique(), 'problem')} are still missing."
        )
    if len(results.failures):
        sentences.append(f"{_count(len(results.failures), 'run')} failed.")
    return sentences


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
