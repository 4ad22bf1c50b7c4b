"""Ridges by cross-validation: where the evidence trusts data too much, and where it does not."""

import numpy as np
import pytest

from symbreak import LeastSquares
from symbreak._polish._evidence import evidence_of
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.training._last_step import is_worthwhile, with_validated_ridge
from tests.papers import paper_problem
from tests.polishing import searched


def noisy_line(n=60, n_inputs=6, seed=0):
    """One input matters, a little; the others are there to be learned by heart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs))
    return X, X[:, :1] + rng.normal(size=(n, 1))


def found(problem, seed=0):
    """The network of a search with its ridge by the evidence."""
    record = searched(problem, max_evaluations=2_000, seed=seed)
    return evidence_of(LeastSquares(problem).with_ridge(record.alpha), record.model.theta)


def validated(problem, start, may_go_on=lambda: True):
    return with_validated_ridge(LeastSquares(problem), start.theta, start.alpha, may_go_on)


def test_noise_gets_a_larger_ridge_and_networks_that_predict_better():
    X = np.random.default_rng(1).normal(size=(2_000, 6))
    ridges, errors = [], []
    for seed in range(12):
        problem = paper_problem(*noisy_line(seed=seed), hidden=(5,), alpha="auto", rescale="none")
        start = found(problem, seed=seed)
        held = validated(problem, start)
        models = [LeastSquares(problem).model(f.theta, f.output_weights) for f in (start, held)]
        before, after = (np.mean((model.outputs(X)[:, 0] - X[:, 0]) ** 2) for model in models)
        ridges.append(held.alpha / start.alpha)
        errors.append(after / before)
        assert (held.n_effective < start.n_effective) == (held.alpha > start.alpha)
    assert min(ridges) >= 1
    assert np.median(ridges) > 1.5  # seen 2.1 to 2.5 over 60 tables, twelve at a time
    assert np.exp(np.mean(np.log(errors))) < 0.9  # seen 0.55 to 0.71


def test_classes_that_overlap_get_a_larger_ridge():
    X, y = noisy_line()
    labels = (y[:, 0] > 0).astype(int)
    problem = paper_problem(
        X, labels, hidden=(5,), task="classification", alpha="auto", rescale="none"
    )
    start = found(problem)
    held = validated(problem, start)
    assert held.alpha > 3 * start.alpha  # seen 8 to 100 times over 12 seeds
    assert held.n_effective < 0.75 * start.n_effective  # seen 0.27 to 0.34 times


@pytest.mark.filterwarnings("ignore:The budget ended")
def test_ridges_below_one_that_leaves_a_constant_are_tried():
    """Large ridges leave nothing, those below them overfit, and smaller ones are right."""
    rng = np.random.default_rng(9)
    X, fresh = rng.uniform(-1, 1, size=(80, 4)), rng.uniform(-1, 1, size=(1_000, 4))
    y = np.cos(5 * X[:, 0]) + 0.1 * rng.normal(size=80)
    network = EvolvedMLPRegressor(hidden_layer_sizes=(5,), max_evaluations=8_000, random_state=0)
    # seen 0.97 to 0.99 over 10 seeds
    assert network.fit(X, y).score(fresh, np.cos(5 * fresh[:, 0])) > 0.9


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
