"""What a generation costs outside evaluation, for each method without brute force.

Trains sinc (1-5-1 network, 200 samples) with the paper's population sizes and times ``ask``,
evaluation and ``tell``, which breaks symmetries, in every generation. A generation's time is its
median over repeats of the same run, one method after the other in each repeat; the table shows
means over the generations in microseconds. "overhead" is (ask + tell) / evaluation: at 0.2 a
training takes a fifth longer than its evaluations alone. Breaking by assignment (LA) may cost as
much as an evaluation.

    python benchmarks/generation.py --json results.json
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from _timing import Array, Row, Tables, run

from symbreak import METHODS, LeastSquares, Problem, load_problem, make_optimizer

GENERATIONS = 300
AT_MOST, AT_MOST_BY_ASSIGNMENT = 0.2, 1.2


def benchmark(repeats: int) -> Tables:
    problem = load_problem("sinc")
    families = problem.population_size  # auto has none of its own: it searches by DE-SB-LA-W
    methods = [m for m in METHODS if METHODS[m].family in families and not m.endswith("-BF")]
    for method in methods:
        split_times(method, problem, 5)  # compiles
    rounds = [[split_times(m, problem, GENERATIONS) for m in methods] for _ in range(repeats)]
    medians = np.median(rounds, axis=0)  # (methods, generations, 3)
    rows = [_row(m, problem, times) for m, times in zip(methods, medians, strict=True)]
    return {f"One generation of sinc, microseconds, mean of {GENERATIONS}": rows}


def split_times(method: str, problem: Problem, generations: int) -> Array:
    """Seconds of ask, evaluation and tell in each generation, (generations, 3)."""
    evaluate, optimizer = LeastSquares(problem), make_optimizer(method, problem, seed=0)
    times = np.empty((generations, 3))
    for row in times:
        started = perf_counter()
        candidates = optimizer.ask()
        asked = perf_counter()
        errors = evaluate(candidates)
        evaluated = perf_counter()
        optimizer.tell(candidates, errors)
        row[:] = asked - started, evaluated - asked, perf_counter() - evaluated
    return times


def _row(method: str, problem: Problem, times: Array) -> Row:
    ask, evaluation, tell = 1e6 * times.mean(axis=0)
    return {
        "method": method,
        "N_p": problem.population_size[METHODS[method].family],
        "ask": float(ask),
        "tell": float(tell),
        "evaluation": float(evaluation),
        "overhead": float((ask + tell) / evaluation),
        "at most": AT_MOST_BY_ASSIGNMENT if "-LA" in method else AT_MOST,
    }


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=25)
