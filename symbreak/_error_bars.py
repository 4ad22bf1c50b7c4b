"""How sure a prediction is: the noise of the data, and what they leave open of the weights.

Near an optimum a network is linear in its weights, and its least squares are those of a linear
model (Laplace's approximation; D. J. C. MacKay, Neural Computation 4, 1992): with J the derivatives
of the outputs by all weights and ``H = J'J`` plus the ridge, the variance of an output is
``noise^2 (1 + j'H^-1 j)``. Distinct optima make a mixture of such distributions. The same ``H``
says what the network would have predicted for a sample without having seen it, and by these
residuals the mixture is weighted (Y. Yao et al., Bayesian Analysis 13, 2018) and its intervals are
made as wide as they have to be, whatever the noise (conformal prediction).

All numbers are in normalised units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri, stdtrit

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, check_finite, check_vectors
from symbreak.network import linearisations, ridge_shares
from symbreak.problems import Dataset, Problem
from symbreak.topology import Topology

#: Numbers in the factors of all members, about 3 MB of a file: the members that count least are
#: left out; a single network has at most 631 weights, or there are no error bars.
MAX_NUMBERS = 200_000
#: Members with a smaller share are left out; and steps of an iteration for the shares.
MIN_SHARE, STEPS = 0.01, 300
#: With fewer samples intervals are those of Student's distribution, not of what was left out.
MIN_SAMPLES = 20
#: Residuals that are kept, at even steps of probability.
N_SCORES = 199
#: Less noise, of targets with variance 1, is rounding; so is a part of H this small.
NO_NOISE, ROUNDING = 1e-12, 1e-10
#: Share of the samples that must be left over when all free weights are fitted.
FEWEST = 0.01


class NoErrorBarsError(ValueError):
    """Why there are none, in a sentence."""


class Optimum(NamedTuple):
    """A network, and the ridge that it is an optimum with."""

    theta: Array
    output_weights: Array
    alpha: float


@dataclass(frozen=True, eq=False)
class Member:
    """A network with the distribution of its weights.

    Attributes:
        topology: Of the network.
        theta: Parameters (D,) of its hidden layers.
        output_weights: (n, q).
        share: What it counts for in the mixture.
        noise: Standard deviation (q,) of the noise.
        factor: (P, P) lower triangle F with ``H^-1 = F'F``, for theta and then the output weights,
            row by row.
    """

    topology: Topology
    theta: Array
    output_weights: Array
    share: float
    noise: Array
    factor: Array

    def linearisations(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Rows of X, their outputs and derivatives (k, q, P), part by part."""
        return linearisations(self.theta, self.topology, self.output_weights, X)

    def __call__(self, X: Array) -> tuple[Array, Array]:
        """Outputs (K, q) for X (K, d), and their variances."""
        means, open_ = np.empty((2, len(X), self.topology.n_outputs))
        for rows, outputs, J in self.linearisations(X):
            means[rows], open_[rows] = outputs, np.sum((J @ self.factor.T) ** 2, axis=2)
        return means, self.noise**2 * (1 + open_)


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """How sure a model is.

    Attributes:
        members: Networks of a mixture; their shares add up to 1.
        scores: (n, q) sorted residuals of samples left out, in standard deviations of the mixture,
            at probabilities 1 / (n + 1) to n / (n + 1).
        scale: Root of the mean square (q,) of all of them.
        error: Root (q,) of the mean squared residual of samples left out, to first order; no less
            than that of folds, if there were any.
        error_spread: Its standard error (q,).
        n_samples: How many rows were left out, each once; equal ones together.
    """

    members: tuple[Member, ...]
    scores: Array
    scale: Array
    error: Array
    error_spread: Array
    n_samples: int

    @one_blas_thread()
    def std(self, X: Array, outputs: Array) -> Array:
        """Standard deviations (K, q) of targets around a model's outputs (K, q) at X (K, d)."""
        return self.scale * np.sqrt(self._variance(X, outputs))

    @one_blas_thread()
    def half_width(self, X: Array, outputs: Array, coverage: float) -> Array:
        """How far (K, q) intervals around these outputs reach that hold a share of the targets."""
        return self.factor(coverage) * np.sqrt(self._variance(X, outputs))

    def _variance(self, X: Array, outputs: Array) -> Array:
        parts = ((member.share, *member(X)) for member in self.members)
        return np.sum([share * (v + (f - outputs) ** 2) for share, f, v in parts], axis=0)

    @one_blas_thread()
    def std_of_mean(self, X: Array, mean: Array, weights: Array) -> Array:
        """Standard deviations (q,) of the weighted mean (q,) of outputs at X (K, d), no noise."""
        total = np.zeros_like(mean)
        for member in self.members:
            parts = [
                (weights[rows] @ f, np.tensordot(weights[rows], J, 1))
                for rows, f, J in member.linearisations(X)
            ]
            f, J = (np.sum(part, axis=0) / weights.sum() for part in zip(*parts, strict=True))
            open_ = member.noise**2 * np.sum((J @ member.factor.T) ** 2, axis=1)
            total += member.share * (open_ + (f - mean) ** 2)
        return self.scale * np.sqrt(total)

    def no_less_than(self, loss: float) -> ErrorBars:
        """As wide as it takes for the mean squared error that folds, trained anew, have had."""
        known = float(np.mean(self.error**2))
        wider = np.sqrt(max(loss / max(known, NO_NOISE**2), 1.0))
        names = "scores", "scale", "error", "error_spread"
        return replace(self, **{name: wider * getattr(self, name) for name in names})

    def factor(self, coverage: float) -> Array:
        """Standard deviations (q,) of the mixture that cover a share of the targets.

        Beyond the largest residual that is known it grows as that of a normal distribution.
        """
        n = len(self.scores)
        levels = np.arange(n + 1) / (n + 1)
        tail = ndtri((1 + coverage) / 2) / ndtri((1 + levels[-1]) / 2)
        columns = (np.append(0.0, column) for column in self.scores.T)
        return max(tail, 1.0) * np.array([np.interp(coverage, levels, c) for c in columns])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("scores", "scale", "error", "error_spread")
        return {
            **{name: getattr(self, name).tolist() for name in names},
            "n_samples": self.n_samples,
            "members": [
                {
                    "net": list(m.topology.sizes),
                    "share": m.share,
                    **{k: getattr(m, k).tolist() for k in ("theta", "output_weights", "noise")},
                    "factor": m.factor[np.tril_indices(len(m.factor))].tolist(),
                }
                for m in self.members
            ],
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], topology: Topology) -> ErrorBars:
        """Those of ``facts``, for a model of this topology.

        Raises:
            ValueError: if they do not fit it, or each other.
        """
        q = topology.n_outputs
        try:
            members = tuple(_read_member(part, topology) for part in facts["members"])
            scores = _numbers(facts, "scores", None, q)
            names = "scale", "error", "error_spread"
            scale, error, spread = (_numbers(facts, name, q) for name in names)
            bars = cls(members, scores, scale, error, spread, int(_numbers(facts, "n_samples")))
        except (KeyError, TypeError) as fault:
            raise ValueError(f"its error bars are not what save writes: {fault!r}.") from None
        except ValueError as fault:
            raise ValueError(f"of its error bars, {fault}") from None
        if not np.isclose(sum(member.share for member in members), 1):
            raise ValueError("of its error bars, the shares of members do not add up to 1.")
        return bars


