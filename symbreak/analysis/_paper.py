"""The paper's own results as data: Table 1 and its statements of significance.

Here, and nowhere else in the analysis, methods and problems are known by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from symbreak._support.checks import check_flag

#: The methods that the paper compares, in the order of its table.
PAPER_METHODS = {
    "DE": ("DE", "DE-INV-SB", "DE-SB"),
    "CMA-ES": ("CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"),
}
_COLUMNS = tuple(method for methods in PAPER_METHODS.values() for method in methods)

#: The networks that the paper trains on its problems.
PAPER_NETS = {
    "syn5": "1-3-1",
    "sinc": "1-5-1",
    "inc-sinc": "1-5-1",
    "sinc2d": "2-3-1-3-1",
    "sinc3d": "3-4-1-4-1",
    "autoenc-circle": "2-5-3-2-1-2-3-5-2",
    "autoenc-spiral": "3-1-3-4-7-3",
    "autoenc-sphere": "3-8-5-2-5-8-3",
    "two-circles": "2-4-2-4-2",
    "two-spirals": "2-8-3-1-3-8-2",
    "digits": "16-8-3-10-10",
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


def _parse(table: str) -> dict[str, dict[str, Cell]]:
    rows = [line.split() for line in table.strip().splitlines()]
    return {
        problem: {
            method: Cell(*map(float, cell.split("±")))
            for method, cell in zip(_COLUMNS, cells, strict=True)
        }
        for problem, *cells in rows
    }


#: Table 1 by problem and method; training errors, test errors where the task is classification.
TABLE_1 = _parse(_TABLE_1)

_NO_DIFFERENCE = "the Kruskal-Wallis test showed no significant difference"
#: The pairs that Section 6 finds not significantly different on the errors of Table 1, and what
#: it says of them. Of every other pair of a family it says that the difference is significant.
NOT_SIGNIFICANT = {
    ("syn5", "DE", "DE-INV-SB"): _NO_DIFFERENCE,
    ("syn5", "DE", "DE-SB"): _NO_DIFFERENCE,
    ("syn5", "DE-INV-SB", "DE-SB"): _NO_DIFFERENCE,
    ("syn5", "CMA-ES", "CMA-ES-SB"): "not significant by a narrow margin, p = 0.08",
    ("sinc2d", "CMA-ES", "CMA-ES-INV-SB"): "the only pair that is not",
    ("two-spirals", "DE", "DE-INV-SB"): "not on the training set either",
    ("two-spirals", "CMA-ES", "CMA-ES-INV-SB"): "not on the test set, though on the training set",
}
#: The same for the training rates of classification (``value="train_error"``).
NOT_SIGNIFICANT_IN_TRAINING = {
    ("two-spirals", "DE", "DE-INV-SB"): "not on the test set either",
}
_CLASSIFICATION = ("two-circles", "two-spirals", "digits")


def paper_table() -> pd.DataFrame:
    """Table 1, a row per problem, family and method; ``best`` is the bold cell."""
    rows = []
    for problem, cells in TABLE_1.items():
        for family, methods in PAPER_METHODS.items():
            three = {method: cells[method] for method in methods}
            least = min(cell.mean for cell in three.values())
            for method, cell in three.items():
                row = {"problem": problem, "family": family, "method": method, **cell._asdict()}
                rows.append({**row, "best": cell.mean == least})
    return pd.DataFrame(rows)


def paper_significance(training: bool = False) -> pd.DataFrame:
    """What Section 6 says of each pair: problem, family, a, b, significant, note.

    With ``training`` the statements on the training rates of the classification problems.
    """
    check_flag("training", training)
    excepted = NOT_SIGNIFICANT_IN_TRAINING if training else NOT_SIGNIFICANT
    rows = []
    for problem in _CLASSIFICATION if training else TABLE_1:
        for family, methods in PAPER_METHODS.items():
            for a, b in combinations(methods, 2):
                note = excepted.get((problem, a, b), "")
                row = {"problem": problem, "family": family, "a": a, "b": b}
                rows.append({**row, "significant": not note, "note": note})
    return pd.DataFrame(rows)


def paper_problems(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The paper's names of those problems of a store that are the paper's, by name and network.

    A store may hold several problems of one name; if two of them have the paper's network, none
    can be called the paper's.
    """
    found: dict[str, list[str]] = {}
    for label, fact in facts.items():
        name = fact.get("name", label)
        if PAPER_NETS.get(name) == fact["net"]:
            found.setdefault(name, []).append(label)
    return {labels[0]: name for name, labels in found.items() if len(labels) == 1}
