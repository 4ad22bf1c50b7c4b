"""What is noted while a run goes on: improvements, generations, validation, spread."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from symbreak._support.checks import MAX_MAGNITUDE, Array, check_kind
from symbreak._support.state import check_saved
from symbreak.models import Model
from symbreak.network import alignment_cost
from symbreak.objectives import Objective
from symbreak.symmetry import spread

#: The spread over partitions is measured whenever evaluations have grown by this factor, on this
#: many candidates: about 40 times in 200,000 evaluations.
SPREAD_EVERY, SPREAD_SAMPLE = 1.2, 100
#: A measurement with no more multiply-adds per candidate than this is always made; others only
#: while they take no more than this share of the work of the evaluations.
SPREAD_FREE, SPREAD_SHARE = 1_000_000, 0.05

#: Notes that are tables of numbers, with their columns, the number of evaluations first.
_TABLES = {"curve": 2, "trace": 3, "spread": 3, "rates": 4}


class History:
    """Notes on one run.

    Args:
        objective: What is minimised.
        validates_all: Whether each improvement is shown to the validation set, or only those that
            ``note_rates`` is called for: with restarts where a start stalls and where it ends. All
            took two thirds of the time on two-circles (2026-11).

    Attributes:
        theta: The candidate (D,) with the best error so far; NaN before any.
        selected: The candidate with the best error on the validation set, if there is one.
        curve: Rows (evaluations, best error), one per improvement.
        trace: Rows (evaluations, share of modified candidates, step size), one per generation.
        spread: Rows (evaluations, share in the best one's partition, number of conventions).
        rates: Rows (evaluations, training, validation, test error) of the selected candidates.
    """

    def __init__(self, objective: Objective, *, validates_all: bool = True) -> None:
        self._objective, self._validates_all = objective, validates_all
        self.theta = np.full(objective.topology.dim, np.nan)
        self.selected = self.theta
        self.curve: list[tuple[float, ...]] = []
        self.trace: list[tuple[float, ...]] = []
        self.spread: list[tuple[float, ...]] = []
        self.rates: list[tuple[float, ...]] = []

    @property
    def error(self) -> float:
        """Best error so far."""
        return self.curve[-1][1] if self.curve else np.inf

    def note_errors(self, candidates: Array, errors: Array, n_before: int) -> None:
        """Note every candidate that is better than all before it; ``n_before`` preceded these."""
        if errors[errors.argmin()] >= self.error:  # every generation: min() takes 3 us more
            return
        before = np.minimum.accumulate(np.concatenate([[self.error], errors[:-1]]))
        for i in np.flatnonzero(errors < before):
            self.note_error(candidates[i], float(errors[i]), n_before + int(i) + 1)

    def note_error(self, theta: Array, error: float, n_evaluations: int) -> None:
        """Note a candidate if it is better than all before it."""
        if error < self.error:
            self.curve.append((n_evaluations, error))
            self.theta = theta.copy()
            if self._validates_all:
                self.note_rates()

    def note_spread(self, candidates: Array, n_evaluations: int) -> None:
        """Measure, at growing intervals, how candidates are spread around the best one."""
        last = self.spread[-1][0] if self.spread else 0
        if n_evaluations < SPREAD_EVERY * last or not self.curve:
            return
        sample, topology = candidates[:SPREAD_SAMPLE], self._objective.topology
        cost = alignment_cost(topology)
        spent = (len(self.spread) + 1) * len(sample) * cost
        if cost > SPREAD_FREE and spent > SPREAD_SHARE * self._objective.cost * n_evaluations:
            return
        if not max(np.abs(sample).max(), np.abs(self.theta).max()) <= MAX_MAGNITUDE:
            return
        self.spread.append((n_evaluations, *spread(sample, self.theta, topology)))

    def note_rates(self) -> None:
        """Note errors of the best if the one on the validation set improves (paper-notes 15b)."""
        is_settled = bool(self.curve) and not self._objective.sets_ridge
        if not is_settled or not self._objective.validates:
            return
        model = self._objective.model(self.theta)
        if self.note_model(model, int(self.curve[-1][0])):
            self.selected = self.theta

    def note_model(self, model: Model | None, n_evaluations: int) -> bool:
        """Note the errors of a network, and return whether it is the best on the validation set."""
        if model is None or not self._objective.validates:
            return False
        validation = self._objective.error_on("validation", model)
        if self.rates and not validation < self.rates[-1][2]:
            return False
        train, test = (self._objective.error_on(part, model) for part in ("train", "test"))
        self.rates.append((n_evaluations, train, validation, test))
        return True

    def absorb(self, later: History, n_before: int) -> None:
        """Add the notes on a start that followed ``n_before`` evaluations of others."""
        if later.error < self.error:
            better = [(n + n_before, error) for n, error in later.curve if error < self.error]
            self.theta = later.theta
            self.curve += better
        selected = [row for row in later.rates if not self.rates or row[2] < self.rates[-1][2]]
        if selected:
            self.selected = later.selected
        for name, rows in (("rates", selected), ("trace", later.trace), ("spread", later.spread)):
            getattr(self, name).extend((n + n_before, *rest) for n, *rest in rows)

    def table(self, name: str) -> Array:
        """The rows of ``curve``, ``trace``, ``spread`` or ``rates`` as an array."""
        return np.array(getattr(self, name), dtype=np.float64).reshape(-1, _TABLES[name])

    def state(self) -> dict[str, Any]:
        """All notes as arrays."""
        tables = {name: self.table(name) for name in _TABLES}
        return {"theta": self.theta.copy(), "selected": self.selected.copy(), **tables}

    @classmethod
    def from_state(
        cls, objective: Objective, state: dict[str, Any], *, validates_all: bool = True
    ) -> Self:
        """The notes of ``state()``."""
        check_kind("history", state, dict, "of state()")
        history, dim = cls(objective, validates_all=validates_all), objective.topology.dim
        for name in ("theta", "selected"):
            setattr(history, name, check_saved(name, state[name], "D", {"D": dim}))
        for name, n_columns in _TABLES.items():
            rows = check_saved(name, state[name], "K C", {"C": n_columns}).tolist()
            setattr(history, name, [(int(n), *rest) for n, *rest in rows])
        return history
