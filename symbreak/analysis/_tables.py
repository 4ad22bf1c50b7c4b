"""Table 1 of the paper from a store, as Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from symbreak.analysis._results import Results


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
    """The same for a paper; needs no package."""
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
