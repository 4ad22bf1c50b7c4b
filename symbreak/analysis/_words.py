"""What the numbers say, in sentences: who won where, how sure that is, and how it was made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from symbreak._support.words import counted
from symbreak.analysis._lineup import COMPARED
from symbreak.analysis._results import Results
from symbreak.analysis._statistics import FEW
from symbreak.analysis._tables import records, text_of
from symbreak.experiments._study import BUILT_IN, built_in_text

#: Of the targets, the one that sentences speak of.
NEAR = 3.0
#: More problems than this are counted, not listed.
MANY = 4


def summary_sentences(results: Results) -> list[str]:
    """What the numbers say; nothing in it is not in the tables."""
    n = len(results.failures)
    them = "it" if n == 1 else "them"
    failed = [f"{counted(n, 'run')} failed; --retry-failed tries {them} again."] if n else []
    if results.runs.empty:
        return ["The store holds no finished run yet.", *failed]
    sentences = [_extent(results), *_best_sentences(results), *_rank_sentences(results)]
    for family in results.lineup.families:
        sentences += _family_sentences(results, family)
    return [*sentences, *warning_sentences(results), *failed]


def _extent(results: Results) -> str:
    runs = results.runs
    sizes = runs.groupby(["problem", "method"]).size()
    spread = " to ".join(map(str, sorted({sizes.min(), sizes.max()})))
    return (
        f"{counted(len(runs), 'finished run')}: {counted(len(results.problems), 'problem')}, "
        f"{counted(runs['method'].nunique(), 'method')}, {spread} "
        f"repetition{'s' if sizes.max() > 1 else ''} each."
    )


def _best_sentences(results: Results) -> Iterator[str]:
    """Who has the smallest mean error of all methods, and how sure it is that it is the best."""
    best, pairs = results.best, results.all_tests[1]
    if results.runs["method"].nunique() < 2 or best.empty:
        return
    won, tests = [], []
    groups = sorted(best.groupby("method", sort=False)["problem"], key=lambda group: -len(group[1]))
    for method, problems in groups:
        where = _names(list(problems)) if len(best) <= MANY else f"{len(problems)}"
        won.append(f"{method} on {where}")
        own = (pairs["a"] == method) | (pairs["b"] == method)
        tested = pairs[own & pairs["problem"].isin(problems) & pairs["p"].notna()]
        n = int((tested["better"] == method).sum())
        tests += [f"{method} in {n} of {len(tested)}"] if len(tested) else []
    won[0] += f" of {len(best)} problems" if len(best) > MANY else ""
    yield f"The smallest mean error has {', '.join(won)}."
    if tests:
        yield (
            "Tested against every other method there (Kruskal-Wallis, then rank-sum tests with "
            f"Holm's correction), significantly better is {', '.join(tests)} pairs."
        )


def _rank_sentences(results: Results) -> Iterator[str]:
    """Who has the best mean rank over all problems."""
    if (ranks := results.ranks) is None:
        return
    first, *others = records(ranks.table)
    limit = first["rank"] + ranks.critical_difference
    words = f"cannot be told from any other ({ranks.n_problems} problems)"
    if apart := [row["method"] for row in others if row["rank"] > limit]:
        words = f"is better than {_names(apart)} beyond the critical difference"
    yield (
        f"Over all problems {first['method']} has the best mean rank, {first['rank']:.2f} of "
        f"{len(ranks.table)}, and {words}; Friedman's test: p = {text_of(ranks.p)}."
    )


def _family_sentences(results: Results, family: str) -> Iterator[str]:
    """Wins of the family's symmetry breaking, their certainty and the speed-up."""
    lineup = results.lineup
    plain, breaking = lineup.first(family, "plain"), lineup.first(family, "proximity")
    if plain is None or breaking is None:
        return
    compared = lineup.methods(family, *COMPARED)
    judged = results.summary[results.summary["method"].isin(compared)]
    judged = judged.groupby("problem").filter(lambda part: len(part) == len(compared))
    if judged.empty:
        return
    wins = int((judged["best"] & (judged["method"] == breaking)).sum())
    others = [method for method in compared if method != breaking]
    against = results.pairwise.query("a == @plain and b == @breaking")
    against = against[against["problem"].isin(judged["problem"])]
    better, worse = (int((against["better"] == name).sum()) for name in (breaking, plain))
    yield (
        f"{breaking} has a smaller mean error than {' and '.join(others)} on {wins} of "
        f"{counted(judged['problem'].nunique(), 'problem')}; against {plain} it is significantly "
        f"better on {better}, worse on {worse}."
    )
    table = results.running_times.query("method == @breaking and factor == @NEAR")
    ratios = table["speed_up"][np.isfinite(table["speed_up"]) & (table["speed_up"] > 0)]
    if ratios.empty:
        return
    ratio, pace = float(ratios.median()), "about as many evaluations as"
    if not 0.9 < ratio < 1.1:
        way = "fewer" if ratio > 1 else "more"
        pace = f"{max(ratio, 1 / ratio):.1f} times {way} evaluations than"
    yield (
        f"To come within {NEAR:g} times the best mean error, {breaking} needs {pace} {plain} in "
        f"the median of {counted(len(ratios), 'problem')}."
    )


