"""The methods: the paper's (Section 6) and ours, each an optimizer with a breaking and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, get_args

from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._support.checks import check_choice, check_population, check_text, shown, unknown
from symbreak.optimizers import CMAES, DE, LSHADE, Optimizer, Restarts
from symbreak.optimizers._base import OPTIMIZERS
from symbreak.problems import Problem
from symbreak.symmetry import (
    AssignmentBreaking,
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from symbreak.topology import Topology

__all__ = ["METHODS", "Method", "make_optimizer", "register_method"]

#: What a method is in the comparison of its family: the paper's Table 1 compares the first three;
#: "exhaustive" is the ideal that "proximity" approximates; all others are variants.
Role = Literal["plain", "invariant", "proximity", "exhaustive", "variant"]

#: What follows a search: nothing, as in the paper; a polish at the end of the budget; or a polish
#: after a short search, again and again from new starts.
Polish = Literal["none", "final", "restarts"]
POLISHES = get_args(Polish)


@dataclass(frozen=True)
class Method:
    """An optimizer, how it breaks symmetries, and the optimizer's settings.

    Attributes:
        optimizer: The class.
        breaking: Makes the breaking for a topology.
        settings: Arguments of the optimizer.
        family: Methods of one family are compared with each other, and share a population size.
        role: What it is in that comparison.
        polish: What follows the search, unless something else is asked for.
    """

    optimizer: type[Optimizer]
    breaking: Callable[[Topology], Breaking]
    settings: Mapping[str, Any] = field(default_factory=dict)
    family: str = field(kw_only=True)
    role: Role = field(kw_only=True)
    polish: Polish = field(default="none", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.optimizer, type) or not issubclass(self.optimizer, Optimizer):
            raise ValueError(
                f"optimizer must be a subclass of Optimizer, got {shown(self.optimizer)}."
            )
        if not callable(self.breaking):
            raise ValueError(
                "breaking must make a breaking for a topology, such as NoBreaking or "
                f"ProximityBreaking, got {shown(self.breaking)}."
            )
        check_choice("role", self.role, get_args(Role))
        check_choice("polish", self.polish, POLISHES)
        if "search" in self.settings:
            check_choice("search", self.settings["search"], OPTIMIZERS)

    @property
    def setting_names(self) -> tuple[str, ...]:
        """What may be set: arguments of the optimizer and of what it restarts."""
        search = self.settings.get("search")
        inner = () if search is None else OPTIMIZERS[search].setting_names()
        return (*self.optimizer.setting_names(), *inner)


_SWEEPS = AssignmentBreaking
_DE = partial(Method, DE, family="DE")
_CMAES = partial(Method, CMAES, family="CMA-ES")
_RESTARTED = partial(Method, Restarts, family="CMA-ES-IPOP")
#: How DE is made to use aligned candidates (docs/beyond-the-paper.md).
_WHOLE_TRIALS = {
    "inflate": True,
    "F": 0.55,
    "dither": 0.25,
    "full_crossover_share": "auto",
    "anchor": "better-half",
}

#: The paper's eight names, those beyond it (docs/beyond-the-paper.md, docs/evolve.md), and the
#: trainer (docs/trainer.md). Every CMA-ES with breaking damps its step size (Eq. 46). Add a row,
#: and the method is everywhere.
_METHODS: dict[str, Method] = {
    "DE": _DE(NoBreaking, role="plain"),
    "DE-INV-SB": _DE(InvariantBreaking, role="invariant"),
    "DE-SB": _DE(ProximityBreaking, {"inflate": True}, role="proximity"),  # Algorithm 2
    "DE-SB-BF": _DE(ExhaustiveBreaking, role="exhaustive"),
    "DE-SB-LA": _DE(_SWEEPS, {"inflate": True}, role="variant"),
    "DE-SB-LA-W": _DE(_SWEEPS, _WHOLE_TRIALS, role="variant"),
    "CMA-ES": _CMAES(NoBreaking, role="plain"),
    "CMA-ES-INV-SB": _CMAES(InvariantBreaking, role="invariant"),
    "CMA-ES-SB": _CMAES(ProximityBreaking, {"replace_mean": True}, role="proximity"),  # Algorithm 3
    "CMA-ES-SB-BF": _CMAES(ExhaustiveBreaking, role="exhaustive"),
    "CMA-ES-SB-LA": _CMAES(_SWEEPS, {"replace_mean": True}, role="variant"),
    "CMA-ES-SB-LA-P": _CMAES(
        _SWEEPS, {"replace_mean": True, "own_partition": True}, role="variant"
    ),
    "CMA-ES-IPOP": _RESTARTED(NoBreaking, {"search": "CMAES"}, role="plain"),
    "CMA-ES-IPOP-SB-LA": _RESTARTED(
        _SWEEPS, {"search": "CMAES", "replace_mean": True}, role="variant"
    ),
    "CMA-ES-BIPOP": _RESTARTED(
        NoBreaking, {"search": "CMAES", "schedule": "bipop"}, role="variant"
    ),
    "DE-IPOP": _RESTARTED(NoBreaking, {"search": "DE"}, role="variant"),
    "L-SHADE-IPOP": _RESTARTED(NoBreaking, {"search": "LSHADE"}, role="variant"),
    "L-SHADE": Method(LSHADE, NoBreaking, family="L-SHADE", role="plain"),
    "L-SHADE-SB-LA": Method(LSHADE, _SWEEPS, family="L-SHADE", role="variant"),
    "auto": Method(DE, _SWEEPS, _WHOLE_TRIALS, family="auto", role="plain", polish="restarts"),
}

#: All methods by name; ``register_method`` adds to them.
METHODS: Mapping[str, Method] = MappingProxyType(_METHODS)
#: What a fresh process knows, whatever is added here.
_BUILT_IN = dict(_METHODS)


def register_method(
    name: str,
    optimizer: type[Optimizer],
    breaking: Callable[[Topology], Breaking],
    settings: Mapping[str, Any] | None = None,
    *,
    family: str,
    role: Role = "variant",
    polish: Polish = "none",
) -> Method:
    """Add a method; from then on it is known by its name everywhere in this process.

    Other arguments are those of ``Method``. A name that is registered again is replaced, but
    those of symbreak's own methods are taken.

    Raises:
        ValueError: if the name is taken, or a setting is none of the optimizer's.
    """
    if check_text("name", name) in _BUILT_IN:
        raise ValueError(f"the name {name!r} is taken by one of symbreak's own methods.")
    check_text("family", family)
    method = Method(optimizer, breaking, settings or {}, family=family, role=role, polish=polish)
    for setting in method.settings:
        check_choice(f"setting of {name}", setting, method.setting_names)
    _METHODS[name] = method
    return method


def is_built_in_method(name: str) -> bool:
    """Whether a method is as symbreak brings it, neither added nor replaced since."""
    return name in _BUILT_IN and METHODS.get(name) is _BUILT_IN[name]


def find_method(name: str) -> Method:
    """The row of ``METHODS``; a ValueError names the nearest ones."""
    return METHODS[check_choice("method", name, METHODS)]


def check_settings(method: str, settings: Mapping[str, Any], others: Iterable[str]) -> None:
    """Refuse what is no setting of a method; ``others`` are arguments that may have been meant."""
    known = find_method(method).setting_names
    for name in settings:
        if name not in known:
            raise unknown(f"setting of {method}", name, (*known, *others))


def population_size_of(method: str, problem: Problem | Topology) -> int:
    """Candidates per generation where none are asked for: the problem's, or the optimizer's."""
    row = find_method(method)
    exceptions = problem.population_size if isinstance(problem, Problem) else {}
    topology = problem.topology if isinstance(problem, Problem) else problem
    return exceptions.get(row.family, row.optimizer.usual_population_size(topology.dim))


def make_optimizer(
    method: str,
    problem: Problem | Topology,
    *,
    seed: int | Generator = 0,
    population_size: int | None = None,
    max_evaluations: int | None = None,
    initial_population: ArrayLike | None = None,
    **settings: Any,
) -> Optimizer:
    """The optimizer of a method for a problem, or for networks of some topology.

    Args:
        method: A name in ``METHODS``.
        problem: What to train; a Problem also says the paper's population size for it.
        seed: An integer, or a generator to draw from.
        population_size: Candidates per generation; by default as many as the initial population
            has, or the problem's own.
        max_evaluations: The budget, if it is known.
        initial_population: Candidates of the first generation, (N_p, D).
        **settings: Other arguments of ``DE`` or ``CMAES``, such as ``F`` or ``sigma``; they
            override the method's own.
    """
    row = find_method(method)
    if not isinstance(problem, Problem | Topology):
        raise ValueError(f"problem must be a Problem or a Topology, got {shown(problem)}.")
    check_settings(method, settings, make_optimizer.__kwdefaults__ or ())
    topology = problem.topology if isinstance(problem, Problem) else problem
    if initial_population is not None:
        name = "initial_population"
        initial_population = check_population(initial_population, topology.dim, name)
    if population_size is None and initial_population is not None:
        population_size = len(initial_population)
    elif population_size is None:
        population_size = population_size_of(method, problem)
    return row.optimizer(
        topology.dim,
        population_size=population_size,
        max_evaluations=max_evaluations,
        breaking=row.breaking(topology),
        initial_population=initial_population,
        seed=seed,
        **{**row.settings, **settings},
    )
