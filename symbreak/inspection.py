"""What a model is worth: its scores on data, and how much each input matters to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbreak._support.checks import Array, check_kind
from symbreak.models import Model
from symbreak.problems import Dataset, Problem

#: Where the sensitivity is measured; always the same points. And samples that tell a constant.
N_POINTS, SEED = 2_000, 0
#: Outputs that differ by less, in standard deviations of a target, are the same.
FLAT = 1e-3
#: Numbers that are held at a time.
BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Score:
    """How good a model is on some samples, which count by their weights.

    Attributes:
        n: Number of samples.
        error: ``Model.error``: share misclassified, or mean squared error in normalised targets.
        rmse: Root of the mean squared error (q,) in the units of the targets; empty for classes.
        r2: Coefficient of determination (q,), NaN where a target is constant; empty for classes.
    """

    n: int
    error: float
    rmse: Array
    r2: Array


def scores(model: Model, problem: Problem) -> dict[str, Score]:
    """Scores on the training, validation and test set of a problem, as far as there are any."""
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    return {name: _score(model, problem, data) for name, data in problem.parts.items()}


def _score(model: Model, problem: Problem, data: Dataset) -> Score:
    """The score on one data set, weighted; the model may have been scaled by other data."""
    outputs = model.outputs(problem.inputs.undo(data.X))
    if model.classes:
        wrong = outputs.argmax(axis=1) != data.y.argmax(axis=1)
        error = float(np.average(wrong, weights=data.weights))
        return Score(len(data), error, np.empty(0), np.empty(0))
    residuals = (outputs - problem.targets.undo(data.y)) / problem.targets.scale
    squares = np.average(residuals**2, axis=0, weights=data.weights)
    mean = np.average(data.y, axis=0, weights=data.weights)
    variance = np.average((data.y - mean) ** 2, axis=0, weights=data.weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(variance > 0, 1 - squares / variance, np.nan)
    return Score(len(data), float(squares.mean()), np.sqrt(squares) * problem.targets.scale, r2)


def is_constant(model: Model, problem: Problem) -> bool:
    """Whether a network says the same of all samples, although their targets differ."""
    X, y = problem.train.X[:N_POINTS], problem.train.y[:N_POINTS]
    outputs = model.weighted_sums(X)
    return float(np.ptp(outputs, axis=0).max()) < FLAT < float(np.ptp(y, axis=0).max())


def sensitivity(model: Model) -> Array:
    """How much each input matters to each output, (d, q).

    The mean absolute derivative of an output, in standard deviations of its target, by an input,
    in standard deviations of that input, over inputs that are independent and normally
    distributed with the mean and the deviation of the training set. 0.5 says that a change of an
    input by its standard deviation changes the target by half of its own. Outputs of classes
    count before softmax, in no unit.
    """
    check_kind("model", model, Model, "such as record.model")
    net = model.topology
    points = np.random.default_rng(SEED).normal(size=(N_POINTS, net.n_inputs))
    block = max(1, BLOCK // (max(net.sizes) * net.n_outputs))
    total = np.zeros((net.n_inputs, net.n_outputs))
    for start in range(0, N_POINTS, block):
        total += np.abs(_slopes(model, points[start : start + block])).sum(axis=0)
    return total / N_POINTS


def _slopes(model: Model, x: Array) -> Array:
    """Derivatives (K, d, q) of outputs by inputs, both normalised, from the last layer back."""
    net, steps = model.topology, []
    layers = net.layers(model.theta)
    for layer in layers:
        z = x @ layer[:, :-1].T + layer[:, -1]
        x = net.activation.f(z)
        steps.append(net.activation.df(z, x)[:, :, None])
    slopes: Array = model.output_weights[: net.hidden[-1]] * steps[-1]
    for layer, step in zip(layers[:0:-1], steps[-2::-1], strict=True):
        slopes = (layer[:, :-1].T @ slopes) * step
    return layers[0][:, :-1].T @ slopes
