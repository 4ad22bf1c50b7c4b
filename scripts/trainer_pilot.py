"""How long to search before a polish: the pilot behind the rule of ``symbreak/plans.py``.

    python scripts/trainer_pilot.py run sinc sinc2d   # adds to docs/results/trainer-pilot.csv
    python scripts/trainer_pilot.py show              # expected work by length of the search

One search serves all lengths: its best is polished whenever the search has come so far. Work is
counted in evaluations, polish included, so that a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import pandas as pd

from symbreak import Evaluator, Problem, load_problem, make_optimizer
from symbreak.polish import Polisher

FILE = Path(__file__).parent.parent / "docs" / "results" / "trainer-pilot.csv"
LENGTHS = (0, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
COLUMNS = ("problem", "method", "population_size", "search", "seed", "error", "work", "iterations")
#: Another data set than the benchmark's.
DATA_SEED = 7


def one_search(problem: Problem, method: str, size: int, seed: int) -> list[dict[str, object]]:
    """A row for each length of the search."""
    evaluate = Evaluator(problem)
    optimizer = make_optimizer(method, problem, seed=seed, population_size=size)
    rows = []
    for length in LENGTHS:
        while optimizer.n_evaluations == 0 or optimizer.n_evaluations + size <= length:
            candidates = optimizer.ask()
            optimizer.tell(candidates, evaluate(candidates))
        polisher = Polisher(problem, optimizer.best.theta)
        while not polisher.finished:
            polisher.step()
        work = optimizer.n_evaluations + polisher.n_evaluations
        row = (problem.name, method, size, length, seed)
        rows.append(
            dict(zip(COLUMNS, (*row, polisher.error, work, polisher.n_iterations), strict=True))
        )
    return rows


def run(names: list[str], methods: list[str], sizes: list[int], seconds: float) -> None:
    """Search and polish for some seconds with each method and size."""
    FILE.parent.mkdir(exist_ok=True)
    new = not FILE.exists()
    with FILE.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        for name in names:
            problem = load_problem(name, seed=DATA_SEED)
            for method in methods:
                for size in sizes:
                    until, seed = time.monotonic() + seconds, 0
                    while time.monotonic() < until:
                        writer.writerows(one_search(problem, method, size, seed))
                        file.flush()
                        seed += 1


def show(factor: float) -> None:
    """Print the expected work to so many times the best error."""
    rows = pd.read_csv(FILE)
    best = rows.groupby("problem")["error"].min()
    rows["hit"] = rows["error"] <= factor * rows["problem"].map(best)
    groups = rows.groupby(["problem", "method", "population_size", "search"])
    table = groups.agg(n=("hit", "size"), hits=("hit", "sum"), work=("work", "sum"))
    table["ert"] = table["work"] / table["hits"]
    wide = table["ert"].unstack("search").round(0)
    wide["n"] = table["n"].groupby(level=[0, 1, 2]).max()
    print(best.to_string())
    print(wide.to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--methods", nargs="*", default=["DE-SB-LA-W"])
    parser.add_argument("--sizes", nargs="*", type=int, default=[40, 80])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--factor", type=float, default=1.1)
    options = parser.parse_args()
    if options.what == "run":
        run(options.names, options.methods, options.sizes, options.seconds)
    else:
        show(options.factor)
