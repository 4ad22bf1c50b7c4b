"""A run under way: searches, polishes, restarts; until the budget is spent or it is enough.

Starts that end are taken over in their order: the result depends on that order alone, not on
threads, other machines or interruptions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from symbreak._polish._polisher import check_digest
from symbreak._support.checks import (
    Array,
    check_count,
    check_kind,
    check_population,
    check_theta,
    shown,
)
from symbreak._support.random import stream
from symbreak._support.state import State, check_saved, reading_state, restored, taken
from symbreak.methods import find_method
from symbreak.objectives import LeastSquares, Objective
from symbreak.objectives._base import Found
from symbreak.objectives._least_squares import check_threads
from symbreak.optimizers import Optimizer
from symbreak.problems import Problem
from symbreak.training._history import History
from symbreak.training._recipe import (
    LEAST,
    Agreement,
    Plan,
    agreement,
    label_optima,
    make_plan,
    usual_evaluations,
)
from symbreak.training._record import Progress, RunRecord, record_of
from symbreak.training._start import NEVER, SLOW, Start, advance, run_start

#: A budget of evaluations that no run spends: for runs that end by time.
UNLIMITED = 2**53


class Run:
    """A run under way: step by step, with a state to continue from in another process.

    Args are those of ``train``; instead of a problem it takes any ``Objective``. With restarts it
    ends after ``max_starts``, though they do not agree.

    Attributes:
        objective: What is minimised.
        plan: How.
        history: What was noted on starts that have been taken over.
        founds: What these starts ended in, but for those that were cut short.
        kept: Of those whose ridge set itself, the one to keep.
        counters: Sums of the optimizers' counters.
        stopped: Why the run has ended; empty while it has not.
    """

    #: Attributes that make up the state, besides what is made of others.
    _saved: ClassVar[Mapping[str, type | str]] = {
        "method": str,
        "max_evaluations": int,
        "n_taken": int,
        "counters": dict,
        "seconds": float,
        "stopped": str,
        "initial": "n D",
    }

    def __init__(
        self,
        problem: Problem | Objective,
        method: str = "auto",
        *,
        max_evaluations: int | None = None,
        polish: str | None = None,
        seed: int = 0,
        population_size: int | None = None,
        threads: int = 1,
        initial: ArrayLike | None = None,
        max_starts: int | None = None,
        executor: Executor | None = None,
        **settings: Any,
    ) -> None:
        objective = as_objective(problem)
        self.method, self.seed = method, check_count("seed", seed, 0)
        budget = usual_evaluations(objective) if max_evaluations is None else max_evaluations
        self.max_evaluations = check_count("max_evaluations", budget, 1)
        if self.max_evaluations > UNLIMITED:
            raise ValueError(f"max_evaluations must be at most 2^53, got {shown(budget)}.")
        self.max_starts = max_starts
        self.plan = make_plan(
            objective,
            method,
            self.max_evaluations,
            polish=polish,
            population_size=population_size,
            settings=settings,
        )
        if initial is not None and self.plan.polish == "none":
            raise ValueError(f"initial is for a polish, and {method} has none; ask for polish=.")
        self._prepare(objective, threads, executor)
        self.history = History(self.objective)
        self.founds: list[Found] = []
        self.kept: Found | None = None
        self.counters: dict[str, int] = {}
        self.n_taken = 0  # evaluations of the starts that were taken over
        self.seconds, self.stopped = 0.0, ""
        self._finishing = False  # whether the starts agree, and the best is polished once more
        self._running: list[Start] = []
        dim = objective.topology.dim
        self.initial = np.empty((0, dim))
        if initial is not None and np.ndim(initial) == 2:
            self.initial = check_population(initial, dim, "initial")
        elif initial is not None:
            self._running = [self._new_start(0, check_theta(initial, dim, "initial"))]
        if not self._running and self._executor is None:
            self._running = [self._new_start(0)]

    def _prepare(self, objective: Objective, threads: int, executor: Executor | None) -> None:
        """What can be made anew, and is not part of the state."""
        self._n_parallel, threads = 1, check_threads(threads)
        self._pool = self._executor = None
        if self.plan.restarts:  # one thread each
            self._n_parallel, threads, self._executor = threads, 1, executor
        if isinstance(objective, LeastSquares) and objective.threads != threads:
            objective = LeastSquares(objective.problem, threads=threads)
        self.objective = objective
        if self._n_parallel > 1 and self._executor is None:
            self._pool = ThreadPoolExecutor(self._n_parallel)

    def _arguments(self, number: int, theta: Array | None = None) -> dict[str, Any]:
        """Those of a start; if it is one of the first, it may polish what was given."""
        given = theta is None and number < len(self.initial)
        return {
            "objective": self.objective,
            "plan": self.plan.of_start(number),
            "seed": self.seed if number == 0 else stream(self.seed, "start", number),
            "max_evaluations": self._left,
            "theta": self.initial[number] if given else theta,
            "stall": SLOW if given else NEVER,
        }

    def _new_start(self, number: int, theta: Array | None = None) -> Start:
        arguments = self._arguments(number, theta)
        if self._n_parallel > 1:
            arguments["objective"] = self.objective.for_thread()
        return Start(**arguments)

    @property
    def _left(self) -> int:
        """What the starts that were taken over have left of the budget."""
        return self.max_evaluations - self.n_taken

    @property
    def search(self) -> Optimizer:
        """That of the start under way, where there are searches alone."""
        assert self._running[0].optimizer is not None
        return self._running[0].optimizer

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; ``stopped`` says why."""
        return bool(self.stopped)

    @property
    def n_evaluations(self) -> int:
        """Evaluations done, as far as starts are taken over in their order."""
        return self.n_taken + (self._running[0].n_evaluations if self._running else 0)

    @property
    def error(self) -> float:
        """Best error so far."""
        done = self.history.error
        return min(done, self._running[0].history.error) if self._running else done

    @property
    def agreement(self) -> Agreement:
        """What the starts say that have ended."""
        return agreement(label_optima(self.founds, self.objective))

    @property
    def progress(self) -> Progress:
        """How far the run has come."""
        start = self._running[0] if self._running else None
        searched = start.optimizer.generation if start is not None and start.optimizer else 0
        fit_error = self.error if self.objective.alpha == 0 else np.nan
        if self.objective.sets_ridge:  # as far as it is known without an evaluation
            fit_error = start.fit_error if start is not None else np.nan
            fit_error = fit_error if self.kept is None else self.kept.error
        return Progress(
            n_evaluations=self.n_evaluations,
            max_evaluations=self.max_evaluations,
            error=self.error,
            generation=len(self.history.trace) + searched,
            n_starts=len(self.founds),
            fit_error=fit_error,
        )

    def step(self, max_time: float = np.inf) -> None:
        """Do one generation or one iteration of a polish; of each start, if there are threads.

        Starts that an executor runs are ended after some seconds.
        """
        started = time.perf_counter()
        if not self._running:
            self._run_away(max_time)
        elif self._pool is None:
            self._running[0].step()
        else:
            list(self._pool.map(advance, [s for s in self._running if not s.finished]))
        while self._running and self._has_ended(self._running[0]):
            self._take_over(self._running.pop(0))
            if self.finished:
                self._running.clear()  # what others have found ahead of it does not count
        if self.error <= self.objective.target:  # also by the last of the budget
            self.stopped = "target"
        # the first one has not finished; those behind it may have run ahead of it
        while not (self.finished or self._executor or self._finishing) and (
            sum(not start.finished for start in self._running) < self._n_parallel
        ):
            self._running.append(self._new_start(len(self.founds) + len(self._running)))
        self.seconds += time.perf_counter() - started

    def _run_away(self, max_time: float) -> None:
        """Let a number of starts be run by the executor."""
        assert self._executor is not None
        first = len(self.founds)
        jobs = [(self._arguments(first + i), max_time) for i in range(self._n_parallel)]
        states = list(self._executor.map(run_start, jobs))
        with reading_state():
            self._running = [
                Start.from_state(self.objective, arguments["plan"], state)
                for (arguments, _), state in zip(jobs, states, strict=True)
            ]

    def _has_ended(self, start: Start) -> bool:
        """Whether a start is through; one that has stalled goes on if it is as good as others."""
        if start.reason == "stalled":
            promising = self.plan.patience(self.objective.topology).promising
            if start.history.error <= promising * self.history.error:
                start.go_on()
        return start.finished

    def _take_over(self, start: Start) -> None:
        """Add what a start has found; decide whether to go on."""
        if start.n_evaluations > self._left:  # it ran ahead of others, which left it less
            start = self._new_start(len(self.founds))
            while not self._has_ended(start):
                start.step()
        ended = start.reason != "budget" and not self._finishing
        found = self._add(start, start.history, ended)
        if ended and found is not None:
            self.founds.append(replace(found, n_evaluations=self.n_taken))
        enough = self.plan.restarts and self.agreement.is_enough
        if not self.plan.restarts or start.reason == "budget":
            self.stopped = start.reason
        elif self._finishing:
            self.stopped = "agreement"
        elif enough and self.objective.sets_ridge:
            self.stopped = "agreement"  # whose polishes are never cut short
        elif len(self.founds) == self.max_starts:
            self.stopped = "starts"
        elif enough and self._left >= LEAST:
            # once more without haste: starts may have ended since they were slow
            self._finishing = True
            self._running = [self._new_start(len(self.founds), self.history.theta)]
        elif self._left < self.plan.of_start(len(self.founds)).least_evaluations:
            self.stopped = "budget"

    def _add(self, start: Start, notes: History, ended: bool = False) -> Found | None:
        """Add notes and counts of a start, and keep what it found if its ridge set itself."""
        found = start.found() if ended or self.objective.sets_ridge else None
        self.history.absorb(notes, self.n_taken)
        self.n_taken += start.n_evaluations
        for name, n in start.counters.items():
            self.counters[name] = self.counters.get(name, 0) + n
        if self.objective.sets_ridge and found is not None and found.output_weights.size:
            self._keep(found)
        return found

    def _keep(self, found: Found) -> None:
        """Keep the better one: by the validation set if there is one, else the more probable."""
        score = found.score
        model = self.objective.model(found.theta, found.output_weights)
        if self.history.note_model(model, self.n_taken):
            score = self.history.rates[-1][2]
        elif self.history.rates:
            return
        if self.kept is None or score < self.kept.score:
            self.kept = replace(found, score=score)

    def record(self, time_is_up: bool = False) -> RunRecord:
        """What the run has found so far; ``time_is_up`` if that is why it ends now."""
        run = Run.__new__(Run)
        vars(run).update(vars(self), counters=dict(self.counters), _running=[])
        run.history = History(self.objective)
        run.history.absorb(self.history, 0)
        for start in self._running[:1]:  # it is taken over as if it ended now
            notes = History.from_state(self.objective, start.history.state())
            notes.note_rates()
            run._add(start, notes)
        return record_of(run, "time" if time_is_up else "interrupted")

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            **taken(self, self._saved),
            "problem": self.objective.digest,
            "seed": self.seed,
            "max_starts": self.max_starts,
            "plan": asdict(self.plan),
            "history": self.history.state(),
            "founds": {str(i): found.state() for i, found in enumerate(self.founds)},
            "kept": None if self.kept is None else self.kept.state(),
            # those that run ahead in other threads begin again
            "start": self._running[0].state() if self._running else None,
        }

    @classmethod
    def from_state(cls, problem: Problem | Objective, state: State, *, threads: int = 1) -> Self:
        """The run of ``state()``, which goes on bit by bit as if never interrupted."""
        objective = as_objective(problem)
        check_digest(objective, state)
        run, dim = cls.__new__(cls), objective.topology.dim
        with reading_state():
            vars(run).update(restored(state, cls._saved, {"D": dim}))
            find_method(run.method)
            run.seed, run.max_starts = check_count("seed", state["seed"], 0), state["max_starts"]
            if run.max_starts is not None:
                check_count("max_starts", run.max_starts, 1)
            run.plan = Plan(**state["plan"])
            run._prepare(objective, threads, None)
            run.history = History.from_state(run.objective, state["history"])
            if not 0 <= run.n_taken <= run.max_evaluations:
                raise ValueError("the state is damaged: it has spent more than its budget.")
            founds = check_saved("founds", state["founds"], dict, {})
            run.founds = [Found.from_state(founds[str(i)], dim) for i in range(len(founds))]
            run.kept = None if state["kept"] is None else Found.from_state(state["kept"], dim)
            for name, n in run.counters.items():
                check_count(f"the state's {name}", n, 0)
            run._finishing = run.plan.restarts and run.agreement.is_enough
            start, plan = state["start"], run.plan.of_start(len(run.founds))
            if start is None and not run.finished:
                raise ValueError("the state is damaged: it has not ended, and there is no start.")
            run._running = [] if start is None else [Start.from_state(run.objective, plan, start)]
        return run


def as_objective(problem: Problem | Objective) -> Objective:
    """An objective as it is; of a problem, its least squares."""
    if isinstance(problem, Objective):
        return problem
    return LeastSquares(check_kind("problem", problem, Problem, "as load_problem makes"))
