"""When is it enough? What several starts that end in the same network say about a better one.

The objective says which networks are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from symbreak.objectives import Objective
from symbreak.objectives._base import Found

#: So many starts must have found the best optimum before it is taken for the best there is, of so
#: many at least: three of three may all have missed one that most starts find.
ENOUGH, OF_STARTS = 3, 6
#: Of n starts that do not look at when they end, none is better than the best with probability
#: (1 - p)^n if a share p is. Those that end when ENOUGH agree can choose their moment: with 0.05 as
#: this probability, the bound was broken by 6.7 % of runs on the worst of 300 distributions of
#: optima, and with this one by 3 % (2026-11-18).
ERROR = 0.03
ABOUT = "95 % confidence, in the search and not in predictions"


class Agreement(NamedTuple):
    """What a number of starts say.

    Attributes:
        n_starts: How many there were, those included that were given up.
        n_best: How many of them ended in the best optimum.
        n_optima: How many different optima they ended in.
        unseen: Probability that the next start ends in an optimum not seen yet (Good-Turing: the
            share of starts that were alone in theirs).
        better: Upper bound, at 95 %, of the probability that a start ends in something better than
            the best, since none of ``n_starts`` did. It heeds that starts end when some agree.
        restarts: Whether there were restarts at all; a search alone has nothing to agree with.
    """

    n_starts: int
    n_best: int
    n_optima: int
    unseen: float
    better: float
    restarts: bool = True

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
