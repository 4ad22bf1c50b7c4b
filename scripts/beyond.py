"""Write the numbers of docs/beyond-the-paper.md from stores, and into the page.

    symbreak study beyond --store beyond.db               # two core-hours
    symbreak study docs/results/variants.toml --store variants.db
    python scripts/beyond.py read beyond.db variants.db   # -> docs/results/beyond.csv
    python scripts/beyond.py write                        # tables of the page, from the file
                                                          # and benchmarks/results/alignment.json

Every run is a row: its final errors, and the evaluations it took to reach the median final error
of the paper's method of its family on that problem. Of two stores that hold the same repetition of
a method on a problem, the later one counts; problems that no store holds stay as they are in the
file. A test checks that the page says what the file says.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from _pages import filled
from scipy.stats import mannwhitneyu

from symbreak.analysis._statistics import holm
from symbreak.experiments import Store
from symbreak.problems import problem_names

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results" / "beyond.csv"
COSTS = ROOT / "benchmarks" / "results" / "alignment.json"
PAGE = ROOT / "docs" / "beyond-the-paper.md"
#: The paper's method and the best of ours, by family.
RIVALS = {"DE": ("DE-SB", "DE-SB-LA-W"), "CMA-ES": ("CMA-ES-SB", "CMA-ES-SB-LA-P")}
ALPHA = 0.05


def read(stores: list[str]) -> pd.DataFrame:
    """Runs of all stores with their settings, final errors and evaluations to the target."""
    frames, curves = [], []
    for path in stores:
        with Store(path, create=False) as store:
            found = store.frames()
        frames.append(found.runs.assign(store=path))
        curves.append(found.curves.assign(store=path))
    repetition = ["problem", "method", "settings", "repetition"]
    runs = pd.concat(frames).drop_duplicates(repetition, keep="last")
    keys = ["store", "problem", "method", "repetition"]
    grouped = dict(list(pd.concat(curves).groupby(keys)))
    targets = {
        (problem, family): runs.query(
            "problem == @problem and method == @rivals[0] and settings == '{}'"
        )["error"].median()
        for problem in runs["problem"].unique()
        for family, rivals in RIVALS.items()
    }

    def reached(run: pd.Series) -> float:
        curve = grouped[tuple(run[keys])]
        there = curve[curve["error"] <= targets[run["problem"], run["family"]]]
        return float(there["evaluations"].iloc[0]) if len(there) else np.nan

    runs["reached"] = runs.apply(reached, axis=1)
    runs["problem"] = pd.Categorical(runs["problem"], problem_names(), ordered=True)
    columns = ["problem", "family", "method", "settings", "repetition", "error", "test_error"]
    return runs[[*columns, "reached", "max_evaluations", "seconds"]].sort_values(columns[:5])


def merged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """What the file holds of problems that were not run again, and what was run now."""
    kept = old[~old["problem"].isin(new["problem"])]
    rows = pd.concat([kept.astype({"problem": object}), new.astype({"problem": object})])
    place = {name: number for number, name in enumerate(problem_names())}
    return rows.sort_values("problem", key=lambda names: names.map(place), kind="stable")


def median_reached(values: pd.Series) -> float:
    """Evaluations within which half of the runs reach the target; infinite if fewer do."""
    return float(np.quantile(values.fillna(np.inf), 0.5, method="lower"))


def compare(runs: pd.DataFrame, column: str, ours: str, theirs: str) -> tuple[float, str]:
    """Rank-sum p and the verdict on ``ours``."""
    a, b = (runs[runs["method"] == method][column].dropna() for method in (ours, theirs))
    p = float(mannwhitneyu(a, b, method="asymptotic").pvalue)
    if p >= ALPHA:
        return p, "no difference"
    return p, "better" if a.median() < b.median() else "worse"


def family_table(runs: pd.DataFrame, family: str) -> list[str]:
    """How the best of ours compares with the paper's method, problem by problem.

    Holm's adjustment is over the problems, of training errors.
    """
    theirs, ours = RIVALS[family]
    lines = [
        f"| problem | runs | {theirs} | {ours} | p | p (Holm) | {ours} is | evaluations needed |",
        "|---|---:|---:|---:|---:|---:|---|---:|",
    ]
    parts = list(runs[runs["family"] == family].groupby("problem", sort=False))
    adjusted = holm([compare(part, "error", ours, theirs)[0] for _, part in parts])
    for (problem, part), p_holm in zip(parts, adjusted, strict=True):
        a, b = (part[part["method"] == method] for method in (ours, theirs))
        ratio = median_reached(a["reached"]) / median_reached(b["reached"])
        needed = "never" if np.isinf(ratio) else f"{ratio:.2f}"
        for column, label, last in (
            ("error", "", (f"{p_holm:.2g}", needed)),
            ("test_error", " (test)", ("", "")),
        ):
            if part[column].isna().any():
                continue
            p, verdict = compare(part, column, ours, theirs)
            if column == "error" and verdict != "no difference" and p_holm >= ALPHA:
                verdict += " (not with Holm)"
            lines.append(
                f"| {problem}{label} | {len(a)} / {len(b)} | {b[column].median():.4g} | "
                f"{a[column].median():.4g} | {p:.2g} | {last[0]} | {verdict} | {last[1]} |"
            )
    return lines


def ablation_table(runs: pd.DataFrame, family: str) -> list[str]:
    """Median error of every variant that was run on the small problems."""
    part = runs[runs["family"] == family]
    variants = part.groupby("variant", sort=False)["problem"].nunique()
    problems = list(part[part["variant"] == f"{family}-SB-LA"]["problem"].unique())
    lines = ["| variant | " + " | ".join(problems) + " |", "|---|" + "---:|" * len(problems)]
    for variant in variants[variants >= len(problems)].index:
        rows = [part[(part["variant"] == variant) & (part["problem"] == p)] for p in problems]
        cells = [f"{row['error'].median():.3g} ({_needed(row)})" for row in rows]
        runs_each = min(len(row) for row in rows)
        lines.append(f"| {variant}, {runs_each} runs | " + " | ".join(cells) + " |")
    return lines


def _needed(row: pd.DataFrame) -> str:
    share = median_reached(row["reached"]) / row["max_evaluations"].iloc[0]
    return "never" if np.isinf(share) else f"{share:.2f}"


def cost_table() -> list[str]:
    """What breaking by assignment costs, in evaluations of the same candidate."""
    table = alignment()["Breaking beside evaluation, microseconds per candidate"]
    lines = [
        "| problem | network | sweeps, first generation | sweeps, over a search | exact | steps |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in table:
        exact = f"{row['exact'] / row['evaluation']:.2g}" if row["exact"] else ""
        lines.append(
            f"| {row['problem']} | {row['net']} | {row['first sweeps/evaluation']:.2f} | "
            f"{row['mean sweeps/evaluation']:.2f} | {exact} | {row['steps']:,} |"
        )
    return lines


def nearness_table() -> list[str]:
    """How often sweeps find the nearest replica, and how much farther they end on average."""
    ways = [(a, b) for a in ("random", "search") for b in ("sweeps", "after Algorithm 1")]
    lines = [
        "| problem | " + " | ".join(", ".join(way) for way in ways) + " |",
        "|---|" + "---:|" * len(ways),
    ]
    for row in alignment()["How near sweeps come"]:
        cells = [(row[f"{a}, {b}: nearest"], row[f"{a}, {b}: distance"] - 1) for a, b in ways]
        texts = [f"{nearest:.0%} ({farther:.1%})" for nearest, farther in cells]
        lines.append(f"| {row['problem']} | {' | '.join(texts)} |")
    return lines


def alignment() -> dict[str, list[dict]]:
    """The tables of benchmarks/alignment.py."""
    return json.loads(COSTS.read_text(encoding="utf-8"))["tables"]


def parts() -> dict[str, str]:
    """What is written into the page, by the name of its marks."""
    runs = pd.read_csv(RESULTS)
    runs["variant"] = np.where(
        runs["settings"] == "{}", runs["method"], runs["method"] + " with whole trials and dither"
    )
    standard = runs[runs["settings"] == "{}"]
    tables = {f"{family} table": family_table(standard, family) for family in RIVALS}
    variants = {f"{family} variants": ablation_table(runs, family) for family in RIVALS}
    every = tables | variants | {"cost table": cost_table(), "nearness": nearness_table()}
    return {name: "\n".join(lines) for name, lines in every.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"] and len(sys.argv) > 2:
        runs = merged(pd.read_csv(RESULTS), read(sys.argv[2:]))
        runs.to_csv(RESULTS, index=False, float_format="%.8g")
    elif sys.argv[1:] == ["write"]:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts()), encoding="utf-8")
    else:
        sys.exit(__doc__)
