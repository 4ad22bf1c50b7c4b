"""How sure a prediction is."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from symbreak import LeastSquares, Model, Problem, train
from symbreak._activations import ACTIVATIONS
from symbreak._error_bars import NoErrorBarsError, Optimum, error_bars_of
from symbreak.inspection import recorded_scores, scores
from symbreak.network import hidden_outputs, linearisations
from symbreak.topology import Topology


def table(n=80, noise=0.2, seed=3, gap=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    X = np.sign(X) * (1 + np.abs(X) / 2) if gap else X
    return X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)


def trained(X, y, hidden=(3,), **options):
    settings = {name: options.pop(name) for name in ("activation", "weights") if name in options}
    problem = Problem.from_arrays(X, y, hidden=hidden, alpha="auto", **settings)
    return train(problem, **{"max_evaluations": 8_000, "seed": 1, **options})


@pytest.fixture(scope="module")
def small():
    """A model with error bars."""
    return trained(*table(30)).model


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(2, 3, 1), (2, 3, 2, 2)])
@pytest.mark.parametrize("shift", [False, True])
def test_derivatives_are_those_of_small_differences(activation, sizes, shift):
    net, rng = Topology(sizes, activation), np.random.default_rng(0)
    x = rng.normal(size=net.dim + (net.hidden[-1] + shift) * net.n_outputs)
    X = rng.normal(size=(5, 2))

    def outputs(x):
        V = x[net.dim :].reshape(-1, net.n_outputs)
        return hidden_outputs(x[: net.dim], net, X, shift=shift) @ V

    V = x[net.dim :].reshape(-1, net.n_outputs)
    ((_, values, J),) = linearisations(x[: net.dim], net, V, X)
    steps = 1e-6 * np.eye(len(x))
    slow = np.stack([(outputs(x + s) - outputs(x - s)) / 2e-6 for s in steps], axis=-1)
    assert values == pytest.approx(outputs(x))
    assert np.abs(J - slow).max() < 1e-6


@pytest.mark.parametrize("hidden", [(3,), (3, 2)])
@pytest.mark.parametrize("n_networks", [1, 3])
def test_a_file_gives_the_same_bars_back_to_the_last_bit(hidden, n_networks):
    X, y = table()
    model = trained(X, np.column_stack([y, X**2]), hidden, n_networks=n_networks).model
    again = Model.from_json(model.to_json())
    for one, other in zip(model.predict(X, True), again.predict(X, True), strict=True):
        assert one.shape == (80, 2)
        assert one.tobytes() == other.tobytes()
    assert model.predict(X, return_std=True)[0].tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_intervals_hold_about_their_share_of_new_samples(tails):
    def noisy(n, seed):
        X, y = table(n, seed=seed)
        noise = np.random.default_rng(seed).standard_t(2, size=n)
        return X, y if tails == "normal" else X[:, 0] + noise

    model, (new_X, new_y) = trained(*noisy(300, 3)).model, noisy(4_000, 4)
    for coverage in (0.5, 0.8, 0.95):
        low, high = model.predict_interval(new_X, coverage)
        inside = np.mean((low <= new_y) & (new_y <= high))
        assert inside == pytest.approx(coverage, abs=0.08)  # 300 samples say it to 0.03
    if tails == "normal":
        std = model.predict(new_X, return_std=True)[1]
        assert std.mean() == pytest.approx(0.2, rel=0.25)


def test_the_band_is_wider_where_there_are_no_samples():
    X, y = table(gap=True)
    model = trained(X, y).model
    at = model.predict([[-1.5], [0.0], [1.5], [8.0]], return_std=True)[1]
    assert at[1] > 1.2 * max(at[0], at[2])
    assert at[3] > 1.2 * max(at[0], at[2])


def test_residuals_of_samples_left_out_are_those_of_fits_without_them():
    X, y = table(40)
    problem = Problem.from_arrays(X, y, hidden=(2,), alpha=0.1)
    theta = train(problem, seed=1).model.theta
    error = []
    for i in range(40):
        left_out = np.arange(40) == i
        without = replace(problem, train=problem.train[~left_out])
        model = LeastSquares(without).model(train(without, initial=theta, polish="final").theta)
        error.append(model.error_on(problem.train[left_out]))
    model = LeastSquares(problem).model(theta)
    bars = error_bars_of(problem, [Optimum(theta, model.output_weights, 0.1)])
    assert bars.error[0] == pytest.approx(np.sqrt(np.mean(error)), rel=0.1)


def test_a_linear_model_has_the_bars_of_textbooks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    problem = Problem.from_arrays(X, 2 * X[:, 0] + rng.normal(size=30), hidden=(1,), alpha=1e-9)
    theta = np.array([1e-2, 0.0])  # tanh is linear here
    model = LeastSquares(problem).model(theta)
    bars = error_bars_of(problem, [Optimum(theta, model.output_weights, 1e-9)])
    x = np.array([[3.0]])
    slope, shift = np.polyfit(problem.train.X[:, 0], problem.train.y[:, 0], 1)
    r = problem.train.y[:, 0] - slope * problem.train.X[:, 0] - shift
    textbook = np.sqrt(np.sum(r**2) / 28 * (1 + 1 / 30 + 9 / 30))
    mean, variance = bars.members[0](x)
    assert mean[0, 0] == pytest.approx(slope * 3 + shift, rel=1e-3)
    assert np.sqrt(variance[0, 0]) == pytest.approx(textbook, rel=0.03)


def test_intervals_of_a_linear_model_are_those_of_the_jackknife():
    """The twin fits again without each sample."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = 2 * x + rng.standard_t(3, size=120)
    lines = [np.polyfit(np.delete(x, i), np.delete(y, i), 1) for i in range(120)]
    off = np.abs([y[i] - np.polyval(line, x[i]) for i, line in enumerate(lines)])
    problem = Problem.from_arrays(x[:, None], y, hidden=(1,), alpha=1e-9)
    theta = np.array([1e-2, 0.0])  # tanh is linear here
    model = LeastSquares(problem).model(theta)
    bars = error_bars_of(problem, [Optimum(theta, model.output_weights, 1e-9)])
    low, high = replace(model, error_bars=bars).predict_interval(x[:, None], 0.9)
    assert np.mean(high - low) == pytest.approx(2 * np.sort(off)[108], rel=0.03)  # of 0.9 * 121
    assert (low + high) / 2 == pytest.approx(np.polyval(np.polyfit(x, y, 1), x), abs=0.02)


