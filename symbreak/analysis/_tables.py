"""Tables of numbers as people read them, and Table 1 of the paper from other results.

Headings are in words, and there are no symbols for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from symbreak.analysis._results import Fit, Results
from symbreak.inspection import scores

Row = Mapping[str, Any]
#: A heading, and the text or column below it.
Columns = dict[str, str | Callable[[Row], str]]


def number_tables(results: Results, problem: str) -> Iterator[dict[str, Any]]:
    """The tables of a problem: title, text, columns and rows; empty ones are left out."""
    frames = (*results.all_tests[1:], *results.family_tests, results.running_times)
    for frame, (title, text, columns) in zip(frames, _NUMBERS, strict=True):
        part = frame[frame["problem"] == problem]
        if len(part):
            yield {"title": title, "text": text, **_table(part, columns)}


def error_table(results: Results, problem: str) -> dict[str, Any]:
    """All methods on a problem, the smallest mean first, each tested against that one."""
    part = results.summary[results.summary["problem"] == problem].sort_values("mean")
    columns: Columns = {
        **{"method": "method", "mean error": "mean", "deviation": "std", "median": "median"},
        **{"middle half": _interval("q1", "q3"), "runs": "n"},
    }
    words = ""
    if tests := against_best(results, problem):
        columns["p"] = lambda row: tests.get(row["method"], ("", ""))[0]
        columns["first is better"] = lambda row: tests.get(row["method"], ("", ""))[1]
        overall = results.all_tests[0].set_index("problem").loc[problem, "p"]
        words = (
            "p: rank-sum test against the first, with Holm's correction over all pairs of methods; "
            "beside it the chance that a run of the first has the smaller error. Kruskal-Wallis "
            f"test over all methods: p = {text_of(overall)}."
        )
    return {"text": words, **_table(part, columns)}


def against_best(results: Results, problem: str) -> dict[str, tuple[str, str]]:
    """Of each other method the p-value, after Holm, and the chance that the best one is better."""
    part = results.summary[results.summary["problem"] == problem].sort_values("mean")
    best, pairs = part["method"].iloc[0], results.all_tests[1]
    found = {}
    for row in records(pairs[pairs["problem"] == problem]):
        if best in (row["a"], row["b"]):
            first = best == row["a"]
            chance = row["a12"] if first else 1 - row["a12"]
            found[row["b" if first else "a"]] = text_of(row["p_holm"]), text_of(chance)
    return {method: found[method] for method in part["method"] if method in found}


def quality_table(fit: Fit) -> dict[str, Any]:
    """How good the best network is on each part of the data, in numbers people know.

    For regression and autoencoding, the coefficient of determination (the mean over targets),
    and with a single target the root mean squared error in its units. For classification, the
    share of samples that are classified right.
    """
    rows = []
    for part, score in scores(fit.model, fit.problem).items():
        row: dict[str, Any] = {"data": part, "samples": score.n}
        known = score.r2[np.isfinite(score.r2)]  # not where a target is constant
        if fit.model.classes:
            row["classified right"] = f"{1 - score.error:.4g}"
        elif len(known):
            row["R²"] = f"{known.mean():.4g}"
        if len(score.rmse) == 1:
            row["root mean squared error"] = f"{score.rmse[0]:.4g}"
        rows.append(row)
    return _table(pd.DataFrame(rows), {name: name for row in rows for name in row})


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


def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a frame."""
    return frame.to_dict("records")


def _table(frame: pd.DataFrame, columns: Columns) -> dict[str, Any]:
    """Headings and texts."""
    rows = [
        [cell(row) if callable(cell) else text_of(row[cell]) for cell in columns.values()]
        for row in records(frame)
    ]
    return {"columns": [*columns], "rows": rows}


def _interval(low: str, high: str) -> Callable[[Row], str]:
    """``1.2 to 3.4``, or how far it is open."""

    def text(row: Row) -> str:
        a, b = float(row[low]), float(row[high])
        if np.isnan(a + b) or np.isinf(a):
            return "-"
        return f"above {text_of(a)}" if np.isinf(b) else f"{text_of(a)} to {text_of(b)}"

    return text


def _or(words: str, column: str) -> Callable[[Row], str]:
    """A number, or words where it is infinite."""
    return lambda row: words if np.isinf(row[column]) else text_of(row[column])


_KRUSKAL: Columns = {
    **{"family": "family", "statistic": "statistic", "p-value": "p"},
    **{"significant": "significant", "note": "note"},
}
_PAIRS: Columns = {
    **{"first": "a", "second": "b", "p-value": "p", "p-value after Holm": "p_holm"},
    **{"chance that the first is better": "a12", "significant": "significant"},
    **{"better": "better", "note": "note"},
}
_TIMES: Columns = {
    "method": "method",
    "target": lambda row: f"{row['factor']:g} times the best mean",
    "runs that reach it": lambda row: f"{row['successes']} of {row['n']}",
    "expected evaluations": _or("never reached", "ert"),
    "times fewer than plain": _or("-", "speed_up"),
    "95 % interval": _interval("low", "high"),
}


_NUMBERS: tuple[tuple[str, str, Columns], ...] = (
    (
        "Which of two is better, of all methods?",
        "Wilcoxon rank-sum test with Holm's correction over all pairs. The chance is that of a run "
        "of the first to have a smaller error than one of the second (Vargha and Delaney's A12).",
        _PAIRS,
    ),
    (
        "Is there any difference within a family?",
        "Kruskal-Wallis test over the methods of a family.",
        _KRUSKAL,
    ),
    (
        "Which of two is better, within a family?",
        "The same test, uncorrected, as in the paper.",
        _PAIRS,
    ),
    (
        "How many evaluations does it take?",
        "Evaluations of all runs until they reach the target or end, divided by the number of runs "
        "that reach it; and how many times fewer than the plain method of the family needs that "
        "is.",
        _TIMES,
    ),
)


def cell_text(mean: float, std: float) -> str:
    """``0.114 ± 0.008``; without a spread only the mean."""
    if np.isnan(mean):
        return "-"
    return f"{mean:.3f}" if np.isnan(std) else f"{mean:.3f} ± {std:.3f}"


def _rows_of_texts(
    results: Results, bold: str, escape: Callable[[str], str]
) -> Iterator[list[str]]:
    """Names of methods, then normalised errors of each problem, the best of a family in bold."""
    methods = [member.method for member in results.lineup.members]
    cells: dict[Any, Any] = {(c.problem, c.method): c for c in results.summary.itertuples()}
    yield ["problem", *map(escape, methods)]
    for problem in results.problems:
        texts = [escape(problem)]
        for cell in (cells.get((problem, method)) for method in methods):
            text = escape(cell_text(cell.normalised_mean, cell.normalised_std)) if cell else ""
            texts.append(bold % text if cell and cell.best else text)
        yield texts


def markdown_table(results: Results) -> str:
    """Normalised errors, the best of a family in bold."""
    head, *rows = _rows_of_texts(results, "**%s**", _escape_markdown)
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, f"{'|---' * len(head)}|", *others]) + "\n"


def latex_table(results: Results) -> str:
    """The table in LaTeX, which needs no package."""
    head, *rows = _rows_of_texts(results, r"\textbf{%s}", _escape_latex)
    begin = rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}"
    lines = [rf"{' & '.join(row)} \\" for row in (head, *rows)]
    lines = [begin, r"\hline", lines[0], r"\hline", *lines[1:], r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _escape_markdown(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_{}[]<>()#+!|" else c for c in text)


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"±": r"$\pm$", **{c: "\\" + c for c in "&%$#_{}"}}
    return "".join(special.get(c, c) for c in text)
