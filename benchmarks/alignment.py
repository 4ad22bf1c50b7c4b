"""What breaking by assignment costs, beside evaluating the same candidates.

Follows DE-SB-LA on each problem of the paper and times, for the first generation and for the mean
over the search, breaking a candidate by sweeps and evaluating it. Exact solutions, where they are
affordable, are timed on the first generation. Then come 1,000 candidates of a large network, and
how near sweeps come to exact solutions, also when Algorithm 1 goes before them.

    python benchmarks/alignment.py --json results.json
"""

from __future__ import annotations

from functools import partial
from time import perf_counter

import numpy as np
from _timing import Row, Tables, interleaved, median_ratio, run

from symbreak import LeastSquares, Problem, Topology, load_problem, make_optimizer, problem_names
from symbreak.symmetry import AssignmentBreaking, ProximityBreaking, align
from symbreak.symmetry._nearest import plan

#: Exact solutions of so many steps per candidate are timed.
MAX_STEPS = 2_000
EVALUATIONS, STEPS = 40_000, 8  # how far the search is followed, and how often looked at
LARGE, MANY = "784-64-10", 1_000
SAME = 1e-9  # distances that differ by less are equal


def benchmark(repeats: int) -> Tables:
    problems = [load_problem(name) for name in problem_names()]
    return {
        "Breaking beside evaluation, microseconds per candidate": [
            _row(problem, repeats) for problem in problems
        ],
        f"{MANY:,} candidates of a large network": [_large()],
        "How near sweeps come": [_nearness(p) for p in problems if _is_deep(p.topology)],
    }


def _row(problem: Problem, repeats: int) -> Row:
    topology, rng = problem.topology, np.random.default_rng(0)
    evaluate = LeastSquares(problem)
    sweeps = AssignmentBreaking(topology)
    _, steps = plan(topology.hidden, topology.signed)
    ratios, first = [], {}
    for population, anchor in _snapshots(problem):
        tasks = {
            "sweeps": partial(sweeps, population, anchor, rng),
            "evaluation": partial(evaluate, population),
        }
        if not first and steps <= MAX_STEPS:
            tasks["exact"] = partial(align, population, anchor, topology)
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
    optimizer, evaluate = make_optimizer("DE-SB-LA", problem, seed=0), LeastSquares(problem)
    generations = EVALUATIONS // optimizer.population_size
    kept = set(np.linspace(0, generations - 1, STEPS).astype(int))
    found = []
    for generation in range(generations):
        candidates = optimizer.ask()
        optimizer.tell(candidates, evaluate(candidates))
        if generation in kept:
            found.append((candidates, optimizer.population.mean(axis=0)))
    return found


def _is_deep(topology: Topology) -> bool:
    """Whether sweeps may miss the nearest replica, and exact solutions are affordable."""
    return 1 < plan(topology.hidden, topology.signed)[1] <= MAX_STEPS


def _nearness(problem: Problem) -> Row:
    """Shares of candidates whose nearest replica is found, and how much farther the others are.

    Of random candidates to a random anchor, and of those in the course of a search.
    """
    topology, rng = problem.topology, np.random.default_rng(0)
    sweeps = AssignmentBreaking(topology)
    first = ProximityBreaking(topology)
    random = (rng.uniform(-1, 1, (MANY // 2, topology.dim)), rng.uniform(-1, 1, topology.dim))
    row: Row = {"problem": problem.name, "net": str(topology)}
    for name, pairs in (("random", [random]), ("search", _snapshots(problem))):
        found: dict[str, list[np.ndarray]] = {"sweeps": [], "after Algorithm 1": []}
        for population, anchor in pairs:
            least = np.linalg.norm(align(population, anchor, topology)[0] - anchor, axis=1)
            begun = {"sweeps": population, "after Algorithm 1": first(population, anchor, rng)[0]}
            for way, candidates in begun.items():
                distances = np.linalg.norm(sweeps(candidates, anchor, rng)[0] - anchor, axis=1)
                found[way].append(distances / least)
        for way, ratios in found.items():
            row[f"{name}, {way}: nearest"] = float(np.mean(np.concatenate(ratios) < 1 + SAME))
            row[f"{name}, {way}: distance"] = float(np.mean(np.concatenate(ratios)))
    return row


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
