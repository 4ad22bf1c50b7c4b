"""Optimizers of kinds that the package has none of, to show that the protocol carries them."""

from typing import ClassVar

import numpy as np

from symbreak.optimizers import DE, Optimizer


class Shrinking(Optimizer):
    """Random steps around the best, by ever fewer candidates; stops when four are left.

    It plans with the budget, if it is told: half of it brings the population down to its end.
    """

    default_population_size = 20
    saved: ClassVar = {"_size": int, "_step": float}

    def __init__(self, dim, **settings):
        super().__init__(dim, **settings)
        self._size, self._step = self.population_size, 1.0

    @property
    def next_size(self):
        return self._size if self._asked is None else len(self._asked)

    @property
    def stopped(self):
        return "the population has shrunk to its end" if self._size < 4 else None

    def _propose(self):
        centre = np.zeros(self.dim) if self.best.theta is None else self.best.theta
        return centre + self._step * self._rng.normal(size=(self._size, self.dim))

    def _update(self, candidates, errors):
        _, self.modified = self.breaking(candidates, candidates[errors.argmin()], self._rng)
        self._step *= 0.9
        if self.max_evaluations is None or self.n_evaluations > self.max_evaluations / 2:
            self._size -= 1


class Restarting(Optimizer):
    """DE that begins anew every five generations: an optimizer around another."""

    default_population_size = 12

    def __init__(self, dim, **settings):
        super().__init__(dim, **settings)
        self._inner = self._start()

    def _start(self):
        seed = int(self._rng.integers(2**32))
        return DE(self.dim, population_size=self.population_size, breaking=self.breaking, seed=seed)

    def _propose(self):
        if self._inner.generation == 5:
            self._inner = self._start()
        return self._inner.ask()

    def _update(self, candidates, errors):
        self._inner.tell(candidates, errors)
        self.modified = self._inner.modified

    def state(self):
        return {**super().state(), "inner": self._inner.state()}

    def _restore(self, state):
        super()._restore(state)
        self._inner = Optimizer.from_state(state["inner"])
