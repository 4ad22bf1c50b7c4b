"""What aligning between ask and tell does to the searches of other packages, on control problems.

The loops are those of ``examples/ask_and_tell.py``, each as it asks and aligned, on the same seeds,
until the goal or for 5,000 evaluations; a search that diverges has failed. Runs are compared by a
rank-sum test: by the evaluations that they took, and behind those by the cost of those that never
got there. The second table has what an alignment takes.

    python benchmarks/aligned.py --json benchmarks/results/aligned.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from _timing import Array, Row, Tables, run
from scipy.stats import mannwhitneyu

from symbreak import Topology, symmetry
from symbreak.control import control_fitness
from symbreak.objectives import Fitness

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from ask_and_tell import SEARCHES

BUDGET = 5_000
PROBLEMS = {"double-pole": (10,), "swing-up": (8,)}
NETS = ("4-10-1", "6-20-1", "8-20-20-4", "24-64-64-4")


class Aligned:
    """Networks aligned, and the share of them that this moved."""

    def __init__(self, fitness: Fitness) -> None:
        self.topology, self.moved = fitness.topology, list[float]()

    def __call__(self, networks: Array, anchor: Any) -> Array:  # noqa: D102
        aligned, _ = symmetry.align(networks, np.array(anchor, dtype=float), self.topology)
        self.moved.append(float(np.any(aligned != networks, axis=1).mean()))
        return aligned


def benchmark(repeats: int) -> Tables:
    return {
        "Aligned between ask and tell": [
            compared(package, problem, hidden, repeats)
            for problem, hidden in PROBLEMS.items()
            for package in filter(find_spec, SEARCHES)
        ],
        "CPU microseconds for a network of 100": [timed(net, repeats) for net in NETS],
    }


def compared(package: str, problem: str, hidden: tuple[int, ...], repeats: int) -> Row:
    fitness = control_fitness(problem, hidden)
    aligned = Aligned(fitness)
    ways = {"as asked": lambda networks, anchor: networks, "aligned": aligned}
    runs = {
        way: np.array([searched(package, fitness, align, seed) for seed in range(repeats)])
        for way, align in ways.items()
    }
    row: Row = {"problem": problem, "package": package, "runs": repeats}
    for way, (spent, cost) in ((way, found.T) for way, found in runs.items()):
        row[f"{way}: solved"] = int(np.sum(cost <= fitness.target))
        row[f"{way}: median evaluations"] = float(np.median(spent))
        row[f"{way}: median cost"] = float(np.median(cost))
    # All that spent the budget are behind the others, in the order of their costs.
    places = [
        spent + np.where(cost > fitness.target, cost, 0)
        for spent, cost in (found.T for found in runs.values())
    ]
    row["p"] = float(mannwhitneyu(*places).pvalue)
    row["share moved"] = float(np.mean(aligned.moved))
    return row


def searched(
    package: str, fitness: Fitness, align: Callable[..., Array], seed: int
) -> tuple[int, float]:
    """The evaluations that a search took, at most the budget, and the least cost that it saw."""
    search, spent, best = SEARCHES[package](fitness, align, seed), 0, np.inf
    for costs in search:
        spent, best = spent + len(costs), min(best, float(costs.min()))
        if best <= fitness.target or spent >= BUDGET:
            break
    return spent if best <= fitness.target else BUDGET, best


def timed(net: str, repeats: int) -> Row:
    """CPU time of aligning 100 networks, of each: at random, and near to the anchor."""
    topology, rng = Topology.parse(f"{net} searched"), np.random.default_rng(0)
    networks, anchor = rng.normal(size=(100, topology.dim)), rng.normal(size=topology.dim)
    row: Row = {"net": net}
    for name, asked in (("at random", networks), ("near the anchor", anchor + 0.1 * networks)):
        seconds = []
        for _ in range(repeats):
            began = process_time()
            symmetry.align(asked, anchor, topology, "assignment")
            seconds.append(process_time() - began)
        row[name] = 1e6 * float(np.median(seconds)) / len(asked)
    return row


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=10)
