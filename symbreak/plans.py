"""How the starts of a training go: how long to search, with how many candidates, and then what."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from symbreak._checks import Array, check_choice, check_count, check_kind
from symbreak._linearisation import check_polish_memory
from symbreak.methods import POLISHES, Polish, find_method, population_size_of
from symbreak.problems import Problem

#: Of a budget that ends with a polish, the share that is searched.
SEARCH_SHARE = 0.8
#: Candidates of a search that a polish will follow: at least, at most, and in deep networks.
FEW, SOME, MANY = 5, 12, 40


@dataclass(frozen=True)
class Plan:
    """How each start of a training goes.

    Attributes:
        method: A name in ``METHODS``.
        population_size: Candidates per generation.
        search_evaluations: When the search ends, if the budget has not ended before; of restarts,
            that of the shortest searches.
        polish: What follows it.
        settings: Of the optimiser.
    """

    method: str
    population_size: int
    search_evaluations: int
    polish: Polish = "none"
    settings: dict[str, Any] = field(default_factory=dict)

    def of_start(self, number: int) -> Plan:
        """The plan of one of the starts, from 0: some search longer than others."""
        if self.polish != "restarts":
            return self
        return replace(self, search_evaluations=self.search_evaluations * luby(number + 1))

    def units(self, problem: Problem) -> Array | None:
        """What its searches measure each weight in (D,); None if all are 1, as in the paper.

        The paper's ball is made for weights of size 1. Without it, those of the first layer are
        smaller, so that a sum of n inputs is no larger than one of them: neurons that begin
        saturated mostly end worse.
        """
        if self.polish != "restarts" or problem.rescale != "none":
            return None
        units = np.ones(problem.topology.dim)
        rows, columns = problem.topology.shapes[0]
        units[: rows * columns] = 1 / math.sqrt(columns - 1)
        return units

    def state(self) -> dict[str, Any]:
        """Plain values, as arguments of ``Plan``."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Plan:
        """The plan of ``state()``."""
        check_kind("plan", state, dict, "of state()")
        find_method(state["method"])
        return cls(
            state["method"],
            check_count("population_size", state["population_size"], 4),
            check_count("search_evaluations", state["search_evaluations"], 1),
            check_choice("polish", state["polish"], POLISHES),  # type: ignore[arg-type]
            check_kind("settings", state["settings"], dict, "by name"),
        )


def make_plan(
    problem: Problem,
    method: str,
    max_evaluations: int,
    *,
    polish: str | None = None,
    population_size: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Plan:
    """The plan for a method on a problem; what is None is the method's or the problem's own."""
    check_kind("problem", problem, Problem, "as load_problem makes")
    row = find_method(method)
    chosen = check_choice("polish", row.polish if polish is None else polish, POLISHES)
    size = population_size_of(method, problem)
    search = max_evaluations
    if chosen == "restarts":
        size, search = short_search(problem)
        size = min(size, max(4, max_evaluations))  # something, however small the budget
    if chosen != "none":
        check_polish_memory(problem)  # now, not when the search is done
    if chosen == "final":
        search = round(SEARCH_SHARE * max_evaluations)
    if population_size is not None:
        size = check_count("population_size", population_size, 4, "a candidate and three others")
    # A search that is to be polished may be cut short, but has at least one generation.
    check_count("max_evaluations", max_evaluations, size, "one generation")
    return Plan(method, size, max(search, size), chosen, settings or {})  # type: ignore[arg-type]


def short_search(problem: Problem) -> tuple[int, int]:
    """Candidates and evaluations of a search that a polish will follow (docs/trainer.md).

    With one hidden layer the best of a few random candidates is as good a start as any, fewer in
    small networks; deeper ones are more often out of tune. Later starts search longer.
    """
    deep = len(problem.topology.hidden) > 1
    size = MANY if deep else min(SOME, max(FEW, problem.topology.dim))
    return size, size


def luby(n: int) -> int:
    """Number n, from 1, of Luby's sequence 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ...

    Restarts of these lengths take at most a logarithmic factor more than those of the best length,
    whatever that is (M. Luby, A. Sinclair and D. Zuckerman, 1993).
    """
    k = n.bit_length()
    return 1 << (k - 1) if n == (1 << k) - 1 else luby(n - (1 << (k - 1)) + 1)
