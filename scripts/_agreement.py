"""The paper's Table 1 and its statements of significance, cell by cell and pair by pair."""

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from symbreak.analysis import Results
from symbreak.analysis._paper import NOT_SIGNIFICANT, PAPER_METHODS, TABLE_1
from symbreak.analysis._statistics import FEW


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


@cache
def agreement(results: Results) -> Agreement:
    """How far results agree with the paper."""
    return agreement_of(results.summary, results.pairwise, results.paper_problems)


def agreement_of(
    summary: pd.DataFrame, pairwise: pd.DataFrame, names: Mapping[str, str]
) -> Agreement:
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
    sides: Any = {"how": "left", "suffixes": ("_paper", "_here")}
    here = {"normalised_mean": "mean", "normalised_std": "std", "best": "best", "n": "n_here"}
    ours = summary[["problem", "method", *here]].rename(columns=here)
    ours["problem"] = ours["problem"].map(names)
    cells = paper_table().merge(ours, on=["problem", "method"], **sides)
    cells["best_here"] = cells["best_here"].eq(True)
    cells["n_here"] = cells["n_here"].fillna(0).astype(int)
    tests = pairwise[["problem", "a", "b", "n_a", "n_b", "p", "a12", "better", "significant"]]
    tests = tests.assign(problem=tests["problem"].map(names))
    pairs = paper_significance().merge(tests, on=["problem", "a", "b"], **sides)
    pairs = _compared(pairs, cells.set_index(["problem", "method"]))
    by = ["problem", "family"]
    groups = zip(cells.groupby(by, sort=False), pairs.groupby(by, sort=False), strict=True)
    families = [
        {"problem": problem, "family": family, **_family(of_cells, of_pairs)}
        for ((problem, family), of_cells), (_, of_pairs) in groups
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
    judged, missing = pairs["agree"].dropna(), cells.loc[cells["n_here"] == 0, "method"]
    return row | {
        "pairs_agreeing": int(judged.sum()),
        "pairs_compared": len(judged),
        "pairs_reversed": int(pairs["reversed"].eq(True).sum()),
        "note": f"missing: {', '.join(missing)}" if len(missing) else "",
    }


def _order(means: pd.Series) -> str:
    """Names by mean, such as ``"DE-SB < DE = DE-INV-SB"``; empty without two to compare."""
    equal = [" = ".join(sorted(part.index)) for _, part in means.groupby(means)]
    return " < ".join(equal) if len(means) > 1 else ""
