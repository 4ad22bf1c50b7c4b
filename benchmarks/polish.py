"""How fast a polish iterates: against its NumPy twin, its floor, and in evaluations.

An iteration is a Jacobian, a damped step and the evaluation of one trial. "x NumPy" is how many
times faster it is than the twin in ``tests/reference_polish.py``: back-propagation by broadcasting,
QR, matrix products, ``np.linalg.solve``. "of floor" is the least time its arithmetic can take, with
every tanh and multiply-add at the rates measured here in the L1 cache, over the time taken.

"cost" is what a Jacobian and its step take, measured in evaluations of a large population;
"counted" is what ``jacobian_cost`` says, by which work is counted.

    python benchmarks/polish.py --json results.json
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _timing import Row, Tables, interleaved, median_ratio, run
from kernel import N_FMA, N_TANH, SMALL, arithmetic, many_multiply_adds, many_tanh

from symbreak import LeastSquares, Problem, load_problem
from symbreak._polish._linearisation import jacobian_cost
from symbreak._polish._polisher import FIRST_DAMPING, Polisher

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests import reference_polish

#: Problems, and how many times faster than NumPy an iteration has to be.
CASES = {
    "sinc": 8,
    "sinc2d": 2,
    "autoenc-circle": 2,
    "autoenc-sphere": 3,
    "two-spirals": 2,
    "digits": 2,
}
TOLERANCE = 1e-4  # relative, between errors after the step


def benchmark(repeats: int) -> Tables:
    return {"One iteration": [row(name, at_least, repeats) for name, at_least in CASES.items()]}


def row(name: str, at_least: float, repeats: int) -> Row:
    problem = load_problem(name)
    topology, K = problem.topology, len(problem.train)
    polisher, theta = accepted_start(problem)
    _, error, _ = reference_polish.iterate(theta, problem, FIRST_DAMPING)
    value = polisher._value

    def iterate() -> None:
        polisher._theta, polisher._value = theta.copy(), value  # a copy has not been fitted
        polisher._damping = FIRST_DAMPING
        polisher.reason = ""
        polisher.step()

    iterate()
    if not abs(polisher._value / error - 1) <= TOLERANCE:
        sys.exit(f"{name}: the error after a step is {polisher._value}, NumPy's is {error}.")
    population = np.random.default_rng(0).uniform(-1, 1, size=(200, topology.dim))
    evaluate = LeastSquares(problem)
    small, out = np.random.default_rng(0).normal(size=SMALL), np.empty(SMALL)
    seconds = interleaved(
        {
            "ours": iterate,
            "NumPy": lambda: reference_polish.iterate(theta, problem, FIRST_DAMPING),
            "evaluations": lambda: evaluate(population),
            "tanh": lambda: many_tanh(small, out),
            "multiply-add": lambda: many_multiply_adds(small, out, 0.999, 0.001),
        },
        repeats,
    )
    n_tanh, n_fma = iteration_arithmetic(problem)
    floor = n_tanh * seconds["tanh"] / N_TANH + n_fma * seconds["multiply-add"] / N_FMA
    cost = len(population) * seconds["ours"] / seconds["evaluations"] - 1  # without the trial
    return {
        "network": name,
        "layers": str(topology),
        "K": K,
        "iterations/s": float(np.median(1 / seconds["ours"])),
        "x NumPy": median_ratio(seconds["NumPy"], seconds["ours"]),
        "at least": at_least,
        "of floor": median_ratio(floor, seconds["ours"]),
        "cost": float(np.median(cost)),
        "counted": jacobian_cost(topology, K, output_shift=problem.output_shift),
    }


def accepted_start(problem: Problem) -> tuple[Polisher, np.ndarray]:
    """A polisher at a vector from which the first trial is better and inside the ball."""
    for seed in range(1000):
        theta = np.random.default_rng(seed).uniform(-1, 1, size=problem.topology.dim)
        trial, error, _ = reference_polish.iterate(theta, problem, FIRST_DAMPING)
        polisher = Polisher(LeastSquares(problem), theta)
        if error < polisher.error and np.linalg.norm(trial) < np.sqrt(trial.size):
            return polisher, theta
    raise RuntimeError(f"no start of {problem.name} has a first trial that is better.")


def iteration_arithmetic(problem: Problem) -> tuple[int, int]:
    """Tanh and multiply-adds of a Jacobian by the least way that projects, a step and a trial."""
    topology, K = problem.topology, len(problem.train)
    n, D = topology.hidden[-1] + problem.output_shift, topology.dim
    rank = min(topology.n_outputs, topology.hidden[-1])
    n_tanh, n_fma = arithmetic(topology, K)
    backward = D + sum(rows * (columns - 1) for rows, columns in topology.shapes[1:])
    products = 2 * n * D + D * (D + 1) // 2
    return 2 * n_tanh, 2 * n_fma + K * rank * (backward + products) + D**3 // 6


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=21)
