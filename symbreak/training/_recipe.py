"""How the starts of a training go: how long to search, with how many candidates, and then what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from symbreak._polish._polisher import ITERATIONS
from symbreak._support.checks import check_choice, check_count, check_kind
from symbreak.methods import POLISHES, Polish, find_method
from symbreak.objectives import Objective
from symbreak.optimizers import DE
from symbreak.topology import Topology

#: Of a budget that ends with a polish, the share that is searched.
SEARCH_SHARE = 0.8
#: Candidates of a search that a polish will follow: at least, at most, and in deep networks.
FEW, SOME, MANY = 5, 12, 40

#: Evaluations that a polish needs to do anything.
LEAST = 2
#: Networks with at least so many weights are large: their errors fall again after many
#: iterations without progress. Iterations
#: of their polishes at most, and within which factor of the best error they are promising.
LARGE, ITERATIONS_LARGE, PROMISING_LARGE = 80, 1_000, 1.5
#: After so many starts without agreement there are many optima, and on the way to the better
#: ones errors hardly fall for a while: polishes stall after so many iterations, then.
MANY_STARTS, STALLED_LATE = 30, 10

#: Multiply-adds that a training may take by default: a few seconds of one core.
WORK = 2e10
#: But no more evaluations than this, or iterations of a polish, of which few samples make many
#: evaluations; and at least what one polish takes to its end, with so many trials an iteration.
MAX_EVALUATIONS, MAX_ITERATIONS, TRIALS = 50_000, 1_000, 3


class Patience(NamedTuple):
    """When a polish ends early."""

    #: Where there are restarts: it brings the error down by less than this share in so many
    #: iterations, unless that is at most so many times the best so far.
    stalled: tuple[float, int] = (0.02, 3)
    promising: float = 1.2
    #: Then: by less than this share in so many. And in all, also without restarts.
    slow: tuple[float, int] = (0.003, 20)
    iterations: int = ITERATIONS


def patience(dim: int) -> Patience:
    """The patience with a network of D weights."""
    if dim < LARGE:
        return Patience()
    return Patience(promising=PROMISING_LARGE, iterations=ITERATIONS_LARGE)


@dataclass(frozen=True)
class Plan:
    """How each start of a training goes."""

    method: str
    population_size: int
    #: When the search ends, if the budget has not ended before; of restarts, that of the shortest
    #: searches. 1 is no search but a random candidate.
    search_evaluations: int
    polish: Polish = "none"
    settings: dict[str, Any] = field(default_factory=dict)  # of the optimizer
    is_late: bool = False  # many starts went before: polishes have more patience

    def of_start(self, number: int) -> Plan:
        """The plan of one of the starts, from 0: some search longer, late ones are more patient."""
        if self.polish != "restarts":
            return self
        n, is_late = luby(number + 1), number >= MANY_STARTS
        if n == 1:
            return replace(self, is_late=is_late)
        longer = n * max(self.search_evaluations, self.population_size)
        return replace(self, search_evaluations=longer, is_late=is_late)

    def patience(self, topology: Topology) -> Patience:
        """The patience with the polishes of this start."""
        usual = patience(topology.dim)
        return usual._replace(stalled=(usual.stalled[0], STALLED_LATE)) if self.is_late else usual

    @property
    def is_random(self) -> bool:
        """Whether there is no search, but a random candidate to be polished."""
        return self.polish == "restarts" and self.search_evaluations == 1

    @property
    def least_evaluations(self) -> int:
        """What a start needs to do anything."""
        return LEAST if self.is_random else self.population_size

    def state(self) -> dict[str, Any]:
        """Plain values, as arguments of ``Plan``."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Plan:
        """The plan of ``state()``."""
        check_kind("plan", state, dict, "of state()")
        find_method(state["method"])
        plan = cls(
            state["method"],
            check_count("population_size", state["population_size"], 4),
            check_count("search_evaluations", state["search_evaluations"], 1),
            check_choice("polish", state["polish"], POLISHES),  # type: ignore[arg-type]
            check_kind("settings", state["settings"], dict, "by name"),
        )
        if not plan.is_random and plan.search_evaluations < plan.population_size:
            raise ValueError("the state's plan has no room for a generation.")
        return plan


def polish_of(method: str, polish: str | None) -> str:
    """What follows a search: what is asked for, or else the method's own."""
    own = find_method(method).polish
    return own if polish is None else check_choice("polish", polish, POLISHES)


def make_plan(
    objective: Objective,
    method: str,
    max_evaluations: int,
    *,
    polish: str | None = None,
    population_size: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Plan:
    """The plan for a method on an objective; what is None is the method's or the objective's own.

    A population or a setting that is named is searched with, also where a random candidate would
    do. What has no polisher is searched, whatever the method does else.
    """
    row = find_method(method)
    chosen = polish_of(method, polish)
    if polish is None and not objective.can_polish:
        chosen = "none"
    usual = row.optimizer.usual_population_size(objective.topology.dim)
    size = objective.population_size(row.family) or usual
    search = max_evaluations
    if chosen == "restarts":
        size, search = short_search(objective)
        size = min(size, max(4, max_evaluations))  # something, however small the budget
        row.breaking(objective.topology)  # refuses what is too large now, not in a later start
    if chosen != "none":
        objective.check_polish()  # now, not when the search is done
    if chosen == "final":
        search = round(SEARCH_SHARE * max_evaluations)
    if population_size is not None:
        size = check_count("population_size", population_size, 4, "a candidate and three others")
    is_named = population_size is not None or bool(settings)
    if chosen != "restarts" or search > 1 or is_named or row.optimizer is not DE:
        search = max(search, size)  # it may be cut short, but has at least one generation
    plan = Plan(method, size, search, chosen, settings or {})  # type: ignore[arg-type]
    least, why = plan.least_evaluations, "for a polish" if plan.is_random else "one generation"
    check_count("max_evaluations", max_evaluations, least, why)
    return plan


def short_search(objective: Objective) -> tuple[int, int]:
    """Candidates and evaluations of a search that a polish will follow (docs/trainer.md).

    With one hidden layer the best of a few random candidates is as good a start as any, fewer in
    small networks; deeper ones are more often out of tune. Without a ball, where weights begin
    small, a single one will do, unless a polish also sets the ridge: that takes so long that a few
    more cost nothing. Later starts search longer.
    """
    if len(objective.topology.hidden) > 1:
        return MANY, MANY
    size = min(SOME, max(FEW, objective.topology.dim))
    is_random = objective.units is not None and not objective.sets_ridge
    return size, 1 if is_random else size


def usual_evaluations(objective: Objective, n_starts: int = 1) -> int:
    """The objective's budget, or else one that depends on the size of network and data alone.

    So many starts have the iterations of a polish, at least.
    """
    if objective.max_evaluations is not None:
        return objective.max_evaluations
    iteration = objective.iteration_cost + 1
    most = max(MAX_EVALUATIONS, MAX_ITERATIONS * iteration)
    least = short_search(objective)[1] + ITERATIONS * (objective.iteration_cost + TRIALS)
    return max(n_starts * least, min(most, round(WORK / objective.cost)))


def luby(n: int) -> int:
    """Number n, from 1, of Luby's sequence 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ...

    Restarts of these lengths take at most a logarithmic factor more than those of the best length,
    whatever that is (M. Luby, A. Sinclair and D. Zuckerman, 1993).
    """
    k = n.bit_length()
    return 1 << (k - 1) if n == (1 << k) - 1 else luby(n - (1 << (k - 1)) + 1)
