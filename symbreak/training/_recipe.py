"""How the starts of a training go, and when there are enough of them.

How long to search, with how many candidates, and then what; and what several starts that end in the
same network say about a better one. Which ends are the same is for the objective to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from symbreak._polish._polisher import ITERATIONS
from symbreak._support.checks import check_choice, check_count, check_kind
from symbreak.methods import POLISHES, Polish, find_method, make_optimizer
from symbreak.objectives import Objective
from symbreak.objectives._base import Found
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

#: So many starts must have found the best optimum before it is taken for the best there is, of so
#: many at least: three of three may all have missed one that most starts find.
ENOUGH, OF_STARTS = 3, 6
#: Of n starts that do not look at when they end, none is better than the best with probability
#: (1 - p)^n if a share p is. Those that end when ENOUGH agree can choose their moment: with 0.05 as
#: this probability, the bound was broken by 6.7 % of runs on the worst of 300 distributions of
#: optima, and with this one by 3 % (2026-11-18).
ERROR = 0.03
ABOUT = "95 % confidence, in the search and not in predictions"


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

    def __post_init__(self) -> None:
        find_method(self.method)
        check_choice("polish", self.polish, POLISHES)
        check_count("the state's population_size", self.population_size, 4)
        check_kind("settings", self.settings, dict, "by name")
        least = 1 if self.is_random else self.population_size
        check_count("the state's search_evaluations", self.search_evaluations, least)

    @property
    def restarts(self) -> bool:
        """Whether there are starts again and again."""
        return self.polish == "restarts"

    def of_start(self, number: int) -> Plan:
        """The plan of one of the starts, from 0: some search longer, late ones are more patient."""
        if not self.restarts:
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
        return self.restarts and self.search_evaluations == 1

    @property
    def least_evaluations(self) -> int:
        """What a start needs to do anything."""
        return LEAST if self.is_random else self.population_size


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
    if chosen != "none":  # refuse now, not when a search is done, or begins in a later start
        objective.check_polish()
        make_optimizer(method, objective.topology, population_size=size, **plan.settings)
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


class Agreement(NamedTuple):
    """What a number of starts say."""

    n_starts: int  # those included that were given up
    n_best: int  # that ended in the best optimum
    n_optima: int  # different ones that they ended in
    #: Probability that the next start ends in an optimum not seen yet (Good-Turing: the share of
    #: starts that were alone in theirs).
    unseen: float
    #: Upper bound, at 95 %, of the probability that a start ends in something better than the best,
    #: since none of ``n_starts`` did. It heeds that starts end when some agree.
    better: float
    restarts: bool = True  # a search alone has nothing to agree with

    @property
    def is_enough(self) -> bool:
        """Whether more starts are unlikely to help."""
        return self.n_best >= ENOUGH and self.n_starts >= OF_STARTS

    @property
    def is_too_few(self) -> bool:
        """Whether fewer starts have ended, and fewer agree, than tell anything."""
        return self.n_starts < OF_STARTS and self.n_best < ENOUGH

    def __str__(self) -> str:
        if not self.restarts:
            return "one search and no restarts: nothing says whether there is a better network"
        starts = f"{self.n_best} of {self.n_starts} starts ended in the best network"
        if self.n_starts == 0:
            starts = "no start has ended"
        if self.is_too_few:
            return f"{starts}: too few to tell, which takes {ENOUGH} of at least {OF_STARTS}"
        enough = "" if self.n_best >= ENOUGH else f", and {ENOUGH} would be enough"
        optima = "one optimum was" if self.n_optima == 1 else f"{self.n_optima} optima were"
        better = f"fewer than {self.better:.0%} of starts would find a better one"
        return f"{starts}{enough}; {optima} seen; {better} ({ABOUT})"


def label_optima(founds: list[Found], objective: Objective) -> list[int]:
    """A number for each start's optimum, the same for the same; 0 is the best one's.

    Better ones come first: each joins the first, hence best, optimum whose function it shares.
    Starts that were given up have -1.
    """
    labels = [-1] * len(founds)
    leaders: list[Found] = []
    ended = [i for i, found in enumerate(founds) if found.signature.size]
    for i in sorted(ended, key=lambda i: (founds[i].score, i)):
        same = (n for n, leader in enumerate(leaders) if objective.is_same(leader, founds[i]))
        labels[i] = next(same, len(leaders))
        if labels[i] == len(leaders):
            leaders.append(founds[i])
    return labels


def bound(n_starts: int) -> float:
    """What share of starts may be better, at 95 %, than the best of some that have ended."""
    return 1 - ERROR ** (1 / n_starts) if n_starts else 1.0


def agreement(labels: list[int], *, restarts: bool = True) -> Agreement:
    """What the optima of some starts say, by their numbers."""
    n = len(labels)
    counts = np.bincount([label for label in labels if label >= 0], minlength=1)
    alone = int(np.count_nonzero(counts == 1))
    n_optima, unseen = int(np.count_nonzero(counts)), alone / max(n, 1)
    return Agreement(n, int(counts[0]), n_optima, unseen, bound(n), restarts)
