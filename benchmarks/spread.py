"""Why DE with breaking loses on the acrobot: what becomes of the spread of its population.

DE and DE-SB-LA, as they are, without Algorithm 2, and with differences of more weight (F), each on
the same seeds until the goal or to the end of the budget. The spread is the root of the summed
variances of all coordinates, in the mean over runs. Runs are ordered by the evaluations to the
goal, and behind those by cost; A12 is the probability to be ahead of DE, p of a rank-sum test.

    python benchmarks/spread.py --json benchmarks/results/spread.json
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _timing import Row, Tables, run
from scipy.stats import mannwhitneyu

from symbreak import Run
from symbreak.control import control_fitness

BUDGET, HIDDEN, SIZE = 5_000, (20,), 50
PROBLEMS = ("acrobot", "double-pole")
SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "DE": ("DE", {}),
    "DE, F = 0.9": ("DE", {"F": 0.9}),
    "DE-SB-LA": ("DE-SB-LA", {}),
    "DE-SB-LA, no Algorithm 2": ("DE-SB-LA", {"inflate": False}),
    "DE-SB-LA, F = 0.7": ("DE-SB-LA", {"F": 0.7}),
    "DE-SB-LA, F = 0.9": ("DE-SB-LA", {"F": 0.9}),
}


def searched(problem: str, method: str, settings: dict[str, Any], seed: int) -> list[float]:
    """Where a run is placed, its cost, its evaluations; the spread in the beginning and later."""
    fitness = control_fitness(problem, HIDDEN)
    size = {"population_size": SIZE, "max_evaluations": BUDGET}
    one = Run(fitness, method, seed=seed, **size, **settings)
    search, spreads = one.search, list[float]()
    while not one.finished:
        one.step()
        spreads.append(float(np.sqrt(search.population.var(axis=0).sum())))
    record = one.record()
    is_solved = record.error <= fitness.target
    place = record.n_evaluations / BUDGET if is_solved else 1 + record.error
    later = spreads[min(19, len(spreads) - 1)]  # after 20 generations, or the last before the goal
    return [place, record.error, record.n_evaluations, is_solved, spreads[0], later]


def benchmark(repeats: int) -> Tables:
    rows: list[Row] = []
    for problem in PROBLEMS:
        plain = None
        for name, (method, settings) in SEARCHES.items():
            runs = np.array([searched(problem, method, settings, i) for i in range(repeats)])
            place, cost, spent, is_solved, first, later = runs.T
            plain = place if plain is None else plain
            test = mannwhitneyu(place, plain)
            rows.append(
                {"problem": problem, "search": name, "runs": repeats}
                | {"solved": int(is_solved.sum()), "median cost": float(np.median(cost))}
                | {"median evaluations": float(np.median(spent))}
                | {"spread at first": float(first.mean()), "spread later": float(later.mean())}
                | {"A12": float(1 - test.statistic / repeats**2), "p": float(test.pvalue)}
            )
    return {"DE, with breaking and without": rows}


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=20)
