"""Who takes part in the comparison of trainers.

Each is a function of a problem, a seed and a watch. It trains, tells the watch what it has found,
and returns when it would stop by itself; then it is started anew with another seed, until the watch
ends it. Starts of all but the packages' own are drawn as auto's first candidates are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import cma
import numpy as np
from _sklearn import sklearn_restarts
from _timing import Array
from _watch import Watch
from scipy.optimize import least_squares

from symbreak import LeastSquares, Problem
from symbreak._polish._polisher import Polisher
from symbreak.network import fit_output_weights, hidden_outputs
from symbreak.training import Run
from symbreak.training._run import UNLIMITED

Train = Callable[[Problem, int, Watch], None]


@dataclass(frozen=True)
class Contestant:
    """A name, a function, and whether it keeps to the ball of the paper's problems."""

    name: str
    train: Train
    in_ball: bool = True


def contestants() -> Iterator[Contestant]:
    """All that are installed."""
    yield Contestant("auto", ours("auto", "restarts"))
    yield Contestant("auto without breaking", ours("DE", "restarts"))
    yield Contestant("random starts, our polish", random_starts)
    yield Contestant("DE-SB-LA-W alone", ours("DE-SB-LA-W", "none"))
    yield Contestant("pycma BIPOP", pycma_bipop)
    yield Contestant("SciPy least_squares", scipy_least_squares, in_ball=False)
    yield Contestant("scikit-learn", sklearn_restarts, in_ball=False)
    try:
        from _torch import torch_levenberg_marquardt

        yield Contestant("torch-lm", torch_levenberg_marquardt, in_ball=False)
    except ImportError as missing:
        print(f"Without torch-levenberg-marquardt: {missing}.")


def ours(method: str, polish: str) -> Train:
    """A run of ours: until it stops by itself with restarts, else for the problem's budget."""

    def train(problem: Problem, seed: int, watch: Watch) -> None:
        budget = UNLIMITED if polish == "restarts" else None
        run = Run(problem, method, polish=polish, max_evaluations=budget, seed=seed)
        while not run.finished:
            run.step()
            watch.see(run.error)

    return train


def random_starts(problem: Problem, seed: int, watch: Watch) -> None:
    """One start with our own polish, and no search."""
    polisher = Polisher(LeastSquares(problem), random_theta(problem, seed))
    watch.see(polisher.error)
    while not polisher.finished:
        polisher.step()
        watch.see(polisher.error)


def random_theta(problem: Problem, seed: int) -> Array:
    return units_of(problem) * random_unit(problem, seed)


def random_unit(problem: Problem, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, size=problem.topology.dim)


@cache
def units_of(problem: Problem) -> Array | float:
    units = LeastSquares(problem).units
    return 1.0 if units is None else units


def pycma_bipop(problem: Problem, seed: int, watch: Watch) -> None:
    """Its CMA-ES with restarts of large and small populations, on our evaluator."""
    evaluate = LeastSquares(problem)

    def errors_of(candidates: list[Array]) -> list[float]:
        errors = evaluate(units_of(problem) * np.array(candidates))
        watch.see(float(errors.min()))
        return errors.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cma.fmin2(
            None,
            random_unit(problem, seed),
            0.5,
            {"seed": seed + 1, "verbose": -9},  # seed 0 is the clock
            parallel_objective=errors_of,
            restarts=9,
            bipop=True,
        )


def scipy_least_squares(problem: Problem, seed: int, watch: Watch) -> None:
    """One start of MINPACK's Levenberg-Marquardt on all weights, with their Jacobian.

    The output layer starts at its best. Where weights are more than residuals, which MINPACK
    refuses, the trust region method takes its place.
    """
    topology, X, y = problem.topology, problem.train.X, problem.train.y
    network = FullNetwork(problem)
    theta = random_theta(problem, seed)
    A = hidden_outputs(theta, topology, X, shift=problem.output_shift)
    start = np.concatenate([theta, fit_output_weights(A, y).ravel()])

    def jacobian(weights: Array) -> Array:
        watch.see_network(weights[: topology.dim])
        return network.jacobian(weights)

    end = least_squares(
        network.residuals,
        start,
        jacobian,
        method="lm" if y.size >= start.size else "trf",
        ftol=1e-5,  # with 1e-9, fewer starts and no better ones (sinc, boston)
        xtol=1e-9,
        gtol=1e-9,
    )
    watch.see_network(end.x[: topology.dim])


class FullNetwork:
    """Residuals of a network and their derivatives by all weights, output layer included.

    Weights are ``theta`` (D,) and the output weights (n, q) row by row, a shift last.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._shape = problem, (-1, problem.topology.n_outputs)

    def residuals(self, weights: Array) -> Array:
        """(K q,), sample by sample."""
        x, output = self._activations(weights)[-1], self._output_weights(weights)
        return (x @ output - self._problem.train.y).ravel()

    def jacobian(self, weights: Array) -> Array:
        """(K q, D + n q): from the output layer back, all samples and outputs at once."""
        topology, output = self._problem.topology, self._output_weights(weights)
        x, layers = self._activations(weights), topology.layers(weights[: topology.dim])
        K, q = len(x[0]), topology.n_outputs
        # (K, q, n, q): an output is reached by its own weights only
        blocks = [np.einsum("kn,op->konp", x[-1], np.eye(q)).reshape(K, q, -1)]
        back = np.broadcast_to(
            output.T[None, :, : topology.hidden[-1]], (K, q, topology.hidden[-1])
        )
        for layer in range(len(layers) - 1, -1, -1):
            hidden = x[layer + 1][:, None, : layers[layer].shape[0]]
            delta = back * (1 - hidden**2)  # (K, q, n)
            blocks.append((delta[..., None] * x[layer][:, None, None, :]).reshape(K, q, -1))
            back = delta @ layers[layer][:, :-1]
        return np.concatenate(blocks[::-1], axis=2).reshape(K * q, -1)

    def _output_weights(self, weights: Array) -> Array:
        return weights[self._problem.topology.dim :].reshape(self._shape)

    def _activations(self, weights: Array) -> list[Array]:
        """Inputs of each layer (K, n + 1), a 1 last; without it before an output with no shift."""
        topology, x = self._problem.topology, [with_one(self._problem.train.X)]
        for layer in topology.layers(weights[: topology.dim]):
            x.append(with_one(np.tanh(x[-1] @ layer.T)))
        if not self._problem.output_shift:
            x[-1] = x[-1][:, :-1]
        return x


def with_one(x: Array) -> Array:
    return np.column_stack([x, np.ones(len(x))])