def _read_member(facts: Mapping[str, Any], topology: Topology) -> Member:
    net = Topology(tuple(facts["net"]), topology.activation)
    if (net.n_inputs, net.n_outputs) != (topology.n_inputs, topology.n_outputs):
        raise ValueError(f"a member is a {net} network, the model a {topology} network.")
    theta = _numbers(facts, "theta", net.dim)
    V = _numbers(facts, "output_weights", None, net.n_outputs)
    if len(V) - net.hidden[-1] not in (0, 1):
        raise ValueError(f"output_weights of a {net} network have {len(V)} rows.")
    P = net.dim + V.size
    entries = _numbers(facts, "factor", P * (P + 1) // 2)
    factor = np.zeros((P, P))
    factor[np.tril_indices(P)] = entries
    noise, share = _numbers(facts, "noise", net.n_outputs), float(_numbers(facts, "share"))
    if not (0 < share <= 1 and (noise > 0).all()):
        raise ValueError("share and noise of a member must be positive.")
    return Member(net, theta, V, share, noise, factor)


def _numbers(facts: Mapping[str, Any], name: str, *shape: int | None) -> Array:
    """Finite numbers of a shape, of which None is any length."""
    array = np.reshape(check_vectors(facts[name], str(shape), name), np.shape(facts[name]))
    asked = tuple(m if n is None else n for n, m in zip(shape, array.shape, strict=False))
    if array.shape != asked or len(shape) != array.ndim:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    check_finite(name, array)
    return array


# How they are made


@one_blas_thread()
def error_bars_of(
    problem: Problem,
    optima: Sequence[Optimum],
    shares: Array | None = None,
    *,
    total_weight: float | None = None,
    costs: Array | None = None,
) -> ErrorBars:
    """Error bars of a model of a problem.

    Args:
        problem: What the networks were trained on, or some samples of that.
        optima: Distinct ones. The first is the model's network, unless it is a mean of all.
        shares: (n,) of the networks in the mean that is the model; without them the mixture is
            weighted by how well it predicts what was left out.
        total_weight: Of all samples, if the problem has but some.
        costs: (d,) what a weight of each input costs of the ridge; 1 if nothing is said.

    Raises:
        NoErrorBarsError: if there can be none.
    """
    data, net = problem.train, problem.topology
    P = net.dim + optima[0].output_weights.size
    room = MAX_NUMBERS // (P * (P + 1) // 2)
    if room == 0:
        raise NoErrorBarsError(
            f"its {P:,} weights are too many: their covariance would fill the file"
        )
    weights = np.ones(len(data)) if data.weights is None else data.weights
    more = 1.0 if total_weight is None else total_weight / data.total_weight
    shares_of_ridge = np.array(ridge_shares(net))
    if costs is not None:
        net.layers(shares_of_ridge)[0][:, :-1] *= costs
    found = [_member(problem, optima[0], weights, more, shares_of_ridge)]
    for optimum in optima[1:]:
        with nullcontext() if shares is not None else suppress(NoErrorBarsError):
            found.append(_member(problem, optimum, weights, more, shares_of_ridge))
    members, *unseen = zip(*found, strict=True)
    residuals, variances = map(np.array, unseen)
    about = np.eye(len(found))[0] if shares is None else shares  # the mean that is the model
    if shares is None:
        shares = _stacked(residuals, variances, weights)
    least = min(MIN_SHARE, shares.max())  # of very many networks none has more
    kept = [i for i in np.argsort(-shares, kind="stable")[:room] if shares[i] >= least]
    shares = shares[kept] / shares[kept].sum()
    mixed = [replace(members[i], share=float(n)) for i, n in zip(kept, shares, strict=True)]
    middle = np.sum(about[:, None, None] * residuals, axis=0)
    spread = variances[kept] + (residuals[kept] - middle) ** 2
    variance = np.sum(shares[:, None, None] * spread, axis=0)
    return _calibrated(mixed, data, weights, middle, variance)


def _member(
    problem: Problem, optimum: Optimum, weights: Array, more: float, shares: Array
) -> tuple[Member, Array, Array]:
    """The network with the distribution of its weights.

    And residuals (K, q) of samples left out, with variances (K, q) of their predictions. ``more``
    samples count than are there; entries of theta bear ``shares`` (D,) of the ridge. A sample that
    is left out changes the residual ``r`` to ``(I - h)^-1 r`` with ``h = J H^-1 J'``, as in a
    linear model.
    """
    net, data, q = problem.topology, problem.train, problem.topology.n_outputs
    theta, V = map(np.ascontiguousarray, optimum[:2])  # a file gives back the same bits
    network = Member(net, theta, V, 1.0, np.ones(q), np.empty((0, 0)))
    shares = np.concatenate([shares, np.repeat(np.arange(len(V)) < net.hidden[-1], q)])
    H = np.diag(optimum.alpha * shares)
    for rows, _, J in network.linearisations(data.X):
        flat = (np.sqrt(more * weights[rows])[:, None, None] * J).reshape(-1, len(H))
        H += flat.T @ flat
    H += np.diag(np.full(len(H), ROUNDING * max(H.diagonal().max(), NO_NOISE)))
    if not np.isfinite(H).all():
        raise NoErrorBarsError("derivatives by its weights are not finite")
    factor = solve_triangular(np.linalg.cholesky(H), np.eye(len(H)), lower=True)
    residuals, open_ = np.empty((2, len(data), q))
    plain, leverages = np.zeros(q), np.zeros(q)
    for rows, outputs, J in network.linearisations(data.X):
        U = J @ factor.T
        S = U @ U.swapaxes(1, 2)
        h = weights[rows, None, None] * S
        without = np.linalg.inv((1 + ROUNDING) * np.eye(q) - h)
        r = data.y[rows] - outputs
        residuals[rows] = (without @ r[:, :, None])[:, :, 0]
        open_[rows] = np.einsum("kqq->kq", without @ S)
        plain += weights[rows] @ r**2
        leverages += np.einsum("kqq->q", h)
    degrees = data.total_weight - leverages
    if not (degrees > FEWEST * data.total_weight).all():
        raise NoErrorBarsError("its weights fit every sample, so that no noise is left to see")
    noise = np.maximum(np.sqrt(plain / degrees), NO_NOISE)
    variances = noise**2 * (1 + np.maximum(open_, 0))
    # to seven digits: more than enough for a width, and half of the file
    factor = np.array([float(f"{x:.6e}") for x in np.tril(factor).flat]).reshape(H.shape)
    return replace(network, noise=noise, factor=factor), residuals, variances


def _stacked(residuals: Array, variances: Array, weights: Array) -> Array:
    """Shares (n,) of networks in the mixture that best predicts what was left out.

    By expectation maximisation from equal shares.
    """
    logs = _log_normal(residuals, variances).sum(axis=2)
    odds = np.exp(logs - logs.max(axis=0))
    shares = np.full(len(odds), 1 / len(odds))
    for _ in range(STEPS if len(odds) > 1 else 0):
        mixed = shares[:, None] * odds
        shares = (mixed / mixed.sum(axis=0)) @ weights / weights.sum()
    return shares


def _calibrated(
    members: list[Member], data: Dataset, weights: Array, residuals: Array, variances: Array
) -> ErrorBars:
    scores = np.abs(residuals) / np.sqrt(variances)
    error = np.sqrt(np.average(residuals**2, axis=0, weights=weights))
    spread = np.sqrt(np.average((residuals**2 - error**2) ** 2, axis=0, weights=weights))
    K, q = scores.shape
    n = min(K, N_SCORES) if K >= MIN_SAMPLES else N_SCORES
    levels = np.arange(1, n + 1) / (n + 1)
    if K < MIN_SAMPLES:
        kept = np.tile(stdtrit(max(K - 1, 1), (1 + levels) / 2)[:, None], q)
        scale = np.ones(q)
    else:  # as conformal prediction ranks them: one more than there are might come
        ranks = np.minimum(levels * (K + 1) / K, 1) - 1e-12
        kept = np.quantile(scores, ranks, axis=0, weights=weights, method="inverted_cdf")
        scale = np.sqrt(np.average(scores**2, axis=0, weights=weights))
    return ErrorBars(
        members=tuple(members),
        scores=kept,
        scale=np.maximum(scale, NO_NOISE),
        error=error,
        error_spread=spread / np.maximum(2 * error, NO_NOISE) / np.sqrt(data.n_effective),
        n_samples=data.n_rows,
    )


def _log_normal(residuals: Array, variances: Array) -> Array:
    return -0.5 * (np.log(2 * np.pi * variances) + residuals**2 / variances)