def paper_sentences(results: Results) -> list[str]:
    """How far the results agree with the paper, where runs are as long as those of its study."""
    rows, sentences = results.agreement, []
    if known := [row["same_winner"] for row in rows if row["same_winner"] is not None]:
        agreeing, compared = (sum(row[what] for row in rows) for what in ("agreeing", "compared"))
        tests = f", its verdict of a test in {agreeing} of {counted(compared, 'pair')}"
        sentences.append(
            f"The paper's winner is confirmed in {sum(known)} of "
            f"{counted(len(known), 'comparison')}{tests if compared else ''}."
        )
    if results.shorter:
        names = [f"{n} ({a:,} of {b:,} evaluations)" for n, (a, b) in results.shorter.items()]
        sentences.append(
            "Not compared with the paper, since runs were shorter than those of the study paper: "
            f"{', '.join(names)}."
        )
    return sentences


def warning_sentences(results: Results) -> list[str]:
    """What a reader must know before trusting the numbers: few runs, gaps, mixtures."""
    sentences = []
    fewest = results.all_tests[1][["n_a", "n_b"]].min(axis=1)
    if fewest.between(1, FEW - 1).any():  # a method that was not run has no test at all
        sentences.append(f"With fewer than {FEW} repetitions a test can hardly show a difference.")
    missing: pd.DataFrame = results.missing
    if len(missing):
        total, n = int(missing["planned"].sum()), int(missing["missing"].sum())
        sentences.append(
            f"{counted(n, 'planned run')} of {total:,} on "
            f"{counted(missing['problem'].nunique(), 'problem')} {'is' if n == 1 else 'are'} still "
            "missing."
        )
    rows = results.versions
    shared = [name for name in rows[0] if all(name in row for row in rows)]  # older runs keep fewer
    differing = [name for name in shared if len({row[name] for row in rows}) > 1]
    kinds = results.runs["versions"].map(lambda text: [json.loads(text)[n] for n in differing])
    several = kinds.map(str).groupby(results.runs["problem"]).nunique() > 1
    if problems := list(several.index[several]):  # runs of several machines or versions
        where = _names(problems) if len(problems) <= 3 else counted(len(problems), "problem")
        sentences.append(
            f"Runs on {where} are mixed: they differ in {_names(differing)}, and so may the last "
            "digits of their numbers, or the network that they found."
        )
    return sentences


def _names(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def provenance(results: Results) -> dict[str, Any]:
    """What the last section of a page shows; tables as rows of their cells."""
    reasons = results.failures.assign(
        reason=[text.strip().rpartition("\n")[2] for text in results.failures["traceback"]]
    )
    return {
        "settings": _settings(results),
        "failures": reasons[["problem", "method", "repetition", "reason"]].to_numpy().tolist(),
        "missing": results.missing.to_numpy().tolist(),
        "studies": [_study(*study) for study in dict.fromkeys(s[:2] for s in results.studies)],
        "versions": [
            ", ".join(f"{name} {value}" for name, value in row.items()) for row in results.versions
        ],
    }


def _settings(results: Results) -> list[list[str]]:
    """Population sizes, and what a study changed of a method's own settings."""
    rows = []
    for member in results.lineup.members:
        runs = results.runs[results.runs["method"] == member.method]
        sizes = ", ".join(f"{n:,}" for n in sorted(set(runs["population_size"])))
        changes = [text for text in dict.fromkeys(runs["settings"]) if text != "{}"]
        rows.append([*member, sizes, "; ".join(changes) or "none"])
    return rows


def _study(name: str, text: str) -> dict[str, Any]:
    """The commands that do a study again, and the file that they need if it is not built in."""
    built_in = next((known for known in BUILT_IN if built_in_text(known) == text), None)
    stem = built_in or re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "study"
    file = None if built_in else f"{stem}.toml"
    commands = f"symbreak study {file or stem} --store {stem}.db\nsymbreak report {stem}.db"
    return {"file": file, "text": text, "commands": commands, "data": "data_file" in text}
