"""Regularisation that sets itself: MacKay's evidence with the Gauss-Newton Hessian.

All weights but the output shifts have a Gaussian prior, wider for the shifts of hidden neurons
(``network.held``), the targets Gaussian noise; the ratio of noise to prior variance is the ridge
``alpha``. It is re-estimated while the network is polished, from the number of parameters that the
data determine (D. J. C. MacKay, Neural Computation 4, 1992; F. D. Foresee and M. T. Hagan, ICNN
1997). Output weights are eliminated, but not forgotten: the projected ``J'J`` is the Schur
complement of theirs in the Hessian of the complete network.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, check_kind
from symbreak.evaluation import Evaluator
from symbreak.models import Model
from symbreak.network import ROUNDING, held
from symbreak.polish import ITERATIONS, Linearisation, Objective, Polisher
from symbreak.problems import AUTO_RIDGE, Problem
from symbreak.training._history import History

#: Limits of the ridge.
ALPHA_RANGE = (1e-10, 1e10)
#: A change of the ridge by less than this share is none; it changes by at most this factor at once.
SETTLED, LARGEST_CHANGE = 0.01, 10.0

#: Squares below this are rounding errors; targets have variance 1.
NOTHING = 1e-24


class Estimate(NamedTuple):
    """What the data say about the ridge at one network.

    Attributes:
        alpha: The ridge that the evidence asks for next.
        n_effective: Number of parameters that the data determine.
        noise: Standard deviation of the noise, in normalised targets.
        log_evidence: Logarithm of the probability of the data, for comparing networks.
    """

    alpha: float
    n_effective: float
    noise: float
    log_evidence: float


def estimate(problem: Problem, here: Linearisation, theta: Array, alpha: float) -> Estimate:
    """Evidence at a linearisation that was made at ``theta`` with ridge ``alpha`` (> 0)."""
    topology, q = problem.topology, problem.topology.n_outputs
    n_last, D = topology.hidden[-1], topology.dim
    weights = here.output_weights[:n_last]
    n_prior = D + weights.size
    n_free = q if problem.output_shift else 0
    n_data = here.weight * q
    shares = held(topology)
    squares = max(float(shares @ theta**2 + np.sum(weights**2)), NOTHING)
    residual = max(here.sum_of_squares - alpha * squares, NOTHING * n_data)

    trace, log_det = _inverse_trace_and_log_det(here, alpha, shares, n_last)
    gamma = min(max(n_prior - alpha * trace, 0.0), n_prior)
    degrees = max(n_data - gamma - n_free, 1.0)
    beta = degrees / residual
    wanted = gamma / squares / beta
    change = min(max(wanted / alpha, 1 / LARGEST_CHANGE), LARGEST_CHANGE)
    log_evidence = (
        -0.5 * beta * (residual + alpha * squares)
        + 0.5 * (n_prior * math.log(alpha * beta) + float(np.sum(np.log(shares))))
        + 0.5 * (n_data - n_free) * math.log(beta / (2 * math.pi))
        - 0.5 * (log_det + n_prior * math.log(beta))
        + math.log(topology.n_replicas)  # as many equal optima
    )
    return Estimate(
        alpha=min(max(alpha * change, ALPHA_RANGE[0]), ALPHA_RANGE[1]),
        n_effective=gamma + n_free,
        noise=1 / math.sqrt(beta),
        log_evidence=log_evidence,
    )


def _inverse_trace_and_log_det(
    here: Linearisation, alpha: float, shares: Array, n_last: int
) -> tuple[float, float]:
    """Trace of the inverse Hessian without output shifts, and its logarithmic determinant.

    The Hessian of the complete network has the blocks ``U'U`` for the weights of each output and,
    by Schur's complement, ``S = J'J + alpha diag(shares)`` for theta. The trace is that of its
    inverse times the shares of the ridge.
    """
    (n, q), D = here.output_weights.shape, len(here.g)
    # Beside sample weights of 1e20 the ridge of a column is lost in rounding, and then it is 0.
    norms = np.where(here.norms > 0, here.norms, alpha)
    U = np.sqrt(norms[:, None]) * (here.R[:, :n] + np.diag(here.norms <= 0))
    inverse = solve_triangular(U, np.eye(n))[:n_last]
    rounding = D * ROUNDING * float(here.G.diagonal().max())
    L = np.linalg.cholesky(np.tril(here.G) + np.diag(alpha * shares + rounding))
    responses = (inverse @ here.H).reshape(-1, D)  # of output weights to theta
    columns = solve_triangular(L, np.hstack([np.diag(np.sqrt(shares)), responses.T]), lower=True)
    trace = q * float(np.sum(inverse**2)) + float(np.sum(columns**2))
    log_det = 2 * float(np.sum(np.log(L.diagonal()))) + q * float(np.sum(np.log(norms)))
    return trace, log_det


@dataclass(frozen=True, eq=False)
class EvidenceResult:
    """A polished network with the ridge that the data ask for.

    Of several starts, that with the largest ``log_evidence`` is the most probable.

    Attributes:
        theta: The vector (D,).
        alpha: Its ridge.
        n_effective: Number of parameters that the data determine.
        noise: Standard deviation of the noise, in normalised targets.
        log_evidence: Logarithm of the probability of the data.
        error: Error with this ridge, as ``Evaluator`` says.
        reason: Why the polish ended.
        n_iterations: Jacobians computed.
        n_evaluations: Work in evaluations.
        model: The complete network.
    """

    theta: Array
    alpha: float
    n_effective: float
    noise: float
    log_evidence: float
    error: float
    reason: str
    n_iterations: int
    n_evaluations: int
    model: Model | None


def evidence(
    problem: Problem,
    theta: ArrayLike,
    *,
    max_iterations: int = ITERATIONS,
    max_evaluations: int | None = None,
    tolerance: float = 1e-5,
) -> EvidenceResult:
    """Polish a network from ``theta`` (D,) and find its ridge; arguments as for ``Polisher``."""
    polisher = EvidencePolisher(
        problem,
        theta,
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        tolerance=tolerance,
    )
    while not polisher.finished:
        polisher.step()
    return polisher.evidence()


class EvidencePolisher(Polisher):
    """A polish whose ridge is re-estimated in every iteration; otherwise like its base.

    Errors of different ridges cannot be compared, so ``theta`` is where it is, not the best.
    """

    _numbers = (*Polisher._numbers, "_alpha", "_wanted")

    def _prepare(self, problem: Problem, evaluate: Evaluator | None = None) -> None:
        super()._prepare(problem, evaluate)
        self._wanted = self._alpha = problem.ridge or AUTO_RIDGE
        self._judge = self._lead
        self._least_work = 2

    def _affordable(self, cost: int) -> bool:
        return super()._affordable(cost + 1)  # for the error with a new ridge

    def _objective(self, evaluate: Evaluator) -> Objective:
        here = weakref.proxy(self)  # a cycle would keep large arrays until somebody collects it

        def error(theta: Array) -> float:  # an evaluator's ridge is fixed
            value = here._linearise.fit(theta, here._alpha) / here._divisor
            return value if math.isfinite(value) else math.inf

        return error

    def _linearised(self) -> float:
        total = super()._linearised()
        now = estimate(self.problem, self._linearise, self._theta, self._alpha)
        self._wanted = now.alpha
        return total

    def _iterate(self) -> None:
        super()._iterate()
        if abs(math.log(self._wanted / self._alpha)) > SETTLED:
            if self.reason.startswith("converged"):
                self.reason = ""  # only for the ridge it had
            self._alpha = self._wanted
        self._value = self._count(self._lead, self._theta)
        self.theta, self.error = self._theta, self._value

    @property
    def plain_error(self) -> float:
        """The present error without its ridge, from what the last step has left: no evaluation."""
        here, n_last = self._linearise, self.problem.topology.hidden[-1]
        squares = float(self._held @ self._theta**2 + np.sum(here.output_weights[:n_last] ** 2))
        return max(here.sum_of_squares - self._alpha * squares, 0.0) / self._divisor

    def evidence(self) -> EvidenceResult:
        """The network as it is, with its evidence."""
        with one_blas_thread():
            super()._linearised()
            now = estimate(self.problem, self._linearise, self._theta, self._alpha)
        return EvidenceResult(
            theta=self.theta.copy(),
            alpha=self._alpha,
            n_effective=now.n_effective,
            noise=now.noise,
            log_evidence=now.log_evidence,
            error=self.error,
            reason=self.reason,
            n_iterations=self.n_iterations,
            n_evaluations=self.n_evaluations,
            model=self._model(),
        )


class Choice(NamedTuple):
    """The network that is kept of several starts, with the ridge that the data ask for.

    Attributes:
        score: The smaller, the better.
        model: The network.
        alpha: Its ridge.
        n_effective: Number of parameters that the data determine.
    """

    score: float
    model: Model
    alpha: float
    n_effective: float

    def state(self) -> dict[str, Any]:
        """Plain values."""
        return {**self._asdict(), "model": self.model.to_json()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Choice:
        """The choice of ``state()``."""
        check_kind("choice", state, dict, "of state()")
        numbers = (float(state[name]) for name in ("score", "alpha", "n_effective"))
        score, alpha, n_effective = numbers
        return cls(score, Model.from_json(state["model"]), alpha, n_effective)


def better_choice(
    before: Choice | None, found: EvidenceResult | None, history: History, n_evaluations: int
) -> Choice | None:
    """The better of two: by the validation set if there is one, else the more probable one."""
    if found is None or found.model is None:
        return before
    score = -found.log_evidence
    if history.note_model(found.model, n_evaluations):
        score = history.rates[-1][2]
    elif history.rates:
        return before
    if before is not None and before.score <= score:
        return before
    return Choice(score, found.model, found.alpha, found.n_effective)
