"""The paper's own results as data: Table 1, its statements of significance, and the agreement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from symbreak.analysis._statistics import compared_methods

FAMILIES = ("DE", "CMA-ES")
_METHODS = tuple(method for family in FAMILIES for method in compared_methods(family))

# Table 1: DE, DE-INV-SB, DE-SB, then CMA-ES, CMA-ES-INV-SB, CMA-ES-SB.
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
            for method, cell in zip(_METHODS, cells, strict=True)
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
    ("syn5", "CMA-ES", "CMA-ES-SB"): "rejected by a narrow margin, p = 0.08",
    ("sinc2d", "CMA-ES", "CMA-ES-INV-SB"): "the only pair that is not",
    ("two-spirals", "DE", "DE-INV-SB"): "not on the training set either",
    ("two-spirals", "CMA-ES", "CMA-ES-INV-SB"): "not on the test set",
}
#: The same for the training rates of classification (``value="train_rate"``).
NOT_SIGNIFICANT_IN_TRAINING = {
    ("two-spirals", "DE", "DE-INV-SB"): "not on the test set either",
}
_CLASSIFICATION = ("two-circles", "two-spirals", "digits")


class Agreement(NamedTuple):
    """How the results here compare with the paper's, as three frames.

    In all of them True, False and None stand for yes, no and cannot be said.

    Attributes:
        families: A row per problem and family: winner and order by normalised mean, and how
            many pairs agree in significance.
        cells: A row per problem and method of Table 1: both means and standard deviations, and
            whether it is the best in both or in neither.
        pairs: A row per problem and pair: significance, raw as in the paper.
    """

    families: pd.DataFrame
    cells: pd.DataFrame
    pairs: pd.DataFrame


def paper_table() -> pd.DataFrame:
    """Table 1, a row per problem, family and method; ``best`` is the bold cell."""
    rows = []
    for problem, cells in TABLE_1.items():
        for family in FAMILIES:
            three = {method: cells[method] for method in compared_methods(family)}
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
        for family in FAMILIES:
            for a, b in combinations(compared_methods(family), 2):
                note = excepted.get((problem, a, b), "")
                row = {"problem": problem, "family": family, "a": a, "b": b}
                rows.append({**row, "significant": not note, "note": note})
    return pd.DataFrame(rows)


def agreement(summary: pd.DataFrame, pairwise: pd.DataFrame) -> Agreement:
    """Compare a ``summary`` and ``pairwise`` tests of one store with the paper.

    Every problem of the paper has its rows, in the paper's order, then other problems. Winner
    and order are compared only where all three methods of a family are there; pairs only where
    a test was made, and in significance alone: the paper's means say nothing on the direction
    of a rank test.
    """
    cells = _cells(summary)
    pairs = _pairs(pairwise)
    counts = pairs.dropna(subset=["agree"]).groupby(["problem", "family"])["agree"]
    agreeing, compared = counts.sum().to_dict(), counts.size().to_dict()
    rows = []
    for (problem, family), group in cells.groupby(["problem", "family"], sort=False):
        row = {"problem": problem, "family": family, **_winners(group)}
        row["pairs_agreeing"] = int(agreeing.get((problem, family), 0))
        row["pairs_compared"] = int(compared.get((problem, family), 0))
        rows.append(row)
    return Agreement(pd.DataFrame(rows), cells, pairs)


def _cells(summary: pd.DataFrame) -> pd.DataFrame:
    """Both tables beside each other, for the methods that the paper compares."""
    names = {"normalised_mean": "mean_here", "normalised_std": "std_here", "best": "best_here"}
    compared = [m in compared_methods(f) for m, f in zip(summary["method"], summary["family"])]
    here = summary.loc[np.array(compared, dtype=bool)].rename(columns={**names, "n": "n_here"})
    keys = ["problem", "family", "method"]
    here = here[[*keys, "n_here", *names.values()]]
    paper = paper_table().rename(columns={n: f"{n}_paper" for n in ("mean", "std", "best")})
    cells = _outer(paper, here, keys)
    cells["n_here"] = cells["n_here"].fillna(0).astype(int)
    cells["best_paper"] = _yes_no(cells["best_paper"], cells["mean_paper"].notna())
    cells["best_here"] = _yes_no(cells["best_here"], cells["n_here"] > 0)
    cells["agree"] = _same(cells["best_paper"], cells["best_here"])
    return cells


def _pairs(pairwise: pd.DataFrame) -> pd.DataFrame:
    """Both judgements of each pair beside each other."""
    keys = ["problem", "family", "a", "b"]
    here = pairwise[[*keys, "p", "p_holm", "a12", "significant", "better", "note"]]
    here = here.rename(columns={"significant": "significant_here", "note": "note_here"})
    said = {"significant": "significant_paper", "note": "note_paper"}
    pairs = _outer(paper_significance().rename(columns=said), here, keys)
    pairs["significant_paper"] = _yes_no(
        pairs["significant_paper"], pairs["significant_paper"].notna()
    )
    pairs["significant_here"] = _yes_no(pairs["significant_here"], pairs["p"].notna())
    pairs["agree"] = _same(pairs["significant_paper"], pairs["significant_here"])
    words = ["better", "note_paper", "note_here"]
    return pairs.assign(**{name: pairs[name].fillna("") for name in words})


def _outer(paper: pd.DataFrame, here: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """All rows of both: the paper's in its order, then the others in theirs."""
    left = paper.merge(here, on=keys, how="left")
    known = pd.MultiIndex.from_frame(paper[keys])
    others = here[~pd.MultiIndex.from_frame(here[keys]).isin(known)]
    return pd.DataFrame(left.to_dict("records") + others.to_dict("records"), columns=left.columns)


def _yes_no(values: pd.Series[Any], known: pd.Series[Any]) -> pd.Series[Any]:
    """True or False where known, None elsewhere."""
    answers = [bool(v) if k else None for v, k in zip(values, known, strict=True)]
    return pd.Series(answers, index=values.index, dtype=object)


def _same(a: Sequence[bool | None], b: Sequence[bool | None]) -> list[bool | None]:
    return [None if x is None or y is None else x == y for x, y in zip(a, b, strict=True)]
