"""One run: ask, evaluate, tell, until the budget is spent; and what is recorded of it."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numba
import numpy as np
import scipy

from symbreak._blas import one_blas_thread
from symbreak._checks import MAX_MAGNITUDE, Array, IntArray, check_count
from symbreak._interrupts import deferred_interrupts
from symbreak._version import __version__
from symbreak.evaluation import Evaluator, data_error, network_error
from symbreak.methods import find_method, make_optimizer
from symbreak.network import evaluation_cost
from symbreak.optimizers import State
from symbreak.problems import Problem
from symbreak.symmetry import spread, spread_cost

#: The spread over partitions is measured whenever evaluations have grown by this factor, on this
#: many candidates: about 40 times in 200,000 evaluations.
SPREAD_EVERY, SPREAD_SAMPLE = 1.2, 100
#: It is always measured where that takes no more multiply-adds per candidate than this, and
#: otherwise as often as it takes no more than this share of the evaluations.
SPREAD_FREE, SPREAD_SHARE = 1_000_000, 0.05


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a run found and how it went.

    The curve ``(evaluations, errors)`` has one point per improvement of the best true error, at
    the very evaluation that brought it, and one at the end.

    Attributes:
        evaluations: Evaluations at each point of the curve.
        errors: Best error so far at each point.
        theta: The vector (D,) that was evaluated for the best error (paper-notes 1).
        output_weights: Its output weights (N_{L-1}, q), a last row for an output shift.
        penalty: Part of the best error that is penalty; 0 inside the feasible ball.
        network_error: Error of the saved network, theta with its output weights, plus penalty.
            It is ``error`` up to rounding, which grows with the condition of the fit.
        generation_evaluations: Evaluations at the end of each generation.
        modified_share: Share of candidates that the breaking modified, per generation.
        step_size: Widest standard deviation of the search after each generation; None for DE.
        spread: Whether symmetries divide the search: rows (evaluations, share of candidates in
            the best one's partition, effective number of conventions), ever more seldom.
        rates: For classification with validation data, rows (evaluations, training,
            validation, test error rate), one per improvement of the validation rate.
        n_evaluations: Evaluations done.
        n_nonfinite: How many of them had no finite error.
        n_repairs: How often the covariance was repaired.
        n_bounded: How often the step size was bounded.
        interrupted: Whether the run was stopped before its budget was spent.
        seconds: Wall-clock time.
        versions: Versions of what the result depends on.
    """

    problem: str
    method: str
    seed: int
    population_size: int
    max_evaluations: int
    evaluations: IntArray
    errors: Array
    theta: Array
    output_weights: Array
    penalty: float
    network_error: float
    generation_evaluations: IntArray
    modified_share: Array
    step_size: Array | None
    spread: Array
    rates: Array
    n_evaluations: int
    n_nonfinite: int
    n_repairs: int
    n_bounded: int
    interrupted: bool
    seconds: float
    versions: dict[str, str]

    @property
    def error(self) -> float:
        """Best error of the run."""
        return float(self.errors[-1])


