"""A run under way: searches, polishes, restarts; until the budget is spent or it is enough.

Starts that end are taken over in their order: the result depends on that order alone, not on
threads, other machines or interruptions.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from symbreak._polish._polisher import check_digest
from symbreak._support.checks import (
    Array,
    check_count,
    check_kind,
    check_population,
    check_real,
    check_text,
    check_theta,
    shown,
)
from symbreak._support.state import State, check_saved, reading_state
from symbreak.methods import find_method, make_optimizer
from symbreak.models import Model
from symbreak.objectives import LeastSquares, Objective
from symbreak.objectives._base import Found
from symbreak.objectives._least_squares import check_threads
from symbreak.optimizers import Optimizer
from symbreak.problems import Problem
from symbreak.training._agreement import Agreement, agreement, label_optima
from symbreak.training._history import History
from symbreak.training._recipe import LEAST, Plan, make_plan, usual_evaluations
from symbreak.training._record import Progress, RunRecord, versions
from symbreak.training._start import NEVER, SLOW, Start, StartJob, advance, run_start, start_seed

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
        self.max_evaluations, self.max_starts = _checked_budget(budget), max_starts
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
        self._prepare(objective, threads)
        self._executor = executor if self.plan.polish == "restarts" else None
        self.history = History(self.objective)
        self.founds: list[Found] = []
        self.kept: Found | None = None
        self.counters: dict[str, int] = {}
        self._n_taken = 0  # evaluations of the starts that were taken over
        self._seconds = 0.0
        self._finishing = False  # whether the starts agree, and the best is polished once more
        self.stopped = ""
        self._running: list[Start] = []
        dim = objective.topology.dim
        self._initial = np.empty((0, dim))
        if initial is not None and np.ndim(initial) == 2:
            self._initial = check_population(initial, dim, "initial")
        elif initial is not None:
            self._check_settings()
            self._running = [self._new_start(0, theta=check_theta(initial, dim, "initial"))]
        if not self._running and self._executor is None:
            self._running = [self._new_start(0)]

    def _check_settings(self) -> None:
        """Refuse settings now, although the first start does not search."""
        plan, topology = self.plan, self.objective.topology
        make_optimizer(plan.method, topology, population_size=plan.population_size, **plan.settings)

    def _prepare(self, objective: Objective, threads: int) -> None:
        """What can be made anew, and is not part of the state."""
        self._n_parallel = 1
        threads = check_threads(threads)
        if self.plan.polish == "restarts":  # one thread each
            self._n_parallel, threads = threads, 1
        if isinstance(objective, LeastSquares) and objective.threads != threads:
            objective = LeastSquares(objective.problem, threads=threads)
        self.objective = objective
        self._pool = ThreadPoolExecutor(self._n_parallel) if self._n_parallel > 1 else None

    def _new_start(self, number: int, left: int | None = None, theta: Array | None = None) -> Start:
        given = self._given(number) if theta is None else None
        return Start(
            self.objective.for_thread() if self._n_parallel > 1 else self.objective,
            self.plan.of_start(number),
            start_seed(self.seed, number),
            self._left if left is None else left,
            theta if given is None else given,
            stall=NEVER if given is None else SLOW,
        )

    def _given(self, number: int) -> Array | None:
        """What a start polishes instead of a search, if it is one of the first."""
        return self._initial[number] if number < len(self._initial) else None

    @property
    def _left(self) -> int:
        """What the starts that were taken over have left of the budget."""
        return self.max_evaluations - self._n_taken

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
        return self._n_taken + (self._running[0].n_evaluations if self._running else 0)

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
        generations = sum(start.generation for start in self._running[:1])
        return Progress(
            n_evaluations=self.n_evaluations,
            max_evaluations=self.max_evaluations,
            error=self.error,
            generation=len(self.history.trace) + generations,
            n_starts=len(self.founds),
            fit_error=self._fit_error,
        )

    @property
    def _fit_error(self) -> float:
        """The error without the ridge, as far as it is known without an evaluation."""
        if not self.objective.sets_ridge:
            return np.nan if self.objective.alpha > 0 else self.error
        if self.kept is not None:
            return self.kept.error
        return self._running[0].fit_error if self._running else np.nan

    def step(self, max_time: float = np.inf) -> None:
        """Do one generation or one iteration of a polish; of each start, if there are threads.

        Starts that an executor runs are ended after some seconds.
        """
        started = time.perf_counter()
        if not self._running:
            self._run_away(max_time)
        elif self._pool is None or self._executor is not None:
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
        if self.error <= self.objective.target:  # also by the last of the budget
            self.stopped = "target"
        self._keep_running()
        self._seconds += time.perf_counter() - started

    def _run_away(self, max_time: float) -> None:
        """Let a number of starts be run by the executor."""
        assert self._executor is not None
        first, left = len(self.founds), self._left
        jobs = [
            StartJob(
                *(self.objective, self.plan.of_start(n), self.seed, n, left, max_time),
                self._given(n),
            )
            for n in range(first, first + self._n_parallel)
        ]
        states = list(self._executor.map(run_start, jobs))
        with reading_state():
            self._running = [
                Start.from_state(self.objective, job.plan, state)
                for job, state in zip(jobs, states, strict=True)
            ]

    def _keep_running(self) -> None:
        """Begin starts, so that there is one for each thread."""
        if self.finished or self._executor or self._finishing:
            return
        # the first one has not finished; those behind it may have run ahead of it
        while len(self._running) < self._n_parallel or (
            self._n_parallel > 1
            and sum(not start.finished for start in self._running) < self._n_parallel
        ):
            self._running.append(self._new_start(len(self.founds) + len(self._running)))

    def _is_promising(self, start: Start) -> bool:
        """Whether a start that has stalled should go on: those before it were not much better."""
        promising = self.plan.patience(self.objective.topology).promising
        most = promising * self.history.error
        return start.reason == "stalled" and start.history.error <= most

    def _take_over(self, start: Start) -> None:
        """Add what a start has found; decide whether to go on."""
        left = self._left
        if start.n_evaluations > left:  # it ran ahead of others, which left it less
            start = self._new_start(len(self.founds), left)
            while not start.finished or self._is_promising(start):
                start.go_on() if start.finished else start.step()
        self._take(start)
        enough = self.plan.polish == "restarts" and self.agreement.is_enough
        if self.plan.polish != "restarts" or start.reason == "budget":
            self.stopped = start.reason
        elif self._finishing:
            self.stopped = "agreement"
        elif enough and self.objective.sets_ridge:
            self.stopped = "agreement"  # whose polishes are never cut short
        elif len(self.founds) == self.max_starts:
            self.stopped = "starts"
        elif enough and self._left >= LEAST:
            self._finish()
        elif self._left < self.plan.of_start(len(self.founds)).least_evaluations:
            self.stopped = "budget"

    def _take(self, start: Start) -> None:
        """Add the notes of a start and, unless it was cut short, what it ended in."""
        ended = start.reason != "budget" and not self._finishing
        found = start.found() if ended or self.objective.sets_ridge else None
        self._add(start, start.history, found)
        if ended and found is not None:
            self.founds.append(replace(found, n_evaluations=self._n_taken))

    def _add(self, start: Start, notes: History, found: Found | None) -> None:
        self.history.absorb(notes, self._n_taken)
        self._n_taken += start.n_evaluations
        for name, n in start.counters.items():
            self.counters[name] = self.counters.get(name, 0) + n
        if self.objective.sets_ridge and found is not None and found.output_weights.size:
            self._keep(found)

    def _keep(self, found: Found) -> None:
        """Keep the better one: by the validation set if there is one, else the more probable."""
        score = found.score
        model = self.objective.model(found.theta, found.output_weights)
        if self.history.note_model(model, self._n_taken):
            score = self.history.rates[-1][2]
        elif self.history.rates:
            return
        if self.kept is None or score < self.kept.score:
            self.kept = replace(found, score=score)

    def _finish(self) -> None:
        """Polish the best once more, without haste: starts may have ended since they were slow."""
        self._finishing = True
        self._running = [self._new_start(len(self.founds), theta=self.history.theta)]

    def record(self, time_is_up: bool = False) -> RunRecord:
        """What the run has found so far; ``time_is_up`` if that is why it ends now."""
        run = self._with_start_under_way()
        history, kept, row = run.history, run.kept, find_method(self.method)
        theta, penalty = self.objective.evaluated(history.theta)
        best = run._model(history.theta)
        model = run._chosen() or best
        end = (self.n_evaluations, history.error)
        curve = [*history.curve, *([] if history.curve[-1:] == [end] else [end])]
        trace = history.table("trace")
        steps = trace[:, 2]
        labels = label_optima(self.founds, self.objective)
        return RunRecord(
            problem=self.objective.name,
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
            network_error=(
                history.error if best is None else self.objective.network_error(best) + penalty
            ),
            model=model,
            members=() if model is None else (model,),
            alpha=self.objective.alpha if kept is None else kept.alpha,
            n_effective=None if kept is None else kept.n_effective,
            generation_evaluations=trace[:, 0].astype(np.int64),
            modified_share=trace[:, 1],
            step_size=None if np.isnan(steps).all() else steps,
            spread=history.table("spread"),
            rates=run._rates_table(model),
            founds=tuple(replace(f, optimum=n) for f, n in zip(self.founds, labels, strict=True)),
            restarts=self.plan.polish == "restarts",
            n_evaluations=run._n_taken,
            counters=run.counters,
            stopped=self.stopped or ("time" if time_is_up else "interrupted"),
            seconds=self._seconds,
        )

    def _with_start_under_way(self) -> Run:
        """The same with the start that is under way taken over as it is."""
        run = Run.__new__(Run)
        run.__dict__.update(self.__dict__, counters=dict(self.counters), _running=[])
        run.history = History(self.objective)
        run.history.absorb(self.history, 0)
        if self._running:
            start = self._running[0]
            found = start.found() if self.objective.sets_ridge else None
            run._add(start, start.validated, found)
        return run

    def _chosen(self) -> Model | None:
        """The network that the evidence or the validation set has selected, if any."""
        if self.kept is not None:
            kept = self.objective.model(self.kept.theta, self.kept.output_weights)
            return self._with_origin(kept)
        return self._model(self.history.selected) if self.history.rates else None

    def _model(self, theta: Array) -> Model | None:
        """The network of a candidate; None if it is not finite, since nothing was found."""
        if not np.isfinite(theta).all():
            return None
        return self._with_origin(self.objective.model(theta))

    def _with_origin(self, model: Model | None) -> Model | None:
        if model is None:
            return None
        error = self.history.error
        if self.objective.sets_ridge:
            error = self.objective.network_error(model, with_ridge=False)
        origin = {
            **self.objective.origin,
            "method": self.method,
            "seed": self.seed,
            "n_evaluations": self.n_evaluations,
            "error": error,
            "versions": versions(),
        }
        return replace(model, origin=origin)

    def _rates_table(self, model: Model | None) -> Array:
        """Errors of the networks that the validation set selected; else the test error, if any."""
        if self.history.rates or not self.objective.tests or model is None:
            return self.history.table("rates")
        train, test = self.objective.other_errors(model)
        return np.array([(self._n_taken, train, np.nan, test)])

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "problem": self.objective.digest,
            "method": self.method,
            "seed": self.seed,
            "max_evaluations": self.max_evaluations,
            "max_starts": self.max_starts,
            "plan": self.plan.state(),
            "seconds": self._seconds,
            "stopped": self.stopped,
            "history": self.history.state(),
            "n_taken": self._n_taken,
            "founds": {str(i): found.state() for i, found in enumerate(self.founds)},
            "kept": None if self.kept is None else self.kept.state(),
            "counters": dict(self.counters),
            "initial": self._initial.copy(),
            # those that run ahead in other threads begin again
            "start": self._running[0].state() if self._running else None,
        }

    @classmethod
    def from_state(cls, problem: Problem | Objective, state: State, *, threads: int = 1) -> Self:
        """The run of ``state()``, which goes on bit by bit as if never interrupted."""
        objective = as_objective(problem)
        check_digest(objective, state)
        run = cls.__new__(cls)
        with reading_state():
            run._restore(objective, state, threads)
        return run

    def _restore(self, objective: Objective, state: State, threads: int) -> None:
        find_method(state["method"])
        self.method, self.seed = state["method"], check_count("seed", state["seed"], 0)
        self.max_evaluations = _checked_budget(state["max_evaluations"])
        self.max_starts = state["max_starts"]
        if self.max_starts is not None:
            check_count("max_starts", self.max_starts, 1)
        self.plan = Plan.from_state(state["plan"])
        self._prepare(objective, threads)
        self._executor = None
        self._seconds = check_real("seconds", state["seconds"], 0, 1e12)
        self.stopped = check_text("stopped", state["stopped"])
        self.history = History.from_state(self.objective, state["history"])
        self._n_taken = check_count("n_taken", state["n_taken"], 0)
        if self._n_taken > self.max_evaluations:
            raise ValueError("the state is damaged: it has spent more than its budget.")
        founds, dim = check_saved("founds", state["founds"], dict, {}), objective.topology.dim
        self._initial = check_saved("initial", state["initial"], "n D", {"D": dim})
        self.founds = [Found.from_state(founds[str(i)], dim) for i in range(len(founds))]
        self.kept = None if state["kept"] is None else Found.from_state(state["kept"], dim)
        self.counters = {
            check_text("a counter", name): check_count(name, n, 0)
            for name, n in state["counters"].items()
        }
        self._finishing = self.plan.polish == "restarts" and self.agreement.is_enough
        start = state["start"]
        if start is None and not self.finished:
            raise ValueError("the state is damaged: it has not ended, and there is no start.")
        plan = self.plan.of_start(len(self.founds))
        self._running = [] if start is None else [Start.from_state(self.objective, plan, start)]


def as_objective(problem: Problem | Objective) -> Objective:
    """An objective as it is; of a problem, its least squares."""
    if isinstance(problem, Objective):
        return problem
    return LeastSquares(check_kind("problem", problem, Problem, "as load_problem makes"))


def _checked_budget(max_evaluations: object) -> int:
    budget = check_count("max_evaluations", max_evaluations, 1)
    if budget > UNLIMITED:
        raise ValueError(f"max_evaluations must be at most 2^53, got {shown(max_evaluations)}.")
    return budget
