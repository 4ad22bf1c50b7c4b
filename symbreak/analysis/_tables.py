"""Tables of numbers as people read them, and Table 1 of the paper from other results.

Headings are in words, and there are no symbols for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from symbreak.analysis._results import Fit, Results

Row = Mapping[str, Any]
#: A heading, and the text or column below it.
Columns = Mapping[str, str | Callable[[Row], str]]


def number_tables(results: Results, problem: str) -> Iterator[dict[str, Any]]:
    """The tables of a problem: title, text, columns and rows; empty ones are left out."""
    for title, text, frame, columns in (
        (
            "Which of two is better, of all methods?",
            "Wilcoxon rank-sum test with Holm's correction over all pairs. The chance is that of a "
            "run of the first to have a smaller error than one of the second (Vargha and Delaney's "
            "A12).",
            results.all_tests[1],
            _PAIRS,
        ),
        (
            "Is there any difference within a family?",
            "Kruskal-Wallis test over the methods of a family.",
            results.family_tests[0],
            _KRUSKAL,
        ),
        (
            "Which of two is better, within a family?",
            "The same test, uncorrected, as in the paper.",
            results.family_tests[1],
            _PAIRS,
        ),
        (
            "Is Algorithm 1 as good as brute force?",
            "Mean error with the nearest of all replicas divided by that of Algorithm 1.",
            results.ideal,
            _IDEAL,
        ),
        (
            "How many evaluations does it take?",
            "Evaluations of all runs until they reach the target or end, divided by the number of "
            "runs that reach it.",
            results.running_times,
            _TIMES,
        ),
        (
            "How much faster is it?",
            "Evaluations that the plain method of the family needs, divided by those of the "
            "method.",
            results.speed_ups,
            _SPEED,
        ),
    ):
        part = frame[frame["problem"] == problem]
        if len(part):
            yield {
                "title": title,
                "text": text,
                "columns": [*columns],
                "rows": _rows(part, columns),
            }


def error_table(results: Results, problem: str) -> dict[str, Any]:
    """All methods on a problem, the smallest mean first, each tested against that one."""
    part = results.summary[results.summary["problem"] == problem].sort_values("mean")
    columns: dict[str, str | Callable[[Row], str]] = {
        "method": "method",
        "mean error": "mean",
        "deviation": "std",
        "median": "median",
        "middle half": _interval("q1", "q3"),
        "runs": "n",
    }
    tests = against_best(results, problem)
    words = ""
    if tests:
        columns |= {"p": "p", "first is better": "chance"}
        names = part["method"]
        part = part.assign(
            p=[tests[name][0] if name in tests else "" for name in names],
            chance=[tests[name][1] if name in tests else "" for name in names],
        )
        overall = results.all_tests[0].set_index("problem").loc[problem, "p"]
        words = (
            "p: rank-sum test against the first, with Holm's correction over all pairs of methods; "
            "beside it the chance that a run of the first has the smaller error. Kruskal-Wallis "
            f"test over all methods: p = {text_of(overall)}."
        )
    return {"columns": [*columns], "rows": _rows(part, columns), "text": words}


def against_best(results: Results, problem: str) -> dict[str, tuple[str, str]]:
    """Of each other method the p-value, after Holm, and the chance that the best one is better."""
    part = results.summary[results.summary["problem"] == problem].sort_values("mean")
    best, pairs = part["method"].iloc[0], results.all_tests[1]
    found = {}
    for row in records(pairs[pairs["problem"] == problem]):
        if best in (row["a"], row["b"]):
            other, chance = row["b"], row["a12"]
            if best == row["b"]:
                other, chance = row["a"], 1 - row["a12"]
            found[other] = text_of(row["p_holm"]), text_of(chance)
    return {method: found[method] for method in part["method"] if method in found}


def quality_table(fit: Fit) -> dict[str, Any]:
    """How good the best network is on each part of the data."""
    rows = fit.qualities()
    columns = {"data": "part", "samples": "samples"}
    names = {"R²": "r2", "root mean squared error": "rmse", "classified right": "right"}
    columns |= {heading: name for heading, name in names.items() if name in rows[0]}
    texts = [[_quality(row.get(name)) for name in columns.values()] for row in rows]
    return {"columns": [*columns], "rows": texts}


def _quality(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else text_of(value)


def text_of(value: object) -> str:
    """A number in a few digits, yes or no, or the text itself; ``-`` for what there is not."""
    if value is None:
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            return "-" if np.isnan(value) else "unbounded"
        return f"{value:,.0f}" if abs(float(value)) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


def integer_text(digits: str) -> str:
    """An integer, given in digits: with commas, or its size if it has very many."""
    if len(digits) <= 12:
        return f"{int(digits):,}"
    return f"about {digits[0]}.{digits[1:3]}e{len(digits) - 1}"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame."""
    rows: list[Any] = frame.to_dict("records")
    return rows


