"""A training under way: searches, polishes, restarts; until the budget is spent or it is enough."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from symbreak._support.checks import (
    Array,
    check_count,
    check_kind,
    check_real,
    check_text,
    check_theta,
    shown,
)
from symbreak.evaluation import Evaluator, check_threads, network_error, plain_error
from symbreak.methods import find_method, make_optimizer
from symbreak.models import Model
from symbreak.optimizers import State
from symbreak.optimizers._state import reading_state
from symbreak.polish import check_state_of
from symbreak.problems import Problem
from symbreak.training._evidence import Choice
from symbreak.training._history import History
from symbreak.training._ledger import Ledger
from symbreak.training._plans import LEAST, Plan, make_plan
from symbreak.training._records import Progress, RunRecord, versions
from symbreak.training._starts import Elsewhere, Start, StartJob, advance, start_seed

#: A budget of evaluations that no run spends: for runs that end by time.
UNLIMITED = 2**53


class Training:
    """A run under way: step by step, with a state to continue from in another process.

    Starts that end are taken over in their order, so that neither threads nor interruptions change
    the result. Args are those of ``train``.
    """

    def __init__(
        self,
        problem: Problem,
        method: str = "auto",
        *,
        max_evaluations: int | None = None,
        polish: str | None = None,
        seed: int = 0,
        population_size: int | None = None,
        threads: int = 1,
        initial: ArrayLike | None = None,
        elsewhere: Elsewhere | None = None,
        **settings: Any,
    ) -> None:
        self.problem = check_kind("problem", problem, Problem, "as load_problem makes")
        self.method, self.seed = method, check_count("seed", seed, 0)
        budget = problem.max_evaluations if max_evaluations is None else max_evaluations
        self.max_evaluations = _checked_budget(budget)
        self.plan = make_plan(
            problem,
            method,
            self.max_evaluations,
            polish=polish,
            population_size=population_size,
            settings=settings,
        )
        if initial is not None and self.plan.polish == "none":
            raise ValueError(f"initial is for a polish, and {method} has none; ask for polish=.")
        self._prepare(threads)
        self._elsewhere = elsewhere if self.plan.polish == "restarts" else None
        self._ledger = Ledger(problem, self._evaluate.solve)
        self._seconds = 0.0
        self._finishing = False  # whether the starts agree, and the best is polished once more
        self.stopped = ""
        self._running: list[Start] = []
        if initial is not None:
            self._check_settings()
            theta = check_theta(initial, problem.topology.dim, "initial")
            self._running = [self._new_start(0, theta=theta)]
        elif self._elsewhere is None:
            self._running = [self._new_start(0)]

    def _check_settings(self) -> None:
        """Refuse settings now, although the first start does not search."""
        plan = self.plan
        make_optimizer(
            plan.method, self.problem, population_size=plan.population_size, **plan.settings
        )

    def _prepare(self, threads: int) -> None:
        """What can be made anew, and is not part of the state."""
        self._n_parallel = 1
        if self.plan.polish == "restarts":  # one thread each
            self._n_parallel, threads = check_threads(threads), 1
        self._evaluate = Evaluator(self.problem, threads=threads)
        self._pool = ThreadPoolExecutor(self._n_parallel) if self._n_parallel > 1 else None
        self._kept: tuple[Choice, float] | None = None  # the network to keep, and its plain error

    def _new_start(self, number: int, left: int | None = None, theta: Array | None = None) -> Start:
        seed = start_seed(self.seed, number)
        parallel = self._n_parallel > 1
        evaluate = Evaluator(self.problem) if parallel else self._evaluate
        budget = self._left if left is None else left
        return Start(self.problem, self.plan.of_start(number), seed, budget, evaluate, theta)

    @property
    def _left(self) -> int:
        """What the starts that were taken over have left of the budget."""
        return self.max_evaluations - self._ledger.n_evaluations

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; ``stopped`` says why."""
        return bool(self.stopped)

    @property
    def n_evaluations(self) -> int:
        """Evaluations done, as far as starts are taken over in their order."""
        under_way = self._running[0].n_evaluations if self._running else 0
        return self._ledger.n_evaluations + under_way

    @property
    def error(self) -> float:
        """Best error so far."""
        done = self._ledger.history.error
        return min(done, self._running[0].history.error) if self._running else done

    @property
    def progress(self) -> Progress:
        """How far the run has come."""
        generations = sum(start.generation for start in self._running[:1])
        return Progress(
            n_evaluations=self.n_evaluations,
            max_evaluations=self.max_evaluations,
            error=self.error,
            generation=len(self._ledger.history.trace) + generations,
            n_starts=len(self._ledger.ends),
            plain_error=self._plain_error,
        )

    @property
    def _plain_error(self) -> float:
        """The error without the ridge, as far as that takes no evaluation but one per network."""
        if self.problem.ridge == 0:
            return self.error
        choice = self._ledger.choice
        if choice is None:
            return self._running[0].plain_error if self._running else np.nan
        if self._kept is None or self._kept[0] is not choice:
            self._kept = choice, plain_error(choice.model, self.problem)
        return self._kept[1]

    def step(self) -> None:
        """Do one generation or one iteration of a polish; of each start, if there are threads."""
        started = time.perf_counter()
        if not self._running:
            self._run_elsewhere()
        elif self._pool is None or self._elsewhere is not None:
            self._running[0].step()
        else:
            list(self._pool.map(advance, [s for s in self._running if not s.finished]))
        while self._running and self._running[0].finished:
            if self._is_promising(self._running[0]):
                self._running[0].go_on()
                continue
            self._take_over(self._running.pop(0))
            if self.finished:
                self._running.clear()  # what others have found ahead of it does not count
        self._keep_running()
        self._seconds += time.perf_counter() - started

    def _run_elsewhere(self) -> None:
        """Let a number of starts be run by others."""
        assert self._elsewhere is not None
        first, left = len(self._ledger.ends), self._left
        jobs = [
            StartJob(self.problem, self.plan.of_start(number), self.seed, number, left)
            for number in range(first, first + self._n_parallel)
        ]
        states = list(self._elsewhere(jobs))
        with reading_state():
            self._running = [
                Start.from_state(self.problem, job.plan, state, self._evaluate)
                for job, state in zip(jobs, states, strict=True)
            ]

    def _keep_running(self) -> None:
        """Begin starts, so that there is one for each thread."""
        if self.finished or self._elsewhere or self._finishing:
            return
        # the first one has not finished; those behind it may have run ahead of it
        while len(self._running) < self._n_parallel or (
            self._n_parallel > 1
            and sum(not start.finished for start in self._running) < self._n_parallel
        ):
            self._running.append(self._new_start(len(self._ledger.ends) + len(self._running)))

    def _is_promising(self, start: Start) -> bool:
        """Whether a start that has stalled should go on: those before it were not much better."""
        promising = self.plan.patience(self.problem.topology).promising
        most = promising * self._ledger.history.error
        return start.reason == "stalled" and start.history.error <= most

    def _take_over(self, start: Start) -> None:
        """Add what a start has found; decide whether to go on."""
        left = self._left
        if start.n_evaluations > left:  # it ran ahead of others, which left it less
            start = self._new_start(len(self._ledger.ends), left)
            while not start.finished or self._is_promising(start):
                start.go_on() if start.finished else start.step()
        self._ledger.take(start, counts=not self._finishing)
        if self.plan.polish != "restarts" or start.reason == "budget":
            self.stopped = start.reason
        elif self._finishing:
            self.stopped = "agreement"
        elif self._ledger.agreement.is_enough and self.problem.alpha == "auto":
            self.stopped = "agreement"  # whose polishes are never cut short
        elif self._ledger.agreement.is_enough and self._left >= LEAST:
            self._finish()
        elif self._left < self.plan.of_start(len(self._ledger.ends)).least_evaluations:
            self.stopped = "budget"

    def _finish(self) -> None:
        """Polish the best once more, without haste: starts may have ended since they were slow."""
        self._finishing = True
        number = len(self._ledger.ends)
        self._running = [self._new_start(number, theta=self._ledger.history.theta)]

    def record(self, time_is_up: bool = False) -> RunRecord:
        """What the run has found so far; ``time_is_up`` if that is why it ends now."""
        found = self._ledger.including(self._running[0] if self._running else None)
        history, choice, row = found.history, found.choice, find_method(self.method)
        theta, penalty = self._evaluate.evaluated(history.theta)
        best = self._model(history.theta, history)
        model = self._chosen(history, choice) or best
        end = (self.n_evaluations, history.error)
        curve = [*history.curve, *([] if history.curve[-1:] == [end] else [end])]
        trace = history.table("trace")
        steps = trace[:, 2]
        return RunRecord(
            problem=self.problem.name,
            method=self.method,
            family=row.family,
            role=row.role if self.plan.polish == row.polish else "variant",
            seed=self.seed,
            population_size=self.plan.population_size,
            max_evaluations=self.max_evaluations,
            evaluations=np.array([n for n, _ in curve], dtype=np.int64),
            errors=np.array([error for _, error in curve]),
            theta=theta,
            output_weights=np.empty((0, 0)) if best is None else best.output_weights,
            penalty=penalty,
            network_error=(np.inf if best is None else network_error(best, self.problem) + penalty),
            model=model,
            alpha=self.problem.ridge if choice is None else choice.alpha,
            n_effective=None if choice is None else choice.n_effective,
            generation_evaluations=trace[:, 0].astype(np.int64),
            modified_share=trace[:, 1],
            step_size=None if np.isnan(steps).all() else steps,
            spread=history.table("spread"),
            rates=found.rates_table(model),
            starts=found.starts_table(),
            restarts=self.plan.polish == "restarts",
            n_evaluations=found.n_evaluations,
            counters=found.counters,
            stopped=self.stopped or ("time" if time_is_up else "interrupted"),
            seconds=self._seconds,
        )

    def _chosen(self, history: History, choice: Choice | None) -> Model | None:
        """The network that the evidence or the validation set has selected, if any."""
        if choice is not None:
            return self._with_origin(choice.model, history)
        return self._model(history.selected, history) if history.rates else None

    def _model(self, theta: Array, history: History) -> Model | None:
        """The network of a candidate; None if it is not finite, since nothing was found."""
        if not np.isfinite(theta).all():
            return None
        return self._with_origin(self._evaluate.solve(theta), history)

    def _with_origin(self, model: Model, history: History) -> Model:
        sets_itself = self.problem.alpha == "auto"
        origin = {
            "problem": self.problem.name,
            "method": self.method,
            "seed": self.seed,
            "n_evaluations": self.n_evaluations,
            "error": plain_error(model, self.problem) if sets_itself else history.error,
            "versions": versions(),
        }
        return replace(model, origin=origin)

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "problem": self.problem.digest,
            "method": self.method,
            "seed": self.seed,
            "max_evaluations": self.max_evaluations,
            "plan": self.plan.state(),
            "seconds": self._seconds,
            "stopped": self.stopped,
            "ledger": self._ledger.state(),
            # those that run ahead in other threads begin again
            "start": self._running[0].state() if self._running else None,
        }

    @classmethod
    def from_state(cls, problem: Problem, state: State, *, threads: int = 1) -> Self:
        """The run of ``state()``, which goes on bit by bit as if never interrupted."""
        check_state_of(problem, state)
        run = cls.__new__(cls)
        with reading_state():
            run._restore(problem, state, threads)
        return run

    def _restore(self, problem: Problem, state: State, threads: int) -> None:
        find_method(state["method"])
        self.problem, self.method = problem, state["method"]
        self.seed = check_count("seed", state["seed"], 0)
        self.max_evaluations = _checked_budget(state["max_evaluations"])
        self.plan = Plan.from_state(state["plan"])
        self._prepare(threads)
        self._elsewhere = None
        self._seconds = check_real("seconds", state["seconds"], 0, 1e12)
        self.stopped = check_text("stopped", state["stopped"])
        self._ledger = Ledger.from_state(problem, self._evaluate.solve, state["ledger"])
        if self._ledger.n_evaluations > self.max_evaluations:
            raise ValueError("the state is damaged: it has spent more than its budget.")
        self._finishing = self.plan.polish == "restarts" and self._ledger.agreement.is_enough
        start = state["start"]
        if start is None and not self.finished:
            raise ValueError("the state is damaged: it has not stopped, and no start goes on.")
        plan = self.plan.of_start(len(self._ledger.ends))
        self._running = (
            [] if start is None else [Start.from_state(problem, plan, start, self._evaluate)]
        )


def _checked_budget(max_evaluations: object) -> int:
    budget = check_count("max_evaluations", max_evaluations, 1)
    if budget > UNLIMITED:
        raise ValueError(f"max_evaluations must be at most 2^53, got {shown(max_evaluations)}.")
    return budget
