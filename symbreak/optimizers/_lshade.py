"""L-SHADE (Tanabe & Fukunaga 2014): DE that learns its settings, and whose population shrinks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from symbreak._support.checks import Array, IntArray, check_finite, check_real
from symbreak.optimizers._base import Optimizer

#: Settings of the paper, Table I: entries of the memory, the archive's size in populations.
MEMORY, ARCHIVE = 6, 2.6
MIN_SIZE, PER_PARAMETER = 4, 18
SPREAD = 0.1  # of F and CR around an entry of the memory
NEVER = -1.0  # the entry of a memory where nothing crosses over any more


class LSHADE(Optimizer):
    """Success-history based adaptive DE with linear reduction of the population.

    Trials are ``x + F (x_pbest - x) + F (x_r1 - x_r2)``, crossed over with ``x``; F and CR are
    drawn around means of those that have succeeded, and ``x_r2`` may be one that was replaced. With
    a breaking, population and archive are broken together towards the population's centroid.
    Without a budget the population stays as it is. There are no bounds.

    Args:
        dim: Number of parameters D.
        best_share: Of the population that ``x_pbest`` is one of, p.
        **settings: See ``Optimizer``; the population is at first ``18 D`` by default.

    Attributes:
        archive: Candidates that were replaced (m, D).
    """

    saved: ClassVar = {
        "best_share": float,
        "population": "n D?",
        "errors": "n?",
        "archive": "n D",
        "_memory_F": "n",
        "_memory_CR": "n",
        "_entry": int,
        "_F": "n",
        "_CR": "n",
    }

    def __init__(self, dim: int, *, best_share: float = 0.11, **settings: Any) -> None:
        super().__init__(dim, **settings)
        self.best_share = check_real("best_share", best_share, 0, 1)
        self.archive = np.empty((0, dim))
        self._memory_F, self._memory_CR = np.full(MEMORY, 0.5), np.full(MEMORY, 0.5)
        self._entry = 0  # of the memory, that is written next
        self._F = self._CR = np.empty(0)  # of the trials that were asked

    @classmethod
    def usual_population_size(cls, dim: int) -> int:
        """``18 D``."""
        return PER_PARAMETER * dim

    @property
    def next_size(self) -> int:
        return self.population_size if self.population is None else len(self.population)

    def _check_state(self) -> None:
        n = self.next_size
        sizes = [len(self._memory_F) - MEMORY, len(self._memory_CR) - MEMORY]
        if self.population is not None:
            sizes.append(len(self.errors) - n)
            if self._asked is not None:
                sizes += [len(self._F) - n, len(self._CR) - n]
            check_finite("the state's population", self.population)
        if any(sizes) or not (MIN_SIZE <= n <= self.population_size and 0 <= self._entry < MEMORY):
            raise ValueError("the state is damaged: its sizes do not fit each other.")
        check_finite("the state's archive", self.archive)

    def _propose(self) -> Array:
        if self.population is None:
            return self._rng.uniform(-1, 1, size=(self.population_size, self.dim))
        n, rng = len(self.population), self._rng
        entries = rng.integers(MEMORY, size=n)
        self._F = drawn_weights(self._memory_F[entries], rng)
        around = self._memory_CR[entries]
        CR = np.clip(around + SPREAD * rng.standard_normal(n), 0, 1)
        self._CR = np.where(around == NEVER, 0.0, CR)
        pool = np.vstack([self.population, self.archive])
        order = np.argsort(self.errors, kind="stable")
        best = order[: max(2, round(self.best_share * n))]
        uniforms = rng.random((n, 4 + self.dim))
        return trials(pool, n, best, self._F, self._CR, uniforms)

    def _update(self, candidates: Array, errors: Array) -> None:
        if self.population is None:
            self.population, self.errors = candidates.copy(), errors.copy()
        else:
            self._select(candidates, errors)
        n = len(self.population)
        pool = np.vstack([self.population, self.archive])
        pool, modified = self.breaking(pool, self.population.mean(axis=0), self._rng)
        self.population, self.archive, self.modified = pool[:n], pool[n:], modified[:n]
        self._shrink()

    def _select(self, candidates: Array, errors: Array) -> None:
        """Keep trials that are no worse; remember what succeeded, and whom it replaced."""
        wins = (errors <= self.errors) & (errors < np.inf)
        better = wins & (errors < self.errors)
        self.archive = np.vstack([self.archive, self.population[better]])
        if better.any():
            with np.errstate(invalid="ignore"):
                gains = self.errors[better] - errors[better]
            F, CR = self._F[better], self._CR[better]
            new_F, new_CR = remembered(F, CR, gains, self._memory_CR[self._entry])
            self._memory_F[self._entry], self._memory_CR[self._entry] = new_F, new_CR
            self._entry = (self._entry + 1) % MEMORY
        self.population[wins], self.errors[wins] = candidates[wins], errors[wins]

    def _shrink(self) -> None:
        """Linear reduction of the population by its worst, and of the archive at random."""
        if self.max_evaluations is not None:
            spent = min(self.n_evaluations / self.max_evaluations, 1)
            size = round(self.population_size + (MIN_SIZE - self.population_size) * spent)
            kept = np.sort(np.argsort(self.errors, kind="stable")[:size])
            self.population, self.errors = self.population[kept], self.errors[kept]
        most = round(ARCHIVE * len(self.population))
        if len(self.archive) > most:
            self.archive = self.archive[np.sort(self._rng.permutation(len(self.archive))[:most])]


def drawn_weights(around: Array, rng: np.random.Generator) -> Array:
    """Weights (n,) ~ Cauchy(around, 0.1), drawn again where they are not positive; 1 at most."""
    F = around + SPREAD * rng.standard_cauchy(len(around))
    while (bad := F <= 0).any():
        F[bad] = around[bad] + SPREAD * rng.standard_cauchy(np.count_nonzero(bad))
    return np.minimum(F, 1.0)


def trials(pool: Array, n: int, best: IntArray, F: Array, CR: Array, uniforms: Array) -> Array:
    """One trial (n, D) per candidate by current-to-pbest/1/bin with an archive.

    pool (n + m, D) are the candidates, then the archive; best, those of the lowest errors;
    uniforms (n, 4 + D) choose one of them, r1, r2, the coordinate that always crosses over, and
    whether each of the others does.
    """
    i, x = np.arange(n), pool[:n]
    pbest = best[(uniforms[:, 0] * len(best)).astype(np.int64)]
    r1 = (uniforms[:, 1] * (n - 1)).astype(np.int64)
    r1 += r1 >= i  # not i
    r2 = (uniforms[:, 2] * (len(pool) - 2)).astype(np.int64)
    r2 += r2 >= np.minimum(i, r1)  # neither i nor r1
    r2 += r2 >= np.maximum(i, r1)
    forced = (uniforms[:, 3] * x.shape[1]).astype(np.int64)
    v = x + F[:, None] * (pool[pbest] - x + x[r1] - pool[r2])
    crosses = uniforms[:, 4:] < CR[:, None]
    crosses[i, forced] = True
    return np.where(crosses, v, x)


def remembered(F: Array, CR: Array, gains: Array, last_CR: float) -> tuple[float, float]:
    """What the memory keeps of settings that succeeded: Lehmer means, weighted by their gains.

    A gain over what had no error counts as the largest of the others. Where CR is zero for all, it
    is so for ever.
    """
    finite = gains[gains < np.inf]
    gains = np.minimum(gains, finite.max() if len(finite) else 1.0)
    w = np.maximum(gains / gains.max(), 1e-290)  # or means might divide 0 by 0
    new_F = float(np.sum(w * F**2) / np.sum(w * F))
    if last_CR == NEVER or CR.max() == 0:
        return new_F, NEVER
    return new_F, float(np.sum(w * CR**2) / np.sum(w * CR))
