"""How fast networks are judged: compiled, in Python beside others, and by two processes.

The first table has what ``evolve`` adds to the bare compiled loop, for a population that fails
soon, where that is most. The second has evaluations in a second of CPU time, each of a hundred
steps of Gymnasium's CartPole, begun again where the pole falls, so that they are equally long for
all; it is that of whole runs, 4 generations of 150 networks. The third has how much faster two
processes judge networks by a Python function that computes for a millisecond, those of the standard
library and our own: it needs two idle cores.

    python benchmarks/fitness.py --json benchmarks/results/fitness.json
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
from _objectives import busy
from _timing import Row, Tables, interleaved, median_ratio, run
from control import NEAT, evolved_by_neat

from symbreak import Topology, evolve
from symbreak._support.workers import WorkerProcesses
from symbreak.control import CONTROL, _costs, control_fitness

NET = Topology((4, 8, 2))
SIZE, GENERATIONS, STEPS = 150, 4, 100
#: Sizes of population for two processes: the usual one, and one that divides better.
SIZES = (15, 100)


def overhead(repeats: int) -> list[Row]:
    fitness, control = control_fitness("double-pole", (6,)), CONTROL["double-pole"]
    thetas = np.random.default_rng(0).normal(size=(15, fitness.topology.dim))
    net = control._net(fitness.topology)
    seconds = interleaved(
        {
            "bare": lambda: [_costs(thetas, net, control.task) for _ in range(20)],
            "fitness": lambda: [fitness(thetas) for _ in range(20)],
        },
        repeats,
        time.process_time,
    )
    ratio = median_ratio(seconds["fitness"], seconds["bare"])
    return [{"population": 15, "times the bare loop": ratio, "at most": 1.3}]


def cart_pole(repeats: int) -> list[Row]:
    """Evaluations in a second of CPU time."""
    import gymnasium

    env = gymnasium.make("CartPole-v1")

    def balanced(says: Callable[..., Any]) -> float:
        falls, (seen, _) = 0, env.reset(seed=0)
        for _ in range(STEPS):
            says_left, says_right = says(seen)
            seen, _, fell, _, _ = env.step(int(says_right > says_left))
            if fell:
                falls, (seen, _) = falls + 1, env.reset()
        return -float(falls)

    n = SIZE * GENERATIONS
    settings = {"maximize": True, "population_size": SIZE, "max_evaluations": n}
    tasks: dict[str, Callable[[], object]] = {
        "symbreak auto": lambda: evolve(balanced, NET, **settings)
    }
    if find_spec("neat"):
        text = NEAT.replace("num_inputs = 6", "num_inputs = 4")
        text = text.replace("num_outputs = 1", "num_outputs = 2")
        text = text.replace("threshold = 1", "threshold = 9")
        tasks["neat-python"] = lambda: evolved_by_neat(balanced, text, GENERATIONS, 0)
    if find_spec("evotorch"):
        tasks |= evotorch_tasks(balanced)
    seconds = interleaved(tasks, repeats, time.process_time)
    return [
        {"search": name, "evaluations a second": float(n / np.median(spent))}
        for name, spent in seconds.items()
    ]


def evotorch_tasks(balanced: Callable[..., float]) -> dict[str, Callable[[], object]]:
    """EvoTorch's SNES: by the same function, and by its own loop over all networks at once."""
    import gymnasium
    import torch
    from evotorch.algorithms import SNES
    from evotorch.neuroevolution import NEProblem, VecGymNE

    class Again(gymnasium.Wrapper):
        """The same hundred steps, as an environment."""

        def reset(self, **options: Any) -> Any:
            self.steps = 0
            return self.env.reset(**options)

        def step(self, action: Any) -> Any:
            seen, _, fell, _, facts = self.env.step(action)
            self.steps += 1
            seen = self.env.reset()[0] if fell else seen
            return seen, -float(fell), False, self.steps >= STEPS, facts

    def make(**options: Any) -> Any:
        return Again(gymnasium.make("CartPole-v1", **options))

    @torch.no_grad()
    def judged(module: Any) -> float:
        return balanced(lambda seen: module(torch.from_numpy(seen)).tolist())

    def searched(problem: Any) -> None:
        SNES(problem, popsize=SIZE, stdev_init=0.5).run(GENERATIONS)

    logging.getLogger("evotorch").setLevel(logging.ERROR)
    gymnasium.register("Again-v0", make, order_enforce=False, disable_env_checker=True)
    net = "Linear(4, 8) >> Tanh() >> Linear(8, 2)"
    return {
        "EvoTorch, a network at a time": lambda: searched(
            NEProblem("max", net, network_eval_func=judged)
        ),
        "EvoTorch, all at once": lambda: searched(VecGymNE("gym::Again-v0", net)),
    }


def two_processes(repeats: int) -> list[Row]:
    """How much faster they are than this one; all cores may be used."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    rows: list[Row] = []
    pool = ProcessPoolExecutor(2, get_context("spawn"))  # JAX forbids to fork
    for name, executor in {"ProcessPoolExecutor": pool, "--workers 2": WorkerProcesses(2)}.items():
        with executor:
            for size in SIZES:
                settings = {"population_size": size, "max_evaluations": 10 * size}
                together = {**settings, "executor": executor}
                seconds = interleaved(
                    {
                        "one": lambda settings=settings: evolve(busy, NET, **settings),
                        "two": lambda settings=together: evolve(busy, NET, **settings),
                    },
                    repeats,
                )
                ratio = median_ratio(seconds["one"], seconds["two"])
                row: Row = {"executor": name, "population": size, "times as fast": ratio}
                rows.append({**row, "at least": 1.8})
    os.sched_setaffinity(0, cores)
    return rows


def benchmark(repeats: int) -> Tables:
    return {
        "What evolve adds": overhead(repeats),
        "CartPole": cart_pole(repeats),
        "Two processes": two_processes(repeats),
    }


if __name__ == "__main__":
    run(benchmark, __doc__, repeats=20)
