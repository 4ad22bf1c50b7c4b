"""The paper's own results as data, Table 1 and its statements of significance, beside others.

Here, and nowhere else in the analysis, methods and problems are known by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from symbreak.analysis._statistics import FEW

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
    """The paper's names of those problems of a store that are the paper's, by name and network."""
    return {
        name: fact["name"]
        for name, fact in facts.items()
        if PAPER_NETS.get(fact["name"]) == fact["net"]
    }


Row = Mapping[str, Any]


class Agreement(NamedTuple):
    """How the results here compare with the paper's, as three frames.

    True, False and None in them stand for yes, no and cannot be said.

    Attributes:
        families: A row per problem and family: ``winner`` and ``order`` by normalised mean in
            the paper and here, whether they are the same, how many pairs agree, and how many of
            these are reversed.
        cells: A row per problem and method: mean, standard deviation and ``best`` in the paper
            and here; ``agree`` if the cell is bold in both or in neither.
        pairs: A row per problem and pair: ``significant`` in the paper and here, raw as there;
            ``reversed`` where both are and the other method is the better one here.
    """

    families: pd.DataFrame
    cells: pd.DataFrame
    pairs: pd.DataFrame


def agreement(
    summary: pd.DataFrame, pairwise: pd.DataFrame, names: Mapping[str, str] | None = None
) -> Agreement:
    """Compare the frames of ``summary`` and ``pairwise`` with the paper.

    Every problem of the paper has its rows, in the paper's order; what is not the paper's has
    none. Winner, order and cells are compared where all three methods of a family are there,
    pairs where both have five repetitions, since with three no test can be significant. Pairs
    agree if both are significant or neither is. The paper prints means, which need not have the
    direction of a rank test: a pair is reversed if both means and ranks here are against them.

    Args:
        summary: From ``statistics.summary``.
        pairwise: From ``statistics.pairwise``.
        names: The paper's names of the problems there that are the paper's; without it all
            that have such a name are.
    """
    if names is not None:
        summary, pairwise = (
            frame.assign(problem=frame["problem"].map(names)).dropna(subset="problem")
            for frame in (summary, pairwise)
        )
    tables = _lookup(paper_table(), "method"), _lookup(summary, "method")
    verdicts = _lookup(paper_significance(), "a", "b"), _lookup(pairwise, "a", "b")
    families, all_cells, all_pairs = [], [], []
    for problem, (family, methods) in product(TABLE_1, PAPER_METHODS.items()):
        place = {"problem": problem, "family": family}
        cells = [
            _cell(method, *(table.get((problem, method), {}) for table in tables))
            for method in methods
        ]
        pairs = [
            _pair(a, b, *(test.get((problem, a["method"], b["method"]), {}) for test in verdicts))
            for a, b in combinations(cells, 2)
        ]
        families.append(place | _family(cells, pairs))
        all_cells += [place | cell for cell in _judged(cells)]
        all_pairs += [place | pair for pair in pairs]
    return Agreement(*(_frame(rows) for rows in (families, all_cells, all_pairs)))


def _lookup(frame: pd.DataFrame, *keys: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of a frame by problem and other columns."""
    rows: list[Any] = frame.to_dict("records")
    return {tuple(row[key] for key in ("problem", *keys)): row for row in rows}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    kinds = ("best", "same", "agree", "significant", "reversed")
    answers = [name for name in rows[0] if name.startswith(kinds)]
    return frame.astype(dict.fromkeys(answers, object))  # None has a place among booleans


def _cell(method: str, paper: Row, here: Row) -> dict[str, Any]:
    return {
        "method": method,
        "mean_paper": paper.get("mean", np.nan),
        "std_paper": paper.get("std", np.nan),
        "best_paper": paper.get("best"),
        "mean_here": here.get("normalised_mean", np.nan),
        "std_here": here.get("normalised_std", np.nan),
        "best_here": here.get("best"),
        "n_here": here.get("n", 0),
    }


def _judged(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a family, each with its agreement if all three are there."""
    complete = not np.isnan([cell["mean_here"] for cell in cells]).any()
    return [
        cell | {"agree": _same(cell["best_paper"], cell["best_here"]) if complete else None}
        for cell in cells
    ]


def _pair(a: Row, b: Row, paper: Row, here: Row) -> dict[str, Any]:
    """Two cells of a family: their test in the paper and here."""
    p = here.get("p", np.nan)
    row: dict[str, Any] = {"a": a["method"], "b": b["method"]}
    row["significant_paper"] = paper.get("significant")
    row |= {"note_paper": paper.get("note", ""), "p": p, "a12": here.get("a12", np.nan)}
    row["significant_here"] = None if np.isnan(p) else here["significant"]
    row |= {"better_here": here.get("better", ""), "note_here": here.get("note", "not run")}
    enough = min(here.get("n_a", 0), here.get("n_b", 0)) >= FEW
    agree = _same(row["significant_paper"], row["significant_here"]) if enough else None
    differ = agree and row["significant_here"]
    return row | {"agree": agree, "reversed": differ and _reversed(a, b, row["better_here"])}


def _reversed(a: Row, b: Row, better: str) -> bool:
    """Whether the method with the larger mean in the paper is better here by mean and by rank."""
    worse = a if a["mean_paper"] > b["mean_paper"] else b
    other = b if worse is a else a
    return bool(better == worse["method"] and worse["mean_here"] < other["mean_here"])


def _family(cells: Sequence[Row], pairs: Sequence[Row]) -> dict[str, Any]:
    """Winner and order of a family in the paper and here."""
    row: dict[str, Any] = {}
    for where in ("paper", "here"):
        means = {cell["method"]: cell[f"mean_{where}"] for cell in cells}
        row[f"order_{where}"] = _order(means)
        row[f"winner_{where}"] = row[f"order_{where}"].split(" < ")[0]
    known = not np.isnan([cell["mean_here"] for cell in cells]).any()
    row["same_winner"] = row["winner_paper"] == row["winner_here"] if known else None
    row["same_order"] = row["order_paper"] == row["order_here"] if known else None
    judged = [pair["agree"] for pair in pairs if pair["agree"] is not None]
    row |= {"pairs_agreeing": sum(judged), "pairs_compared": len(judged)}
    row["pairs_reversed"] = sum(bool(pair["reversed"]) for pair in pairs)
    missing = [cell["method"] for cell in cells if cell["n_here"] == 0]
    return row | {"note": f"missing: {', '.join(missing)}" if missing else ""}


def _order(means: Mapping[str, float]) -> str:
    """Names by mean, such as ``"DE-SB < DE = DE-INV-SB"``; empty without two to compare."""
    known = sorted((mean, method) for method, mean in means.items() if not np.isnan(mean))
    equal = [[method for _, method in group] for _, group in groupby(known, key=lambda x: x[0])]
    return " < ".join(map(" = ".join, equal)) if len(known) > 1 else ""


def _same(a: bool | None, b: bool | None) -> bool | None:
    return None if a is None or b is None else a == b