class Progress(NamedTuple):
    """How far a run has come; given to callbacks after each generation."""

    n_evaluations: int
    max_evaluations: int
    error: float
    generation: int


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
        callback: Called after each generation; the run stops early if it answers True.
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
        self._optimizer = make_optimizer(
            method, problem, seed=seed, population_size=population_size, **settings
        )
        self.max_evaluations = check_count(
            "max_evaluations",
            problem.max_evaluations if max_evaluations is None else max_evaluations,
            self._optimizer.population_size,
            "one generation",
        )
        self._n_evaluations = 0
        self._n_nonfinite = 0
        self._seconds = 0.0
        self._theta = np.full(problem.topology.dim, np.nan)
        self._curve: list[tuple[int, float]] = []
        self._trace: list[tuple[int, float, float]] = []
        self._spread: list[tuple[int, float, float]] = []
        self._rates: list[tuple[int, float, float, float]] = []

    @property
    def finished(self) -> bool:
        """Whether another generation would exceed the budget."""
        return self._n_evaluations + self._optimizer.population_size > self.max_evaluations

    @property
    def progress(self) -> Progress:
        """How far the run has come."""
        error = self._curve[-1][1] if self._curve else np.inf
        return Progress(
            self._n_evaluations, self.max_evaluations, error, self._optimizer.generation
        )

    def step(self) -> None:
        """Do one generation."""
        started = time.perf_counter()
        candidates = self._optimizer.ask()
        errors = self._evaluate(candidates)
        self._note_improvements(candidates, errors)
        self._n_evaluations += len(errors)
        self._note_spread(candidates)
        self._optimizer.tell(candidates, errors)
        self._trace.append(
            (
                self._n_evaluations,
                np.count_nonzero(self._optimizer.modified) / len(errors),
                self._optimizer.step_size or np.nan,
            )
        )
        self._seconds += time.perf_counter() - started

    def _note_improvements(self, candidates: Array, errors: Array) -> None:
        """Add every candidate that is better than all before it to the curve."""
        best = self.progress.error
        if errors.min() >= best:
            return
        before = np.minimum.accumulate(np.concatenate([[best], errors[:-1]]))
        for i in np.flatnonzero(errors < before):
            self._curve.append((self._n_evaluations + int(i) + 1, float(errors[i])))
            self._theta = candidates[i].copy()
            self._note_rates(candidates[i])

    def _note_spread(self, candidates: Array) -> None:
        """Say now and then, ever more seldom, how the candidates lie to the best one so far."""
        last = self._spread[-1][0] if self._spread else 0
        if self._n_evaluations < SPREAD_EVERY * last or not self._curve:
            return
        sample, cost = candidates[:SPREAD_SAMPLE], spread_cost(self.problem.topology)
        evaluation = evaluation_cost(self.problem.topology, len(self.problem.train))
        spent, share = (len(self._spread) + 1) * len(sample) * cost, SPREAD_SHARE * evaluation
        if cost > SPREAD_FREE and spent > share * self._n_evaluations:
            return
        if not max(np.abs(sample).max(), np.abs(self._theta).max()) <= MAX_MAGNITUDE:
            return
        self._spread.append(
            (self._n_evaluations, *spread(sample, self._theta, self.problem.topology))
        )

    def _note_rates(self, theta: Array) -> None:
        """Classification rates count where the validation rate improves (paper-notes 15b)."""
        if self.problem.task != "classification" or self.problem.validation is None:
            return
        model = self._evaluate.solve(theta)

        def rate(data: Any) -> float:
            return np.nan if data is None else data_error(model, data)

        validation = rate(self.problem.validation)
        if not self._rates or validation < self._rates[-1][2]:
            row = (rate(self.problem.train), validation, rate(self.problem.test))
            self._rates.append((self._curve[-1][0], *row))

    def record(self) -> RunRecord:
        """What the run has found so far."""
        theta, penalty = self._evaluate.evaluated(self._theta)
        found = bool(np.isfinite(theta).all())
        model = self._evaluate.solve(self._theta) if found else None
        end = (self._n_evaluations, self.progress.error)
        curve = self._curve if self._curve and self._curve[-1] == end else [*self._curve, end]
        trace = np.array(self._trace, dtype=np.float64).reshape(-1, 3)
        return RunRecord(
            problem=self.problem.name,
            method=self.method,
            seed=self.seed,
            population_size=self._optimizer.population_size,
            max_evaluations=self.max_evaluations,
            evaluations=np.array([n for n, _ in curve], dtype=np.int64),
            errors=np.array([error for _, error in curve]),
            theta=theta,
            output_weights=np.empty((0, 0)) if model is None else model.output_weights,
            penalty=penalty,
            network_error=(
                np.inf if model is None else network_error(model, self.problem) + penalty
            ),
            generation_evaluations=trace[:, 0].astype(np.int64),
            modified_share=trace[:, 1],
            step_size=None if self._optimizer.step_size is None else trace[:, 2],
            spread=np.array(self._spread, dtype=np.float64).reshape(-1, 3),
            rates=np.array(self._rates, dtype=np.float64).reshape(-1, 4),
            n_evaluations=self._n_evaluations,
            n_nonfinite=self._n_nonfinite + self._evaluate.n_nonfinite,
            n_repairs=self._optimizer.n_repairs,
            n_bounded=self._optimizer.n_bounded,
            interrupted=not self.finished,
            seconds=self._seconds,
            versions=versions(),
        )

    def state(self) -> State:
        """Everything needed to continue, in arrays and JSON-able values."""
        return {
            "problem": self.problem.digest,
            "method": self.method,
            "seed": self.seed,
            "max_evaluations": self.max_evaluations,
            "n_evaluations": self._n_evaluations,
            "n_nonfinite": self._n_nonfinite + self._evaluate.n_nonfinite,
            "seconds": self._seconds,
            "theta": self._theta.copy(),
            "curve": np.array(self._curve, dtype=np.float64).reshape(-1, 2),
            "trace": np.array(self._trace, dtype=np.float64).reshape(-1, 3),
            "spread": np.array(self._spread, dtype=np.float64).reshape(-1, 3),
            "rates": np.array(self._rates, dtype=np.float64).reshape(-1, 4),
            "optimizer": self._optimizer.state(),
        }

    @classmethod
    def from_state(cls, problem: Problem, state: State, *, threads: int = 1) -> Self:
        """The run of ``state()``, which goes on bit by bit as if never interrupted."""
        if state.get("problem") != problem.digest:
            raise ValueError(f"the state is of another problem than this {problem.name}, or data.")
        try:
            optimizer = find_method(state["method"]).optimizer.from_state(state["optimizer"])
            run = cls(
                problem,
                state["method"],
                max_evaluations=state["max_evaluations"],
                seed=state["seed"],
                population_size=optimizer.population_size,
                threads=threads,
            )
            run._optimizer = optimizer
            run._n_evaluations = state["n_evaluations"]
            run._n_nonfinite = state["n_nonfinite"]
            run._seconds = state["seconds"]
            run._theta = state["theta"].copy()
            run._curve = [(int(n), float(error)) for n, error in state["curve"]]
            run._trace = [(int(n), float(a), float(b)) for n, a, b in state["trace"]]
            run._spread = [(int(n), float(a), float(b)) for n, a, b in state["spread"]]
            run._rates = [(int(n), *map(float, row)) for n, *row in state["rates"]]  # type: ignore[misc]
        except KeyError as missing:
            raise ValueError(f"the state lacks {missing}; it was not written by state().") from None
        return run


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {
        "symbreak": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
    }