def test_a_sample_that_counts_twice_is_like_two_and_rows_are_those_of_the_table():
    X, y = table(40)
    repeated = trained(np.vstack([X, X]), np.append(y, y)).model
    weighted = trained(X, y, weights=np.full(40, 2.0)).model
    assert repeated.to_json() != weighted.to_json()
    for one, other in zip(repeated.predict(X, True), weighted.predict(X, True), strict=True):
        assert one.tobytes() == other.tobytes()
    for name, many in recorded_scores(repeated).items():
        few = recorded_scores(weighted)[name]
        assert (many.n, few.n) == (80, 40)
        assert many.spread == pytest.approx(few.spread / np.sqrt(2))


def test_optima_that_disagree_make_the_band_wider():
    X, y = table()
    record = trained(X, y)
    problem = Problem.from_arrays(X, y, hidden=(3,), alpha="auto")
    model = record.model
    own = Optimum(model.theta, model.output_weights, record.alpha)
    other = Optimum(model.theta, model.output_weights + 0.5, record.alpha)
    one = error_bars_of(problem, [own])
    two = error_bars_of(problem, [own, other], np.array([0.5, 0.5]))
    at = problem.train.X
    outputs = model.weighted_sums(at)
    assert (two._variance(at, outputs) > one._variance(at, outputs)).all()


def test_bars_are_as_wide_as_folds_that_were_trained_anew_ask_for(small):
    bars, X = small.error_bars, np.array([[0.3]])
    known = float(np.mean(bars.error**2))
    for loss, wider in ((4 * known, 2.0), (known / 4, 1.0)):
        now = replace(small, error_bars=bars.no_less_than(loss))
        before, after = (np.ptp(model.predict_interval(X), axis=0) for model in (small, now))
        assert after == pytest.approx(wider * before)
        assert now.predict(X, True)[1] == pytest.approx(wider * small.predict(X, True)[1])


