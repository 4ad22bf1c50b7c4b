"""What alignment makes of draws from posteriors: as drawn, swapped only, by Wiese's way, by ours.

For each table, over the chains of its modes: the largest R-hat of a weight, the variance of all
weights within a mode, CPU seconds; and the test error, in standard deviations of the target, of the
network with the mean weights of the largest mode, beside that of its mean prediction. The modes are
those that ``align_draws`` finds, for all ways alike. ``_sample_posteriors.py`` makes the draws.

    python benchmarks/posteriors.py data draws
    python benchmarks/posteriors.py        # writes the table of the page from the results
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import process_time

import _wiese
import numpy as np
from _timing import Row, as_table, environment, use_one_thread
from rich.console import Console

from symbreak import Topology, network
from symbreak.symmetry import align_draws
from symbreak.symmetry._draws import diagnostics
from symbreak.symmetry.networks import places_of

NAMES = ("w1", "b1", "w2", "b2")
ROOT = Path(__file__).parents[1]
RESULTS, PAGE = (
    ROOT / "benchmarks/results/posteriors.json",
    ROOT / "docs/tutorials/posterior-draws.md",
)
MARKS = "<!-- posteriors: begin -->\n", "<!-- posteriors: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder with tables and splits.json")
    parser.add_argument("draws", type=Path, nargs="?", help="folder of _sample_posteriors.py")
    options = parser.parse_args()
    if options.draws:
        measure(options.data, options.draws)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PAGE}")


def measure(data: Path, draws: Path) -> None:
    use_one_thread()
    align_draws(np.zeros((2, 8, 10)), Topology.parse("1-3-1 searched"))  # compiles
    splits, rows = json.loads((data / "splits.json").read_text()), []
    for path in sorted(draws.glob("*.npz")):
        table = np.loadtxt(data / f"{path.stem}.data")
        rows += compare(path.stem, dict(np.load(path)), table, splits[path.stem])
        Console(width=150).print(as_table(path.stem, rows[-4:]), highlight=False)
    RESULTS.write_text(
        json.dumps({**environment(), "tables": {"Posteriors": rows}}, indent=2) + "\n"
    )


def filled(page: str) -> str:
    """The page with its table as the results have it."""
    rows = json.loads(RESULTS.read_text())["tables"]["Posteriors"]
    columns = {
        **{name: name for name in ("table", "net", "modes", "way")},
        "R-hat": "R-hat of the largest mode",
        "variance": "variance",
        "error of the mean weights": "error of mean weights",
        "of mean predictions": "error of mean predictions",
        "CPU seconds": "CPU seconds",
    }
    lines = ["| " + " | ".join(columns) + " |", "|---|---|---:|---|" + "---:|" * (len(columns) - 4)]
    for row in rows:
        cells = [row[name] for name in columns.values()]
        cells[-1] = "-" if row["way"] == "as drawn" else cells[-1]
        lines.append(
            "| " + " | ".join(f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells) + " |"
        )
    begin, rest = page.split(MARKS[0])
    return begin + MARKS[0] + "\n".join(lines) + "\n" + MARKS[1] + rest.split(MARKS[1])[1]


def compare(name: str, draws: dict, table: np.ndarray, split: dict) -> list[Row]:
    """A row for each way to align the draws of a table."""
    topology, places = places_of([draws[k].shape[2:] for k in NAMES], "tanh", "auto")
    theta = np.empty((*draws["w1"].shape[:2], topology.dim))
    for key, place in zip(NAMES, places, strict=True):
        theta[..., place] = draws[key]
    swaps_only = Topology(topology.sizes, "relu", outputs="searched")
    flat = theta.reshape(-1, topology.dim)
    ways = {
        "as drawn": lambda: theta,
        "swaps only": lambda: align_draws(theta, swaps_only).theta,
        "Wiese": lambda: _wiese.align(flat, topology).reshape(theta.shape),
        "align_draws": lambda: align_draws(theta, topology).theta,
    }
    modes = align_draws(theta, topology).modes
    scaled = (table - table[split["train"]].mean(axis=0)) / table[split["train"]].std(axis=0)
    rows = []
    for way, align in ways.items():
        began = process_time()
        aligned = align()
        seconds = process_time() - began
        rows.append(
            {
                "table": name,
                "net": str(topology).split()[0],
                "way": way,
                "modes": int(modes.max()) + 1,
                "CPU seconds": seconds,
                **_tightness(aligned, modes),
                **_errors(aligned[modes == 0], topology, scaled[split["test"]]),
            }
        )
    return rows


def _tightness(aligned: np.ndarray, modes: np.ndarray) -> Row:
    """Over modes of two chains or more, weighted by their chains."""
    counts = np.bincount(modes)
    large = [mode for mode in range(len(counts)) if counts[mode] > 1] or [0]
    groups = [aligned[modes == mode] for mode in large]
    variances = [group.var(axis=(0, 1)).sum() for group in groups]
    rhats = [diagnostics(group)[0].max() for group in groups]
    return {
        "chains": int(counts[large].sum()),
        "R-hat": float(np.average(rhats, weights=counts[large])),
        "R-hat of the largest mode": float(rhats[0]),
        "variance": float(np.average(variances, weights=counts[large])),
    }


def _errors(draws: np.ndarray, topology: Topology, rows: np.ndarray) -> Row:
    X, y = rows[:, :-1], rows[:, -1]
    mean = network.outputs(draws.mean(axis=(0, 1)), topology, X)[:, 0]
    predicted = network.outputs(draws.reshape(-1, topology.dim), topology, X)[..., 0].mean(axis=0)
    return {
        "error of mean weights": float(np.sqrt(np.mean((mean - y) ** 2))),
        "error of mean predictions": float(np.sqrt(np.mean((predicted - y) ** 2))),
    }


if __name__ == "__main__":
    main()
