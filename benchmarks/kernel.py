"""How fast candidates are evaluated: against naive NumPy and against the hardware's floor.

Four networks of the paper on random data. "x naive" is how many times faster ``LeastSquares`` is
than NumPy candidate by candidate: matrix products and ``np.tanh``, then ``np.linalg.lstsq``. "of
floor" is the least time the arithmetic can take, over the time taken; 1 would be perfect. The
floor counts every tanh at the rate of the package's own and every multiply-add at the peak rate,
both measured here on data in the L1 cache; copies, norms and divisions are not in it. The rates
are shown, and that of ``np.tanh``, since "x naive" hangs on it: NumPy has a fast one for AVX-512,
while on other processors it can take ten times as long as ours.

Then what a user waits for: a first process that compiles everything, a later one that loads it,
and the memory of a large evaluation.

    python benchmarks/kernel.py --json results.json
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from _timing import FIRST_GENERATIONS, Array, Row, Tables, interleaved, median_ratio, process, run
from numba import njit

from symbreak import LeastSquares, Problem, Topology
from symbreak._kernels import _tanh
from symbreak.problems import PAPER

TOLERANCE = 1e-8  # relative, between LeastSquares and naive NumPy
OF_FLOOR = 0.6

Shapes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """A network of the paper, its data size, and the speed-ups over naive NumPy we want."""

    name: str
    net: str
    samples: int
    candidates: int
    at_least: float
    aim: float


CASES = (
    Case("sinc", "1-5-1", 200, 400, 14, 16),
    Case("sinc2d", "2-3-1-3-1", 1000, 400, 6.5, 8),
    Case("autoenc-sphere", "3-8-5-2-5-8-3", 1000, 200, 3.9, 5),
    Case("digits", "16-8-3-10-10", 1000, 200, 3.1, 4),
)


def benchmark(repeats: int) -> Tables:
    processes = process_rows()  # first, while this process is small: see MEMORY
    rows = [evaluation_rows(case, repeats) for case in CASES]
    return {
        "Evaluation": [evaluation for evaluation, _ in rows],
        "Rates in the same rounds, 1e9/s": [rates for _, rates in rows],
        "Processes": processes,
    }


def evaluation_rows(case: Case, repeats: int) -> tuple[Row, Row]:
    rng = np.random.default_rng(0)
    topology = Topology.parse(case.net)
    X = rng.normal(size=(case.samples, topology.n_inputs))
    y = rng.normal(size=(case.samples, topology.n_outputs))
    problem = Problem.from_arrays(X, y, hidden=topology.hidden, **PAPER)
    population = rng.uniform(-1, 1, size=(case.candidates, topology.dim))  # in the feasible ball
    evaluate = LeastSquares(problem)
    difference = np.max(np.abs(evaluate(population) / naive_errors(problem, population) - 1))
    if not difference <= TOLERANCE:
        sys.exit(f"{case.name}: errors differ from naive NumPy by {difference:.2g}.")

    small, out = rng.normal(size=SMALL), np.empty(SMALL)
    seconds = interleaved(
        {
            "ours": lambda: evaluate(population),
            "naive": lambda: naive_errors(problem, population),
            "tanh": lambda: many_tanh(small, out),
            "multiply-add": lambda: many_multiply_adds(small, out, 0.999, 0.001),
            "np.tanh": lambda: np.tanh(small, out=out),
        },
        repeats,
    )
    each = {"tanh": N_TANH, "multiply-add": N_FMA, "np.tanh": SMALL}  # operations in a call
    n_tanh, n_fma = arithmetic(topology, case.samples)
    floor = n_tanh * seconds["tanh"] / N_TANH + n_fma * seconds["multiply-add"] / N_FMA
    evaluation: Row = {
        "network": case.name,
        "layers": case.net,
        "K": case.samples,
        "N_p": case.candidates,
        "evaluations/s": float(np.median(case.candidates / seconds["ours"])),
        "x naive": median_ratio(seconds["naive"], seconds["ours"]),
        "at least": case.at_least,
        "aim": case.aim,
        "of floor": median_ratio(case.candidates * floor, seconds["ours"]),
        "floor aim": OF_FLOOR,
        "difference": float(difference),
    }
    rates = {name: float(np.median(1e-9 * n / seconds[name])) for name, n in each.items()}
    return evaluation, {"network": case.name, **rates}


def naive_errors(problem: Problem, population: Array) -> Array:
    X, y, shapes = problem.train.X, problem.train.y, problem.topology.shapes
    return np.array([naive_error(X, y, shapes, theta) for theta in population])


def naive_error(X: Array, y: Array, shapes: Shapes, theta: Array) -> float:
    x, first = X, 0
    for n, columns in shapes:  # sliced here, since Topology.layers takes 11 us
        layer = theta[first : first + n * columns].reshape(n, columns)
        x = np.tanh(x @ layer[:, :-1].T + layer[:, -1])
        first += n * columns
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    return float(np.mean((y - x @ weights) ** 2))


def arithmetic(topology: Topology, samples: int) -> tuple[int, int]:
    """Tanh and multiply-adds of one evaluation: layers, then modified Gram-Schmidt."""
    layers = sum(n * (columns - 1) for n, columns in topology.shapes)
    n, q = topology.hidden[-1], topology.n_outputs
    projections = 2 * sum(n - j - 1 + q for j in range(n))
    return samples * sum(topology.hidden), samples * (layers + projections)


SMALL, PASSES = 512, 100  # values in the L1 cache, and how often a call goes over them
CHAINS, LINKS = 4, 8
N_TANH = SMALL * PASSES
N_FMA = SMALL * PASSES * CHAINS * LINKS

_compiled = njit(fastmath={"contract"}, error_model="numpy")


@_compiled
def many_tanh(x: Array, out: Array) -> None:
    for _ in range(PASSES):
        for k in range(SMALL):
            out[k] = _tanh(x[k])


@_compiled
def many_multiply_adds(x: Array, out: Array, a: float, b: float) -> None:
    """Four chains of multiply-adds per value, all in registers.

    The fastest of ten shapes tried (2026-11, AMD Zen 3): 25.6e9/s, which is 2.0 vectors of 4 per
    cycle and all that the core has. One chain per value, 8 to 64 long, reached 35 to 94 % of it.
    """
    for _ in range(PASSES):
        for k in range(SMALL):
            c0 = x[k]
            c1, c2, c3 = c0 + 1.0, c0 + 2.0, c0 + 3.0
            for _ in range(LINKS):
                c0, c1, c2, c3 = c0 * a + b, c1 * a + b, c2 * a + b, c3 * a + b
            out[k] = c0 + c1 + c2 + c3


ONE_EVALUATION = """
import numpy as np
from symbreak import LeastSquares, load_problem
problem = load_problem("sinc")
LeastSquares(problem)(np.ones((1, problem.topology.dim)))
"""

# A new process starts with the peak of its parent on Linux, so this is an upper bound.
MEMORY = """
import resource, sys
import numpy as np
from symbreak import LeastSquares, Problem
from symbreak.problems import PAPER
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100_000, 2)), rng.normal(size=100_000)
problem = Problem.from_arrays(X, y, hidden=(10,), **PAPER)
LeastSquares(problem)(rng.uniform(-1, 1, size=(10_000, problem.topology.dim)))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak if sys.platform == "darwin" else 1024 * peak)
"""


def process_rows() -> list[Row]:
    cold = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as empty:
            cold.append(process(FIRST_GENERATIONS, empty)[0])
    with tempfile.TemporaryDirectory() as cache:
        process(ONE_EVALUATION, cache)
        warm = [process(ONE_EVALUATION, cache)[0] for _ in range(9)]
        large_seconds, peak = process(MEMORY, cache)
    large = f"10,000 networks 2-10-1 on 100,000 samples ({large_seconds:.0f} s)"
    return [
        _limit("first process: import, compile, two generations of DE-SB", cold, 10, "s"),
        _limit("later process: import, load, one evaluation", warm, 1.5, "s"),
        _limit(f"peak memory of {large}", [int(peak) / 2**30], 1, "GiB"),
    ]


def _limit(what: str, values: list[float], at_most: float, unit: str) -> Row:
    return {"what": what, "median": float(np.median(values)), "at most": at_most, "unit": unit}


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=51)
