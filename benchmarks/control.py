"""Two poles with velocities, 6-6-1 without biases: evaluations until they stand, beside others.

Every search gets the same compiled simulation, 100,000 steps long, the same budget, and begins
around zero with a step of 0.5 where it has one; it stops at the first controller that never fails.
NEAT's networks grow, with its own settings for such a task and biases. Mean evaluations count the
budget where nothing was found.

    python benchmarks/control.py --json benchmarks/results/control.json
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from _timing import Array, Row, Tables, run

from symbreak import Topology, evolve
from symbreak.control import CONTROL, _advance, control_fitness

BUDGET = 10_000
NET = Topology.parse("6-6-1 searched unbiased")
#: neat-python: its own example for poles, with inputs and outputs of this task.
NEAT = """
[NEAT]
fitness_criterion = max
fitness_threshold = 1
pop_size = 150
reset_on_extinction = True
no_fitness_termination = False
[DefaultStagnation]
[DefaultReproduction]
[DefaultSpeciesSet]
compatibility_threshold = 3.0
[DefaultGenome]
num_inputs = 6
num_hidden = 0
num_outputs = 1
initial_connection = full_direct
feed_forward = True
compatibility_disjoint_coefficient = 1.0
compatibility_weight_coefficient = 0.5
conn_add_prob = 0.15
conn_delete_prob = 0.1
node_add_prob = 0.15
node_delete_prob = 0.1
activation_default = tanh
activation_options = tanh
activation_mutate_rate = 0.0
aggregation_default = sum
aggregation_options = sum
aggregation_mutate_rate = 0.0
bias_init_mean = 0.0
bias_init_stdev = 1.0
bias_replace_rate = 0.02
bias_mutate_rate = 0.8
bias_mutate_power = 0.4
bias_max_value = 30.0
bias_min_value = -30.0
response_init_mean = 1.0
response_init_stdev = 0.0
response_replace_rate = 0.0
response_mutate_rate = 0.0
response_mutate_power = 0.0
response_max_value = 30.0
response_min_value = -30.0
weight_init_mean = 0.0
weight_init_stdev = 1.0
weight_replace_rate = 0.02
weight_mutate_rate = 0.8
weight_mutate_power = 0.4
weight_max_value = 30
weight_min_value = -30
enabled_default = True
enabled_mutate_rate = 0.01
"""


class SolvedError(Exception):
    """The search may stop."""


class Counted:
    """The cost of networks, until one is solved or the budget is spent."""

    def __init__(self) -> None:
        self.fitness = control_fitness("double-pole", topology=NET)
        self.n, self.solved = 0, False

    def count(self, costs: Array) -> None:
        """Stop the search where it may."""
        self.n += len(costs)
        self.solved = bool(costs.min() <= self.fitness.target)
        if self.solved or self.n >= BUDGET:
            raise SolvedError

    def __call__(self, thetas: Array) -> Array:
        """Costs (n,)."""
        costs = self.fitness(np.ascontiguousarray(thetas, dtype=np.float64))
        self.count(costs)
        return costs

    def one(self, theta: Array) -> float:
        """That of one network."""
        return float(self(np.asarray(theta)[None])[0])


def pycma(cost: Counted, seed: int) -> None:
    import cma

    options = {"seed": seed + 1, "verbose": -9, "maxfevals": BUDGET}
    cma.fmin2(cost.one, np.zeros(NET.dim), 0.5, options, restarts=9)


def cmaes_(cost: Counted, seed: int) -> None:
    import cmaes

    search = cmaes.CMA(np.zeros(NET.dim), 0.5, seed=seed)
    while True:
        asked = [search.ask() for _ in range(search.population_size)]
        search.tell(list(zip(asked, cost(np.array(asked)).tolist(), strict=True)))


def snes(cost: Counted, seed: int) -> None:
    import jax
    import jax.numpy as jnp
    from evosax.algorithms import SNES

    search = SNES(population_size=16, solution=jnp.zeros(NET.dim))
    params = search.default_params.replace(std_init=0.5)
    key = jax.random.key(seed)
    state = search.init(key, jnp.zeros(NET.dim), params)
    ask, tell = jax.jit(search.ask), jax.jit(search.tell)
    while True:
        key, first, second = jax.random.split(key, 3)
        asked, state = ask(first, state, params)
        state, _ = tell(second, asked, jnp.asarray(cost(np.asarray(asked))), state, params)


def genoxide(cost: Counted, seed: int) -> None:
    import genoxide as gx

    genome = gx.Real((-2.0, 2.0), NET.dim)
    search = gx.Cmaes(genome, restarts="ipop", initial_step=0.5, objective="minimize", seed=seed)
    search.run(cost.one, evaluations=BUDGET)


def neat(cost: Counted, seed: int) -> None:
    def judge(activate: Callable[..., Any]) -> float:
        value = simulated(activate)
        cost.count(np.array([value]))
        return 1 / value

    evolved_by_neat(judge, NEAT, 1000, seed)


def evolved_by_neat(judge: Callable[..., float], text: str, generations: int, seed: int) -> None:
    """NEAT against a fitness of ``activate``."""
    import neat as package

    with NamedTemporaryFile("w", suffix=".cfg", delete=False) as file:
        file.write(text)
    kinds = ("Genome", "Reproduction", "SpeciesSet", "Stagnation")
    config = package.Config(*(getattr(package, f"Default{kind}") for kind in kinds), file.name)
    Path(file.name).unlink()
    random.seed(seed)

    def judge_all(genomes: Any, config: Any) -> None:
        for _, genome in genomes:
            genome.fitness = judge(package.nn.FeedForwardNetwork.create(genome, config).activate)

    package.Population(config).run(judge_all, generations)


def simulated(activate: Callable[[list[float]], list[float]]) -> float:
    """The cost of any network, in Python but for the physics."""
    task = CONTROL["double-pole"].task
    s, work = task.start.copy(), np.empty((5, 6))
    for t in range(task.steps):
        u = float(np.tanh(activate((s / task.scale).tolist())[0]))
        for _ in range(task.substeps):
            _advance(s, u, task, work)
        if abs(s[0]) > 2.4 or abs(s[2]) > np.radians(36) or abs(s[4]) > np.radians(36):
            return task.steps / (t + 1)
    return 1.0


def ours(method: str) -> Callable[[Counted, int], None]:
    def search(cost: Counted, seed: int) -> None:
        record = evolve(cost.fitness, method=method, max_evaluations=BUDGET, seed=seed)
        cost.n, cost.solved = record.n_evaluations, record.stopped == "target"

    return search


PEERS = {
    "symbreak auto": ours("auto"),
    "pycma, IPOP": pycma,
    "genoxide, CMA-ES IPOP": genoxide,
    "cmaes": cmaes_,
    "evosax, SNES": snes,
    "neat-python": neat,
}


PACKAGES = {
    "pycma, IPOP": "cma",
    "genoxide, CMA-ES IPOP": "genoxide",
    "cmaes": "cmaes",
    "evosax, SNES": "evosax",
    "neat-python": "neat",
}


def benchmark(repeats: int) -> Tables:
    rows: list[Row] = []
    for name, search in PEERS.items():
        if not find_spec(PACKAGES.get(name, "symbreak")):
            continue
        spent = []
        for seed in range(repeats):
            cost = Counted()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    search(cost, seed)
            except SolvedError:
                pass
            spent.append((min(cost.n, BUDGET), cost.solved))
        n, solved = np.array(spent).T
        rows.append(
            {
                "search": name,
                "solved": f"{int(solved.sum())} of {repeats}",
                "mean evaluations": float(n.mean()),
                "median": float(np.median(n)),
                "most": int(n.max()),
            }
        )
    return {"Evaluations until two poles stand": rows}


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=50)
