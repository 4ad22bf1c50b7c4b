"""Tables of numbers as people read them: headings in words, and no symbols for what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from symbreak.analysis._fits import Fit
from symbreak.analysis._results import Results

Row = Mapping[str, Any]
#: A heading, and the text or column below it.
Columns = Mapping[str, str | Callable[[Row], str]]


def number_tables(results: Results, problem: str) -> Iterator[dict[str, Any]]:
    """The tables of a problem: title, text, columns and rows of texts; empty ones are left out."""
    for title, text, frame, columns in (
        ("Errors", "", results.summary, _ERRORS),
        (
            "Is there any difference?",
            "Kruskal-Wallis test over the compared methods of a family.",
            results.kruskal_wallis,
            _KRUSKAL,
        ),
        (
            "Which of two is better?",
            "Wilcoxon rank-sum test. The chance is that of a run of the first to have a smaller "
            "error than one of the second (Vargha and Delaney's A12).",
            results.pairwise,
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
    """Mean errors of all methods on a problem, whatever the family, the smallest first."""
    part = results.summary[results.summary["problem"] == problem].sort_values("mean")
    columns: Columns = {
        "method": "method",
        "mean error": "mean",
        "standard deviation": "std",
        "median": "median",
        "runs": "n",
    }
    return {"columns": [*columns], "rows": _rows(part, columns)}


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


def whole_number(digits: str) -> str:
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


_ERRORS: Columns = {
    "method": "method",
    "runs": "n",
    "mean": "mean",
    "standard deviation": "std",
    "median": "median",
    "middle half": _interval("q1", "q3"),
    "note": "note",
}
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
