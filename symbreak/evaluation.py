"""From a population to its errors: the one place that counts evaluations."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from symbreak import _kernels, network
from symbreak._blas import single_threaded_blas
from symbreak._checks import Array, check_count, check_population, check_theta
from symbreak.models import Model
from symbreak.problems import Dataset, Problem

#: Each has its own scratch; no machine has so many cores.
MAX_THREADS = 4_096


class Evaluator:
    """Errors of candidate networks on the training set of a problem.

    Call it with a population (N_p, D); it answers errors (N_p,): mean squared error of the
    network with its best output layer, plus the penalty outside the feasible ball. An error
    that is not finite is infinite, and counted.

    Args:
        problem: What to train on.
        threads: Candidates are divided among this many threads; 0 means one per core. The
            errors do not depend on it, bit by bit.

    Attributes:
        n_evaluations: Candidates evaluated so far.
        n_nonfinite: How many of them had no finite error.
    """

    def __init__(self, problem: Problem, *, threads: int = 1) -> None:
        if not isinstance(problem, Problem):
            raise ValueError(f"problem must be a Problem, as load_problem makes, got {problem!r}.")
        prepare_kernels()
        self.problem = problem
        self.threads = check_count("threads", threads, 0) or os.cpu_count() or 1
        if self.threads > MAX_THREADS:
            raise ValueError(
                f"threads must be at most {MAX_THREADS:,}, got {threads:,}; 0 is one per core."
            )
        self.n_evaluations = 0
        self.n_nonfinite = 0
        self._sizes = np.array(problem.topology.sizes)
        self._XT = _sample_rows(problem.train.X)
        self._YT = _sample_rows(problem.train.y)
        self._lock = threading.Lock()  # callers in several threads share the scratch
        self._scratch = [self._new_scratch() for _ in range(self.threads)]
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __call__(self, population: ArrayLike) -> Array:
        """Errors (N_p,) of a population (N_p, D)."""
        candidates = check_population(population, self.problem.topology.dim)
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
        self.n_nonfinite += len(errors) - int(np.count_nonzero(np.isfinite(errors)))
        return errors

    def evaluated(self, theta: ArrayLike) -> tuple[Array, float]:
        """The vector at which ``theta`` (D,) is evaluated, and its penalty."""
        theta = check_theta(theta, self.problem.topology.dim)
        vector = np.empty_like(theta)
        penalty = _kernels.feasible(theta, self.problem.rescale == "radius", vector)
        return vector, float(penalty)

    def solve(self, theta: ArrayLike) -> Model:
        """The complete network of a candidate (D,), output weights by least squares."""
        problem = self.problem
        vector, _ = self.evaluated(theta)
        return Model(
            problem.topology,
            problem.task,
            vector,
            self.output_weights(theta),
            problem.inputs,
            problem.targets,
            "tanh" if problem.task == "classification" else "linear",
            problem.classes,
        )

    @single_threaded_blas
    def output_weights(self, theta: ArrayLike) -> Array:
        """Output weights (N_{L-1}, q) of a network by least squares on the training set.

        A last row holds the output shift if the problem has one. Weights of classes are fitted
        to targets rescaled by 20 (Section 2).
        """
        y = self.problem.train.y
        if self.problem.task == "classification":
            y = network.CLASS_SCALE * y
        return network.fit_output_weights(self._hidden_outputs(theta, self.problem.train.X), y)

    @single_threaded_blas
    def predict(self, theta: ArrayLike, output_weights: Array, X: Array) -> Array:
        """Outputs (K, q) of a complete network for inputs X (K, d) (Eqs. 3-4).

        Both in the normalised units of ``problem.train``; ``problem.inputs(X)`` and
        ``problem.targets.undo(outputs)`` go there and back.
        """
        outputs = self._hidden_outputs(theta, X) @ output_weights
        return np.tanh(outputs) if self.problem.task == "classification" else outputs

    @single_threaded_blas
    def network_error(self, theta: ArrayLike, output_weights: Array) -> float:
        """Error on the training set of a complete network, without penalty."""
        outputs = self._hidden_outputs(theta, self.problem.train.X) @ output_weights
        y = self.problem.train.y
        if self.problem.output_error == "tanh":
            return float(np.mean((np.tanh(outputs) - y) ** 2))
        scale = network.CLASS_SCALE if self.problem.task == "classification" else 1.0
        return float(np.mean((outputs / scale - y) ** 2))

    @single_threaded_blas
    def error_rate(self, theta: ArrayLike, output_weights: Array, data: Dataset) -> float:
        """Share of samples whose greatest output is not their class (winner takes all)."""
        # tanh saturates and makes ties; the linear outputs have the same order.
        outputs = self._hidden_outputs(theta, data.X) @ output_weights
        return float(np.mean(outputs.argmax(axis=1) != data.y.argmax(axis=1)))

    def _hidden_outputs(self, theta: ArrayLike, X: Array) -> Array:
        theta, _ = self.evaluated(theta)
        shift = self.problem.output_shift
        return network.hidden_outputs(theta, self.problem.topology, X, shift=shift)

    def _fill(self, errors: Array, candidates: Array, thread: int) -> None:
        problem = self.problem
        _kernels.errors_into(
            errors,
            candidates,
            self._sizes,
            self._XT,
            self._YT,
            len(problem.train),
            problem.rescale == "radius",
            problem.output_shift,
            problem.output_error == "tanh",
            *self._scratch[thread],
        )

    def _new_scratch(self) -> tuple[Array, Array, Array]:
        sizes = self.problem.topology.sizes
        buffer = (max(sizes), _kernels.SAMPLE_BLOCK)
        n_columns = sizes[-2] + int(self.problem.output_shift) + sizes[-1]
        return _aligned(buffer), _aligned(buffer), _aligned((n_columns, self._XT.shape[1]))


@cache
def prepare_kernels() -> None:
    """Load the compiled kernels, or compile them, once per machine and version (5 s).

    Says so on standard error when it takes long.
    """
    message = "symbreak: compiling the kernels; this happens once and takes a few seconds ..."
    notice = threading.Timer(2.0, print, [message], {"file": sys.stderr, "flush": True})
    notice.start()
    try:
        rows, buffer = np.zeros((1, _kernels.PADDING)), np.zeros((1, _kernels.SAMPLE_BLOCK))
        _kernels.errors_into(
            *(np.zeros(1), np.zeros((1, 2)), np.ones(3, dtype=np.int64), rows, rows, 1),
            *(False, False, False, buffer, buffer.copy(), np.zeros((2, _kernels.PADDING))),
        )
    finally:
        notice.cancel()


def _sample_rows(values: Array) -> Array:
    """Transpose (K, n) to n padded rows of samples, as the kernels want them."""
    K, n = values.shape
    rows = _aligned((n, -(-K // _kernels.PADDING) * _kernels.PADDING))
    rows[:, :K] = values.T
    return rows


def _aligned(shape: tuple[int, int]) -> Array:
    """Zeros that start on a cache line."""
    size = shape[0] * shape[1]
    store = np.zeros(size + 8)
    start = (-store.ctypes.data % 64) // 8
    return store[start : start + size].reshape(shape)
