"""The estimators: scikit-learn's own checks, and what they promise beyond them."""
# ruff: noqa: E402  (nothing is imported before scikit-learn is known to be there)

import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

import joblib
import pandas as pd
from joblib.parallel import ThreadingBackend
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from symbreak import Model
from symbreak._support import progress
from symbreak.estimators import EvolvedAutoencoder, EvolvedMLPClassifier, EvolvedMLPRegressor
from symbreak.inspection import recorded_scores
from symbreak.training import _last_step, _size, _trainer
from symbreak.training._last_step import POLISH_SAMPLES, part_of, refitted

ALL = (EvolvedMLPRegressor, EvolvedMLPClassifier, EvolvedAutoencoder)
#: Most fits here are too short to say that they have found the best network.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(n=80, seed=1):
    """Inputs in units far from normal, numbers and three classes to predict."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 50, 1e-3] + [1000, 3, 0]
    z = (X - [1000, 3, 0]) / [1, 50, 1e-3]
    y = 40 + 7 * np.tanh(z[:, 0] - z[:, 1]) + rng.normal(size=n) / 2
    return X, y, np.array(["low", "mid", "top"])[np.digitize(y, [37, 43])]


def fitted(estimator, X, y=None, **options):
    return estimator(**{"max_evaluations": 4_000, "random_state": 0, **options}).fit(X, y)


def bits(estimator):
    model = estimator.model_
    return model.theta.tobytes() + model.output_weights.tobytes()


@parametrize_with_checks([kind(alpha=0.01, max_evaluations=1_000) for kind in ALL])
def test_they_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_without_any_setting_predicts_in_raw_units():
    X, y, labels = table()
    unseen, truth, names = table(400, seed=2)
    regressor = EvolvedMLPRegressor(random_state=0).fit(X, y)
    assert regressor.score(unseen, truth) > 0.95  # seen 0.987 to 0.992 over 12 seeds
    assert regressor.n_effective_parameters_ < 21  # seen 7 to 14
    assert regressor.alpha_ > 0
    assert 0 < regressor.best_loss_ < 0.05
    assert regressor.confidence_.n_starts >= 1
    classifier = EvolvedMLPClassifier(random_state=0).fit(X, labels)
    assert classifier.score(unseen, names) > 0.85  # seen 0.92 to 0.97 over 12 seeds
    # seen 0.10 to 0.26; chance is log 3
    assert log_loss(names, classifier.predict_proba(unseen)) < 0.5


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("output_shift", [True, False])
def test_coefs_and_intercepts_reproduce_predictions_from_raw_inputs(activation, output_shift):
    X, y, labels = table()

    def forward(estimator):
        f = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}[activation]
        z = X
        for i, (W, b) in enumerate(zip(estimator.coefs_, estimator.intercepts_, strict=True)):
            z = (f(z) if i else z) @ W + b
        return z

    options = {"hidden_layer_sizes": (4, 2), "activation": activation, "alpha": 0.1}
    options["output_shift"] = output_shift
    regressor = fitted(EvolvedMLPRegressor, X, np.column_stack([y, -y / 9]), **options)
    assert regressor.out_activation_ == "identity"
    assert [W.shape for W in regressor.coefs_] == [(3, 4), (4, 2), (2, 2)]
    np.testing.assert_allclose(forward(regressor), regressor.predict(X), rtol=1e-8)
    classifier = fitted(EvolvedMLPClassifier, X, labels, **options)
    assert classifier.out_activation_ == "softmax"
    p = np.exp(forward(classifier))
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, classifier.predict_proba(X), rtol=1e-6, atol=1e-12)


class ClusterBackend(ThreadingBackend):
    """Stands for a backend that is not joblib's own, such as Dask's."""

    calls = 0

    def submit(self, func, callback=None):
        ClusterBackend.calls += 1
        return super().submit(func, callback)


def test_jobs_and_the_cluster_of_a_joblib_backend_give_the_same_model():
    X, y, _ = table()
    options = {"max_evaluations": 15_000, "hidden_layer_sizes": (3,)}
    alone, here = (fitted(EvolvedMLPRegressor, X, y, n_jobs=n, **options) for n in (None, 3))
    joblib.register_parallel_backend("cluster", ClusterBackend)
    with joblib.parallel_config("cluster", n_jobs=2):
        together = fitted(EvolvedMLPRegressor, X, y, n_jobs=2, **options)
    assert ClusterBackend.calls > 0
    assert bits(together) == bits(here) == bits(alone)
    assert together.confidence_ == alone.confidence_
    assert alone.confidence_.n_starts > 1


@pytest.mark.parametrize("estimator", ALL)
def test_weights_are_repetitions_and_the_order_of_samples_means_nothing(estimator):
    X, y, labels = table(40)
    y = labels if estimator is EvolvedMLPClassifier else y
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    order = np.random.default_rng(1).permutation(counts.sum())
    rows = np.repeat(np.arange(len(X)), counts)[order]
    options = {"max_evaluations": 3_000, "random_state": 0}
    weighted = estimator(**options).fit(X, y, sample_weight=counts)
    repeated = estimator(**options).fit(X[rows], y[rows])
    assert bits(weighted) == bits(repeated)
    assert bits(weighted) != bits(estimator(**options).fit(X, y))


def test_they_work_where_scikit_learn_uses_estimators():
    X, y, labels = table()
    model = make_pipeline(StandardScaler(), EvolvedMLPRegressor(max_evaluations=2_500))
    assert cross_val_score(model, X, y, cv=2).shape == (2,)
    search = GridSearchCV(
        EvolvedMLPClassifier(max_evaluations=2_500, random_state=0),
        {"hidden_layer_sizes": [(2,), (3,)]},
        cv=2,
    ).fit(X, labels)
    assert search.best_score_ > 0.7  # seen 0.88 to 0.96 over 12 seeds
    again = clone(search.best_estimator_).fit(X, labels)
    assert bits(again) == bits(search.best_estimator_)
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy.predict_proba(X), again.predict_proba(X))


def test_frames_give_their_names_and_get_frames_back():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    regressor = fitted(EvolvedMLPRegressor, frame, pd.DataFrame({"u": y, "v": -y}))
    assert regressor.feature_names_in_.tolist() == ["a", "b", "c"]
    assert regressor.model_.feature_names == ("a", "b", "c")
    assert regressor.model_.target_names == ("u", "v")
    with pytest.raises(ValueError, match="The feature names should match"):
        regressor.predict(frame.rename(columns={"a": "z"}))
    encoder = fitted(EvolvedAutoencoder, frame, hidden_layer_sizes=(2,)).set_output(
        transform="pandas"
    )
    assert encoder.transform(frame).columns.tolist() == [
        "evolvedautoencoder0",
        "evolvedautoencoder1",
    ]


@pytest.mark.parametrize("kind", ["text", "integers", "booleans", "objects", "boolean objects"])
def test_labels_may_be_of_any_kind(kind, tmp_path):
    X, y, labels = table()
    labels = {
        "text": labels,
        "integers": np.where(y > 40, 7, -3),
        "booleans": y > 40,
        "objects": np.where(y > 40, "yes", "no").astype(object),
        "boolean objects": (y > 40).astype(object),
    }[kind]
    model = fitted(EvolvedMLPClassifier, X, labels, alpha=0.1)
    predicted = model.predict(X)
    as_given = bool if kind == "boolean objects" else labels.dtype
    assert predicted.dtype == model.classes_.dtype == as_given
    assert np.mean(predicted == labels) > 0.9  # seen 0.975 to 1 over 12 seeds
    model.model_.save(tmp_path / "model.json")
    np.testing.assert_array_equal(Model.load(tmp_path / "model.json").predict(X), predicted)


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_dates_are_no_classes(unit):
    X, y, _ = table()
    days = np.where(y > 40, "2026-01-01", "2026-01-02").astype(f"datetime64[{unit}]")
    with pytest.raises(ValueError, match=r"Unknown label type: .* got datetime64"):
        EvolvedMLPClassifier().fit(X, days)


def test_an_autoencoder_goes_through_its_narrowest_layer_and_back():
    t = np.random.default_rng(0).uniform(0, 3, size=200)
    X = np.column_stack([np.cos(t), np.sin(t), 100 * t])
    model = fitted(EvolvedAutoencoder, X, hidden_layer_sizes=(4, 1, 3), max_evaluations=20_000)
    code = model.transform(X)
    assert code.shape == (200, 1)
    assert np.abs(code).max() <= 1  # a tanh gives it
    back = model.inverse_transform(code)
    np.testing.assert_allclose(back, model.model_.outputs(X), rtol=1e-9)
    assert model.score(X) > 0.9  # seen 1.000 over 12 seeds
    with pytest.raises(ValueError, match="X has 2 features, but EvolvedAutoencoder is expecting 1"):
        model.inverse_transform(np.zeros((3, 2)))


def test_a_code_is_shorter_than_its_inputs_unless_it_is_asked_for():
    X = np.random.default_rng(0).normal(size=(60, 8))
    for n_inputs, n_features in ((1, 1), (2, 1), (4, 3), (5, 4), (8, 5)):
        model = fitted(EvolvedAutoencoder, X[:, :n_inputs], max_evaluations=200)
        assert model.transform(X[:, :n_inputs]).shape == (60, n_features)
        assert model.hidden_layer_sizes == "auto"
    model = fitted(EvolvedAutoencoder, X[:, :4], hidden_layer_sizes=5, max_evaluations=200)
    assert model.transform(X[:, :4]).shape == (60, 5)
    model = fitted(EvolvedMLPRegressor, X[:, :2], X[:, 2], max_evaluations=200)
    assert model.model_.topology.hidden == (5,)


def test_early_stopping_keeps_what_is_best_on_samples_held_out():
    X, y, _ = table()
    options = {"early_stopping": True, "validation_fraction": 0.25}
    model = fitted(EvolvedMLPRegressor, X, y, **options, hidden_layer_sizes=(9,))
    found = recorded_scores(model.model_)
    assert (found["training"].n, found["validation"].n) == (60, 20)
    assert model.score(X, y) > 0.95  # seen 0.987 to 0.994 over 12 seeds
    rare = np.where(np.arange(len(y)) == 0, "top", "low")
    with pytest.raises(ValueError, match="The least populated class"):  # parts have their shares
        fitted(EvolvedMLPClassifier, X, rare, **options)


def test_a_class_that_is_held_out_altogether_is_refused():
    X = np.arange(40.0)[:, None]
    options = {"early_stopping": True, "validation_fraction": 0.8}
    for sizes, said in (
        ((19, 2, 19), "validation y has labels that the training set lacks: b. Take smaller"),
        ((0, 2, 38), "two classes to learn from, got 1; if there are more, take smaller shares"),
    ):
        with pytest.raises(ValueError, match=said):
            fitted(EvolvedMLPClassifier, X, np.repeat(["a", "b", "c"], sizes), **options)


def test_a_fit_that_fails_leaves_no_network_of_an_earlier_one():
    X, _, labels = table()
    network = fitted(EvolvedMLPClassifier, X, labels, alpha=0.1, max_evaluations=400)
    network.set_params(max_evaluations=1)
    with pytest.raises(ValueError, match="max_evaluations must be"):
        network.fit(X, np.where(labels == "low", "very low", labels))
    for wanted in ("predict", "predict_proba", "coefs_", "out_activation_"):
        with pytest.raises(NotFittedError):
            getattr(network, wanted)(X)


def test_a_warm_start_begins_where_the_last_fit_ended():
    X, y, labels = table()
    options = {"hidden_layer_sizes": 5, "alpha": 0.1}
    model = fitted(EvolvedMLPRegressor, X, y, warm_start=True, max_evaluations=10_000, **options)
    before, loss = model.coefs_[0], model.best_loss_
    model.set_params(max_evaluations=10).fit(X[:60], y[:60])  # which is too few to move
    np.testing.assert_allclose(model.coefs_[0], before, rtol=1e-9)
    assert model.best_loss_ < 2 * loss
    cold = fitted(EvolvedMLPRegressor, X[:60], y[:60], max_evaluations=10, **options)
    assert cold.best_loss_ > 4 * loss
    with pytest.raises(ValueError, match=r"inputs x1, x2, x3, none of which is among those of"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="is a search alone"):
        model.set_params(method="DE-SB").fit(X, y)
    classifier = fitted(EvolvedMLPClassifier, X, labels, warm_start=True)
    with pytest.raises(ValueError, match="has the same classes as in the previous call to fit"):
        classifier.fit(X, labels == "low")


def test_warnings_are_those_of_scikit_learn():
    X, y, _ = table()
    with pytest.warns(ConvergenceWarning, match="hasn't converged yet. Increase max_evaluations"):
        fitted(EvolvedMLPRegressor, X, y, max_evaluations=500)
    too_few = r"is unknown \(\d of \d starts ended in the best network: too few to tell"
    with pytest.warns(ConvergenceWarning, match=too_few):
        assert fitted(EvolvedMLPRegressor, X, y, max_evaluations=1_800).confidence_.is_too_few
    search = fitted(EvolvedMLPRegressor, X, y, method="CMA-ES-SB", max_evaluations=2_500)
    assert str(search.confidence_).startswith("one search and no restarts")
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        fitted(EvolvedMLPRegressor, X, y[:, None], max_evaluations=15_000)
    with pytest.raises(NotFittedError):
        EvolvedMLPRegressor().predict(X)


def test_a_network_that_says_the_same_of_everything_says_so():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(50, 3)), rng.normal(size=50)
    with pytest.warns(ConvergenceWarning, match="predicts the same for all samples"):
        network = EvolvedMLPRegressor(random_state=0).fit(X, noise)
    assert np.ptp(network.predict(X)) < 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "The budget ended")
        EvolvedMLPRegressor(random_state=0).fit(X, np.full(50, 3.0))  # there is nothing to learn
        EvolvedMLPRegressor(random_state=0).fit(X, X[:, 0])


def test_ctrl_c_keeps_the_best_so_far_with_a_warning():
    X, y, _ = table(3_000)
    model = EvolvedMLPRegressor((8, 8), max_time=60, random_state=0)
    EvolvedMLPRegressor(max_evaluations=100, method="DE").fit(X[:50], y[:50])  # kernels are loaded
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.warns(UserWarning, match="Training interrupted by user"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("estimator", "last"),
    [(EvolvedMLPRegressor, "with_validated_ridge"), (EvolvedMLPClassifier, "with_probabilities")],
)
def test_ctrl_c_while_ridges_compete_keeps_the_best_and_a_second_one_stops(
    estimator, last, monkeypatch
):
    X, y, _ = table()
    y = y > 40 if estimator is EvolvedMLPClassifier else y
    original, n_signals = getattr(_last_step, last), 1

    def interrupted(*args):
        for _ in range(n_signals):
            signal.raise_signal(signal.SIGINT)
        return original(*args)

    monkeypatch.setattr(_last_step, last, interrupted)
    with pytest.warns(UserWarning, match="Training interrupted by user"):
        model = fitted(estimator, X, y, max_evaluations=15_000)
    assert model.score(X, y) > 0.8  # 0.98 or more over 16 seeds and two kernels of BLAS
    n_signals = 2
    with pytest.raises(KeyboardInterrupt):
        fitted(estimator, X, y, max_evaluations=15_000)


BAD = {
    "infinite": lambda X, y: (np.where(X > 1001, np.inf, X), y),
    "lengths": lambda X, y: (X, y[1:]),
    "one dimension": lambda X, y: (X[:, 0], y),
    "no samples": lambda X, y: (X[:0], y[:0]),
    "text": lambda X, y: (X.astype(str).astype(object) + "?", y),
    "infinite targets": lambda X, y: (X, np.where(y > 40, np.inf, y)),
    "no targets": lambda X, y: (X, None),
    "complex": lambda X, y: (X + 1j, y),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    ("ours", "theirs"), [(EvolvedMLPRegressor, MLPRegressor), (EvolvedMLPClassifier, MLPClassifier)]
)
def test_bad_data_are_refused_in_the_words_of_scikit_learn(ours, theirs, bad):
    X, y = bad(*table()[:2])
    messages = []
    for estimator in (ours, theirs):
        with pytest.raises((ValueError, TypeError)) as caught:
            estimator().fit(X, y)
        messages.append((caught.type, str(caught.value).replace(estimator.__name__, "Estimator")))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("estimator", ALL)
def test_dates_are_no_numbers_and_are_refused_with_their_column(estimator):
    X, y, labels = table()
    frame = pd.DataFrame(X, columns=list("cab"))
    dated = frame.assign(c=pd.date_range("2024-01-01", periods=len(X)))
    message = "^X must hold numbers, but column 'c' has dates or times, 2024-01-01"
    targets = labels if estimator is EvolvedMLPClassifier else y
    with pytest.raises(ValueError, match=message):
        estimator(categorical_features=None).fit(dated, targets)
    with pytest.raises(ValueError, match=r"^X must hold numbers, got datetime64\["):
        estimator().fit(dated[["c"]].to_numpy(), targets)
    found = fitted(estimator, frame, targets, max_evaluations=400, hidden_layer_sizes=(1,))
    methods = ("predict", "predict_proba", "transform", "inverse_transform")
    for method in (name for name in methods if hasattr(found, name)):
        with pytest.raises(ValueError, match=message):
            getattr(found, method)(dated)


def raw_frame():
    """Levels, booleans, dates and gaps, and a target that needs all of them."""
    rng = np.random.default_rng(3)
    grade, ok, x = rng.choice([*"abc"], 90), rng.random(90) < 0.5, rng.normal(size=90)
    y = 2 * (grade == "b") + ok + np.where(x > 1, 0, x)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(90), unit="D")
    columns = {"grade": grade, "ok": ok, "x": np.where(x > 1, np.nan, x), "day": day}
    return pd.DataFrame(columns).astype({"grade": "category"}), y


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_levels_booleans_dates_and_gaps_of_frames_are_inputs(kind):
    frame, y = raw_frame()
    given = frame
    if kind == "polars":
        given = pytest.importorskip("polars").from_pandas(frame)
    elif kind == "pyarrow":
        given = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    model = fitted(EvolvedMLPRegressor, given, y, max_evaluations=1_500, warm_start=True)
    assert model.score(given, y) > 0.99
    assert model.feature_names_in_.tolist() == ["grade", "ok", "x", "day"]
    kept = Model.from_json(model.model_.to_json())
    assert kept.predict(given).tolist() == model.predict(given).tolist()
    new = frame.head(5).assign(grade="z")
    with pytest.warns(UserWarning, match="not seen in training: grade z") as warned:
        model.predict(new)
    assert len(warned) == 1
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["ok", "grade", "x", "day"]])
    more = frame.assign(grade=np.where(frame.index % 9, frame["grade"].astype(str), "d"))
    model.set_params(max_evaluations=10).fit(more, y)  # a level more: the rest goes on
    assert model.score(more, y) > 0.7


def test_missing_values_are_filled_unless_all_columns_must_be_numbers():
    X, y, _ = table()
    gaps = np.where(X > 1001, np.nan, X)
    frame = pd.DataFrame(gaps, columns=list("abc")).astype({"a": "Float64"})
    for data in (gaps, frame):
        model = fitted(EvolvedMLPRegressor, data, y, max_evaluations=400)
        assert model.n_features_in_ == 3
        assert np.isfinite(model.predict(data)).all()
        with pytest.raises(ValueError, match="Input X contains NaN"):
            EvolvedMLPRegressor(categorical_features=None).fit(data, y)


@pytest.mark.parametrize("chosen", [[0], ["a"], [True, False]])
def test_columns_can_be_named_as_levels(chosen):
    zone = np.arange(60.0) % 3
    frame = pd.DataFrame({"a": zone, "b": np.arange(60.0)})
    data = frame if chosen == ["a"] else frame.to_numpy()
    model = fitted(EvolvedMLPRegressor, data, zone == 1, categorical_features=chosen)
    assert model.model_.encoding.columns[0].levels == ("0", "1", "2")
    with pytest.raises(ValueError, match="categorical_features must be columns of X"):
        EvolvedMLPRegressor(categorical_features=[7]).fit(frame, zone)


@pytest.mark.parametrize(
    "setting",
    [
        {"alpha": -1},
        {"alpha": "much"},
        {"activation": "tan"},
        {"max_time": 0},
        {"max_evaluations": 0.5},
        {"validation_fraction": 1},
        {"n_jobs": "all"},
        {"random_state": -1},
    ],
)
def test_bad_settings_are_refused_in_the_words_of_scikit_learn(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"The '{name}' parameter of EvolvedMLPRegressor must be"):
        EvolvedMLPRegressor(**setting).fit(*table()[:2])
    with pytest.raises(ValueError, match=r"unknown method 'adam'.*DE-SB"):
        EvolvedMLPRegressor(method="adam").fit(*table()[:2])


def test_many_samples_are_searched_in_part_and_fitted_by_all(monkeypatch):
    X, y, labels = table(30_000)
    seen = []
    original = _trainer.Run

    def spy(objective, *args, **options):
        seen.append(len(objective.problem.train))
        return original(objective, *args, **options)

    monkeypatch.setattr(_trainer, "Run", spy)
    model = fitted(EvolvedMLPRegressor, X, y, hidden_layer_sizes=(3,), max_evaluations=6_000)
    assert seen == [_trainer.SEARCH_SAMPLES[0], POLISH_SAMPLES[0]]
    assert model.n_evaluations_ <= 6_000
    residuals = model.predict(X) - y
    assert abs(residuals.mean()) < 1e-9  # the shift is that of all samples, not of a part
    assert residuals.std() < 0.51
    classifier = fitted(EvolvedMLPClassifier, X, labels, hidden_layer_sizes=(3,))
    assert log_loss(labels, classifier.predict_proba(X)) < 0.25
    problem = classifier._problem((X[:3_000], labels[:3_000], None), None, ())
    assert part_of(problem, _trainer.SEARCH_SAMPLES) is problem


def test_an_output_layer_and_its_loss_are_those_of_all_weighted_samples(monkeypatch):
    X, y, _ = table(300)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    model = EvolvedMLPRegressor(max_evaluations=2_000, alpha=0.5, random_state=0)
    model.fit(X, y, sample_weight=weights)
    problem = model._problem((X, y[:, None].copy(), weights), None, ())
    monkeypatch.setattr(_last_step, "CHUNK", 70)
    again = refitted(model.model_, problem, 0.5)
    np.testing.assert_allclose(again.output_weights, model.model_.output_weights, rtol=1e-7)
    residuals = model.predict(X) - y
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    expected = np.average(residuals**2, weights=weights) / variance
    assert model.best_loss_ == pytest.approx(expected, rel=1e-9)


def test_a_progress_bar_is_shown_when_asked_for(capfd, monkeypatch):
    X, y, _ = table()
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    fitted(EvolvedMLPRegressor, X, y, verbose=True, max_evaluations=15_000)
    shown = capfd.readouterr().err
    assert shown.count("80 samples") > 1  # a line now and then, since this is no terminal
    assert "trying larger ridges" in " ".join(shown.split())
    fitted(EvolvedMLPRegressor, X, y, verbose=True, method="DE", max_evaluations=2_000)
    assert "start" not in capfd.readouterr().err
    fitted(EvolvedMLPRegressor, X, y, max_evaluations=15_000)
    assert capfd.readouterr().err == ""


SMALL = {"hidden_layer_sizes": (2,), "max_evaluations": 200, "random_state": 0}
LINE = np.linspace(-1, 1, 40)[:, None]
WAVE = np.sin(3 * LINE[:, 0])


def quick(estimator, *data, **options):
    return estimator(**SMALL).fit(*data, **options)


def test_masked_entries_are_refused():
    fitted, hidden = quick(EvolvedMLPRegressor, LINE, WAVE), WAVE > 0.5
    masked = np.ma.masked_array(LINE, mask=hidden[:, None])
    ones = np.ma.masked_array(np.ones(40), mask=hidden)
    for call, message in (
        (lambda: quick(EvolvedMLPRegressor, masked, WAVE), "X has masked entries; remove or fill"),
        (lambda: fitted.predict(masked), "X has masked entries"),
        (lambda: quick(EvolvedMLPRegressor, LINE, 2 * ones), "y has masked entries"),
        (lambda: quick(EvolvedMLPRegressor, LINE, WAVE, sample_weight=ones), "_weight has masked"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_integers_that_are_no_floats_and_complex_weights_are_refused_in_words():
    huge, large = [10**400, *range(39)], r"below 1\.8e308 in magnitude; rescale them"
    fitted = quick(EvolvedMLPRegressor, LINE, WAVE)
    for call, message in (
        (lambda: quick(EvolvedMLPRegressor, [[x] for x in huge], WAVE), large),
        (lambda: quick(EvolvedMLPRegressor, LINE, huge), large),
        (lambda: quick(EvolvedMLPRegressor, LINE, WAVE, sample_weight=huge), large),
        (lambda: quick(EvolvedMLPRegressor, LINE, WAVE, sample_weight=1j), "Complex data not"),
        (lambda: fitted.predict([[x] for x in huge]), large),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples_give_a_model(n):
    model = quick(EvolvedMLPRegressor, LINE[:n], WAVE[:n])
    assert np.isfinite(model.predict(LINE)).all()


def test_weights_and_values_at_the_limit_of_floats_warn_of_nothing():
    huge = quick(EvolvedMLPRegressor, LINE, WAVE, sample_weight=np.full(40, 1e308))
    assert huge.score(LINE, WAVE) == pytest.approx(
        quick(EvolvedMLPRegressor, LINE, WAVE).score(LINE, WAVE)
    )
    with pytest.raises(ValueError, match="too large to normalise"):
        quick(EvolvedMLPRegressor, LINE * 1.7e308, WAVE)
    with pytest.raises(ValueError, match="is expecting 1 features"):  # and no word about names
        huge.predict(pd.DataFrame({"a": LINE[:, 0], "b": 1}))


def test_a_table_that_takes_minutes_is_said_to_unless_there_is_a_limit(monkeypatch):
    monkeypatch.setattr(_size, "MANY", 41)
    quick(EvolvedMLPRegressor, LINE, WAVE)  # 40 samples with an input
    quick(EvolvedMLPRegressor, X := np.hstack([LINE, LINE**2]), WAVE)  # which has a limit
    with pytest.warns(UserWarning, match="40 samples with 2 inputs may take minutes; max_time=60"):
        EvolvedMLPRegressor((2,)).fit(X, WAVE)
    with pytest.warns(UserWarning, match="40 samples with 3 outputs may take minutes"):
        EvolvedMLPClassifier((2,)).fit(X, np.arange(40) // 14)
