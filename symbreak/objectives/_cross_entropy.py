"""Cross-entropy of a network with softmax outputs, its gradient, and the descent along it.

A vector holds ``theta`` and then the output weights, row by row. The ridge adds ``alpha / 2`` times
the sum of squares of all entries but the output biases; those of hidden neurons count to a share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symbreak._support.checks import Array
from symbreak.network import forward, hidden_outputs, linearisations, ridge_shares, with_ones
from symbreak.problems import Dataset
from symbreak.topology import Topology

#: The descent ends at a relative fall of the objective below this in an iteration; it remembers so
#: many pairs of steps and gradients.
TOLERANCE, MEMORY = 1e-7, 20
#: Multiply-adds for the number of effective parameters, a few seconds.
MAX_WORK = 1e11


class CrossEntropy:
    """The objective on some samples.

    Args:
        topology: Of the network.
        data: Normalised inputs, and targets that are 1 for the class of a sample, else 0.
        shift: Whether the outputs have a bias.
    """

    def __init__(self, topology: Topology, data: Dataset, *, shift: bool) -> None:
        self._net, self._shift, self._X, self._Y = topology, shift, data.X, data.y
        weights = np.ones(len(data)) if data.weights is None else data.weights
        self.weight = data.total_weight
        self._share = weights / self.weight
        n_last, q = topology.hidden[-1], topology.n_outputs
        self._held = np.zeros(topology.dim + (n_last + shift) * q)  # shares of the ridge
        self._held[: topology.dim] = ridge_shares(topology)
        self._held[topology.dim : topology.dim + n_last * q] = 1.0

    def loss(self, x: Array) -> float:
        """Mean cross-entropy."""
        A = hidden_outputs(x[: self._net.dim], self._net, self._X, shift=self._shift)
        return self._mean(log_softmax(A @ self._output_weights(x)))

    def __call__(self, x: Array, alpha: float) -> tuple[float, Array]:
        """Mean cross-entropy plus the ridge over the total weight, and the gradient of that."""
        net, theta, V = self._net, x[: self._net.dim], self._output_weights(x)
        outputs, sums = forward(theta, net, self._X)
        layers, ridge = net.layers(theta), alpha / self.weight * self._held * x
        A = with_ones(outputs[-1]) if self._shift else outputs[-1]
        log_p = log_softmax(A @ V)
        error = self._share[:, None] * (np.exp(log_p) - self._Y)
        gradients, d = [A.T @ error], error @ V[: net.hidden[-1]].T
        for i in range(len(layers) - 1, -1, -1):
            d = d * net.activation.df(sums[i], outputs[i + 1])  # by weighted sums
            gradients.append(d.T @ with_ones(outputs[i]))
            d = d @ layers[i][:, :-1]
        gradient = np.concatenate([g.ravel() for g in reversed(gradients)])
        return self._mean(log_p) + 0.5 * float(ridge @ x), gradient + ridge

    def fit(
        self, start: Array, alpha: float, iterations: int, may_go_on: Callable[[], bool]
    ) -> Array:
        """Minimise from a vector on, for as many iterations as ``may_go_on`` allows."""
        from scipy.optimize import minimize  # takes long to load

        def ask(xk: Array) -> None:
            if not may_go_on():
                raise StopIteration

        found = minimize(
            self,
            start,
            args=(alpha,),
            jac=True,
            method="L-BFGS-B",
            callback=ask,
            options={"maxiter": iterations, "ftol": TOLERANCE, "gtol": 1e-6, "maxcor": MEMORY},
        )
        return np.asarray(found.x) if found.fun <= self(start, alpha)[0] else start

    def n_effective(self, x: Array, alpha: float) -> float:
        """Number of parameters that the data determine, by Fisher's information.

        NaN where that would take longer than the training.
        """
        if self._net.n_outputs * len(self._X) * len(x) ** 2 > MAX_WORK:
            return np.nan
        F, theta, V = np.zeros((len(x), len(x))), x[: self._net.dim], self._output_weights(x)
        for rows, sums, J in linearisations(theta, self._net, V, self._X):
            P = np.exp(log_softmax(sums))
            centred = J - np.einsum("ko,kop->kp", P, J)[:, None]
            root = np.sqrt(self.weight * self._share[rows, None] * P)[:, :, None] * centred
            flat = root.reshape(-1, len(x))
            F += flat.T @ flat
        hessian = F + np.diag(alpha * self._held)
        return float(np.trace(np.linalg.pinv(hessian, hermitian=True) @ F))

    def _mean(self, log_p: Array) -> float:
        return float(-self._share @ np.sum(self._Y * log_p, axis=1))

    def _output_weights(self, x: Array) -> Array:
        return x[self._net.dim :].reshape(-1, self._net.n_outputs)


def log_softmax(z: Array) -> Array:
    """Logarithms of the probabilities (K, q) that weighted sums stand for."""
    z = z - z.max(axis=1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
