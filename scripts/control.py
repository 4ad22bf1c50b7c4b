"""Write the numbers of docs/evolve-measurements.md and docs/ask-and-tell.md from committed results.

    symbreak study studies/control.toml --store control.db
    symbreak store archive control.db studies/control
    symbreak study studies/control-auto.toml --store control-auto.db
    symbreak store archive control-auto.db studies/control-auto
    python scripts/control.py

Runs are ordered by the evaluations that they took to the goal, and those that never got there,
after all others, by what they ended in: rank-sum tests and effect sizes are of that order. Holm's
adjustment is over all comparisons of the table; the effect sizes of a search on all problems are
tested together by Wilcoxon's signed ranks.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from _pages import filled
from scipy.stats import mannwhitneyu, wilcoxon

from symbreak.analysis._statistics import holm
from symbreak.experiments import Archive, StudySpec

ROOT = Path(__file__).parent.parent
EVOLUTION = ROOT / "docs" / "evolve-measurements.md"
ALIGNMENT = ROOT / "docs" / "ask-and-tell.md"
STUDIES = ROOT / "studies"
RESULTS = ROOT / "benchmarks" / "results"
PAIRS = (
    ("DE", "DE-SB-LA"),
    ("L-SHADE", "L-SHADE-SB-LA"),
    ("CMA-ES-IPOP", "CMA-ES-IPOP-SB-LA"),
)
WAYS = ("as asked", "aligned")
LEVEL = 0.05


def read(folder: Path) -> pd.DataFrame:
    """Runs, with ``solved``, and ``place``: what they are ordered by."""
    runs = Archive(folder).frames().runs
    solved = runs["error"] <= runs["goal"]
    share = runs["evaluations"] / runs["max_evaluations"]
    place = np.where(solved, share, 1 + runs["error"])
    return runs.assign(solved=solved, place=place)


def problems() -> tuple[str, ...]:
    """In the order of the study."""
    return StudySpec.load(STUDIES / "control.toml").problems


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """A row per problem and pair of methods, without breaking and with it."""
    rows = []
    for problem in problems():
        group = runs[runs["problem"] == problem]
        for plain, broken in PAIRS:
            a, b = (group[group["method"] == name] for name in (plain, broken))
            test = mannwhitneyu(b["place"], a["place"])
            rows.append(
                {"problem": problem, "search": plain, "n": f"{len(a)} / {len(b)}"}
                | {"a": solved(a), "b": solved(b)}
                | {"p": test.pvalue, "a12": 1 - test.statistic / (len(a) * len(b))}
            )
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p"].tolist()))


def solved(runs: pd.DataFrame) -> str:
    """How many runs got to the goal, and the expected evaluations to it; else their median end."""
    n = int(runs["solved"].sum())
    if not n:
        return f"none ({runs['error'].median():.3g})"
    return f"{n} ({runs['evaluations'].sum() / n:,.0f})"


def verdict(row: pd.Series) -> str:
    """In words."""
    if not row["p"] < LEVEL:
        return ""
    word = "better" if row["a12"] > 0.5 else "worse"
    return word if row["p_holm"] < LEVEL else f"{word} (not with Holm)"


def table_of(table: pd.DataFrame) -> str:
    """Markdown."""
    lines = [
        "| problem, hidden neurons | search | runs | without | with breaking | p | A12 | with is |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for _, row in table.iterrows():
        name, hidden = row["problem"].rsplit("-", 1)
        cells = (f"{name}, {hidden}", row["search"], row["n"], row["a"], row["b"])
        numbers = (f"{row['p']:.2g}", f"{row['a12']:.2f}", verdict(row))
        lines.append(f"| {' | '.join((*cells, *numbers))} |")
    return "\n".join(lines)


def claim_of(table: pd.DataFrame) -> str:
    """How often breaking helped and harmed each search."""
    parts = []
    for plain, rows in table.groupby("search", sort=False):
        words = rows.apply(verdict, axis=1)
        better, worse = (int(words.str.startswith(word).sum()) for word in ("better", "worse"))
        clear = int(words.isin(["better", "worse"]).sum())
        p = wilcoxon(rows["a12"] - 0.5).pvalue
        n, a12 = len(rows), rows["a12"].mean()
        parts.append(
            f"- **{plain}**: better with breaking on {better} of {n}, worse on {worse}; "
            f"{clear} of these stand Holm's adjustment. A12 is {a12:.2f} on average; "
            f"over all {n} (Wilcoxon's signed ranks), p = {p:.2g}."
        )
    return "\n".join(parts)


def reliability(runs: pd.DataFrame) -> str:
    """How often ``auto`` solves two poles."""
    lines = ["| network | solved | mean evaluations | most |", "|---|---:|---:|---:|"]
    names = {
        "double-pole-6": "6-6-1 without biases",
        "double-pole-10": "6-10-1 with biases",
        "double-pole-20": "6-20-1 with biases",
    }
    for problem in names:
        group = runs[runs["problem"] == problem]
        n = group["evaluations"]
        lines.append(
            f"| {names[problem]} | {group['solved'].sum()} of {len(group)} | {n.mean():,.0f} "
            f"| {n.max():,} |"
        )
    return "\n".join(lines)


def benchmark(name: str, table: str) -> list[dict]:
    """The rows of a committed result."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["tables"][table]


