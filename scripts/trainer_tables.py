"""Write the numbers of docs/trainer-measurements.md from those of three benchmarks.

benchmarks/time_to_target.py, rule.py and ensembles.py have measured them.

    python scripts/trainer_tables.py

A test checks that the page says what the results say.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from _pages import filled

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "time_to_target.json"
VARIANTS = ROOT / "benchmarks" / "results" / "rule.json"
ENSEMBLES = ROOT / "benchmarks" / "results" / "ensembles.json"
PAGE = ROOT / "docs" / "trainer-measurements.md"
#: Groups of problems that most contestants trained.
COMPARED = ("paper", "no ball", "tables")
PLAIN, RANDOM, SKLEARN = "auto without breaking", "random starts, our polish", "scikit-learn"


class Times:
    """The table of expected running times, by problem and contestant."""

    def __init__(self, results: dict) -> None:
        self.facts, self.best = results["facts"], results["best"]
        self.rows = {
            (r["problem"], r["contestant"]): r for r in results["tables"]["Time to target"]
        }
        self.contestants = list(dict.fromkeys(who for _, who in self.rows))

    def problems(self, *groups: str) -> list[str]:
        """Those of some groups that were tried."""
        tried = dict.fromkeys(name for name, _ in self.rows)
        return [name for name in tried if self.facts[name]["group"] in groups]

    def ratios(self, names: Iterable[str], who: str, factor: str) -> np.ndarray:
        """Seconds of a contestant over those of auto, where both were tried."""
        rows = [self.rows[name, who] for name in names if (name, who) in self.rows]
        ratios = [row.get(f"x auto {factor}") for row in rows]
        return np.array([ratio for ratio in ratios if ratio is not None])

    def ratio(self, name: str, who: str, factor: str) -> str:
        """The same for one problem, as text; without a success only a bound is known."""
        row = self.rows.get((name, who), {})
        if row.get(f"x auto {factor}") is None:
            return ""
        bound = "" if row[f"hits {factor}"] else "> "
        if not self.rows[name, "auto"][f"hits {factor}"]:
            bound = "< "
        mark = r" \*" if 2 * row["outside"] > row["tries"] else ""
        return bound + number(row[f"x auto {factor}"]) + mark


def number(value: float) -> str:
    """Two digits, or three."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def markdown(header: list[str], rows: list[list[str]], n_left: int = 1) -> list[str]:
    """A table whose first columns are words."""
    rule = ["---"] * n_left + ["---:"] * (len(header) - n_left)
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]


def time_lines(times: Times, factor: str) -> list[str]:
    """Seconds of auto, and multiples of them for all others."""
    others = [who for who in times.contestants if who != "auto"]
    rows = []
    for name in times.problems(*COMPARED):
        auto = times.rows.get((name, "auto"))
        if auto is not None:
            bound = "" if auto[f"hits {factor}"] else "> "
            cells = [times.ratio(name, who, factor) for who in others]
            rows.append([name, f"{bound}{auto[f'seconds {factor}']:.3g} s", *cells])
    return markdown(["problem", "auto", *others], rows)


def hit_lines(times: Times) -> list[str]:
    """What was tried, what is the best known, and who came near it how often."""
    rows = []
    for name in times.problems(*COMPARED):
        facts, best = times.facts[name], times.best[name]
        hits = [times.rows.get((name, who)) for who in times.contestants]
        cells = ["" if row is None else f"{row['hits 1.1']}/{row['tries']}" for row in hits]
        floor = " (floor)" if best["error"] < facts["floor"] else ""
        known = f"{max(best['error'], facts['floor']):.3g}{floor}"
        size = [str(facts["D"]), f"{facts['K']:,}", f"{facts['limit']:g} s"]
        rows.append([name, facts["net"], *size, known, *cells])
    header = ["problem", "net", "D", "K", "limit", "best known", *times.contestants]
    return markdown(header, rows, 2)


