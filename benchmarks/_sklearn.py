"""scikit-learn's MLP as a contestant: L-BFGS on all weights, from its own random starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _timing import Array
from _watch import Watch
from sklearn.neural_network import MLPRegressor

from symbreak import Problem

#: A network is measured after so many evaluations of the gradient; its loss is seen every time.
EVERY = 10


class WatchedMLP(MLPRegressor):
    """Tells a watch what it has after each evaluation; has an output shift only if asked to.

    Its loss for targets 0 and 1 is the squared one, as everybody's here.
    """

    def watched(self, watch: Watch, output_shift: bool) -> WatchedMLP:
        """Itself, with what scikit-learn knows nothing of."""
        self._watch, self._output_shift, self._n = watch, output_shift, 0
        return self

    def _initialize(self, y: Array, layer_units: list[int], dtype: Any) -> None:
        super()._initialize(y, layer_units, dtype)
        if not self._output_shift:
            self.intercepts_[-1][:] = 0

    def _loss_grad_lbfgs(self, weights: Array, *args: Any) -> tuple[float, Array]:
        loss, gradient = super()._loss_grad_lbfgs(weights, *args)
        if not self._output_shift:
            gradient[-self.n_outputs_ :] = 0
        self._watch.see(2 * loss)  # it is half of the mean
        self._n += 1
        if self._n % EVERY == 0:
            self._watch.see_network(self.theta)
        return loss, gradient

    @property
    def theta(self) -> Array:
        """Its hidden layers, as symbreak has them."""
        layers = zip(self.coefs_[:-1], self.intercepts_[:-1], strict=True)
        return np.concatenate([np.column_stack([w.T, shift]).ravel() for w, shift in layers])


def sklearn_restarts(problem: Problem, seed: int, watch: Watch) -> None:
    """One start: tanh, no regularisation, as long as it makes progress."""
    y = problem.train.y
    mlp = WatchedMLP(
        hidden_layer_sizes=problem.topology.hidden,
        activation="tanh",
        solver="lbfgs",
        alpha=0.0,
        max_iter=2_000,  # 200, its own, are too few on sinc
        max_fun=20_000,
        tol=1e-7,
        random_state=seed,
    ).watched(watch, problem.output_shift)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        mlp.fit(problem.train.X, y if y.shape[1] > 1 else y.ravel())
    watch.see_network(mlp.theta)
