"""How the starts of a training go: how long to search, with how many candidates, and then what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from symbreak._checks import check_choice, check_count
from symbreak.methods import POLISHES, Polish, find_method, population_size_of
from symbreak.problems import Problem

#: Of a budget that ends with a polish, the share that is searched.
SEARCH_SHARE = 0.8


@dataclass(frozen=True)
class Plan:
    """How each start of a training goes.

    Attributes:
        method: A name in ``METHODS``.
        population_size: Candidates per generation.
        search_evaluations: When the search ends, if the budget has not ended before.
        polish: What follows it.
        settings: Of the optimiser.
    """

    method: str
    population_size: int
    search_evaluations: int
    polish: Polish = "none"
    settings: dict[str, Any] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """Plain values, as arguments of ``Plan``."""
        return asdict(self)


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
    row = find_method(method)
    chosen = check_choice("polish", row.polish if polish is None else polish, POLISHES)
    size = population_size_of(method, problem)
    search = max_evaluations
    if chosen == "restarts":
        size, search = short_search(problem)
    if chosen == "final":
        search = round(SEARCH_SHARE * max_evaluations)
    if population_size is not None:
        size = check_count("population_size", population_size, 4, "a candidate and three others")
    # A search that is to be polished may be cut short, but has at least one generation.
    check_count("max_evaluations", max_evaluations, size, "one generation")
    return Plan(method, size, max(search, size), chosen, settings or {})  # type: ignore[arg-type]


def short_search(problem: Problem) -> tuple[int, int]:
    """Candidates and evaluations of a search that a polish will follow (docs/trainer.md)."""
    D = problem.topology.dim
    size = min(max(40, 2 * D), 100)
    return size, min(max(2_000, 300 * D), 10_000)
