"""Ridges by cross-validation: where the evidence trusts data too much, and where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from symbreak import Problem, train
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.fitting import is_worthwhile
from symbreak.fitting._ridge import cross_validated
from symbreak.training import evidence


def always():
    return True


def noisy_line(n=60, n_inputs=6):
    """One input matters, a little; the others are there to be learned by heart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_inputs))
    return X, X[:, :1] + rng.normal(size=(n, 1))


def found(problem, seed=0):
    """The network of a search with its ridge by the evidence."""
    record = train(problem, max_evaluations=2_000, seed=seed)
    held = replace(problem, alpha=record.alpha)
    return evidence(held, record.model.theta, max_iterations=0)


def test_noise_gets_a_larger_ridge_and_a_network_that_predicts_better():
    problem = Problem.from_arrays(*noisy_line(), hidden=(5,), alpha="auto", rescale="none")
    start = found(problem, seed=2)
    held = cross_validated(problem, start, always)
    assert held.alpha > start.alpha
    assert held.n_effective < start.n_effective
    X = np.random.default_rng(1).normal(size=(2_000, 6))
    errors = [np.mean((m.model.outputs(X)[:, 0] - X[:, 0]) ** 2) for m in (start, held)]
    assert errors[1] < errors[0]


def test_classes_that_overlap_get_a_larger_ridge():
    X, y = noisy_line()
    labels = (y[:, 0] > 0).astype(int)
    problem = Problem.from_arrays(
        X, labels, hidden=(5,), task="classification", alpha="auto", rescale="none"
    )
    start = found(problem)
    held = cross_validated(problem, start, always)
    assert held.alpha > 10 * start.alpha
    assert held.n_effective < 0.5 * start.n_effective


@pytest.mark.filterwarnings("ignore:The budget ended")
def test_ridges_below_one_that_leaves_a_constant_are_tried():
    """Large ridges leave nothing, those below them overfit, and smaller ones are right."""
    rng = np.random.default_rng(9)
    X, fresh = rng.uniform(-1, 1, size=(40, 4)), rng.uniform(-1, 1, size=(1_000, 4))
    y = np.cos(5 * X[:, 0]) + 0.1 * rng.normal(size=40)
    network = EvolvedMLPRegressor(hidden_layer_sizes=(5,), max_evaluations=8_000, random_state=0)
    assert network.fit(X, y).score(fresh, np.cos(5 * fresh[:, 0])) > 0.5


def test_a_smooth_curve_without_noise_keeps_its_ridge():
    X = np.linspace(-1, 1, 60)[:, None]
    problem = Problem.from_arrays(X, np.sin(4 * X), hidden=(4,), alpha="auto", rescale="none")
    start = found(problem)
    assert cross_validated(problem, start, always) is start


def test_without_time_the_network_stays_as_it_is():
    problem = Problem.from_arrays(*noisy_line(), hidden=(5,), alpha="auto", rescale="none")
    start = found(problem)
    assert cross_validated(problem, start, lambda: False) is start


def test_few_samples_and_large_networks_are_left_alone():
    X, y = noisy_line()
    worthwhile = [
        is_worthwhile(Problem.from_arrays(X[:n], y[:n], hidden=(size,)))
        for n, size in ((60, 5), (19, 5), (60, 300))
    ]
    assert worthwhile == [True, False, False]
