"""One start of a training: a search or a random vector, then perhaps a polish."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.random import Generator

from symbreak._polish._evidence import EvidencePolisher
from symbreak._polish._polisher import ITERATIONS, Polisher
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, check_count, check_finite, check_kind
from symbreak._support.state import State, restored, taken
from symbreak.methods import find_method, make_optimizer
from symbreak.objectives import LeastSquares, Objective
from symbreak.objectives._base import Found
from symbreak.optimizers import Optimizer
from symbreak.training._history import History
from symbreak.training._recipe import LEAST, Plan

#: What may end a polish early: at first, when it was let go on, and if nothing shall.
STALLED, SLOW, NEVER = "stalled", "slow", ""
#: Seconds that starts in several threads go on before they are looked at.
SLICE = 0.05


def run_start(job: tuple[Mapping[str, Any], float]) -> State:
    """Run a start to its end, or for some seconds, in whatever process; return its state."""
    arguments, seconds = job
    deadline = time.monotonic() + seconds
    with one_blas_thread():
        start = Start(**{**arguments, "objective": arguments["objective"].for_thread()})
        while not start.finished and time.monotonic() < deadline:
            start.step()
    return start.state()


class Start:
    """A start under way: step by step, with a state to continue from in another process.

    Where there are restarts, a polish that stalls ends too, with the reason ``"stalled"``; if the
    start is promising all the same, ``go_on`` lets it go on until it is ``"slow"``.

    Args:
        objective: What to minimise.
        plan: How.
        seed: An integer, or a generator to draw from.
        max_evaluations: What is left of the budget; never exceeded. A start with less ends earlier
            and is the same until then.
        theta: A vector (D,) to polish at once, instead of a search.
        stall: What may end that polish early.
    """

    #: Attributes that make up the state, besides what is made of others.
    _saved: ClassVar[Mapping[str, type | str]] = {
        "max_evaluations": int,
        "reason": str,
        "stall": str,
        "recent": "n",
        "random": "D?",
    }

    def __init__(
        self,
        objective: Objective,
        plan: Plan,
        seed: int | Generator,
        max_evaluations: int,
        theta: Array | None = None,
        *,
        stall: str = NEVER,
    ) -> None:
        self._prepare(objective, plan, max_evaluations)
        self.stall = NEVER if not plan.restarts else STALLED if theta is None else stall
        self.optimizer: Optimizer | None = None  # where there is no search
        self.random: Array | None = None  # what is polished instead of a candidate of the search
        if theta is None and plan.is_random:
            rng = seed if isinstance(seed, Generator) else np.random.default_rng(seed)
            self.random = rng.uniform(-1, 1, size=objective.topology.dim)  # as DE begins
            self.random *= self._units
        elif theta is None:
            self.optimizer = make_optimizer(
                plan.method,
                objective.topology,
                seed=seed,
                population_size=plan.population_size,
                max_evaluations=plan.search_evaluations,
                **plan.settings,
            )
        self.history = History(objective, validates_all=not plan.restarts)
        self._polisher: Polisher | None = None
        self.recent = np.empty(0)  # errors after the last iterations of the polish
        self.reason = ""
        if theta is not None:
            self.history.note_errors(theta[None], objective(theta[None]), 0)
        self._look_ahead()

    def _prepare(self, objective: Objective, plan: Plan, max_evaluations: int) -> None:
        """What is not part of the state."""
        self.objective, self.plan, self.max_evaluations = objective, plan, max_evaluations
        units = objective.units if plan.restarts else None
        self._units = np.ones(1) if units is None else units
        self._patience = plan.patience(objective.topology)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; ``reason`` says why."""
        return bool(self.reason)

    @property
    def n_evaluations(self) -> int:
        """Work so far, in evaluations."""
        polished = 0 if self._polisher is None else self._polisher.n_evaluations
        return self._n_searched + polished

    @property
    def _n_searched(self) -> int:
        return 0 if self.optimizer is None else self.optimizer.n_evaluations

    @property
    def counters(self) -> dict[str, int]:
        """What the search has counted; of a random start, whether it came to nothing."""
        if self.optimizer is not None:
            return self.optimizer.counters
        return {"nonfinite": int(self._is_nothing)} if self.random is not None else {}

    @property
    def _is_nothing(self) -> bool:
        """Whether the polish could not even begin."""
        return self._polisher is not None and self._polisher.reason == "not finite"

    @property
    def fit_error(self) -> float:
        """The error without the ridge, while a polish sets that; else NaN."""
        polisher = self._polisher
        return polisher.fit_error if isinstance(polisher, EvidencePolisher) else np.nan

    def step(self) -> None:
        """Do one generation, or begin the polish, or do one iteration of it.

        An iteration of a very large network takes a minute: there is an error before its first.
        """
        if self.optimizer is not None and self._is_searching:
            self._search(self.optimizer)
        elif self._polisher is None:
            self._begin_polish()
        else:
            self._polisher.step()
            self._note_polish(self._polisher)
            self.recent = np.append(self.recent[-self._patience.slow[1] :], self._polisher.error)
        self._look_ahead()

    @property
    def _is_searching(self) -> bool:
        """Whether another generation has its place."""
        optimizer, most = self.optimizer, min(self.plan.search_evaluations, self.max_evaluations)
        if optimizer is None or optimizer.stopped is not None or self._polisher is not None:
            return False
        parents = optimizer.parents if self.objective.noisy else None
        n = optimizer.next_size + (0 if parents is None else len(parents))
        return optimizer.n_evaluations + n <= most

    def _search(self, optimizer: Optimizer) -> None:
        history = self.history
        asked = optimizer.ask()
        candidates = asked * self._units
        errors = self._judged(optimizer, candidates)
        history.note_errors(candidates, errors, optimizer.n_evaluations)
        optimizer.tell(asked, errors)
        if not self.plan.restarts:  # short searches do not get far enough to differ
            history.note_spread(candidates, optimizer.n_evaluations)
        share = np.count_nonzero(optimizer.modified) / len(errors)
        history.trace.append((optimizer.n_evaluations, share, optimizer.step_size or np.nan))

    def _judged(self, optimizer: Optimizer, candidates: Array) -> Array:
        """Errors of candidates; where there is noise, their parents are judged beside them."""
        optimizer.noisy = self.objective.noisy
        parents = optimizer.parents if optimizer.noisy else None
        if parents is None:
            return self.objective(candidates)
        errors, n = self.objective(np.concatenate([candidates, parents])), len(candidates)
        optimizer.renew(errors[n:])
        return errors[:n]

    def go_on(self) -> None:
        """Polish on, with more patience."""
        self.stall, self.reason = SLOW, ""
        self._look_ahead()

    def _note_polish(self, polisher: Polisher) -> None:
        if not self.objective.sets_ridge:  # errors with different ridges cannot be compared
            self.history.note_error(polisher.theta, polisher.error, self.n_evaluations)

    def _look_ahead(self) -> None:
        """End, where the next step has no place."""
        self.reason = self._reason()
        if self.reason and self.plan.restarts:
            self.history.note_rates()

    def _reason(self) -> str:
        """Why there is no next step; empty if there is one."""
        if self._is_nothing and self.history.error == np.inf:
            return "budget"  # as after a search that found nothing: no other would
        if self._polisher is not None:
            share, n = self._patience.slow if self.stall == SLOW else self._patience.stalled
            errors = self.recent
            has_stalled = len(errors) > n and errors[-1] > (1 - share) * errors[-1 - n]
            return self._polisher.reason or (self.stall if has_stalled else "")
        if self._is_searching:
            return ""
        left = self.max_evaluations - self._n_searched
        nothing = self.history.error == np.inf and self.random is None
        if self.plan.polish == "none" or nothing or left < LEAST:
            stopped = None if self.optimizer is None else self.optimizer.stopped
            return stopped or "budget"
        return ""

    def _begin_polish(self) -> None:
        most = self._patience.iterations
        if self.objective.sets_ridge:  # errors are not of one kind
            self.stall, most = NEVER, ITERATIONS
        self._polisher = self.objective.polisher(
            self.history.theta if self.random is None else self.random,
            max_iterations=most,
            max_evaluations=self.max_evaluations - self._n_searched,
        )
        self._note_polish(self._polisher)

    def found(self) -> Found:
        """What it has found by now; only starts of many are told apart."""
        theta, error = self.history.theta, self.history.error
        if self.plan.restarts or (self.objective.sets_ridge and self._polisher):
            found = self.objective.found(theta, error, self.reason, self._polisher)
            told_apart = self.plan.restarts and error < np.inf
            return found if told_apart else replace(found, signature=np.empty((0, 0)))
        return Found(theta.copy(), error, error, self.reason)

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            **taken(self, self._saved),
            "history": self.history.state(),
            "optimizer": None if self.optimizer is None else self.optimizer.state(),
            "polisher": None if self._polisher is None else self._polisher.state(),
        }

    @classmethod
    def from_state(cls, objective: Objective, plan: Plan, state: State) -> Self:
        """The start of ``state()``, which goes on bit by bit as if never interrupted."""
        check_kind("start", state, dict, "of state()")
        start, dim = cls.__new__(cls), objective.topology.dim
        start._prepare(objective, plan, check_count("budget", state["max_evaluations"], 0))
        vars(start).update(restored(state, cls._saved, {"D": dim}))
        searched, kind = state["optimizer"], find_method(plan.method).optimizer
        start.optimizer = None if searched is None else kind.from_state(searched)
        if start.optimizer is not None and start.optimizer.dim != dim:
            raise ValueError(f"the state is of another network than a {objective.topology}.")
        notes = {"validates_all": not plan.restarts}
        start.history = History.from_state(objective, state["history"], **notes)
        polisher = EvidencePolisher if objective.sets_ridge else Polisher
        polished, least_squares = state["polisher"], cast(LeastSquares, objective)
        start._polisher = None
        if polished is not None:
            start._polisher = polisher.from_state(least_squares, polished)
        # it has a search, or a random vector if its plan says so, or one that was given
        if start.random is not None:
            check_finite("the state's random", start.random)
            if start.optimizer is not None or not plan.is_random:
                raise ValueError("the state is damaged: a random vector replaces a search.")
        elif start.optimizer is None and (plan.polish == "none" or start.history.error == np.inf):
            raise ValueError("the state is damaged: there is nothing to begin with.")
        return start


def advance(start: Start) -> None:
    """Go on with a start for a while."""
    until = time.perf_counter() + SLICE
    while not start.finished and time.perf_counter() < until:
        start.step()
