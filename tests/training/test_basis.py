"""Inputs in another basis: fewer of them in wide tables, and a ridge for each."""

from dataclasses import replace

import numpy as np
import pytest

from symbreak import LeastSquares, Model, Problem, polish, train
from symbreak._error_bars import Optimum, error_bars_of
from symbreak.training._basis import SCALES, Basis, scales_of
from symbreak.training._size import Comparison


def wide(n=20, d=60, **settings):
    """More columns than rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    names = tuple(f"column {i}" for i in range(d))
    settings = {"hidden": (2,), "alpha": 1.0, "feature_names": names, **settings}
    return Problem.from_arrays(X, X[:, 0] + X[:, 1], **settings)


def partly_idle(n=150):
    """Of six inputs four do nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 6))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + rng.normal(size=n) / 10


@pytest.fixture(scope="module")
def scaled():
    return train(Problem.from_arrays(*partly_idle()), hidden="auto", max_neurons=8, seed=1)


def test_networks_of_a_wide_table_are_optima_in_its_own_inputs():
    problem = wide()
    record = train(problem, max_evaluations=3_000, seed=1)
    on = LeastSquares(problem)
    assert record.model.topology == problem.topology
    assert record.model.feature_names == problem.feature_names
    before = on.network_error(record.model)
    assert before == pytest.approx(record.error)
    assert on.network_error(polish(record.model, problem)) == pytest.approx(before, rel=1e-3)
    for found in record.founds:
        assert on.model(found.theta).error_on(problem.train) < 1
    first = problem.topology.layers(record.model.theta)[0][:, :-1]
    rest = first - first @ np.linalg.pinv(problem.train.X) @ problem.train.X
    assert np.abs(rest).max() < 1e-12  # nothing that no sample could have asked for


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_thousands_of_columns_are_no_trouble(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2_000))
    problem = Problem.from_arrays(X, (X[:, 0] > 0).astype(int), task=task)
    record = train(problem, hidden="auto", seed=1, max_neurons=3)
    assert record.size_path
    assert record.model.predict(X).shape[0] == 30
    assert record.n_effective < 40
    assert ("too many" in record.model.origin.get("no_error_bars", "")) == (task == "regression")


def test_a_wide_table_can_begin_with_a_model_or_a_vector():
    problem = wide()
    first = train(problem, max_evaluations=2_000, seed=1)
    for initial in (first.model, first.model.theta):
        again = train(problem, max_evaluations=300, seed=2, initial=initial)
        assert again.error == pytest.approx(first.error, rel=1e-2)
    with pytest.raises(ValueError, match="initial must have shape"):
        train(problem, initial=np.zeros(3))


def test_inputs_that_do_nothing_get_a_ridge_of_their_own(scaled):
    scales = np.array(scaled.model.origin[SCALES])
    assert scales.shape == (6,)
    assert scales[2:].max() < scales[:2].min() / 2
    again = Model.from_json(scaled.model.to_json())
    X, _ = partly_idle(1_000)
    assert again.predict(X).tobytes() == scaled.model.predict(X).tobytes()
    plain = np.mean([member.predict(X) for member in scaled.members], axis=0)
    assert scaled.model.predict(X) == pytest.approx(plain)
    assert scaled.model.error_bars is not None


def test_a_warm_start_keeps_the_ridge_of_each_input(scaled):
    problem = Problem.from_arrays(*partly_idle(160))
    again = train(problem, hidden="auto", initial=scaled.model, max_evaluations=2_000)
    assert again.model.origin[SCALES] == scaled.model.origin[SCALES]
    for strange in ("all", [1.0, 2.0], [-1.0] * 6, None):
        model = replace(scaled.model, origin={**scaled.model.origin, SCALES: strange})
        found = train(problem, hidden="auto", initial=model, max_evaluations=2_000)
        assert found.model.error_on(problem.train) < 0.5
    given = replace(problem, alpha=0.1)  # is that of all
    again = train(given, initial=scaled.members[0], hidden="auto", max_evaluations=2_000)
    assert SCALES not in again.model.origin


def test_error_bars_are_those_of_the_scaled_inputs():
    s = np.array([1.0, 0.3])
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    problem = Problem.from_arrays(X, X[:, 0] + rng.normal(size=40) / 3, hidden=(2,), alpha=0.5)
    basis = Basis.scaled(s)
    inner = basis.problem(problem)
    theta = rng.normal(size=inner.topology.dim)
    V = LeastSquares(inner).model(theta).output_weights
    bars = error_bars_of(inner, [Optimum(theta, V, 0.5)])
    folded = basis.folded(theta, (2,))
    ours = error_bars_of(problem, [Optimum(folded, V, 0.5)], costs=basis.costs)
    x, middle = rng.normal(size=(5, 2)), np.zeros((5, 1))
    assert ours.std(x, middle) == pytest.approx(bars.std(x * s, middle), rel=1e-5)
    assert basis.unfolded(folded, (2,)) == pytest.approx(theta)


def test_scales_are_those_of_the_weights_but_none_is_nothing():
    theta = np.array([[3.0, 0.0, 9.0, -4.0, 0.0, 9.0]])
    s = scales_of(theta, 2, (2,))
    assert s[1] / s[0] == pytest.approx(0.05)
    assert np.mean(s**2) == pytest.approx(1)
    assert scales_of(0 * theta, 2, (2,)).tolist() == [1, 1]


@pytest.mark.parametrize(("standard_errors", "taken"), [(1.5, False), (3, True)])
def test_a_ridge_for_each_input_is_taken_where_it_is_clearly_better(
    standard_errors, taken, monkeypatch
):
    def pretend(self, before, *_):
        """A loss that is smaller by so many standard errors of the difference."""
        n = before.losses.size
        less = np.where(np.arange(n) % 2, 1.0, -1.0)[: n // 2 * 2]
        less = np.append(less, np.zeros(n % 2)) + standard_errors / np.sqrt(n)
        self._found = [before._replace(losses=before.losses - less, scales=np.full(6, 2.0))]

    monkeypatch.setattr(Comparison, "_try_scales", pretend)
    record = train(Problem.from_arrays(*partly_idle(100)), hidden="auto", max_neurons=2, seed=1)
    assert (SCALES in record.model.origin) is taken
