"""How far the results of a store agree with the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from symbreak._support.checks import check_kind
from symbreak.analysis._arguments import check_frame
from symbreak.analysis._paper import (
    PAPER_METHODS,
    TABLE_1,
    paper_significance,
    paper_table,
)
from symbreak.analysis._statistics import FEW

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
    means = ("n", "normalised_mean", "normalised_std")
    tests = ("n_a", "n_b", "p", "a12", "significant")
    summary = check_frame("summary", summary, numbers=means)
    pairwise = check_frame("pairwise", pairwise, ("problem", "a", "b"), tests)
    if names is not None:
        check_kind("names", names, Mapping, "from names to the paper's")  # type: ignore[type-abstract]
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
