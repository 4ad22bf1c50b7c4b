"""Differential Evolution, DE/rand/1/bin (Storn & Price), with symmetry breaking (Algorithm 2)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from symbreak._support.checks import Array, Mask, check_choice, check_finite, check_flag, check_real
from symbreak._support.compile import compiled
from symbreak.optimizers._base import Optimizer

INFLATION = 100.0  # Algorithm 2
ANCHORS = ("centroid", "better-half")
#: Shares of whole trials with fewer and with at least ``SPANNING`` candidates per dimension.
FULL_CROSSOVER_SHARES, SPANNING = (0.5, 0.75), 4
MAX_TO_BEAT = 1e300  # the inflation compounds; any finite trial stays below this

_compiled = compiled()


class DE(Optimizer):
    """Differential Evolution, generation by generation; a trial wins ties.

    After each selection the population is broken towards the anchor. With ``inflate``
    (DE-SB) the error to beat of modified candidates in the first half grows a hundredfold, so
    that they are soon replaced; true errors never change.

    Args:
        dim: Number of parameters D.
        F: Weight of the difference vector.
        CR: Probability that a coordinate crosses over.
        inflate: Apply Algorithm 2.
        dither: Draw the weight of each trial from ``[F - dither, F + dither]``.
        full_crossover_share: Share of trials that cross over in every coordinate, whatever CR is;
            they do not depend on the coordinates, which are correlated in a network. ``"auto"`` is
            more of them where the population spans the space (``FULL_CROSSOVER_SHARES``).
        anchor: What the population is broken towards: its ``"centroid"``, as in the paper, or that
            of the ``"better-half"``.
        **settings: See ``Optimizer``.

    """

    default_population_size: ClassVar = 100
    saved: ClassVar = {
        "F": float,
        "CR": float,
        "inflate": bool,
        "dither": float,
        "full_crossover_share": float,
        "anchor": str,
        "population": "N D?",
        "errors": "N?",
        "_to_beat": "N?",
    }

    def __init__(
        self,
        dim: int,
        *,
        F: float = 0.5,
        CR: float = 0.9,
        inflate: bool = False,
        dither: float = 0.0,
        full_crossover_share: float | str = 0.0,
        anchor: str = "centroid",
        **settings: Any,
    ) -> None:
        super().__init__(dim, **settings)
        self.F, self.CR = check_real("F", F, 0, 2), check_real("CR", CR, 0, 1)
        self.dither = check_real("dither (no more than F)", dither, 0, self.F)
        self.inflate = check_flag("inflate", inflate)
        self.anchor = check_choice("anchor", anchor, ANCHORS)
        if isinstance(full_crossover_share, str) and full_crossover_share == "auto":
            spanning = self.population_size >= SPANNING * self.dim
            full_crossover_share = FULL_CROSSOVER_SHARES[spanning]
        name = 'full_crossover_share (or "auto")'
        self.full_crossover_share = check_real(name, full_crossover_share, 0, 1)
        self._to_beat: Any = None  # the errors, inflated

    def _check_state(self) -> None:
        if len({value is None for value in (self.population, self.errors, self._to_beat)}) > 1:
            raise ValueError(
                "the state must have population, errors and _to_beat, or none of them."
            )
        if self.population is not None:
            check_finite("the state's population", self.population)

    def renew(self, errors: Array) -> None:
        """Take in errors of the population; what was to be replaced soon still is."""
        inflated = self._to_beat > self.errors
        super().renew(errors)
        self._to_beat = errors.copy()
        if inflated.any():
            _inflate(self._to_beat, inflated)

    @property
    def finalists(self) -> Array:
        """The best of the population, and its centroid."""
        if self.population is None:
            return super().finalists
        return np.stack([self.population[np.argmin(self.errors)], self.population.mean(axis=0)])

    def _propose(self) -> Array:
        shape = (self.population_size, self.dim)
        if self.population is None:
            return self._rng.uniform(-1, 1, size=shape)
        uniforms = self._rng.random((self.population_size, 4 + self.dim))
        F, CR = np.empty(shape[0]), np.empty(shape[0])
        F.fill(self.F)  # every generation: np.full takes 3 us more
        CR.fill(self.CR)
        if self.dither > 0:
            F += self.dither * self._rng.uniform(-1, 1, size=shape[0])
        if self.full_crossover_share > 0:
            CR[self._rng.random(shape[0]) < self.full_crossover_share] = 1.0
        return _trials(self.population, uniforms, F, CR)

    def _update(self, candidates: Array, errors: Array) -> None:
        first = self.population is None
        if first:
            self.population = candidates.copy()
            self.errors, self._to_beat = errors.copy(), errors.copy()
        else:
            _select(self.population, self.errors, self._to_beat, candidates, errors)
        among = self.population  # the anchor is its centroid: paper-notes 4
        if self.anchor == "better-half":
            among = among[np.argsort(self.errors, kind="stable")[: self.population_size // 2]]
        centroid = _centroid(among)
        self.population, self.modified = self.breaking(self.population, centroid, self._rng)
        if self.inflate and not first:
            _inflate(self._to_beat, self.modified)  # Algorithm 2


@_compiled
def _trials(population: Array, uniforms: Array, F: Array, CR: Array) -> Array:
    """One trial per candidate: ``x_r1 + F (x_r2 - x_r3)``, crossed over with the candidate.

    uniforms (N_p, 4 + D): three choose the donors, one the coordinate that always crosses
    over, one per coordinate whether it does. F and CR are (N_p,).
    """
    N, D = population.shape
    trials = population.copy()
    for i in range(N):
        u = uniforms[i]
        r1 = _skip(int(u[0] * (N - 1)), i)  # r1, r2, r3 and i are all different
        low, high = min(i, r1), max(i, r1)
        r2 = _skip(_skip(int(u[1] * (N - 2)), low), high)
        middle = max(low, min(high, r2))
        low, high = min(low, r2), max(high, r2)
        r3 = _skip(_skip(_skip(int(u[2] * (N - 3)), low), middle), high)
        forced = int(u[3] * D)
        for d in range(D):
            if u[4 + d] < CR[i] or d == forced:  # v = x_r1 + F (x_r2 - x_r3)
                trials[i, d] = population[r1, d] + F[i] * (population[r2, d] - population[r3, d])
    return trials


@_compiled
def _skip(index: int, taken: int) -> int:
    """Count on past an index that is taken; call in ascending order of ``taken``."""
    return index + 1 if index >= taken else index


@_compiled
def _select(
    population: Array, errors: Array, to_beat: Array, trials: Array, trial_errors: Array
) -> None:
    """Keep each trial that is no worse than what it has to beat; an infinite error never wins."""
    for i in range(len(population)):
        if trial_errors[i] < np.inf and trial_errors[i] <= to_beat[i]:  # a tie: the trial wins
            for d in range(population.shape[1]):  # compiles 2 s faster than a row assignment
                population[i, d] = trials[i, d]
            errors[i] = to_beat[i] = trial_errors[i]


@_compiled
def _centroid(population: Array) -> Array:
    N, D = population.shape
    centroid = np.zeros(D)
    for i in range(N):
        for d in range(D):
            centroid[d] += population[i, d]
    return centroid / N


@_compiled
def _inflate(to_beat: Array, modified: Mask) -> None:
    """Make modified candidates of the first half easy to replace (Algorithm 2).

    Where errors are negative, such as those of rewards, they are measured from the smallest one.
    """
    zero = min(0.0, to_beat.min())
    for i in range(len(to_beat) // 2):
        if modified[i]:
            # epsilon_j <- 100 epsilon_j, and finite (paper-notes 2)
            inflated = zero + (to_beat[i] - zero) * INFLATION
            to_beat[i] = max(to_beat[i], min(inflated, MAX_TO_BEAT))
