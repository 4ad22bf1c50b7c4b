"""Least squares on a table: from a population to its errors, from a vector to a network."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from symbreak import _kernels, network
from symbreak._polish._evidence import EvidencePolisher
from symbreak._polish._linearisation import Linearisation, check_polish_memory, jacobian_cost
from symbreak._polish._polisher import Polisher
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import (
    Array,
    check_count,
    check_finite,
    check_kind,
    check_memory,
    check_population,
    check_theta,
)
from symbreak._support.compile import notice_of_compilation
from symbreak._support.words import counted
from symbreak.models import Model
from symbreak.objectives._base import Found, Objective
from symbreak.problems import Problem
from symbreak.problems._problem import Ridge

#: Each has its own scratch; no machine has so many cores.
MAX_THREADS = 4_096
#: Samples that networks are compared on.
MAX_SAMPLES = 1_000
#: Inputs whose squares are so many times those of variance 1 are in another basis.
MORE = 1.5
#: Outputs are the same if they differ, in the root mean square, by less than this part of the
#: residual of the better one. Errors below the other number, of targets with variance 1, are as
#: good as none: two such fits are the same.
SAME, EXACT = 0.3, 1e-6


def check_threads(threads: int) -> int:
    """Return a number of threads; 0 is one per core."""
    if check_count("threads", threads, 0) > MAX_THREADS:
        raise ValueError(
            f"threads must be at most {MAX_THREADS:,}, got {threads:,}; 0 is one per core."
        )
    return int(threads) or os.cpu_count() or 1


class LeastSquares(Objective):
    """Errors of candidate networks on the training set of a problem.

    Call it with a population (N_p, D); it returns errors (N_p,): mean squared error of the
    network with its best output layer, plus the ridge if the problem has one and the penalty
    outside the feasible ball. An error that is not finite is infinite.

    The first one in a process loads the compiled kernels, or compiles them, which takes some
    seconds and is said on standard error.

    Args:
        problem: What to train on.
        threads: Candidates are divided among this many threads; 0 means one per core. The
            errors do not depend on it, bit by bit.

    Attributes:
        ridge: The problem's, or that of ``with_ridge``.
    """

    can_polish = True

    def __init__(self, problem: Problem, *, threads: int = 1, ridge: Ridge | None = None) -> None:
        check_kind("problem", problem, Problem, "as load_problem makes")
        self.threads = check_threads(threads)
        topology, train = problem.topology, problem.train
        # a thread needs two layers of a block of samples, and the last one of all samples
        n_rows = len(train) + topology.hidden[-1] * (problem.ridge.alpha > 0) + _kernels.PADDING
        n_columns, widest = topology.hidden[-1] + 1 + topology.n_outputs, max(topology.sizes)
        check_memory(
            f"{counted(self.threads, 'evaluation')} at a time of a {topology} network on "
            f"{len(train):,} samples",
            8 * self.threads * (2 * widest * _kernels.SAMPLE_BLOCK + n_columns * n_rows),
            "use fewer threads or samples, or a smaller network",
        )
        if topology.activation not in _kernels.COMPILED:
            known = ", ".join(map(str, _kernels.COMPILED))
            raise ValueError(
                f"activation {topology.activation} has no compiled code; known are {known}."
            )
        prepare_kernels()
        self.problem, self.topology, self.name = problem, topology, problem.name
        if problem.description:  # one that others know by its name
            self.origin = {"problem": problem.name}
        self.max_evaluations = problem.max_evaluations
        self.validates, self.tests = problem.validation is not None, problem.test is not None
        self.cost = network.evaluation_cost(topology, len(train))
        shift = problem.output_shift
        self.iteration_cost = jacobian_cost(topology, len(train), output_shift=shift)
        #: What targets are multiplied by before output weights are fitted (Section 2).
        self.class_scale = network.CLASS_SCALE if problem.classes else 1.0
        self._sizes = np.array(topology.sizes)
        self._roots = np.ones(len(train)) if train.weights is None else np.sqrt(train.weights)
        self._set_ridge(problem.ridge if ridge is None else ridge)
        self._begin_process()

    def _set_ridge(self, ridge: Ridge) -> None:
        self.ridge, self.alpha, self.sets_ridge = ridge, ridge.alpha, ridge.sets_itself
        problem, train = self.problem, self.problem.train
        self._objective = _kernels.Objective(
            n_samples=len(train),
            total_weight=train.total_weight,
            activation=self.topology.activation.code,
            rescale=_kernels.RESCALES[problem.rescale],
            output_shift=bool(problem.output_shift),
            output_tanh=problem.output_error == "tanh",
            weighted=train.weights is not None,
            alpha=ridge.alpha,
        )
        n_ridge = self.topology.hidden[-1] if ridge.alpha > 0 else 0
        if getattr(self, "_n_ridge", None) == n_ridge:
            return  # arrays of this size are there
        self._n_ridge = n_ridge
        self._XT, self._YT = (_sample_rows(values, n_ridge) for values in (train.X, train.y))
        sizes, buffer = self.topology.sizes, (max(self.topology.sizes), _kernels.SAMPLE_BLOCK)
        rows = (sizes[-2] + int(problem.output_shift) + sizes[-1], self._XT.shape[1])
        self._scratch = [tuple(map(_aligned, (buffer, buffer, rows))) for _ in range(self.threads)]

    def with_ridge(self, alpha: float) -> LeastSquares:
        """The same with a ridge that is given; they share their arrays, and take turns."""
        self.linearisation  # noqa: B018  (made now, it is shared)
        other = LeastSquares.__new__(LeastSquares)  # copy.copy would make it anew
        other.__dict__.update(self.__dict__)
        other._set_ridge(Ridge(alpha))
        return other

    @property
    def digest(self) -> str:  # type: ignore[override]
        return self.problem.digest

    @cached_property
    def units(self) -> Array | None:  # type: ignore[override]
        """What searches before a polish measure each weight in; None if all are 1, as in the paper.

        The paper's ball is made for weights of size 1. Without it, those of the first layer are
        smaller, so that a sum of inputs is no larger than one of variance 1: neurons that begin
        saturated mostly end worse.
        """
        if self.problem.rescale != "none":
            return None
        units = np.ones(self.topology.dim)
        rows, columns = self.topology.shapes[0]
        train = self.problem.train
        squares = float(np.average(np.sum(train.X**2, axis=1), weights=train.weights))
        if squares <= MORE * (columns - 1):
            squares = columns - 1  # of variance 1, of which a part has a little more or less
        units[: rows * columns] = 1 / math.sqrt(squares)
        return units

    def population_size(self, family: str) -> int | None:
        return self.problem.population_size.get(family)

    def for_thread(self) -> LeastSquares:
        return LeastSquares(self.problem, ridge=self.ridge)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(LeastSquares, threads=self.threads, ridge=self.ridge), (self.problem,)

    def check_polish(self) -> None:
        """Refuse errors that are no least squares, and what would not fit the memory."""
        self._check_polish()
        prepare_polish()

    def _check_polish(self) -> None:
        if self.problem.output_error != "linear":
            raise ValueError(
                "a polish needs least squares: output_error must be 'linear', got "
                f"{self.problem.output_error!r}; use a method without one, or polish='none'."
            )
        check_polish_memory(self.problem)

    @cached_property
    def linearisation(self) -> Linearisation:
        """What polishes of this objective share, one after the other."""
        self._check_polish()
        return Linearisation(self.problem)

    def polisher(self, theta: Array, *, max_iterations: int, max_evaluations: int) -> Polisher:
        """Levenberg-Marquardt, with a ridge that sets itself if it shall."""
        kind = EvidencePolisher if self.sets_ridge else Polisher
        return kind(self, theta, max_iterations=max_iterations, max_evaluations=max_evaluations)

    def _begin_process(self) -> None:
        """Threads and the state of locks do not survive a fork: each process has its own."""
        self._process = os.getpid()
        self._lock = threading.Lock()  # callers in several threads share the scratch
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __call__(self, population: ArrayLike) -> Array:
        """Errors (N_p,) of a population (N_p, D)."""
        candidates = check_population(population, self.topology.dim)
        errors = np.empty(len(candidates))
        with self._own_lock:
            if self._pool is None:
                self._fill(errors, candidates, self._scratch[0])
            else:  # parts of an array are views of it
                parts = (np.array_split(array, self.threads) for array in (errors, candidates))
                list(self._pool.map(self._fill, *parts, self._scratch))
        return errors

    def error(self, theta: Array) -> float:
        """That of one vector (D,), which is not checked."""
        error = np.empty(1)
        with self._own_lock:
            self._fill(error, theta[None], self._scratch[0])
        return float(error[0])

    @property
    def _own_lock(self) -> threading.Lock:
        """That of this process."""
        if self._process != os.getpid():
            self._begin_process()
        return self._lock

    def _fill(self, errors: Array, candidates: Array, scratch: tuple[Array, ...]) -> None:
        data = (self._sizes, self._XT, self._YT, self._roots, self._objective)
        _kernels.errors_into(errors, candidates, *data, *scratch)

    def evaluated(self, theta: ArrayLike) -> tuple[Array, float]:
        """The vector at which ``theta`` (D,) is evaluated, and its penalty."""
        theta = check_theta(theta, self.topology.dim)
        vector = np.empty_like(theta)
        penalty = _kernels.feasible(theta, self._objective.rescale, vector)
        return vector, float(penalty)

    @one_blas_thread()
    def model(self, theta: ArrayLike, output_weights: Array | None = None) -> Model:
        """The complete network at which ``theta`` (D,) is evaluated.

        Its output weights are those of the least squares that the error stands for, sample weights
        and ridge included; weights of classes are fitted to targets rescaled by 20 (Section 2).
        Those that are given are for targets 0 and 1, and rescaled here.
        """
        check_finite("theta", check_theta(theta, self.topology.dim))
        problem, scale = self.problem, self.class_scale
        if output_weights is not None:
            vector, V = np.array(theta), output_weights * scale
        else:
            train, shift, vector = problem.train, problem.output_shift, self.evaluated(theta)[0]
            A = network.hidden_outputs(vector, problem.topology, train.X, shift=shift)
            check_finite("the hidden outputs of theta", A)
            V = network.fit_output_weights(
                A, scale * train.y, train.weights, self.alpha, shift=shift
            )
        return Model(
            topology=problem.topology,
            task=problem.task,
            theta=vector,
            output_weights=V,
            inputs=problem.inputs,
            targets=problem.targets,
            output="tanh" if problem.classes else "linear",
            classes=problem.classes,
            feature_names=problem.feature_names,
            target_names=problem.target_names,
            encoding=problem.encoding,
        )

    @one_blas_thread()
    def network_error(self, model: Model, *, with_ridge: bool = True) -> float:
        """Error of a complete network on the training set, without the penalty.

        Errors with different ridges cannot be compared; those without are the plain ones. That of
        probabilities is by how much they differ from 0 and 1.
        """
        problem, train, scale = self.problem, self.problem.train, self.class_scale
        if model.output == "softmax":
            outputs = model.outputs(problem.inputs.undo(train.X))
            return network.mean_square(outputs - train.y, train.weights)
        z = model.weighted_sums(train.X)
        fitted = np.tanh(z) if problem.output_error == "tanh" else z / scale  # paper-notes 15
        error = network.mean_square(fitted - train.y, train.weights)
        if with_ridge and self.alpha > 0:
            V = model.output_weights[: self.topology.hidden[-1]] / scale
            squares = float(network.ridge_shares(self.topology) @ model.theta**2 + np.sum(V**2))
            error += self.alpha * squares / (train.total_weight * V.shape[1])
        return error

    def error_on(self, part: str, model: Model) -> float:
        """Error of a network on samples for training, validation or test; NaN if there are none."""
        data = getattr(self.problem, part)
        return np.nan if data is None else model.error_on(data)

    def found(
        self, theta: Array, error: float, reason: str, polisher: Polisher | None = None
    ) -> Found:
        """What to keep of a start: its network, and its evidence where the ridge set itself.

        Of one that stalled there is no signature: it was given up.
        """
        evidence = polisher.evidence() if isinstance(polisher, EvidencePolisher) else None
        if evidence is not None:
            theta, alpha, V = evidence.theta, evidence.alpha, evidence.output_weights
            score, lost = -evidence.log_evidence, V is None
        else:
            theta, alpha, V = theta.copy(), self.alpha, None
            score, lost = error, reason == "stalled" or error == np.inf
        if lost:
            return Found(theta, error, score, reason, alpha=alpha)
        model = self.model(theta, V)
        return Found(
            theta=theta,
            error=error if evidence is None else self.network_error(model, with_ridge=False),
            score=score,
            reason=reason,
            output_weights=model.output_weights / self.class_scale if V is None else V,
            signature=model.weighted_sums(self.problem.train.X[:MAX_SAMPLES]) / self.class_scale,
            alpha=alpha,
            n_effective=evidence and evidence.n_effective,
            noise=evidence and evidence.noise,
            log_evidence=evidence and evidence.log_evidence,
        )

    def is_same(self, better: Found, other: Found) -> bool:
        """Whether two starts ended in the same function, or both in a fit of everything.

        Weights, even aligned ones, may differ along flat valleys.
        """
        if max(better.error, other.error) < EXACT:
            return True
        difference = float(np.mean((better.signature - other.signature) ** 2))
        return bool(difference <= SAME**2 * max(better.error, np.finfo(float).tiny))


@cache
def prepare_kernels() -> None:
    """Load the compiled kernels, or compile them (5 s), once per process."""
    rows, buffer = np.zeros((1, _kernels.PADDING)), np.zeros((1, _kernels.SAMPLE_BLOCK))
    with notice_of_compilation(_kernels.errors_into):
        _kernels.errors_into(
            *(np.zeros(1), np.zeros((1, 2)), np.ones(3, dtype=np.int64), rows, rows, np.ones(1)),
            _kernels.Objective(1, 1.0, 0, 0, False, False, False, 0.0),
            *(buffer, buffer.copy(), np.zeros((2, _kernels.PADDING))),
        )


@cache
def prepare_polish() -> None:
    """The same for what a polish needs, on a network that is no trouble."""
    X = np.linspace(-1, 1, 8)[:, None]
    objective = LeastSquares(Problem.from_arrays(X, np.sin(3 * X), hidden=(2,)))
    with notice_of_compilation(_kernels.errors_into):
        polisher = objective.polisher(np.ones(4), max_iterations=4, max_evaluations=1_000)
        while not polisher.finished:
            polisher.step()


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
