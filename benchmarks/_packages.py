"""The optimizers of other packages, set up alike: trains sinc as ``symbreak.train`` does.

Each takes an objective for whole populations, how many generations to do, and a seed. A package is
imported by the first call, so that others take part where it is not installed.
"""

from __future__ import annotations

import numpy as np
from _objectives import Counted
from _timing import Array
from scipy.optimize import differential_evolution

from symbreak import load_problem

PROBLEM = load_problem("sinc")
POPULATION = PROBLEM.population_size  # by family
DIM = PROBLEM.topology.dim
BOUND = DIM**0.5  # the box around the feasible ball, for packages that must have one


def scipy_de(objective: Counted, generations: int, seed: int) -> None:
    differential_evolution(
        lambda columns: objective(columns.T),
        [(-BOUND, BOUND)] * DIM,
        strategy="rand1bin",
        mutation=0.5,
        recombination=0.9,
        init=first_population(seed),
        maxiter=generations - 1,
        tol=0,
        polish=False,
        updating="deferred",
        vectorized=True,
        rng=seed,
    )


def pymoo_de(objective: Counted, generations: int, seed: int) -> None:
    import pymoo.algorithms.soo.nonconvex.de as pymoo
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    class Network(Problem):
        def _evaluate(self, x: Array, out: dict[str, Array], *_: object, **__: object) -> None:
            out["F"] = objective(x)[:, None]

    algorithm = pymoo.DE(
        pop_size=POPULATION["DE"],
        sampling=first_population(seed),
        variant="DE/rand/1/bin",
        F=0.5,
        CR=0.9,
        prob_mut=0.0,
    )
    network = Network(n_var=DIM, n_obj=1, xl=-BOUND, xu=BOUND)
    minimize(network, algorithm, ("n_gen", generations), seed=seed)


def pycma(objective: Counted, generations: int, seed: int) -> None:
    import cma

    options = {"popsize": POPULATION["CMA-ES"], "seed": seed + 1, "verbose": -9}  # 0 is the clock
    search = cma.CMAEvolutionStrategy(np.zeros(DIM), 0.5, options)
    for _ in range(generations):
        candidates = search.ask()
        search.tell(candidates, objective(np.array(candidates)))


def cmaes_cma(objective: Counted, generations: int, seed: int) -> None:
    import cmaes

    search = cmaes.CMA(np.zeros(DIM), 0.5, seed=seed, population_size=POPULATION["CMA-ES"])
    for _ in range(generations):
        candidates = np.array([search.ask() for _ in range(search.population_size)])
        search.tell(list(zip(candidates, objective(candidates).tolist(), strict=True)))


def first_population(seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, size=(POPULATION["DE"], DIM))
