"""CMA-ES that begins again when it is stuck, with more candidates (IPOP; Auger & Hansen 2005)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from symbreak._support.checks import Array, check_kind, check_real
from symbreak._support.state import State
from symbreak.optimizers._base import Optimizer
from symbreak.optimizers._cmaes import CMAES

#: A search is stuck if, relative to their size, the best errors of its last generations and those
#: of the last one differ by no more than this; or if its step is so small.
TOLERANCE = 1e-12
MIN_STEP = 1e-11


class Restarts(Optimizer):
    """Searches of CMA-ES, one after the other; each but the first with a larger population.

    A search ends when it is stuck: for ``10 + 30 D / N_p`` generations its best errors, and all
    errors of the last one, were the same to ``TOLERANCE``; or its step is below ``MIN_STEP``; or in
    twice as many generations the later half was no better in the median than the half before it.

    Args:
        dim: Number of parameters D.
        growth: By which factor the population grows.
        **settings: Of ``CMAES``, and see ``Optimizer``; the population is ``4 + 3 ln D`` by
            default.

    Attributes:
        search: The search under way.
    """

    saved: ClassVar = {"growth": float, "_search_state": dict, "_recent": "n", "_settings": dict}

    def __init__(
        self,
        dim: int,
        *,
        growth: float = 2.0,
        sigma: float = 0.5,
        replace_mean: bool = False,
        own_partition: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(dim, **settings)
        self.growth = check_real("growth", growth, 1, 100)
        self._settings: dict[str, Any] = {
            "sigma": sigma,
            "replace_mean": replace_mean,
            "own_partition": own_partition,
        }
        self._recent = np.empty(0)  # best errors of the last generations
        self.search = self._new_search(self.population_size, self._asked)
        self._settings["sigma"] = self.search.sigma  # checked, and a float
        self.counters |= {**self.search.counters, "restarts": 0}

    @classmethod
    def usual_population_size(cls, dim: int) -> int:
        """``4 + 3 ln D`` (Hansen)."""
        return 4 + int(3 * math.log(dim))

    def _new_search(self, size: int, initial: Array | None = None) -> CMAES:
        return CMAES(
            self.dim,
            population_size=size,
            breaking=self.breaking,
            initial_population=initial,
            seed=self._rng,
            **self._settings,
        )

    @property
    def _search_state(self) -> State:
        return self.search.state()

    @_search_state.setter
    def _search_state(self, state: State) -> None:
        self.search = CMAES.from_state(check_kind("search", state, dict, "of state()"))

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.growth = check_real("the state's growth", self.growth, 1, 100)
        if self.search.dim != self.dim:
            raise ValueError("the state is damaged: its search is of another network.")
        self.search._rng = self._rng  # they draw from one stream

    @property
    def step_size(self) -> float:
        """That of the search under way."""
        return self.search.step_size

    @property
    def next_size(self) -> int:
        """Candidates of the next generation."""
        return self.search.next_size

    @property
    def finalists(self) -> Array:
        """The mean of the search under way."""
        return self.search.finalists

    def _propose(self) -> Array:
        return self.search.ask()

    def _update(self, candidates: Array, errors: Array) -> None:
        before = self.search.counters["repairs"], self.search.counters["bounded"]
        if self.search._asked is None:  # it was restored, or told without an ask
            self.search._asked = candidates
        self.search.noisy = self.noisy
        self.search.tell(candidates, errors)
        self.modified = self.search.modified
        for name, n in zip(("repairs", "bounded"), before, strict=True):
            self.counters[name] += self.search.counters[name] - n
        size = self.search.population_size
        window = 10 + math.ceil(30 * self.dim / size)
        self._recent = np.append(self._recent, errors.min())[-2 * window :]
        if self._is_stuck(errors, window):
            self.counters["restarts"] += 1
            self._recent = np.empty(0)
            self.search = self._new_search(round(self.growth * size))

    def _is_stuck(self, errors: Array, window: int) -> bool:
        if self.search.step_size < MIN_STEP:
            return True
        recent = self._recent[-window:]
        if len(recent) < window:
            return False
        seen = np.append(recent, errors)
        seen = seen[np.isfinite(seen)]
        if not len(seen) or np.ptp(seen) <= TOLERANCE * np.abs(seen).max():
            return True
        older = self._recent[:window]
        return len(self._recent) == 2 * window and bool(np.median(recent) >= np.median(older))
