"""Regularisation that sets itself: MacKay's evidence with the Gauss-Newton Hessian.

All weights but the output biases have a Gaussian prior, wider for the biases of hidden neurons
(``network.ridge_shares``), the targets Gaussian noise; the ratio of noise to prior variance is the
ridge ``alpha``. It is re-estimated while the network is polished, from the number of parameters
that the data determine (D. J. C. MacKay, Neural Computation 4, 1992; F. D. Foresee and M. T. Hagan,
ICNN 1997). Output weights are eliminated, but not forgotten: the projected ``J'J`` is the Schur
complement of theirs in the Hessian of the complete network.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from symbreak._polish._linearisation import Linearisation
from symbreak._polish._polisher import CONVERGED, Polishable, Polisher
from symbreak._polish._steps import LARGE, Dense, Dual
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array
from symbreak.network import ROUNDING, ridge_shares
from symbreak.problems import Problem
from symbreak.problems._problem import FIRST_GUESS

#: Limits of the ridge.
ALPHA_RANGE = (1e-10, 1e10)
#: A change of the ridge by less than this share is none; it changes by at most this factor at once.
SETTLED, LARGEST_CHANGE = 0.01, 10.0

#: Squares below this are rounding errors; targets have variance 1.
NOTHING = 1e-24


class Evidence(NamedTuple):
    """A network with a ridge, and what the data say of both."""

    theta: Array  # (D,)
    output_weights: Array | None  # for the problem's targets; None if no error is finite
    alpha: float  # its ridge; of ``estimate``, the one that the evidence asks for next
    n_effective: float  # number of parameters that the data determine
    noise: float  # standard deviation of the noise, in normalised targets
    log_evidence: float  # logarithm of the probability of the data, for comparing networks


@one_blas_thread()
def estimate(problem: Problem, here: Linearisation, theta: Array, alpha: float) -> Evidence:
    """Evidence at a linearisation that was made at ``theta`` with ridge ``alpha`` (> 0)."""
    topology, q = problem.topology, problem.topology.n_outputs
    n_last, D = topology.hidden[-1], topology.dim
    weights = here.output_weights[:n_last]
    n_prior = D + weights.size
    n_free = q if problem.output_shift else 0
    n_data = here.weight * q
    shares = ridge_shares(topology)
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
    return Evidence(
        theta,
        here.output_weights,
        alpha=min(max(alpha * change, ALPHA_RANGE[0]), ALPHA_RANGE[1]),
        n_effective=gamma + n_free,
        noise=1 / math.sqrt(beta),
        log_evidence=log_evidence,
    )


def _inverse_trace_and_log_det(
    here: Linearisation, alpha: float, shares: Array, n_last: int
) -> tuple[float, float]:
    """Trace of the inverse Hessian without output biases, and its logarithmic determinant.

    The Hessian of the complete network has the blocks ``U'U`` for the weights of each output and,
    by Schur's complement, ``S = J'J + alpha diag(shares)`` for theta. The trace is that of its
    inverse times the shares of the ridge.
    """
    (n, q), D = here.output_weights.shape, len(here.g)
    # Beside sample weights of 1e20 the ridge of a column is lost in rounding, and then it is 0.
    norms = np.where(here.norms > 0, here.norms, alpha)
    U = np.sqrt(norms[:, None]) * (here.R[:, :n] + np.diag(here.norms <= 0))
    inverse = dtrtrs(U.T, np.eye(n), lower=1, trans=1)[0][:n_last]
    responses = (inverse @ here.H).reshape(-1, D)  # of output weights to theta
    log_det = q * float(np.sum(np.log(norms)))
    trace = q * float(np.sum(inverse**2))
    if D > LARGE:
        curved = Dense(here.G) if here.J is None else Dual(here.J)
        more, of_theta = curved.inverse(alpha, shares, responses)
        return trace + more, log_det + of_theta
    rounding = D * ROUNDING * float(here.G.diagonal().max())
    M = here.G.copy()
    M.flat[:: D + 1] += alpha * shares + rounding
    L = np.linalg.cholesky(M)
    columns = np.hstack([np.diag(np.sqrt(shares)), responses.T])
    trace += float(np.sum(dtrtrs(L.T, columns, trans=1)[0] ** 2))
    log_det = 2 * float(np.sum(np.log(L.diagonal()))) + log_det
    return trace, log_det


def evidence_of(objective: Polishable, theta: Array) -> Evidence:
    """What the data say of a network as it is, with the ridge of the objective."""
    return EvidencePolisher(objective, theta, max_iterations=0).evidence()


class EvidencePolisher(Polisher):
    """A polish whose ridge is re-estimated in every iteration; otherwise like its base.

    Errors of different ridges cannot be compared, so ``theta`` is where it is, not the best.
    """

    _numbers = (*Polisher._numbers, "_alpha", "_wanted")

    def _prepare(self, objective: Polishable) -> None:
        super()._prepare(objective)
        self._wanted = self._alpha = self._alpha or FIRST_GUESS

    def _affordable(self, cost: int) -> bool:
        return super()._affordable(cost + 1)  # for the error with a new ridge

    def _error(self, theta: Array) -> float:
        value = self._linearise.fit(theta, self._alpha) / self._divisor  # others' ridge is fixed
        return value if math.isfinite(value) else math.inf

    def _linearised(self) -> float:
        total = super()._linearised()
        now = estimate(self.objective.problem, self._linearise, self._theta, self._alpha)
        self._wanted = now.alpha
        return total

    def _iterate(self) -> None:
        super()._iterate()
        if abs(math.log(self._wanted / self._alpha)) > SETTLED:
            if self.reason in CONVERGED:
                self.reason = ""  # only for the ridge it had
            self._alpha = self._wanted
        self._value = self._judged(self._theta)
        self.theta, self.error = self._theta, self._value

    @property
    def fit_error(self) -> float:
        """The present error without its ridge, from what the last step has left: no evaluation."""
        here, n_last = self._linearise, self.objective.topology.hidden[-1]
        squares = float(self._held @ self._theta**2 + np.sum(here.output_weights[:n_last] ** 2))
        return max(here.sum_of_squares - self._alpha * squares, 0.0) / self._divisor

    def evidence(self) -> Evidence:
        """The network as it is, with its evidence."""
        super()._linearised()
        now = estimate(self.objective.problem, self._linearise, self._theta, self._alpha)
        theta, V = self.theta.copy(), self.output_weights()
        return now._replace(theta=theta, output_weights=V, alpha=self._alpha)
