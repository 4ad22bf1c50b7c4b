"""Tables of docs/error-bars-measurements.md, from two files in benchmarks/results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _kept
import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "error_bars.json"
AGREEMENT = ROOT / "benchmarks" / "results" / "agreement.json"
PAGE = ROOT / "docs" / "error-bars-measurements.md"

COVERAGES = (0.8, 0.9, 0.95)
#: Not drawn at random, but the first rows of a file that is sorted.
SORTED = ("airfoil, its first rows",)
#: Mean log predictive densities of 1,274 chains of NUTS, as published.
CHAINS = {
    "sinusoidal": -0.53,
    "izmailov": 0.79,
    "regression2d": 0.64,
    "airfoil": -0.74,
    "concrete": -0.41,
    "diabetes": -1.20,
    "energy": 0.92,
    "forest_fire": -1.37,
    "yacht": 1.90,
}
OURS, ALONE, MEAN = "symbreak", "symbreak, best optimum", "symbreak, mean of mixture"
RIVALS = ("Gaussian process", "MAPIE around MLP")
#: What is promised: densities, coverage in the mean and on each table.
ALLOWED, IN_THE_MEAN, ON_EACH = 0.05, 0.02, 0.06


def read() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) | {"agreement": _kept.read(AGREEMENT)}


def intervals(results: dict[str, Any]) -> pd.DataFrame:
    """A row for each table; columns are facts and methods."""
    rows = pd.DataFrame(results["intervals"])
    return rows[~rows["data"].isin(SORTED)].pivot(index="data", columns="method")


def at(column: pd.DataFrame, place: int) -> pd.DataFrame:
    """Of lists for all coverages, the numbers for one."""
    return column.map(lambda numbers: numbers[place])


def density_claim(results: dict[str, Any]) -> list[str]:
    """How often the mixture is better, and by how much it is worse at most."""
    rows = pd.DataFrame(results["densities"]).set_index("data")
    gain = rows["mixture"] - pd.Series(CHAINS)
    worse = [f"{name} {-d:.2f}" for name, d in gain[gain < -ALLOWED].items()]
    return [
        f"Larger than that of the chains on {(gain > 0).sum()} of {len(gain)} tables (on "
        f"{(gain.abs() < 0.005).sum()} of these by less than two digits show); smaller by more "
        f"than {ALLOWED} on {', '.join(worse) or 'none'}, by {max(-gain.min(), 0):.3f} at most. "
        f"A training with error bars takes {rows['time ratio'].max():.2f} times as long as "
        "one without, at most."
    ]


def density_table(results: dict[str, Any]) -> list[str]:
    lines = _head("table", "1,274 chains", "symbreak", "best optimum alone", "time with / without")
    for row in results["densities"]:
        cells = (f"{row[key]:.2f}" for key in ("mixture", "best optimum", "time ratio"))
        lines.append(_line(row["data"], f"{CHAINS[row['data']]:.2f}", *cells))
    return lines


def coverage_claim(results: dict[str, Any]) -> list[str]:
    """In the mean, and where it is farthest off."""
    found = intervals(results)["coverage"][OURS]
    table = pd.DataFrame({c: found.str[i] for i, c in enumerate(COVERAGES)})
    means = ", ".join(f"{m:.1%} for {c:.0%}" for c, m in table.mean().items())
    off = (table - np.array(COVERAGES)).stack()
    far, (name, coverage) = off[off.abs().idxmax()], off.abs().idxmax()
    return [
        f"Over {len(table)} tables intervals held, in the mean, {means}. Farthest off was {name}: "
        f"{coverage + far:.1%} instead of {coverage:.0%}. {_limits(table)}"
    ]


def chosen_claim(results: dict[str, Any]) -> list[str]:
    """The same where the size is chosen and networks are averaged."""
    rows = pd.DataFrame(results["chosen"]).set_index("data")
    table = pd.DataFrame(rows["coverage"].tolist(), rows.index, columns=list(COVERAGES))
    means = ", ".join(f"{m:.1%} for {c:.0%}" for c, m in table.mean().items())
    off = (table - np.array(COVERAGES)).stack()
    name, coverage = off.abs().idxmax()
    return [
        f"With the size chosen and several networks averaged, as without any setting, intervals "
        f"held {means} on the {len(table)} tables of fewer than 450 rows; farthest off was {name}, "
        f"{coverage + off[name, coverage]:.1%} instead of {coverage:.0%}. {_limits(table)}"
    ]


def _limits(table: pd.DataFrame) -> str:
    """Whether coverages, a row a table, are as near to what they should be as is promised."""
    off = table - np.array(COVERAGES)
    return (
        f"In the mean that is {_holds(off.mean().abs().max() <= IN_THE_MEAN)} two points, on each "
        f"table {_holds(off.abs().max(axis=None) <= ON_EACH)} six."
    )


def coverage_table(results: dict[str, Any]) -> list[str]:
    """Coverages of all for intervals of 90 %, ours also of the others; widths at equal coverage."""
    found = intervals(results)
    heads = [f"{c:.0%}" for c in COVERAGES] + [f"{r}, 90%" for r in RIVALS]
    lines = _head("table", "rows", *heads, "width: symbreak", *RIVALS)
    for name in dict.fromkeys(row["data"] for row in results["intervals"]):
        if name not in found.index:
            continue
        row = found.loc[name]
        covered = [f"{c:.1%}" for c in row["coverage"][OURS]]
        covered += [f"{row['coverage'][rival][1]:.1%}" for rival in RIVALS]
        widths = {m: row["width at equal coverage"][m][1] for m in (OURS, *RIVALS)}
        least = min(f"{w:.2f}" for w in widths.values())
        cells = [f"**{w:.2f}**" if f"{w:.2f}" == least else f"{w:.2f}" for w in widths.values()]
        lines.append(_line(name, f"{row['n'][OURS]:,}", *covered, *cells))
    return lines


def width_claim(results: dict[str, Any]) -> list[str]:
    """On how many tables ours are narrower, and by how much in the mean."""
    widths, said = at(intervals(results)["width at equal coverage"], 1), []
    for rival in RIVALS:
        ratio = widths[OURS] / widths[rival]
        said.append(
            f"narrower than those of {rival} on {(ratio < 1).sum()} of {len(ratio)} tables, "
            f"{np.exp(np.log(ratio).mean()):.2f} times as wide in the geometric mean"
        )
    return [f"Stretched or shrunk to hold 90 % of each table, they are {'; '.join(said)}."]


def mixture_claim(results: dict[str, Any]) -> list[str]:
    """What the other optima are worth."""
    found = intervals(results)
    widths, rmse = at(found["width at equal coverage"], 1), found["rmse"].astype(float)
    covered = at(found["coverage"], 1)
    densities = pd.DataFrame(results["densities"])
    gains = densities["mixture"] - densities["best optimum"]
    ratio = np.exp(np.log(widths[OURS] / widths[ALONE]).mean())
    means = np.exp(np.log(rmse[MEAN] / rmse[OURS]))
    rows = pd.DataFrame(results["intervals"]).set_index(["data", "method"])["coverage"]
    far = [f"{rows[SORTED[0], m][1]:.0%}" for m in (OURS, ALONE)] if SORTED[0] in rows else []
    text = (
        f"Beside the best optimum alone, the mixture gains {gains.mean():.2f} in log density in "
        f"the mean, {gains.max():.2f} at most. At equal coverage its intervals are {ratio:.3f} "
        f"times as wide, and those of 90 % hold {covered[OURS].mean():.1%} instead of "
        f"{covered[ALONE].mean():.1%}. Its mean errs {np.exp(np.log(means).mean()):.3f} times as "
        f"much as the best network, {means.min():.2f} to {means.max():.2f}."
    )
    if far:
        text += (
            " Its worth shows where rows are unlike those of training: on rows of airfoil, trained "
            f"on the first 600 of the file, which is sorted, intervals of 90 % hold {far[0]}, with "
            f"the best optimum alone {far[1]}; those of no method hold what they say there."
        )
    return [text]


def left_out_claim(results: dict[str, Any]) -> list[str]:
    """The error that is said beforehand over that which came."""
    found = intervals(results)
    ratio = (found["rmse"][OURS] / found["left out"][OURS]).astype(float)
    return [
        f"The error on rows that were not trained on was {ratio.median():.2f} times the one that "
        f"is said as *left out*, in the median of the tables, and {ratio.max():.2f} times on "
        f"{ratio.idxmax()}, where other rows lead to another optimum."
    ]


def noise_table(results: dict[str, Any]) -> list[str]:
    lines = _head("noise", "rows", "all", "quieter half", "noisier half", "half width, noise = 1")
    for row in results["noise"]:
        cells = (f"{row[key]:.1%}" for key in ("all", "quiet", "noisy"))
        lines.append(_line(row["noise"], row["n"], *cells, f"{row['half width']:.2f}"))
    return lines


def agreement_table(results: dict[str, Any]) -> list[str]:
    """How often the bound on the search was broken."""
    rows = results["agreement"]
    lines = _head("problem", "starts", "optima", "of a fixed number", "that is said")
    for row in rows:
        shares = (f"{row[key]:.1%}" for key in ("of a fixed number", "broken"))
        lines.append(_line(row["problem"], row["starts"], row["optima"], *shares))
    most = max(rows, key=lambda row: row["broken"])
    mean = np.mean([row["broken"] for row in rows])
    n = rows[0]["trainings"]
    text = f"{n} trainings each; broken in {mean:.1%} in the mean, at most in {most['broken']:.1%}"
    return [*lines, "", f"{text}, on {most['problem']}."]


TABLES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "density claim": density_claim,
    "densities": density_table,
    "coverage claim": coverage_claim,
    "coverage": coverage_table,
    "chosen": chosen_claim,
    "widths": width_claim,
    "mixture": mixture_claim,
    "left out": left_out_claim,
    "noise": noise_table,
    "agreement": agreement_table,
}


def filled(page: str) -> str:
    """The page with its tables written from the results."""
    results = read()
    for name, write in TABLES.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        text = begin + "\n".join(write(results)) + "\n" + end
        page, n = re.subn(f"{begin}.*?{end}", lambda _, new=text: new, page, flags=re.S)
        if n != 1:
            raise ValueError(f"{PAGE.name} must have one place for the table {name!r}, has {n}.")
    return page


def _holds(inside: bool) -> str:
    return "within" if inside else "**beyond**"


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(*columns: str) -> list[str]:
    return [_line(*columns), "|---" + "|---:" * (len(columns) - 1) + "|"]
