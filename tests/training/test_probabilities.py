"""Outputs that are probabilities: what makes them so, and that they are better ones."""

import dataclasses

import numpy as np
import pytest

from symbreak._activations import ACTIVATIONS
from symbreak.objectives._cross_entropy import CrossEntropy
from symbreak.problems import Dataset
from symbreak.topology import Topology
from symbreak.training._last_step import CLASS_RIDGES as RIDGES
from symbreak.training._last_step import FIRST_DESCENT, log_loss, with_probabilities
from tests.papers import paper_problem
from tests.polishing import evidence, polish


def overlapping_classes(K, seed, **options):
    """Three classes whose centres are two standard deviations apart, in a plane of five inputs."""
    rng = np.random.default_rng(seed)

    def sample(n):
        y = rng.integers(3, size=n)
        X = rng.normal(size=(n, 5))
        X[:, :2] += 2 * np.array([[0, 0], [1, 0], [0, 1]])[y]
        return X, np.array(["a", "b", "c"])[y]

    return paper_problem(
        *sample(K), test=sample(2000), hidden=(4,), task="classification", **options
    )


def fitted(problem, seed=0):
    start = 0.5 * np.random.default_rng(seed).normal(size=problem.topology.dim)
    return polish(start, problem, max_iterations=40).model


@pytest.mark.parametrize("output_shift", [False, True])
def test_probabilities_of_unseen_samples_are_better_than_a_softmax_of_the_least_squares(
    output_shift,
):
    problem = overlapping_classes(150, 0, output_shift=output_shift, alpha="auto", rescale="none")
    model = fitted(problem)
    found = with_probabilities(model, problem).model
    P = found.outputs(problem.inputs.undo(problem.test.X))
    assert P.min() > 0
    assert P.sum(axis=1) == pytest.approx(1)
    assert found.output_shift == output_shift
    losses = [
        log_loss(dataclasses.replace(model, output="softmax", output_weights=weights), problem.test)
        for weights in (model.output_weights, model.output_weights / 20)
    ]
    assert log_loss(found, problem.test) < 0.9 * min(losses)  # seen 0.68 to 0.76
    assert log_loss(found, problem.test) == pytest.approx(
        -np.mean(np.log(np.sum(P * problem.test.y, axis=1)))
    )


def test_networks_are_as_often_right_as_they_are_sure():
    problem = overlapping_classes(150, 1, output_shift=True, alpha="auto", rescale="none")
    model = fitted(problem)

    def gap(model):
        P = model.outputs(problem.inputs.undo(problem.test.X))
        right = P.argmax(axis=1) == problem.test.y.argmax(axis=1)
        return abs(P.max(axis=1).mean() - right.mean())

    # seen up to 0.10, and 0.19 to 0.28, over 28 seeds
    assert gap(with_probabilities(model, problem).model) < 0.15
    assert gap(dataclasses.replace(model, output="softmax")) > 0.15


def test_classes_that_a_network_can_separate_get_a_ridge_though_the_evidence_asks_for_none():
    problem = overlapping_classes(30, 0, alpha="auto", rescale="none", output_shift=True)
    problem = dataclasses.replace(problem, topology=Topology((5, 8, 3)))
    start = 0.5 * np.random.default_rng(0).normal(size=problem.topology.dim)
    before = evidence(problem, start)
    assert before.alpha < 1e-6  # of 1e-10, where they can be separated
    assert before.model.error_on(problem.train) == 0
    found = with_probabilities(before.model, problem)
    assert found.alpha > 1e-4  # seen 3e-3 to 3 over 15 seeds
    assert found.n_effective < 0.6 * before.n_effective  # seen 0.12 to 0.30
    softmax = dataclasses.replace(before.model, output="softmax")
    assert log_loss(found.model, problem.test) < 0.7 * log_loss(softmax, problem.test)  # to 0.34


def test_validation_data_decide_where_there_are_some():
    problem = overlapping_classes(150, 2, alpha="auto", rescale="none")
    model = fitted(problem)
    same = dataclasses.replace(problem, validation=problem.train)  # asks for no ridge at all
    assert with_probabilities(model, same).alpha == RIDGES[0]
    assert with_probabilities(model, problem).alpha > RIDGES[0]


def test_a_ridge_that_was_asked_for_is_kept():
    problem = overlapping_classes(60, 3, alpha=2.0, rescale="none")
    found = with_probabilities(fitted(problem), problem)
    assert found.alpha == 2
    on = CrossEntropy(problem.topology, problem.train, shift=False)
    x = np.concatenate([found.model.theta, found.model.output_weights.ravel()])
    assert np.abs(on(x, 2.0)[1]).max() < 1e-3  # where it is an optimum


@pytest.mark.parametrize("n_answers", [0, 30, 1_000])
def test_without_time_the_best_so_far_is_returned(n_answers):
    problem = overlapping_classes(60, 3, alpha="auto", rescale="none")
    model, asked = fitted(problem), []

    def may_go_on():
        asked.append(None)
        return len(asked) <= n_answers

    found = with_probabilities(model, problem, may_go_on).model
    assert len(asked) <= n_answers + 2 * len(RIDGES) * (FIRST_DESCENT + 1)
    start = dataclasses.replace(model, output="softmax", output_weights=model.output_weights / 20)
    assert log_loss(found, problem.train) < log_loss(start, problem.train)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shift", [False, True])
def test_the_gradient_is_that_of_finite_differences(activation, shift):
    rng = np.random.default_rng(0)
    net = Topology((2, 4, 3, 3), ACTIVATIONS[activation])
    Y, w = np.eye(3)[rng.integers(3, size=20)], rng.uniform(0.5, 2, size=20)
    on = CrossEntropy(net, Dataset(rng.normal(size=(20, 2)), Y, w), shift=shift)
    x, h = rng.normal(size=net.dim + (3 + shift) * 3), 1e-6
    steps = h * np.eye(len(x))
    expected = [(on(x + s, 0.7)[0] - on(x - s, 0.7)[0]) / (2 * h) for s in steps]
    np.testing.assert_allclose(on(x, 0.7)[1], expected, atol=1e-8)
    assert on(x, 0.0)[0] == pytest.approx(on.loss(x), rel=1e-12)


def test_effective_parameters_are_those_of_the_hessian_where_targets_are_the_outputs():
    rng = np.random.default_rng(0)
    net = Topology((2, 3, 3))
    X = rng.normal(size=(5_000, 2))
    x = rng.normal(size=net.dim + 12)
    # targets that are the network's own probabilities: Fisher's information is the Hessian
    A = np.tanh(X @ x[:9].reshape(3, 3)[:, :2].T + x[:9].reshape(3, 3)[:, 2])
    z = np.column_stack([A, np.ones(len(A))]) @ x[9:].reshape(4, 3)
    P = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    on = CrossEntropy(net, Dataset(X, P), shift=True)
    steps = 1e-5 * np.eye(len(x))
    H = np.array([on(x + s, 0.0)[1] - on(x - s, 0.0)[1] for s in steps]) / 2e-5 * len(X)
    shares = [1.0, 1.0, 0.1] * 3 + [1.0] * 9 + [0.0] * 3  # of weights, hidden and output shifts
    held = H + 3.0 * np.diag(shares)
    expected = np.trace(np.linalg.pinv(held, rcond=1e-9, hermitian=True) @ H)
    assert on.n_effective(x, 3.0) == pytest.approx(expected, rel=1e-4)
    assert expected < len(x) - 1
