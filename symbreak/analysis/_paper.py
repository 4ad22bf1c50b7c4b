"""The paper's own results as data, Table 1 and its statements of significance, beside others.

Here, and nowhere else in the analysis, methods and problems are known by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any, NamedTuple

import pandas as pd

from symbreak.analysis._statistics import FEW

#: The methods that the paper compares, in the order of its table.
PAPER_METHODS = {
    "DE": ("DE", "DE-INV-SB", "DE-SB"),
    "CMA-ES": ("CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"),
}

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


def paper_table() -> pd.DataFrame:
    """Table 1, a row per problem, family and method; ``best`` is the bold cell."""
    rows = [
        {"problem": problem, "family": family, "method": method, **cells[method]._asdict()}
        for problem, cells in TABLE_1.items()
        for family, methods in PAPER_METHODS.items()
        for method in methods
    ]
    table = pd.DataFrame(rows)
    least = table.groupby(["problem", "family"])["mean"].transform("min")
    return table.assign(best=table["mean"] == least)


def paper_significance() -> pd.DataFrame:
    """What Section 6 says of each pair: problem, family, a, b, significant."""
    rows = [
        (problem, family, a, b, (problem, a, b) not in NOT_SIGNIFICANT)
        for problem in TABLE_1
        for family, methods in PAPER_METHODS.items()
        for a, b in combinations(methods, 2)
    ]
    return pd.DataFrame(rows, columns=["problem", "family", "a", "b", "significant"])


def paper_problems(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The paper's names of those problems of a store that are the paper's, by name and network."""
    return {
        name: fact["name"]
        for name, fact in facts.items()
        if PAPER_NETS.get(fact["name"]) == fact["net"]
    }


class Agreement(NamedTuple):
    """How the results here compare with the paper's, as three frames.

    True, False and None in them stand for yes, no and cannot be said.

    Attributes:
        families: A row per problem and family: ``winner`` and ``order`` by normalised mean in
            the paper and here, whether they are the same, how many pairs agree, and how many of
            these are reversed.
        cells: A row per problem and method: mean, standard deviation and ``best`` in the paper
            and here, and the number of runs here.
        pairs: A row per problem and pair: ``significant`` in the paper and here, raw as there;
            ``reversed`` where both are and the other method is the better one here.
    """

    families: pd.DataFrame
    cells: pd.DataFrame
    pairs: pd.DataFrame


def agreement(summary: pd.DataFrame, pairwise: pd.DataFrame, names: Mapping[str, str]) -> Agreement:
    """Compare the frames of ``summary`` and ``pairwise`` with the paper.

    Every problem of the paper has its rows, in the paper's order; what is not the paper's has
    none. Winner and order are compared where all three methods of a family are there, pairs where
    both have five repetitions, since with three no test can be significant. Pairs agree if both
    are significant or neither is. The paper prints means, which need not have the direction of a
    rank test: a pair is reversed if both means and ranks here are against them.

    Args:
        summary: From ``statistics.summary``.
        pairwise: From ``statistics.pairwise``.
        names: The paper's names of the problems there that are the paper's.
    """
    summary, pairwise = (
        frame.assign(problem=frame["problem"].map(names)).dropna(subset="problem")
        for frame in (summary, pairwise)
    )
    here = {"normalised_mean": "mean", "normalised_std": "std", "best": "best", "n": "n_here"}
    ours = summary[["problem", "method", *here]].rename(columns=here)
    sides: Any = {"how": "left", "suffixes": ("_paper", "_here")}
    cells = paper_table().merge(ours, on=["problem", "method"], **sides)
    cells["best_here"] = cells["best_here"].eq(True)
    cells["n_here"] = cells["n_here"].fillna(0).astype(int)
    tests = pairwise[["problem", "a", "b", "n_a", "n_b", "p", "a12", "better", "significant"]]
    pairs = _compared(
        paper_significance().merge(tests, on=["problem", "a", "b"], **sides),
        cells.set_index(["problem", "method"]),
    )
    by, names_of = ["problem", "family"], pairs.groupby(["problem", "family"])
    families = [
        {**dict(zip(by, name, strict=True)), **_family(group, names_of.get_group(name))}
        for name, group in cells.groupby(by, sort=False)
    ]
    found = pd.DataFrame(families).astype({"same_winner": object, "same_order": object})
    return Agreement(found, cells, pairs)


def _compared(pairs: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Which tests say here what they say in the paper, None with too few runs, and which not."""
    a, b = (cells.loc[[*zip(pairs["problem"], pairs[side], strict=True)]] for side in "ab")
    paper, ours = (a[m].to_numpy() - b[m].to_numpy() for m in ("mean_paper", "mean_here"))
    here = pairs["significant_here"].eq(True)
    enough = pairs[["n_a", "n_b"]].min(axis=1) >= FEW
    agree = here == pairs["significant_paper"]
    worse = pairs["a"].where(paper > 0, pairs["b"])  # in the paper
    other = agree & here & (paper * ours < 0) & (pairs["better"] == worse)
    return pairs.assign(
        significant_here=here.astype(object).where(pairs["p"].notna(), None),
        agree=agree.astype(object).where(enough, None),
        reversed=other.astype(object).where(enough, None),
    )


def _family(cells: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, Any]:
    """Winner and order of a family in the paper and here."""
    row: dict[str, Any] = {}
    for where in ("paper", "here"):
        row[f"order_{where}"] = _order(cells.set_index("method")[f"mean_{where}"].dropna())
        row[f"winner_{where}"] = row[f"order_{where}"].split(" < ")[0]
    known = cells["mean_here"].notna().all()
    for what in ("winner", "order"):
        row[f"same_{what}"] = row[f"{what}_paper"] == row[f"{what}_here"] if known else None
    judged = pairs["agree"].dropna()
    row |= {"pairs_agreeing": int(judged.sum()), "pairs_compared": len(judged)}
    row["pairs_reversed"] = int(pairs["reversed"].eq(True).sum())
    missing = cells.loc[cells["n_here"] == 0, "method"]
    return row | {"note": f"missing: {', '.join(missing)}" if len(missing) else ""}


def _order(means: pd.Series[float]) -> str:
    """Names by mean, such as ``"DE-SB < DE = DE-INV-SB"``; empty without two to compare."""
    equal = [" = ".join(sorted(part.index)) for _, part in means.groupby(means)]
    return " < ".join(equal) if len(means) > 1 else ""
