"""Any search, begun again when stuck: IPOP (Auger & Hansen 2005), BIPOP (Hansen 2009)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from symbreak._support.checks import Array, check_choice, check_kind, check_real
from symbreak._support.state import State
from symbreak.optimizers._base import OPTIMIZERS, Optimizer

SCHEDULES = ("ipop", "bipop")
#: A search is stuck if, relative to their size, the best errors of its last generations and those
#: of the last one differ by no more than this; or if its step is so small.
TOLERANCE = 1e-12
MIN_STEP = 1e-11
#: A small search of BIPOP has at most this share of the evaluations of the last large one, and a
#: first step that is narrower by up to so many powers of ten.
SMALL_SHARE, NARROWER = 0.5, 2.0


class Restarts(Optimizer):
    """Searches one after the other, until the budget is spent.

    A search ends when it is stuck: for ``10 + 30 D / N_p`` generations its best errors, and all
    errors of the last one, were the same to ``TOLERANCE``; or its step is below ``MIN_STEP``; or in
    twice as many generations the later half was no better in the median than the half before it; or
    it says itself that it has stopped.

    With ``"ipop"`` each search but the first has more candidates than the one before it. With
    ``"bipop"`` there are such large searches and small ones: after the first search always that
    kind begins which has had fewer evaluations, a large one if they are equal. A small one has
    ``N_p (lambda / (growth N_p))^(u^2)`` candidates, where lambda is those of the last large one,
    begins with a step ``10^(-2 v)`` times as wide, if it has one, and ends after half of the
    evaluations of the last large one; u and v are uniform in [0, 1].

    Args:
        dim: Number of parameters D.
        search: Which optimizer, by the name of its class. It is not told the budget.
        schedule: ``"ipop"`` or ``"bipop"``.
        growth: By which factor the population grows.
        **settings: See ``Optimizer``, the population is at first ``4 + 3 ln D`` by default; all
            others are of that optimizer.

    Attributes:
        search: The search under way.
    """

    saved: ClassVar = {
        "schedule": str,
        "growth": float,
        "_search_state": dict,
        "_settings": dict,
        "_recent": "n",
        "_spent": dict,
        "_kind": str,
        "_large": int,
        "_last_large": int,
    }

    def __init__(
        self,
        dim: int,
        *,
        search: str = "CMAES",
        schedule: str = "ipop",
        growth: float = 2.0,
        **settings: Any,
    ) -> None:
        shared = settings.keys() & (Optimizer.__init__.__kwdefaults__ or {}).keys()
        super().__init__(dim, **{name: settings.pop(name) for name in shared})
        kind = OPTIMIZERS[check_choice("search", search, OPTIMIZERS)]
        self.schedule = check_choice("schedule", schedule, SCHEDULES)
        self.growth = check_real("growth", growth, 1, 100)
        self._settings = settings
        self._recent = np.empty(0)  # best errors of the last generations
        self._spent = {"large": 0, "small": 0}  # evaluations of searches that ended
        self._kind, self._large = "first", self.population_size
        self._last_large = 0  # evaluations of the large search that ended last
        self.search = self._begun(kind, self.population_size, self._asked)
        self.counters |= {**self.search.counters, "restarts": 0}

    @classmethod
    def usual_population_size(cls, dim: int) -> int:
        """``4 + 3 ln D`` (Hansen)."""
        return 4 + int(3 * math.log(dim))

    def _begun(
        self, kind: type[Optimizer], size: int, initial: Array | None = None, narrower: float = 1.0
    ) -> Optimizer:
        """A search from its beginning."""
        search = kind(
            self.dim,
            population_size=size,
            breaking=self.breaking,
            initial_population=initial,
            seed=self._rng,
            **self._settings,
        )
        if hasattr(search, "sigma"):
            search.sigma *= narrower
        return search

    @property
    def _search_state(self) -> State:
        return self.search.state()

    @_search_state.setter
    def _search_state(self, state: State) -> None:
        self.search = Optimizer.from_state(check_kind("search", state, dict, "of state()"))
        if self.search.dim != self.dim:
            raise ValueError("the state is damaged: its search is of another network.")
        self.search._rng = self._rng  # they draw from one stream

    @classmethod
    def _settings_in(cls, state: State) -> dict[str, Any]:
        return {**super()._settings_in(state), "search": state["_search_state"]["optimizer"]}

    @property
    def step_size(self) -> float | None:
        return self.search.step_size

    @property
    def next_size(self) -> int:
        return self.search.next_size

    @property
    def parents(self) -> Array | None:
        return self.search.parents

    def renew(self, errors: Array) -> None:
        super().renew(errors)
        self.search.renew(errors)

    @property
    def finalists(self) -> Array:
        return self.search.finalists

    def _propose(self) -> Array:
        return self.search.ask()

    def _update(self, candidates: Array, errors: Array) -> None:
        before = dict(self.search.counters)
        if self.search._asked is None:  # it was restored, or told without an ask
            self.search._asked = candidates
        self.search.noisy = self.noisy
        self.search.tell(candidates, errors)
        self.modified = self.search.modified
        for name, n in self.search.counters.items():
            if name != "nonfinite":  # they are counted already
                self.counters[name] += n - before[name]
        window = 10 + math.ceil(30 * self.dim / self.search.population_size)
        self._recent = np.append(self._recent, errors.min())[-2 * window :]
        most = SMALL_SHARE * self._last_large if self._kind == "small" else math.inf
        is_spent = self.search.n_evaluations >= most
        if self.search.stopped or is_spent or self._is_stuck(errors, window):
            self._restart()

    def _is_stuck(self, errors: Array, window: int) -> bool:
        if self.search.step_size is not None and self.search.step_size < MIN_STEP:
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

    def _restart(self) -> None:
        self.counters["restarts"] += 1
        self._recent = np.empty(0)
        ended, spent, n = type(self.search), self._spent, self.search.n_evaluations
        if self._kind != "first":
            spent[self._kind] += n
        if self._kind == "large":
            self._last_large = n
        if self.schedule == "bipop" and spent["small"] < spent["large"]:
            self._kind = "small"
            u, v = self._rng.random(2)
            most = max(self._large / (self.growth * self.population_size), 1.0)
            size = int(self.population_size * most ** (u * u))
            self.search = self._begun(ended, size, narrower=10 ** (-NARROWER * v))
        else:
            self._kind, self._large = "large", round(self.growth * self._large)
            self.search = self._begun(ended, self._large)
