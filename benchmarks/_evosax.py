"""evosax as a peer: DE/rand/1/bin and CMA-ES on JAX, compiled by XLA."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _objectives import Counted, batched_errors
from evosax.algorithms import CMA_ES, DifferentialEvolution

from symbreak import Problem


def algorithm(family: str, population_size: int, dim: int) -> tuple[Any, Any]:
    """The algorithm of a family, and parameters as the other peers have them."""
    if family == "DE":
        search = DifferentialEvolution(population_size, jnp.zeros(dim))
        F = dict.fromkeys(
            ("differential_weight", "differential_weight_min", "differential_weight_max"), 0.5
        )
        return search, search.default_params.replace(elitism=False, crossover_rate=0.9, **F)
    search = CMA_ES(population_size, jnp.zeros(dim))
    return search, search.default_params.replace(std_init=0.5)


class Fused:
    """A whole run as one compiled loop, with the objective in JAX: the fastest way to use it."""

    def __init__(
        self, problem: Problem, family: str, population_size: int, generations: int, bits: int
    ) -> None:
        self.bits = bits
        dim = problem.topology.dim

        def train(key: Any) -> Any:
            search, params = algorithm(family, population_size, dim)
            errors_of = batched_errors(problem, jnp)

            def step(state: Any, key: Any) -> tuple[Any, None]:
                ask, tell = jax.random.split(key)
                candidates, state = search.ask(ask, state, params)
                state, _ = search.tell(tell, candidates, errors_of(candidates), state, params)
                return state, None

            start, key = jax.random.split(key)
            if family == "DE":  # its first generation is given
                first = jax.random.uniform(key, (population_size, dim), minval=-1, maxval=1)
                state = search.init(start, first, errors_of(first), params)
            else:
                state = search.init(start, jnp.zeros(dim), params)
            keys = jax.random.split(key, generations - (family == "DE"))
            return jax.lax.scan(step, state, keys)[0].best_fitness

        self._train = jax.jit(train)

    def __call__(self, seed: int) -> float:
        with jax.enable_x64(self.bits == 64):
            return float(self._train(jax.random.key(seed)))


class Stepwise:
    """Compiled ask and tell around any objective; numbers have 32 bits, as is evosax's default."""

    def __init__(self, family: str, population_size: int, dim: int) -> None:
        self._family, self._shape = family, (population_size, dim)
        self._search, self._params = algorithm(family, population_size, dim)

    def __call__(self, objective: Counted, generations: int, seed: int) -> None:
        search, params = self._search, self._params
        keys = jax.random.split(jax.random.key(seed), 2 * generations + 1)
        if self._family == "DE":
            first = np.random.default_rng(seed).uniform(-1, 1, size=self._shape)
            state = search.init(keys[-1], first, objective(first), params)
            generations -= 1
        else:
            state = search.init(keys[-1], jnp.zeros(self._shape[1]), params)
        for i in range(generations):
            candidates, state = search.ask(keys[2 * i], state, params)
            errors = objective(np.asarray(candidates, dtype=np.float64))
            state, _ = search.tell(keys[2 * i + 1], candidates, errors, state, params)
