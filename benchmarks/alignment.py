"""What breaking by assignment costs, beside evaluating the same candidates.

Follows DE-SB-LA on each problem of the paper and times, for the first generation and for the mean
over the search, breaking a candidate by sweeps and evaluating it. Exact solutions, where they are
affordable, are timed on the first generation. Last come 1,000 candidates of a large network.

    python benchmarks/alignment.py --json results.json
"""

from __future__ import annotations

from functools import partial
from time import perf_counter

import numpy as np
from _timing import Row, Tables, interleaved, median_ratio, run

from symbreak import Evaluator, Problem, Topology, load_problem, make_optimizer, problem_names
from symbreak.symmetry import AssignmentBreaking
from symbreak.symmetry._chain import plan
from symbreak.symmetry.breaking import MAX_STEPS

EVALUATIONS, STEPS = 40_000, 8  # how far the search is followed, and how often looked at
LARGE, MANY = "784-64-10", 1_000


def benchmark(repeats: int) -> Tables:
    rows = [_row(load_problem(name), repeats) for name in problem_names()]
    return {
        "Breaking beside evaluation, microseconds per candidate": rows,
        f"{MANY:,} candidates of a large network": [_large()],
    }


def _row(problem: Problem, repeats: int) -> Row:
    topology, rng = problem.topology, np.random.default_rng(0)
    evaluate = Evaluator(problem)
    sweeps, exact = AssignmentBreaking(topology, exact=False), AssignmentBreaking(topology)
    _, steps = plan(topology.hidden, topology.signed)
    ratios, first = [], {}
    for population, anchor in _snapshots(problem):
        tasks = {
            "sweeps": partial(sweeps, population, anchor, rng),
            "evaluation": partial(evaluate, population),
        }
        if not first and steps <= MAX_STEPS:
            tasks["exact"] = partial(exact, population, anchor, rng)
        seconds = interleaved(tasks, repeats)
        ratios.append(median_ratio(seconds["sweeps"], seconds["evaluation"]))
        first = first or {
            k: 1e6 * float(np.median(v)) / len(population) for k, v in seconds.items()
        }
    return {
        "problem": problem.name,
        "net": str(topology),
        "evaluation": first["evaluation"],
        "sweeps": first["sweeps"],
        "exact": first.get("exact", ""),  # where it is not affordable
        "steps": steps,
        "first sweeps/evaluation": ratios[0],
        "mean sweeps/evaluation": float(np.mean(ratios)),
    }


def _snapshots(problem: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
    """Trials of a search and the centroid they are broken towards, from first to last."""
    optimizer, evaluate = make_optimizer("DE-SB-LA", problem, seed=0), Evaluator(problem)
    generations = EVALUATIONS // optimizer.population_size
    kept = set(np.linspace(0, generations - 1, STEPS).astype(int))
    found = []
    for generation in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, evaluate(candidates))
        if generation in kept:
            found.append((candidates, optimizer.population.mean(axis=0)))
    return found


def _large() -> Row:
    topology, rng = Topology.parse(LARGE), np.random.default_rng(0)
    population = rng.normal(size=(MANY, topology.dim))
    breaking = AssignmentBreaking(topology)
    breaking(population[:2], population[0], rng)  # compiles
    started = perf_counter()
    breaking(population, population[0], rng)
    return {"net": LARGE, "seconds": perf_counter() - started}


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=5)
