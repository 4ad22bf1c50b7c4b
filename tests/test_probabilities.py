"""Outputs that are probabilities: what makes them so, and that they are better ones."""

import dataclasses

import numpy as np
import pytest

from symbreak import Problem
from symbreak.evidence import evidence
from symbreak.polish import polish
from symbreak.probabilities import _fit, calibrated, log_loss
from tests.test_polish import make_problem


def overlapping_classes(K, seed, **options):
    """Three classes whose centres are two standard deviations apart, in a plane of five inputs."""
    rng = np.random.default_rng(seed)

    def sample(n):
        y = rng.integers(3, size=n)
        X = rng.normal(size=(n, 5))
        X[:, :2] += 2 * np.array([[0, 0], [1, 0], [0, 1]])[y]
        return X, np.array(["a", "b", "c"])[y]

    return Problem.from_arrays(
        *sample(K), test=sample(2000), hidden=(4,), task="classification", **options
    )


def fitted(problem, seed=0):
    start = 0.5 * np.random.default_rng(seed).normal(size=problem.topology.dim)
    return polish(start, problem, max_iterations=40).model


@pytest.mark.parametrize("output_shift", [False, True])
def test_probabilities_of_unseen_samples_are_better_than_a_softmax_of_the_least_squares(
    output_shift,
):
    problem = overlapping_classes(150, 0, output_shift=output_shift)
    model = fitted(problem)
    found = calibrated(model, problem)
    P = found.outputs(problem.inputs.undo(problem.test.X))
    assert P.min() > 0
    assert P.sum(axis=1) == pytest.approx(1)
    assert found.theta is model.theta
    losses = [
        log_loss(dataclasses.replace(model, output="softmax", output_weights=weights), problem.test)
        for weights in (model.output_weights, model.output_weights / 20)
    ]
    assert log_loss(found, problem.test) < 0.85 * min(losses)
    assert log_loss(found, problem.test) == pytest.approx(
        -np.mean(np.log(np.sum(P * problem.test.y, axis=1)))
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_networks_are_as_often_right_as_they_are_sure(seed):
    problem = overlapping_classes(150, seed, output_shift=True)
    model = fitted(problem)

    def gap(model):
        P = model.outputs(problem.inputs.undo(problem.test.X))
        right = P.argmax(axis=1) == problem.test.y.argmax(axis=1)
        return abs(P.max(axis=1).mean() - right.mean())

    assert gap(dataclasses.replace(model, output="softmax")) > 0.15
    assert gap(calibrated(model, problem)) < 0.1


def test_validation_data_decide_where_there_are_some():
    problem = overlapping_classes(150, 2)
    model = fitted(problem)
    same = dataclasses.replace(problem, validation=problem.train)  # asks for no ridge at all
    loss = log_loss(calibrated(model, same), problem.train)
    assert loss < log_loss(calibrated(model, problem), problem.train)


def test_the_same_input_gives_the_same_model():
    problem = overlapping_classes(60, 3)
    model = fitted(problem)
    first, second = (calibrated(model, problem).output_weights.tobytes() for _ in range(2))
    assert first == second


def test_the_fit_is_an_optimum_and_has_the_frequencies_of_the_classes():
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.normal(size=(80, 3)), np.ones(80)])
    A[:, 2] = A[:, 1]  # dependent
    Y = np.eye(3)[rng.integers(3, size=80)]
    w = rng.uniform(0.5, 2, size=80)
    found = _fit(A, Y, w, 1e-6)
    z = A @ found.weights
    P = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert (w @ P) / w.sum() == pytest.approx((w @ Y) / w.sum(), abs=1e-4)
    best = found.log_loss(A, Y, w)
    for _ in range(20):
        other = found._replace(weights=found.weights + 0.1 * rng.normal(size=found.weights.shape))
        assert other.log_loss(A, Y, w) > best


def test_a_network_of_another_shape_or_task_is_refused():
    problem = overlapping_classes(30, 0)
    model = evidence(problem, np.zeros(problem.topology.dim), max_iterations=2).model
    with pytest.raises(ValueError, match="needs a 2-3-1 network and a problem of classification"):
        calibrated(model, make_problem("2-3-1"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_real_classes_get_less_than_half_of_the_log_loss(name):
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    before, after = 0.0, 0.0
    for fold in range(5):
        out = np.arange(len(X)) % 5 == fold
        problem = Problem.from_arrays(
            *(X[~out], y[~out]),
            hidden=(4,),
            task="classification",
            test=(X[out], y[out]),
            output_shift=True,
        )
        start = 0.3 * np.random.default_rng(0).normal(size=problem.topology.dim)
        model = polish(start, problem, max_iterations=100).model
        before += log_loss(dataclasses.replace(model, output="softmax"), problem.test)
        after += log_loss(calibrated(model, problem), problem.test)
    assert after < before / 2