def test_a_chosen_size_says_no_less_than_the_error_of_its_folds():
    """Few rows of a wavy function: those that are left out lead to another optimum."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + rng.normal(size=60) / 100
    settings = {"hidden": "auto", "max_neurons": 8, "n_networks": 1, "seed": 0}
    record = train(Problem.from_arrays(X, y), **settings)
    hidden = record.model.topology.hidden
    (loss,) = (tried.loss for tried in record.size_path if tried.hidden == hidden)
    assert recorded_scores(record.model)["left out"].error == pytest.approx(loss)


def test_what_was_not_seen_in_training_is_known():
    X, y = table()
    model = trained(X, y).model
    rows = np.array([[X.min()], [X.max()], [X.max() + 0.1 * np.ptp(X) + 1e-3], [-40]])
    assert model.outside(rows)[:, 0].tolist() == [False, False, True, True]
    for call in (model.predict, model.predict_interval, Model.from_json(model.to_json()).predict):
        with pytest.warns(UserWarning, match=r"Far outside of what training saw.*: x1\."):
            call(rows)
    with warnings.catch_warnings(action="error"):
        model.predict(rows[:2])


def test_what_was_measured_in_training_stays_with_the_model():
    X, y = table(120)
    problem = Problem.from_arrays(X[:80], y[:80], hidden=(3,), test=(X[80:], y[80:]))
    model = Model.from_json(train(problem, max_evaluations=4_000).model.to_json())
    known, now = recorded_scores(model), scores(model, problem)
    assert list(known) == ["training", "test", "left out"]
    for name, score in now.items():
        assert all(np.array_equal(v, vars(known[name])[k]) for k, v in vars(score).items())
    residuals = y[80:] - model.predict(X[80:])
    again = [
        np.sqrt(np.mean(r**2)) for r in np.random.default_rng(0).choice(residuals, (4_000, 40))
    ]
    assert known["test"].spread[0] == pytest.approx(np.std(again), rel=0.15)  # the bootstrap's
    assert known["training"].rmse < known["left out"].rmse


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 1.0, 1.0]),
        ([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]),
        ([[5.0], [5.0], [5.0]], [0.0, 1.0, 5.0]),
        (np.random.default_rng(0).normal(size=(5, 6)), [0.0, 3.0, 1.0, 2.0, 1.0]),
        ([[1.0]], [2.0]),
    ],
    ids=["constant", "exact", "one place", "K < D", "one sample"],
)
def test_a_band_is_finite_or_there_is_a_sentence_why_there_is_none(X, y):
    model = trained(X, y).model
    if model.error_bars is None:
        with pytest.raises(ValueError, match="no error bars: its weights fit every"):
            model.predict(X, return_std=True)
        return
    for values in (model.predict(X, return_std=True)[1], *model.predict_interval(X, 0.999)):
        assert np.isfinite(values).all()
    json.loads(model.to_json())


def test_too_many_weights_have_no_error_bars_and_say_so():
    X, y = table()
    problem = Problem.from_arrays(X, y, hidden=(220,), alpha=1.0)
    model = LeastSquares(problem).model(np.full(440, 0.1))
    with pytest.raises(NoErrorBarsError, match="661 weights are too many"):
        error_bars_of(problem, [Optimum(model.theta, model.output_weights, 1.0)])


def test_classes_have_no_error_bars_and_say_who_has():
    X, y = table()
    problem = Problem.from_arrays(X, y > 0, hidden=(2,), task="classification", alpha="auto")
    model = train(problem, max_evaluations=3_000).model
    with pytest.raises(ValueError, match="no error bars: train gives them to networks of regres"):
        model.predict_interval(X)


@pytest.mark.parametrize("coverage", [0, 1, 90, None, "most"])
def test_a_coverage_is_a_share(small, coverage):
    with pytest.raises(ValueError, match=r"coverage must be a finite number in \[0.01, 0.999\]"):
        small.predict_interval([[0.0]], coverage)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda bars: bars.update(scale=[1.0, 2.0]), r"scale must have shape \(1,\), got \(2,\)"),
        (lambda bars: bars.update(scores=[]), "scores must have shape"),
        (lambda bars: bars.update(members=[]), "the shares of members"),
        (lambda bars: bars.update(members=[3]), "not what save writes"),
        (lambda bars: bars["members"][0].update(share=-1), "share and noise"),
        (lambda bars: bars["members"][0].update(share="all"), "share must be"),
        (lambda bars: bars["members"][0].update(net=[3, 3, 1]), "a member is a 3-3-1 network"),
        (
            lambda bars: bars["members"][0].update(output_weights=[[1.0]]),
            "output_weights of a 1-3-1",
        ),
        (lambda bars: bars["members"][0]["factor"].pop(), r"factor must have shape \(55,\), got"),
    ],
)
def test_a_file_with_spoiled_bars_is_refused(small, spoil, match):
    facts = json.loads(small.to_json())
    spoil(facts["error_bars"])
    with pytest.raises(ValueError, match=f"its error bars.* {match}"):
        Model.from_json(json.dumps(facts))


def test_estimators_have_the_bars_of_their_model():
    estimators = pytest.importorskip("symbreak.estimators")
    X, y = table()
    fitted = estimators.EvolvedMLPRegressor(3, max_evaluations=8_000, random_state=0).fit(X, y)
    mean, std = fitted.predict(X, return_std=True)
    assert mean.tobytes() == fitted.predict(X).tobytes()
    assert (std > 0).all()
    low, high = fitted.predict_interval(X, 0.8)
    assert (low < mean).all()
    assert (mean < high).all()
