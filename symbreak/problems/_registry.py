"""Problems by name: the paper's, and any that are registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.random import Generator
from numpy.typing import ArrayLike

from symbreak._support.checks import check_text, unknown
from symbreak._support.random import stream
from symbreak.problems._problem import Problem
from symbreak.topology import Topology

Pair = tuple[ArrayLike, ArrayLike]
#: Draws inputs and targets; or those for training, validation and test.
Draw = Callable[[Generator], Pair | tuple[Pair, Pair, Pair]]

_MAKERS: dict[str, Callable[[Generator], Problem]] = {}
#: What a fresh process knows, whatever is registered since.
_BUILT_IN: dict[str, Callable[[Generator], Problem]] = {}


def register_problem(
    name: str,
    net: str,
    *,
    population_size: Mapping[str, int],
    max_evaluations: int,
    description: str,
    **settings: Any,
) -> Callable[[Draw], Draw]:
    """Decorate a function that draws data: ``load_problem(name)`` then makes the problem.

    Args:
        name: What to call it.
        net: The network, as in ``"2-3-1-3-1"``.
        population_size: Candidates by family of methods, where not the optimizers' own.
        max_evaluations: The usual budget.
        description: A line for tables and reports.
        **settings: Other arguments of ``Problem.from_arrays``.
    """
    topology = Topology.parse(net)
    check_text("name", name)

    def register(draw: Draw) -> Draw:
        def make(rng: Generator) -> Problem:
            data = draw(rng)
            train, validation, test = data if len(data) == 3 else (data, None, None)
            return Problem.from_arrays(
                *train,
                validation=validation,
                test=test,
                hidden=topology.hidden,
                activation=topology.activation,
                name=name,
                population_size=population_size,
                max_evaluations=max_evaluations,
                description=description,
                **settings,
            )

        _MAKERS[name] = make
        return draw

    return register


def remember_built_in() -> None:
    """Take the problems that are registered by now for symbreak's own."""
    _BUILT_IN.update(_MAKERS)


def is_built_in_problem(name: str) -> bool:
    """Whether a problem is as symbreak brings it, neither added nor replaced since."""
    return name in _BUILT_IN and _MAKERS.get(name) is _BUILT_IN[name]


def problem_names() -> list[str]:
    """Names of all problems, the paper's first and in its order."""
    return list(_MAKERS)


def load_problem(name: str, seed: int = 0) -> Problem:
    """Draw the data of a problem from the stream of ``seed``."""
    if not isinstance(name, str) or name not in _MAKERS:
        raise unknown("problem", name, _MAKERS)
    return _MAKERS[name](stream(seed, "data", name))
