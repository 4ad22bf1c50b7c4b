"""From a population to its errors, and from a vector to a complete network."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from symbreak import _kernels, network
from symbreak._support.blas import single_threaded_blas
from symbreak._support.checks import (
    Array,
    check_count,
    check_finite,
    check_kind,
    check_memory,
    check_population,
    check_theta,
)
from symbreak._support.compile import is_kept
from symbreak.models import Model
from symbreak.problems import Problem

#: Each has its own scratch; no machine has so many cores.
MAX_THREADS = 4_096


def check_threads(threads: int) -> int:
    """Return a number of threads; 0 is one per core."""
    n = check_count("threads", threads, 0) or os.cpu_count() or 1
    if n > MAX_THREADS:
        raise ValueError(
            f"threads must be at most {MAX_THREADS:,}, got {threads:,}; 0 is one per core."
        )
    return n


class Evaluator:
    """Errors of candidate networks on the training set of a problem.

    Call it with a population (N_p, D); it returns errors (N_p,): mean squared error of the
    network with its best output layer, plus the ridge if the problem has one and the penalty
    outside the feasible ball. An error that is not finite is infinite, and counted.

    The first one in a process loads the compiled kernels, or compiles them, which takes some
    seconds and is said on standard error.

    Args:
        problem: What to train on.
        threads: Candidates are divided among this many threads; 0 means one per core. The
            errors do not depend on it, bit by bit.

    Attributes:
        n_evaluations: Candidates this evaluator was called with so far.
        n_nonfinite: How many of them had no finite error.
    """

    def __init__(self, problem: Problem, *, threads: int = 1) -> None:
        check_kind("problem", problem, Problem, "as load_problem makes")
        self.threads = check_threads(threads)
        check_memory(
            f"{self.threads:,} evaluations at a time of a {problem.topology} network on "
            f"{len(problem.train):,} samples",
            self.threads * _scratch_bytes(problem),
            "use fewer threads or samples, or a smaller network",
        )
        prepare_kernels()
        self.problem = problem
        self.n_evaluations = 0
        self.n_nonfinite = 0
        self._objective = _objective(problem)
        self._sizes = np.array(problem.topology.sizes)
        n_ridge = problem.topology.hidden[-1] if problem.ridge > 0 else 0
        self._XT = _sample_rows(problem.train.X, n_ridge)
        self._YT = _sample_rows(problem.train.y, n_ridge)
        weights = problem.train.weights
        self._roots = np.ones(len(problem.train)) if weights is None else np.sqrt(weights)
        self._scratch = [self._new_scratch() for _ in range(self.threads)]
        self._begin_process()

    def _begin_process(self) -> None:
        """Threads and the state of locks do not survive a fork: each process has its own."""
        self._process = os.getpid()
        self._lock = threading.Lock()  # callers in several threads share the scratch
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __call__(self, population: ArrayLike) -> Array:
        """Errors (N_p,) of a population (N_p, D)."""
        candidates = check_population(population, self.problem.topology.dim)
        if self._process != os.getpid():
            self._begin_process()
        with self._lock:
            return self._errors(candidates)

    def _errors(self, candidates: Array) -> Array:
        errors = np.empty(len(candidates))
        if self._pool is None:
            self._fill(errors, candidates, 0)
        else:
            parts = np.array_split(np.arange(len(candidates)), self.threads)
            jobs = [
                self._pool.submit(
                    self._fill, errors[p[0] : p[-1] + 1], candidates[p[0] : p[-1] + 1], t
                )
                for t, p in enumerate(parts)
                if len(p)
            ]
            for job in jobs:
                job.result()
        self.n_evaluations += len(candidates)
        if not errors[errors.argmax()] < np.inf:  # every generation: counting takes 1 us more
            self.n_nonfinite += len(errors) - int(np.count_nonzero(np.isfinite(errors)))
        return errors

    def _fill(self, errors: Array, candidates: Array, thread: int) -> None:
        _kernels.errors_into(
            errors,
            candidates,
            self._sizes,
            self._XT,
            self._YT,
            self._roots,
            self._objective,
            *self._scratch[thread],
        )

    def _new_scratch(self) -> tuple[Array, Array, Array]:
        sizes = self.problem.topology.sizes
        buffer = (max(sizes), _kernels.SAMPLE_BLOCK)
        n_columns = sizes[-2] + int(self.problem.output_shift) + sizes[-1]
        return _aligned(buffer), _aligned(buffer), _aligned((n_columns, self._XT.shape[1]))

    def evaluated(self, theta: ArrayLike) -> tuple[Array, float]:
        """The vector at which ``theta`` (D,) is evaluated, and its penalty."""
        theta = check_theta(theta, self.problem.topology.dim)
        vector = np.empty_like(theta)
        penalty = _kernels.feasible(theta, self._objective.rescale, vector)
        return vector, float(penalty)

    @single_threaded_blas
    def solve(self, theta: ArrayLike) -> Model:
        """The complete network at which ``theta`` (D,) is evaluated.

        Its output weights are those of the least squares that the error stands for, sample weights
        and ridge included; weights of classes are fitted to targets rescaled by 20 (Section 2).
        """
        check_finite("theta", check_theta(theta, self.problem.topology.dim))
        vector, _ = self.evaluated(theta)
        problem, train, shift = self.problem, self.problem.train, self.problem.output_shift
        A = network.hidden_outputs(vector, problem.topology, train.X, shift=shift)
        check_finite("the hidden outputs of theta", A)
        classes = problem.task == "classification"
        return Model(
            problem.topology,
            problem.task,
            vector,
            network.fit_output_weights(
                A, _scale(problem) * train.y, train.weights, problem.ridge, shift=shift
            ),
            problem.inputs,
            problem.targets,
            "tanh" if classes else "linear",
            problem.classes,
            problem.feature_names,
            problem.target_names,
        )


@single_threaded_blas
def network_error(model: Model, problem: Problem) -> float:
    """Error of a complete network on the training set, as the search has it without the penalty."""
    check_kind("model", model, Model, "as Evaluator.solve makes")
    check_kind("problem", problem, Problem, "as load_problem makes")
    train, shift = problem.train, problem.output_shift
    outputs = model.weighted_sums(train.X)
    scale = _scale(problem)
    error = network.outputs_error(outputs, train.y, problem.output_error, scale, train.weights)
    if problem.ridge > 0:
        error += network.ridge(
            *(model.theta, model.topology, model.output_weights / scale),
            *(problem.ridge, train.total_weight),
            shift=shift,
        )
    return error


def plain_error(model: Model, problem: Problem) -> float:
    """``network_error`` without the ridge: errors with different ones cannot be compared."""
    return network_error(model, replace(problem, alpha=0.0))


def _scratch_bytes(problem: Problem) -> int:
    """What a thread needs: two layers of a block of samples, and the last one of all samples."""
    sizes, n_samples = problem.topology.sizes, len(problem.train)
    n_rows = n_samples + (sizes[-2] if problem.ridge > 0 else 0) + _kernels.PADDING
    return 8 * (2 * max(sizes) * _kernels.SAMPLE_BLOCK + (sizes[-2] + 1 + sizes[-1]) * n_rows)


def _scale(problem: Problem) -> float:
    """What targets are multiplied by before output weights are fitted."""
    return network.CLASS_SCALE if problem.task == "classification" else 1.0


def _objective(problem: Problem) -> _kernels.Objective:
    train, activation = problem.train, problem.topology.activation
    if activation not in _kernels.COMPILED:
        known = ", ".join(map(str, _kernels.COMPILED))
        raise ValueError(f"activation {activation} has no compiled code; known are {known}.")
    return _kernels.Objective(
        n_samples=len(train),
        total_weight=train.total_weight,
        activation=activation.code,
        rescale=_kernels.RESCALES[problem.rescale],
        output_shift=bool(problem.output_shift),
        output_tanh=problem.output_error == "tanh",
        weighted=train.weights is not None,
        alpha=float(problem.ridge),
    )


@cache
def prepare_kernels() -> None:
    """Load the compiled kernels, or compile them (5 s), once per process.

    Says so on standard error when it takes long.
    """
    kept = "once" if is_kept(_kernels.errors_into) else "each time, for want of a writable folder"
    message = f"symbreak: compiling the kernels, which takes a few seconds, {kept} ..."
    notice = threading.Timer(2.0, print, [message], {"file": sys.stderr, "flush": True})
    notice.start()
    try:
        rows, buffer = np.zeros((1, _kernels.PADDING)), np.zeros((1, _kernels.SAMPLE_BLOCK))
        _kernels.errors_into(
            np.zeros(1),
            np.zeros((1, 2)),
            np.ones(3, dtype=np.int64),
            rows,
            rows,
            np.ones(1),
            _kernels.Objective(1, 1.0, 0, 0, False, False, False, 0.0),
            buffer,
            buffer.copy(),
            np.zeros((2, _kernels.PADDING)),
        )
    finally:
        notice.cancel()


def _sample_rows(values: Array, n_ridge: int = 0) -> Array:
    """Transpose (K, n) to n padded rows of samples and a ridge, as the kernels want them."""
    K, n = values.shape
    rows = _aligned((n, -(-(K + n_ridge) // _kernels.PADDING) * _kernels.PADDING))
    rows[:, :K] = values.T
    return rows


def _aligned(shape: tuple[int, int]) -> Array:
    """Zeros that start on a cache line."""
    size = shape[0] * shape[1]
    store = np.zeros(size + 8)
    start = (-store.ctypes.data % 64) // 8
    return store[start : start + size].reshape(shape)
