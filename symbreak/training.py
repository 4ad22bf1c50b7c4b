"""One run: ask, evaluate, tell, until the budget is spent; and what is recorded of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from symbreak._blas import one_blas_thread
from symbreak._checks import Array, check_count
from symbreak._interrupts import deferred_interrupts
from symbreak.evaluation import Evaluator
from symbreak.history import History
from symbreak.methods import find_method, make_optimizer
from symbreak.models import Model
from symbreak.optimizers import Optimizer, State
from symbreak.problems import Problem
from symbreak.records import Progress, RunRecord, versions


def train(
    problem: Problem,
    method: str = "DE-SB",
    *,
    max_evaluations: int | None = None,
    seed: int = 0,
    population_size: int | None = None,
    threads: int = 1,
    callback: Callable[[Progress], object] | None = None,
    **settings: Any,
) -> RunRecord:
    """Train the network of a problem and record the run.

    Args:
        problem: From ``load_problem`` or ``Problem.from_arrays``.
        method: A name in ``METHODS``.
        max_evaluations: Budget, never exceeded; by default the problem's own.
        seed: Same seed, same result, with any number of threads.
        population_size: Candidates per generation; by default the problem's own.
        threads: Threads of the evaluation; 0 means one per core.
        callback: Called after each generation; the run stops early if it returns True.
        **settings: Other arguments of the optimiser, such as ``F`` or ``sigma``.

    Ctrl-C ends the run after the generation under way, with the best so far.
    """
    run = Training(
        problem,
        method,
        max_evaluations=max_evaluations,
        seed=seed,
        population_size=population_size,
        threads=threads,
        **settings,
    )
    interrupted = threading.Event()
    with deferred_interrupts(interrupted.set), one_blas_thread():
        while not run.finished and not interrupted.is_set():
            run.step()
            answer = None if callback is None else callback(run.progress)
            if isinstance(answer, bool | np.bool_) and answer:
                break
        return run.record()


class Training:
    """A run under way: step by step, with a state to continue from in another process.

    Args are those of ``train``.
    """

    def __init__(
        self,
        problem: Problem,
        method: str,
        *,
        max_evaluations: int | None = None,
        seed: int = 0,
        population_size: int | None = None,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        self._evaluate = Evaluator(problem, threads=threads)
        self.problem, self.method, self.seed = problem, method, check_count("seed", seed, 0)
        budget = problem.max_evaluations if max_evaluations is None else max_evaluations
        self._optimizer = make_optimizer(
            method,
            problem,
            seed=seed,
            population_size=population_size,
            max_evaluations=check_count("max_evaluations", budget, 1),
            **settings,
        )
        self.max_evaluations = int(budget)
        self._history = History(problem, self._evaluate.solve)
        self._seconds = 0.0

    @property
    def finished(self) -> bool:
        """Whether another generation would exceed the budget, or the optimiser has stopped."""
        if self._optimizer.stopped is not None:
            return True
        return self.n_evaluations + self._optimizer.next_size > self.max_evaluations

    @property
    def n_evaluations(self) -> int:
        """Evaluations done."""
        return self._optimizer.n_evaluations

    @property
    def progress(self) -> Progress:
        """How far the run has come."""
        return Progress(
            self.n_evaluations,
            self.max_evaluations,
            self._history.error,
            self._optimizer.generation,
        )

    def step(self) -> None:
        """Do one generation."""
        started = time.perf_counter()
        optimizer, history = self._optimizer, self._history
        candidates = optimizer.ask()
        errors = self._evaluate(candidates)
        history.note_errors(candidates, errors, optimizer.n_evaluations)
        optimizer.tell(candidates, errors)
        history.note_spread(candidates, optimizer.n_evaluations)
        share = np.count_nonzero(optimizer.modified) / len(errors)
        history.note_generation(optimizer.n_evaluations, share, optimizer.step_size or np.nan)
        self._seconds += time.perf_counter() - started

    def record(self) -> RunRecord:
        """What the run has found so far."""
        history, optimizer = self._history, self._optimizer
        row = find_method(self.method)
        theta, penalty = self._evaluate.evaluated(history.theta)
        best = self._model(history.theta)
        end = (self.n_evaluations, history.error)
        curve = [*history.curve, *([] if history.curve[-1:] == [end] else [end])]
        trace = history.table("trace")
        return RunRecord(
            problem=self.problem.name,
            method=self.method,
            family=row.family,
            role=row.role,
            seed=self.seed,
            population_size=optimizer.population_size,
            max_evaluations=self.max_evaluations,
            evaluations=np.array([n for n, _ in curve], dtype=np.int64),
            errors=np.array([error for _, error in curve]),
            theta=theta,
            output_weights=np.empty((0, 0)) if best is None else best.output_weights,
            penalty=penalty,
            network_error=np.inf if best is None else self._network_error(best) + penalty,
            model=self._model(history.selected) if history.rates else best,
            generation_evaluations=trace[:, 0].astype(np.int64),
            modified_share=trace[:, 1],
            step_size=None if optimizer.step_size is None else trace[:, 2],
            spread=history.table("spread"),
            rates=history.table("rates"),
            n_evaluations=self.n_evaluations,
            counters=dict(optimizer.counters),
            interrupted=not self.finished,
            seconds=self._seconds,
        )

    def _model(self, theta: Array) -> Model | None:
        """The network of a candidate; None if it is not finite, since nothing was found."""
        if not np.isfinite(theta).all():
            return None
        return self._evaluate.solve(theta).with_origin(
            problem=self.problem.name,
            method=self.method,
            seed=self.seed,
            n_evaluations=self.n_evaluations,
            error=self._history.error,
            versions=versions(),
        )

    def _network_error(self, model: Model) -> float:
        return self._evaluate.network_error(model.theta, model.output_weights)

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "problem": self.problem.digest,
            "method": self.method,
            "seed": self.seed,
            "max_evaluations": self.max_evaluations,
            "seconds": self._seconds,
            "history": self._history.state(),
            "optimizer": self._optimizer.state(),
        }

    @classmethod
    def from_state(cls, problem: Problem, state: State, *, threads: int = 1) -> Self:
        """The run of ``state()``, which goes on bit by bit as if never interrupted."""
        if state.get("problem") != problem.digest:
            raise ValueError(f"the state is of another problem than this {problem.name}, or data.")
        run = cls.__new__(cls)
        run._evaluate = Evaluator(problem, threads=threads)
        try:
            find_method(state["method"])
            run.problem, run.method = problem, state["method"]
            run.seed = check_count("seed", state["seed"], 0)
            run.max_evaluations = check_count("max_evaluations", state["max_evaluations"], 1)
            run._seconds = float(state["seconds"])
            run._optimizer = Optimizer.from_state(state["optimizer"])
            run._history = History.from_state(problem, run._evaluate.solve, state["history"])
        except KeyError as missing:
            raise ValueError(f"the state lacks {missing}; it was not written by state().") from None
        if run._optimizer.dim != problem.topology.dim:
            raise ValueError(f"the state is of another network than a {problem.topology}.")
        return run
