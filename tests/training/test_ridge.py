"""Ridges by cross-validation: where the evidence trusts data too much, and where it does not."""

import numpy as np
import pytest

from symbreak import LeastSquares
from symbreak._polish._evidence import evidence_of
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.training._last_step import is_worthwhile, with_validated_ridge
from tests.papers import paper_problem
from tests.polishing import searched


def noisy_line(n=60, n_inputs=6):
    """One input matters, a little; the others are there to be learned by heart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_inputs))
    return X, X[:, :1] + rng.normal(size=(n, 1))


def found(problem, seed=0):
    """The network of a search with its ridge by the evidence."""
    record = searched(problem, max_evaluations=2_000, seed=seed)
    return evidence_of(LeastSquares(problem).with_ridge(record.alpha), record.model.theta)


def validated(problem, start, may_go_on=lambda: True):
    return with_validated_ridge(LeastSquares(problem), start.theta, start.alpha, may_go_on)


def test_noise_gets_a_larger_ridge_and_a_network_that_predicts_better():
    problem = paper_problem(*noisy_line(), hidden=(5,), alpha="auto", rescale="none")
    start = found(problem, seed=2)
    held = validated(problem, start)
    assert held.alpha > start.alpha
    assert held.n_effective < start.n_effective
    X = np.random.default_rng(1).normal(size=(2_000, 6))
    models = [LeastSquares(problem).model(f.theta, f.output_weights) for f in (start, held)]
    errors = [np.mean((model.outputs(X)[:, 0] - X[:, 0]) ** 2) for model in models]
    assert errors[1] < errors[0]


def test_classes_that_overlap_get_a_larger_ridge():
    X, y = noisy_line()
    labels = (y[:, 0] > 0).astype(int)
    problem = paper_problem(
        X, labels, hidden=(5,), task="classification", alpha="auto", rescale="none"
    )
    start = found(problem)
    held = validated(problem, start)
    assert held.alpha > 3 * start.alpha  # 16 times; it goes in steps of 3
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
    problem = paper_problem(X, np.sin(4 * X), hidden=(4,), alpha="auto", rescale="none")
    start = found(problem)
    assert validated(problem, start).alpha == start.alpha


def test_without_time_the_network_stays_as_it_is():
    problem = paper_problem(*noisy_line(), hidden=(5,), alpha="auto", rescale="none")
    start = found(problem)
    assert validated(problem, start, lambda: False).alpha == start.alpha


def test_few_samples_and_large_networks_are_left_alone():
    X, y = noisy_line()
    worthwhile = [
        is_worthwhile(paper_problem(X[:n], y[:n], hidden=(size,)))
        for n, size in ((60, 5), (19, 5), (60, 300))
    ]
    assert worthwhile == [True, False, False]
