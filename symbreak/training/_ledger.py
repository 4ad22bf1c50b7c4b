"""What the starts of a training have found, taken over in their order.

The result depends on that order alone, not on threads, other machines or interruptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from symbreak._support.checks import Array, check_count, check_kind, check_text
from symbreak.models import Model
from symbreak.network import CLASS_SCALE
from symbreak.optimizers import State
from symbreak.optimizers._state import check_saved
from symbreak.problems import Problem
from symbreak.training._evidence import Choice, EvidenceResult, better_choice
from symbreak.training._history import History
from symbreak.training._optima import MAX_SAMPLES, Agreement, Optimum, agreement, label_optima
from symbreak.training._starts import Start

Solve = Callable[[Array], Model]


class Ledger:
    """Notes on all starts so far.

    Attributes:
        history: What was noted while they went on.
        n_evaluations: Their evaluations.
        ends: Evaluations at the end of each start that was not cut short.
        optima: What these starts ended in.
        choice: The network that is kept where the ridge sets itself.
        counters: Sums of the optimisers' counters.
    """

    def __init__(self, problem: Problem, solve: Solve) -> None:
        self._problem, self._solve = problem, solve
        self.history = History(problem, solve)
        self.n_evaluations = 0
        self.ends: list[int] = []
        self.optima: list[Optimum] = []
        self.choice: Choice | None = None
        self.counters: dict[str, int] = {}

    @property
    def agreement(self) -> Agreement:
        """What the starts say that have ended."""
        return agreement(label_optima(self.optima))

    def take(self, start: Start, *, counts: bool = True) -> None:
        """Add a start; unless it was cut short, its optimum ``counts`` for the agreement."""
        found = self._add(start, start.history)
        if counts and start.reason != "budget":
            self.ends.append(self.n_evaluations)
            self.optima.append(self._optimum(start, found))

    def including(self, start: Start | None) -> Ledger:
        """The same with a start that is still under way."""
        copy = Ledger(self._problem, self._solve)
        copy.history.absorb(self.history, 0)
        copy.n_evaluations, copy.choice = self.n_evaluations, self.choice
        copy.ends, copy.optima, copy.counters = self.ends, self.optima, dict(self.counters)
        if start is not None:
            copy._add(start, start.validated)
        return copy

    def _add(self, start: Start, notes: History) -> EvidenceResult | None:
        self.history.absorb(notes, self.n_evaluations)
        self.n_evaluations += start.n_evaluations
        for name, n in start.counters.items():
            self.counters[name] = self.counters.get(name, 0) + n
        found = start.evidence()
        self.choice = better_choice(self.choice, found, self.history, self.n_evaluations)
        return found

    def _optimum(self, start: Start, found: EvidenceResult | None) -> Optimum:
        error, model = start.history.error, None if found is None else found.model
        score = error if found is None else -found.log_evidence
        if start.plan.polish != "restarts" or error == np.inf or start.reason == "stalled":
            return Optimum(score, error, np.empty((0, 0)))
        classes = self._problem.task == "classification"
        if model is None:
            model = self._solve(start.history.theta)
        elif not classes:
            error = model.error_on(self._problem.train)
        outputs = model.weighted_sums(self._problem.train.X[:MAX_SAMPLES])
        return Optimum(score, error, outputs / (CLASS_SCALE if classes else 1.0))

    def starts_table(self) -> Array:
        """Rows (evaluations at the end, error, number of the optimum)."""
        errors = (optimum.error for optimum in self.optima)
        rows = zip(self.ends, errors, label_optima(self.optima), strict=True)
        return np.array(list(rows), dtype=np.float64).reshape(-1, 3)

    def rates_table(self, model: Model | None) -> Array:
        """Errors of the networks that the validation set selected; else the test error, if any."""
        train, test = self._problem.train, self._problem.test
        if self.history.rates or test is None or model is None:
            return self.history.table("rates")
        return np.array([(self.n_evaluations, model.error_on(train), np.nan, model.error_on(test))])

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "history": self.history.state(),
            "n_evaluations": self.n_evaluations,
            "ends": np.array(self.ends, dtype=np.int64),
            "optima": np.array([optimum[:2] for optimum in self.optima]).reshape(-1, 2),
            "outputs": {str(i): optimum.outputs for i, optimum in enumerate(self.optima)},
            "choice": None if self.choice is None else self.choice.state(),
            "counters": dict(self.counters),
        }

    @classmethod
    def from_state(cls, problem: Problem, solve: Solve, state: State) -> Self:
        """The ledger of ``state()``."""
        check_kind("ledger", state, dict, "of state()")
        ledger = cls(problem, solve)
        ledger.history = History.from_state(problem, solve, state["history"])
        ledger.n_evaluations = check_count("n_evaluations", state["n_evaluations"], 0)
        ends = check_saved("ends", state["ends"], "s", {})
        optima = check_saved("optima", state["optima"], "s 2", {"2": 2})
        if len(ends) != len(optima):
            raise ValueError("the state is damaged: its starts do not fit together.")
        ledger.ends = [int(n) for n in ends]
        ledger.optima = [
            Optimum(score, error, check_saved("outputs", state["outputs"][str(i)], "K q", {}))
            for i, (score, error) in enumerate(optima.tolist())
        ]
        ledger.choice = None if state["choice"] is None else Choice.from_state(state["choice"])
        ledger.counters = {
            check_text("a counter", name): check_count(name, n, 0)
            for name, n in state["counters"].items()
        }
        return ledger
