"""Training sinc for 60,000 evaluations: symbreak and other packages, seconds and final errors.

Everybody minimises the same error with the same population size, DE/rand/1/bin with F = 0.5 and
CR = 0.9 or CMA-ES from 0 with step size 0.5. Other packages run with an objective as a user would
write it, in NumPy (or JAX) for the whole population at once, and again with symbreak's compiled
``LeastSquares``, which leaves only the cost of their optimizers to tell them apart. All is compiled
before the clock starts; what that takes in a new process is shown apart.

"x ours" is seconds over those of symbreak's DE or CMA-ES in the same round: above 1, symbreak is
faster. Each round has its own seed; the error is the median over rounds, and with few of them
says no more than that everybody trains.

    python benchmarks/peers.py --json results.json
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter

import numpy as np
from _objectives import Counted, Objective, batched_errors
from _packages import (
    DIM,
    POPULATION,
    PROBLEM,
    cmaes_cma,
    first_population,
    pycma,
    pymoo_de,
    scipy_de,
)
from _timing import FIRST_GENERATIONS, Row, Tables, median_ratio, process, run

from symbreak import METHODS, LeastSquares, train

BUDGET = 60_000

Peer = Callable[[Counted, int, int], None]


@dataclass(frozen=True)
class Contestant:
    """One row of the table; ``train`` takes a seed and answers the best error."""

    name: str
    family: str
    objective: str
    train: Callable[[int], float]


def contestants() -> Iterator[Contestant]:
    for method in ("DE", "DE-SB", "CMA-ES", "CMA-ES-SB"):
        yield Contestant(f"symbreak {method}", METHODS[method].family, "LeastSquares", ours(method))
    peers: list[tuple[str, str, Peer]] = [
        ("SciPy", "DE", scipy_de),
        ("pymoo", "DE", pymoo_de),
        ("pycma", "CMA-ES", pycma),
        ("cmaes", "CMA-ES", cmaes_cma),
    ]
    peers = [peer for peer in peers if is_installed(peer[0])]
    for name, family, peer in peers:
        yield Contestant(name, family, "NumPy", counted(peer, family, batched_errors(PROBLEM, np)))
    for name, family, peer in peers:
        yield Contestant(name, family, "LeastSquares", counted(peer, family, LeastSquares(PROBLEM)))
    yield from evosax_contestants()


def is_installed(name: str) -> bool:
    found = find_spec({"SciPy": "scipy", "pycma": "cma"}.get(name, name)) is not None
    if not found:
        print(f"Without {name}, which is not installed.")
    return found


def evosax_contestants() -> Iterator[Contestant]:
    try:
        from _evosax import Fused, Stepwise
    except ImportError as missing:
        print(f"Without evosax: {missing}.")
        return
    for family, size in POPULATION.items():
        for bits in (32, 64):
            fused = Fused(PROBLEM, family, size, BUDGET // size, bits)
            yield Contestant("evosax", family, f"JAX, {bits} bits", fused)
        stepwise = Stepwise(family, size, DIM)
        yield Contestant(
            "evosax", family, "LeastSquares", counted(stepwise, family, LeastSquares(PROBLEM))
        )


def ours(method: str) -> Callable[[int], float]:
    return lambda seed: train(PROBLEM, method, max_evaluations=BUDGET, seed=seed).error


def counted(peer: Peer, family: str, errors_of: Objective) -> Callable[[int], float]:
    def best_error(seed: int) -> float:
        objective = Counted(errors_of)
        peer(objective, BUDGET // POPULATION[family], seed)
        if objective.n_evaluations != BUDGET:
            raise RuntimeError(f"{peer} did {objective.n_evaluations} evaluations, not {BUDGET}.")
        return objective.best

    return best_error


def benchmark(repeats: int) -> Tables:
    warnings.simplefilter("ignore")  # what peers say about each other's absence
    population = first_population(0)
    np.testing.assert_allclose(
        batched_errors(PROBLEM, np)(population), LeastSquares(PROBLEM)(population), rtol=1e-8
    )
    rows = list(contestants())
    for row in rows:
        row.train(0)  # compiles
    results = np.array([[timed(row, seed) for row in rows] for seed in range(repeats)])
    seconds, errors = results[:, :, 0], results[:, :, 1]  # (repeats, rows)
    plain = {f: [row.name for row in rows].index(f"symbreak {f}") for f in POPULATION}
    table: list[Row] = [
        {
            "package": row.name,
            "family": row.family,
            "objective": row.objective,
            "N_p": POPULATION[row.family],
            "seconds": float(np.median(seconds[:, i])),
            "x ours": median_ratio(seconds[:, i], seconds[:, plain[row.family]]),
            "error": float(np.median(errors[:, i])),
        }
        for i, row in enumerate(rows)
    ]
    table.sort(key=lambda row: (row["family"] == "CMA-ES", row["seconds"]))
    return {f"sinc, {BUDGET:,} evaluations": table, "Targets": targets(table), **cold_table()}


def timed(row: Contestant, seed: int) -> tuple[float, float]:
    started = perf_counter()
    error = row.train(seed)
    return perf_counter() - started, error


def targets(table: list[Row]) -> list[Row]:
    others = [row for row in table if not str(row["package"]).startswith("symbreak")]
    scipy = next(r for r in others if r["package"] == "SciPy" and r["objective"] == "NumPy")
    fastest = min(others, key=lambda row: row["x ours"])
    return [
        {"what": "SciPy with NumPy, x ours", "measured": scipy["x ours"], "at least": 5},
        {
            "what": f"fastest: {fastest['package']} {fastest['family']} with "
            f"{fastest['objective']}, x ours",
            "measured": fastest["x ours"],
            "at least": 1,
        },
    ]


def cold_table() -> Tables:
    with tempfile.TemporaryDirectory() as empty:
        seconds = process(FIRST_GENERATIONS, empty)[0]
    return {"symbreak compiles once": [{"what": "first process", "seconds": seconds}]}


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=9)