def peers() -> str:
    """Evaluations of other packages on two poles."""
    lines = [
        "| search | solved | mean evaluations | median | most |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in benchmark("control", "Evaluations until two poles stand"):
        numbers = (f"{row[name]:,.0f}" for name in ("mean evaluations", "median", "most"))
        lines.append(f"| {row['search']} | {row['solved']} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def speed() -> str:
    """How fast networks are judged, beside what was asked for."""
    lines = ["| what | measured | asked for |", "|---|---:|---:|"]
    for row in benchmark("fitness", "What evolve adds"):
        what = f"compiled population of {row['population']} that fails soon, in bare loops"
        lines.append(f"| {what} | {row['times the bare loop']:.2f} | at most {row['at most']} |")
    for row in benchmark("fitness", "CartPole"):
        rate = f"{row['evaluations a second']:,.0f}"
        lines.append(f"| CartPole, evaluations a second, {row['search']} | {rate} | |")
    for row in benchmark("fitness", "Two processes"):
        by = f" ({row['executor']})" if "executor" in row else ""
        what = f"two processes{by}, 1 ms each, populations of {row['population']}: times as fast"
        lines.append(f"| {what} | {row['times as fast']:.2f} | at least {row['at least']} |")
    return "\n".join(lines)


def spread() -> str:
    """What becomes of DE's population with breaking."""
    lines = [
        "| problem | search | solved | median cost | spread at first | later | A12 | p |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in benchmark("spread", "DE, with breaking and without"):
        cells = (row["problem"], row["search"], f"{row['solved']} of {row['runs']}")
        spreads = (f"{row[name]:.1f}" for name in ("spread at first", "spread later"))
        numbers = (f"{row['median cost']:.3g}", *spreads, f"{row['A12']:.2f}", f"{row['p']:.2g}")
        lines.append(f"| {' | '.join((*cells, *numbers))} |")
    return "\n".join(lines)


def aligned() -> str:
    """What aligning between ask and tell does to the searches of other packages."""
    lines = [
        "| problem | package | runs | as asked | aligned | p | moved |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in benchmark("aligned", "Aligned between ask and tell"):
        ends = [end(row, way) for way in WAYS]
        cells = (row["problem"], row["package"], str(row["runs"]), *ends)
        numbers = (f"{row['p']:.2g}", f"{row['share moved']:.0%}")
        lines.append(f"| {' | '.join((*cells, *numbers))} |")
    return "\n".join(lines)


def end(row: dict, way: str) -> str:
    """How many runs got to the goal, and the median evaluations to it; else the median cost."""
    n = row[f"{way}: solved"]
    most = 2 * n > row["runs"]
    median = f"{row[f'{way}: median evaluations']:,.0f}" if most else ""
    return f"{n or 'none'} ({median or format(row[f'{way}: median cost'], '.3g')})"


def alignment_claim() -> str:
    """In how many comparisons aligning helped, and harmed."""
    rows = benchmark("aligned", "Aligned between ask and tell")
    words = {way: [f"{way}: median {what}" for what in ("evaluations", "cost")] for way in WAYS}
    found = {"better": 0, "worse": 0}
    for row in rows:
        plain, moved = ([row[name] for name in words[way]] for way in WAYS)
        if row["p"] < LEVEL:
            found["better" if moved < plain else "worse"] += 1
    clear = sum(p < LEVEL for p in holm([row["p"] for row in rows]))
    return (
        f"Better when aligned in {found['better']} of {len(rows)} comparisons, worse in "
        f"{found['worse']} (p below {LEVEL}); {clear} of these stand Holm's adjustment."
    )


def alignment_cost() -> str:
    """Microseconds for a network."""
    lines = ["| network | drawn at random | near the anchor |", "|---|---:|---:|"]
    for row in benchmark("aligned", "CPU microseconds for a network of 100"):
        microseconds = (f"{row[name]:,.0f}" for name in ("at random", "near the anchor"))
        lines.append(f"| {row['net']} | {' | '.join(microseconds)} |")
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Every page, with its numbers."""
    table = compared(read(STUDIES / "control"))
    parts = {
        EVOLUTION: {
            "control claim": claim_of(table),
            "control table": table_of(table),
            "control auto": reliability(read(STUDIES / "control-auto")),
            "control peers": peers(),
            "control speed": speed(),
            "control spread": spread(),
        },
        ALIGNMENT: {
            "aligned claim": alignment_claim(),
            "aligned": aligned(),
            "alignment cost": alignment_cost(),
        },
    }
    return {path: filled(path.read_text(encoding="utf-8"), of) for path, of in parts.items()}


def main() -> None:
    """Renew the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