def breaking_lines(times: Times) -> list[str]:
    """What the symmetries are worth in the trainer, said plainly."""
    names = [n for n in times.problems("paper", "tables") if (n, PLAIN) in times.rows]
    ratios = times.ratios(names, PLAIN, "1.1")
    if not len(ratios):
        return []
    longer, shorter = np.sum(ratios > 1.2), np.sum(ratios < 1 / 1.2)
    return [
        f"Without breaking, the trainer takes {number(np.median(ratios))} times as long in the",
        f"median of {len(ratios)} problems: more than 1.2 times as long on {longer} of them, less",
        f"than 1/1.2 as long on {shorter}, and about as long on the others.",
    ]


def claim_lines(results: dict) -> list[str]:
    """What the trainer was built to reach, as measured."""
    rows = [[r["what"], number(r["measured"]), r["bound"]] for r in results["tables"]["Targets"]]
    return markdown(["what", "measured", "wanted"], rows)


def rule_lines(times: Times) -> list[str]:
    """Tables that nothing was tuned on."""
    rows = []
    for name in times.problems("rule"):
        auto = times.rows.get((name, "auto"))
        if auto is not None:
            facts = times.facts[name]
            shares = [f"{auto['hits 1.1']}/{auto['tries']}", f"{auto['seconds 1.1']:.3g} s"]
            cells = [times.ratio(name, who, f) for f in ("1.1", "2") for who in (RANDOM, SKLEARN)]
            rows.append([name.split("/")[0], facts["net"], f"{facts['K']:,}", *shares, *cells])
    header = ["table", "net", "K", "auto at 1.1", "seconds", "random, 1.1", "scikit-learn, 1.1"]
    lines = markdown([*header, "random, 2", "scikit-learn, 2"], rows, 2)
    for who in (RANDOM, SKLEARN):
        ratios = times.ratios(times.problems("rule"), who, "1.1")
        if len(ratios):
            slower = np.sum(ratios > 1.2)
            lines += ["", f"{who}: {number(np.median(ratios))} times auto's time in the median,"]
            lines += [f"more than 1.2 times on {slower} of {len(ratios)}."]
    return lines


def variant_lines() -> list[str]:
    """What other rules would take."""
    rows = json.loads(VARIANTS.read_text())["table"]
    names = list(rows[0])
    texts = [["" if row[n] is None else number(row[n]) for n in names[1:]] for row in rows]
    return markdown(names, [[row[names[0]], *text] for row, text in zip(rows, texts, strict=True)])


def ensemble_lines() -> list[str]:
    """R2 of one network and of several."""
    (rows,) = json.loads(ENSEMBLES.read_text())["tables"].values()
    names = list(rows[0])
    return markdown(names, [[row[names[0]], *(f"{row[n]:.3f}" for n in names[1:])] for row in rows])


def stop_lines(results: dict) -> list[str]:
    """Runs of auto until it stopped by itself."""
    rows = []
    for r in results["tables"]["Stops"]:
        counts = [str(r[name]) for name in ("problem", "runs", "stopped", "at the best")]
        rows.append([*counts, f"{r['seconds']:.3g} s", f"{r['starts']:g}", f"{r['optima']:g}"])
    header = ["problem", "runs", "stopped by themselves", "of these within 1.1 of the best known"]
    return markdown([*header, "seconds", "starts", "different optima"], rows)


def about_lines(results: dict) -> list[str]:
    """When and with what."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    cpu = f"One thread of an {results['cpu']}, {results['date']}, Python {results['python']};"
    return [cpu, f"{versions}."]


def parts() -> dict[str, str]:
    """What is written into the page, by the name of its marks."""
    results = json.loads(RESULTS.read_text())
    times = Times(results)
    tables = {
        "about": about_lines(results),
        "times 1.1": time_lines(times, "1.1"),
        "times 2": time_lines(times, "2"),
        "hits": hit_lines(times),
        "breaking": breaking_lines(times),
        "claims": claim_lines(results),
        "variants": variant_lines(),
        "ensembles": ensemble_lines(),
        "rule": rule_lines(times),
        "stops": stop_lines(results),
    }
    return {name: "\n".join(lines) for name, lines in tables.items()}


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts()), encoding="utf-8")
