"""The paper's own results as data, Table 1 and its statements of significance, beside others.

Here, and nowhere else in the analysis, methods and problems are known by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd

from symbreak.analysis._statistics import FEW
from symbreak.problems import load_problem

#: The methods that the paper compares, in the order of its table.
PAPER_METHODS = {
    "DE": ("DE", "DE-INV-SB", "DE-SB"),
    "CMA-ES": ("CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"),
}

# Table 1, with columns as in PAPER_METHODS.
_TABLE_1 = """
syn5           0.958±0.079 1.000±0.186 0.949±0.039  1.000±4.446 0.386±0.469 0.093±0.007
sinc           1.000±0.859 0.412±0.166 0.114±0.008  0.459±0.271 1.000±0.784 0.139±0.051
inc-sinc       1.000±0.963 0.337±0.155 0.089±0.016  0.287±0.336 1.000±0.707 0.082±0.035
sinc2d         1.000±0.387 0.995±0.094 0.875±0.029  0.975±0.139 1.000±0.241 0.089±0.253
sinc3d         0.622±0.029 1.000±0.572 0.603±0.033  1.000±1.401 0.090±0.013 0.043±0.021
autoenc-circle 0.057±0.082 1.000±1.850 0.020±0.030  1.000±0.295 0.626±0.548 0.077±0.164
autoenc-spiral 0.341±0.545 1.000±0.932 0.116±0.308  0.248±0.232 1.000±0.882 0.030±0.024
autoenc-sphere 0.554±0.321 1.000±0.064 0.022±0.012  0.050±0.012 1.000±0.416 0.032±0.008
two-circles    0.450±0.225 1.000±0.182 0.269±0.074  0.635±0.368 1.000±0.284 0.326±0.169
two-spirals    0.918±0.260 1.000±0.213 0.426±0.197  1.000±0.228 0.930±0.201 0.683±0.293
digits         0.325±0.087 1.000±0.111 0.272±0.062  1.000±0.352 0.805±0.113 0.668±0.099
"""


class Cell(NamedTuple):
    """A cell of Table 1: normalised mean and standard deviation, as printed."""

    mean: float
    std: float


#: Table 1 by problem and method; training errors, test errors where the task is classification.
TABLE_1 = {
    problem: {
        method: Cell(*map(float, cell.split("±")))
        for method, cell in zip(chain(*PAPER_METHODS.values()), cells, strict=True)
    }
    for problem, *cells in map(str.split, _TABLE_1.strip().splitlines())
}

#: The pairs that Section 6 finds not significantly different on the errors of Table 1. Of every
#: other pair of a family it says that the difference is significant.
NOT_SIGNIFICANT = (
    ("syn5", "DE", "DE-INV-SB"),  # by the Kruskal-Wallis test, as the next two
    ("syn5", "DE", "DE-SB"),
    ("syn5", "DE-INV-SB", "DE-SB"),
    ("syn5", "CMA-ES", "CMA-ES-SB"),  # by a narrow margin, p = 0.08
    ("sinc2d", "CMA-ES", "CMA-ES-INV-SB"),  # the only pair that is not
    ("two-spirals", "DE", "DE-INV-SB"),  # not on the training set either
    ("two-spirals", "CMA-ES", "CMA-ES-INV-SB"),  # on the test set, though on the training set
)


def paper_problems(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The paper's names of those problems of a store that are the paper's, by name and network."""
    return {
        name: fact["name"]
        for name, fact in facts.items()
        if fact["name"] in TABLE_1 and fact["net"] == str(load_problem(fact["name"]).topology)
    }


def agreement(
    summary: pd.DataFrame, pairwise: pd.DataFrame, names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Where the frames of ``summary`` and ``pairwise`` agree with the paper.

    A row for each of its problems and families with two methods here. Winners are compared where
    all three are. A test agrees with the paper's if neither finds a difference, or both do and the
    same method is ahead, by rank here and by mean there; with fewer than five repetitions it
    cannot find any. ``names`` are the paper's of the problems that are the paper's.
    """
    rows: list[dict[str, Any]] = []
    groups: Any = summary.set_index("method").groupby(["problem", "family"], sort=False)["mean"]
    for (problem, family), means in groups:
        methods, printed = PAPER_METHODS.get(family, ()), TABLE_1.get(names.get(problem, ""), {})
        means = means[means.index.isin(methods)]
        if not printed or len(means) < 2:
            continue
        row = {"problem": problem, "family": family, "note": ""}
        row["winner"] = " = ".join(means.index[means == means.min()])
        best = min(methods, key=lambda method: printed[method].mean)
        row["same_winner"] = row["winner"] == best
        if missing := [method for method in methods if method not in means.index]:
            row |= {"same_winner": None, "note": f"missing: {', '.join(missing)}"}
        tests = pairwise[(pairwise["problem"] == problem) & (pairwise["family"] == family)]
        verdicts = []
        enough: Any = tests[tests[["n_a", "n_b"]].min(axis=1) >= FEW].itertuples()
        for test in enough:
            differ = (names[problem], test.a, test.b) not in NOT_SIGNIFICANT
            ahead = min((test.a, test.b), key=lambda method: printed[method].mean)
            verdicts.append(test.significant == differ and test.better in ("", ahead))
        rows.append(row | {"agreeing": sum(verdicts), "compared": len(verdicts)})
    return rows