def _rows(frame: pd.DataFrame, columns: Columns) -> list[list[str]]:
    return [
        [cell(row) if callable(cell) else text_of(row[cell]) for cell in columns.values()]
        for row in records(frame)
    ]


def _interval(low: str, high: str) -> Callable[[Row], str]:
    """``1.2 to 3.4``, or how far it is open."""

    def text(row: Row) -> str:
        a, b = float(row[low]), float(row[high])
        if np.isnan(a + b) or np.isinf(a):
            return "-"
        return f"above {text_of(a)}" if np.isinf(b) else f"{text_of(a)} to {text_of(b)}"

    return text


def _target(row: Row) -> str:
    return f"{row['factor']:g} times the best mean"


def _or(words: str, column: str) -> Callable[[Row], str]:
    """A number, or words where it is infinite."""
    return lambda row: words if np.isinf(row[column]) else text_of(row[column])


_KRUSKAL: Columns = {
    "family": "family",
    "statistic": "statistic",
    "p-value": "p",
    "significant": "significant",
    "note": "note",
}
_PAIRS: Columns = {
    "first": "a",
    "second": "b",
    "p-value": "p",
    "p-value after Holm": "p_holm",
    "chance that the first is better": "a12",
    "significant": "significant",
    "better": "better",
    "note": "note",
}
_IDEAL: Columns = {
    "family": "family",
    "ratio": "ratio",
    "95 % interval": _interval("low", "high"),
    "verdict": "verdict",
    "note": "note",
}
_TIMES: Columns = {
    "method": "method",
    "target": _target,
    "runs that reach it": lambda row: f"{row['successes']} of {row['n']}",
    "expected evaluations": _or("never reached", "ert"),
}
_SPEED: Columns = {
    "method": "method",
    "target": _target,
    "times fewer evaluations": _or("-", "speed_up"),
    "95 % interval": _interval("low", "high"),
    "note": "note",
}


def table_methods(results: Results) -> list[str]:
    """Columns of the table: the methods family by family."""
    return [member.method for member in results.lineup.members]


def cell_text(mean: float, std: float) -> str:
    """``0.114 ± 0.008``; without a spread only the mean."""
    if np.isnan(mean):
        return "-"
    return f"{mean:.3f}" if np.isnan(std) else f"{mean:.3f} ± {std:.3f}"


def _cells(results: Results) -> Mapping[tuple[str, str], pd.Series]:
    return {(row["problem"], row["method"]): row for _, row in results.summary.iterrows()}


def markdown_table(results: Results) -> str:
    """Normalised errors, the best of a family in bold."""
    methods, cells = table_methods(results), _cells(results)
    lines = [
        "| problem | " + " | ".join(map(_escape_markdown, methods)) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for problem in results.problems:
        texts = []
        for method in methods:
            row = cells.get((problem, method))
            text = "" if row is None else cell_text(row.normalised_mean, row.normalised_std)
            texts.append(f"**{text}**" if row is not None and row.best else text)
        lines.append(f"| {_escape_markdown(problem)} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def latex_table(results: Results) -> str:
    """The table in LaTeX, which needs no package."""
    methods, cells = table_methods(results), _cells(results)
    lines = [rf"\begin{{tabular}}{{l{'c' * len(methods)}}}", r"\hline"]
    lines.append(" & ".join(["problem", *map(_escape_latex, methods)]) + r" \\")
    lines.append(r"\hline")
    for problem in results.problems:
        texts = [_escape_latex(problem)]
        for method in methods:
            row = cells.get((problem, method))
            text = "" if row is None else cell_text(row.normalised_mean, row.normalised_std)
            text = text.replace("±", r"$\pm$").replace("-", "--")
            texts.append(rf"\textbf{{{text}}}" if row is not None and row.best else text)
        lines.append(" & ".join(texts) + r" \\")
    lines += [r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def csv_table(results: Results) -> str:
    """All numbers behind the table, a row per problem and method."""
    return results.summary.to_csv(index=False)


def _escape_markdown(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_{}[]<>()#+!|" else c for c in text)


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: "\\" + c for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text)
