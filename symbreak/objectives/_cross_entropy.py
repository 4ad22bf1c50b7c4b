"""Cross-entropy of a network with softmax outputs, its gradient, and the descent along it.

A vector holds ``theta`` and then the output weights, row by row. The ridge adds ``alpha / 2`` times
the sum of squares of all entries but the output biases; those of hidden neurons count to a share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symbreak._support.checks import Array
from symbreak.network import linearisations, ridge_shares
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
        ends = np.cumsum([rows * columns for rows, columns in topology.shapes])
        self._slices = [
            slice(end - n * m, end) for end, (n, m) in zip(ends, topology.shapes, strict=True)
        ]
        self._held = np.zeros(topology.dim + (n_last + shift) * q)  # shares of the ridge
        self._held[: topology.dim] = ridge_shares(topology)
        self._held[topology.dim : topology.dim + n_last * q] = 1.0

    def loss(self, x: Array) -> float:
        """Mean cross-entropy."""
        A, V = self._forward(x)[0][-1], self._output_weights(x)
        return self._mean(log_softmax(A @ V))

    def __call__(self, x: Array, alpha: float) -> tuple[float, Array]:
        """Mean cross-entropy plus the ridge over the total weight, and the gradient of that."""
        outputs, sums = self._forward(x)
        V, ridge = self._output_weights(x), alpha / self.weight * self._held * x
        log_p = log_softmax(outputs[-1] @ V)
        error = self._share[:, None] * (np.exp(log_p) - self._Y)
        deltas = self._deltas(x, outputs, sums, error @ V[: self._net.hidden[-1]].T)
        inputs = map(_with_ones, reversed(outputs[:-1]))
        gradients = [outputs[-1].T @ error, *(d.T @ a for d, a in zip(deltas, inputs, strict=True))]
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

    def _layers(self, x: Array) -> list[Array]:
        """What ``Topology.layers`` gives, without its checks: this is called very often."""
        pairs = zip(self._slices, self._net.shapes, strict=True)
        return [x[where].reshape(shape) for where, shape in pairs]

    def _output_weights(self, x: Array) -> Array:
        return x[self._net.dim :].reshape(-1, self._net.n_outputs)

    def _forward(self, x: Array) -> tuple[list[Array], list[Array]]:
        """Outputs of all layers, the inputs first, and weighted sums of the hidden layers.

        The last outputs have a column of ones if there is an output bias.
        """
        outputs, sums = [self._X], []
        for layer in self._layers(x):
            sums.append(outputs[-1] @ layer[:, :-1].T + layer[:, -1])
            outputs.append(self._net.activation.f(sums[-1]))
        if self._shift:
            outputs[-1] = _with_ones(outputs[-1])
        return outputs, sums

    def _deltas(self, x: Array, outputs: list[Array], sums: list[Array], d: Array) -> list[Array]:
        """Derivatives by the weighted sums of the hidden layers, the last one first."""
        net, deltas = self._net, []
        layers = self._layers(x)
        for i in range(len(layers) - 1, -1, -1):
            a = outputs[i + 1][:, : net.hidden[i]]
            deltas.append(d * net.activation.df(sums[i], a))
            d = deltas[-1] @ layers[i][:, :-1]
        return deltas


def _with_ones(a: Array) -> Array:
    wider = np.ones((len(a), a.shape[1] + 1))
    wider[:, :-1] = a
    return wider


def log_softmax(z: Array) -> Array:
    """Logarithms of the probabilities (K, q) that weighted sums stand for."""
    z = z - z.max(axis=1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
