"""The methods: the paper's (Section 6) and ours, each an optimiser with a breaking and flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._checks import unknown
from symbreak.optimizers import CMAES, DE, Optimizer
from symbreak.problems import POPULATION_SIZE, Problem
from symbreak.symmetry import (
    AssignmentBreaking,
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from symbreak.topology import Topology


@dataclass(frozen=True)
class Method:
    """An optimiser, how it breaks symmetries, and the optimiser's flags."""

    optimizer: type[Optimizer]
    breaking: Callable[[Topology], Breaking]
    flags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """``"DE"`` or ``"CMA-ES"``: methods are compared within a family."""
        return self.optimizer.family


#: Assignment for a search, in which exact solutions would cost more than the evaluations.
_SWEEPS = partial(AssignmentBreaking, exact=False)

#: The paper's eight names, and four beyond it (docs/beyond-the-paper.md). Every CMA-ES with
#: breaking damps its step size (Eq. 46).
METHODS: dict[str, Method] = {
    "DE": Method(DE, NoBreaking),
    "DE-INV-SB": Method(DE, InvariantBreaking),
    "DE-SB": Method(DE, ProximityBreaking, {"inflate": True}),  # Algorithm 2
    "DE-SB-BF": Method(DE, ExhaustiveBreaking),
    "DE-SB-LA": Method(DE, _SWEEPS, {"inflate": True}),
    "DE-SB-LA-W": Method(
        DE,
        _SWEEPS,
        {
            "inflate": True,
            "F": 0.55,
            "dither": 0.25,
            "whole_share": "auto",
            "anchor": "better-half",
        },
    ),
    "CMA-ES": Method(CMAES, NoBreaking),
    "CMA-ES-INV-SB": Method(CMAES, InvariantBreaking),
    "CMA-ES-SB": Method(CMAES, ProximityBreaking, {"replace_mean": True}),  # Algorithm 3
    "CMA-ES-SB-BF": Method(CMAES, ExhaustiveBreaking),
    "CMA-ES-SB-LA": Method(CMAES, _SWEEPS, {"replace_mean": True}),
    "CMA-ES-SB-LA-P": Method(CMAES, _SWEEPS, {"replace_mean": True, "in_partition": True}),
}


def find_method(name: str) -> Method:
    """The row of ``METHODS``; a ValueError names the nearest ones."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]


def make_optimizer(
    method: str,
    problem: Problem | Topology,
    *,
    seed: int | Generator = 0,
    population_size: int | None = None,
    initial_population: ArrayLike | None = None,
    **settings: Any,
) -> Optimizer:
    """The optimiser of a method for a problem, or for any data with a network of a topology.

    Args:
        method: A name in ``METHODS``.
        problem: What to train; a Problem also says the paper's population size for it.
        seed: A whole number, or a generator to draw from.
        population_size: Candidates per generation; by default as many as the initial population
            has, or the problem's own.
        initial_population: Candidates of the first generation, (N_p, D).
        **settings: Other arguments of ``DE`` or ``CMAES``, such as ``F`` or ``sigma``; they come
            before the method's own flags.
    """
    row = find_method(method)
    if not isinstance(problem, Problem | Topology):
        raise ValueError(f"problem must be a Problem or a Topology, got {problem!r}.")
    sizes = problem.population_size if isinstance(problem, Problem) else POPULATION_SIZE
    topology = problem.topology if isinstance(problem, Problem) else problem
    if population_size is None and initial_population is not None:
        population_size = len(np.atleast_1d(initial_population))
    elif population_size is None:
        population_size = sizes[row.family]
    return row.optimizer(
        topology.dim,
        population_size=population_size,
        breaking=row.breaking(topology),
        initial_population=initial_population,
        seed=seed,
        **{**row.flags, **settings},
    )
