"""Keep your optimiser: pycma, cmaes, evosax or pymoo, with networks aligned between ask and tell.

Each search below yields the costs of one generation. `align(networks, anchor)` replaces networks by
replicas near the anchor, which cost the same; what plays the anchor is all that differs.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from symbreak import symmetry
from symbreak.analysis import save_chart
from symbreak.control import control_fitness

OUT = Path(__file__).parent / "output" / "ask_and_tell.svg"


def pycma(fitness, align, seed):
    import cma

    start, options = np.zeros(fitness.topology.dim), {"seed": seed + 1, "verbose": -9}
    search = cma.CMAEvolutionStrategy(start, 0.5, options)
    while True:
        networks = np.array(search.ask())
        costs = fitness(networks)
        search.tell(list(align(networks, search.mean)), costs.tolist())
        yield costs


def cmaes(fitness, align, seed):
    from cmaes import CMA

    search = CMA(np.zeros(fitness.topology.dim), 0.5, seed=seed)
    while True:
        networks = np.array([search.ask() for _ in range(search.population_size)])
        costs = fitness(networks)
        aligned = align(networks, search.mean)
        search.tell(list(zip(aligned, costs.tolist(), strict=True)))
        yield costs


def evosax(fitness, align, seed):
    import jax
    from evosax.algorithms import SNES

    start, key = np.zeros(fitness.topology.dim), jax.random.key(seed)
    search = SNES(population_size=20, solution=start)
    params = search.default_params.replace(std_init=0.5)
    state, ask, tell = search.init(key, start, params), jax.jit(search.ask), jax.jit(search.tell)
    while True:
        key, *keys = jax.random.split(key, 3)
        networks, state = ask(keys[0], state, params)
        networks = np.array(networks, dtype=float)
        if not np.isfinite(networks).all():
            return  # SNES may diverge when it is told networks that it never drew
        costs = fitness(networks)
        state, _ = tell(keys[1], align(networks, state.mean), costs, state, params)
        yield costs


def pymoo(fitness, align, seed):
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.core.problem import Problem

    box = Problem(n_var=fitness.topology.dim, n_obj=1, xl=-2, xu=2)
    search = DE(pop_size=50).setup(box, seed=seed)
    while True:
        asked = search.ask()
        networks = asked.get("X")
        costs = fitness(networks)
        parents = search.pop.get("X") if search.is_initialized else networks[:1]
        asked.set("X", align(networks, parents.mean(axis=0)), "F", costs[:, None])
        search.tell(asked)
        yield costs


SEARCHES = {"cma": pycma, "cmaes": cmaes, "evosax": evosax, "pymoo": pymoo}


def main(out=OUT, budget=4_000, seeds=5):
    fitness = control_fitness("swing-up", hidden=(8,))
    ways = {
        "as asked": lambda networks, anchor: networks,
        "aligned": lambda networks, anchor: symmetry.align(networks, anchor, fitness.topology)[0],
    }
    rows = []
    for package in filter(find_spec, SEARCHES):
        for way, align in ways.items():
            for seed in range(seeds):
                search, spent, best = SEARCHES[package](fitness, align, seed), 0, np.inf
                for costs in search:
                    spent, best = spent + len(costs), min(best, costs.min())
                    rows.append((package, way, spent, best))
                    if spent >= budget:
                        break
    frame = pd.DataFrame(rows, columns=["package", "networks", "evaluations", "cost"])
    lines = alt.Chart(frame).mark_line().encode(x="evaluations", y="median(cost)", color="networks")
    save_chart(lines.facet("package", columns=2), out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
