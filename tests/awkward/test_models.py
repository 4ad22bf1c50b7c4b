"""Estimators, exports, inspection and data files under awkward values."""

import inspect
import warnings
from pathlib import Path

import joblib
import pytest
import sklearn.utils
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from symbreak import load_problem
from symbreak.estimators import EvolvedAutoencoder, EvolvedMLPClassifier, EvolvedMLPRegressor
from symbreak.export import to_c, to_onnx, to_python
from symbreak.inspection import scores, sensitivity
from symbreak.problems import _registry, read_arrays, read_table, register_problem
from tests.awkward.values import MODEL, PROBLEM, X, Y, complaints, each

#: Estimators leave it to scikit-learn, and joblib, to refuse arguments in their own words.
THEIRS = tuple(str(Path(package.__file__).parent) for package in (sklearn.utils, joblib))
#: What scikit-learn itself has no words for: it prints what it refuses, and converts to floats.
TOO_MUCH = ("deep", "10**400", "10**5000")
#: Where it squares what it is given, or casts it to integers.
OVERFLOWS = ("EvolvedMLPClassifier.fit(y=v)", "EvolvedAutoencoder.score(v)", "Regressor.score(y=v)")
LABELS = ["a", "b"] * 6
ESTIMATORS = {EvolvedMLPRegressor: Y, EvolvedMLPClassifier: LABELS, EvolvedAutoencoder: None}
FITTED = {kind: kind((2,), max_evaluations=20, random_state=0) for kind in ESTIMATORS}
PARAMETERS = list(inspect.signature(EvolvedMLPRegressor).parameters)


def fit(estimator, X, y, sample_weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # twenty evaluations are few
        warnings.simplefilter("ignore", DataConversionWarning)  # scikit-learn's, of columns
        return estimator.fit(X, y, sample_weight=sample_weight)


def fitted(v, name):
    options = {"hidden_layer_sizes": (2,), "max_evaluations": 20, "random_state": 0}
    options |= {"max_time": 0.1} if name == "max_evaluations" else {}
    return fit(EvolvedMLPRegressor(**{**options, name: v}), X, Y).model_


def fitted_to(kind, **given):
    arguments = {"X": X, "y": ESTIMATORS[kind], "sample_weight": None, **given}
    return fit(kind((2,), max_evaluations=20, random_state=0), **arguments).model_


def used(kind, method):
    estimator = FITTED[kind]
    if not hasattr(estimator, "model_"):
        fit(estimator, X, ESTIMATORS[kind])
    return getattr(estimator, method)


ESTIMATION = {
    **each("Regressor({}=v)", PARAMETERS, fitted),
    **{
        f"{kind.__name__}.fit({name}=v)": lambda v, k=kind, name=name: fitted_to(k, **{name: v})
        for kind in ESTIMATORS
        for name in ("X", "y", "sample_weight")
    },
    **{
        f"{kind.__name__}.{method}(v)": lambda v, kind=kind, method=method: used(kind, method)(v)
        for kind, methods in {
            EvolvedMLPRegressor: ["predict"],
            EvolvedMLPClassifier: ["predict", "predict_proba"],
            EvolvedAutoencoder: ["transform", "inverse_transform", "score"],
        }.items()
        for method in methods
    },
    "Regressor.score(y=v)": lambda v: used(EvolvedMLPRegressor, "score")(X, v),
}


def table():
    Path("table.csv").write_text("a,b,y\n1,2,x\n4,5,y\n")
    return read_table("table.csv")


def registered(v, name):
    options = {"net": "1-2-1", "population_size": {}, "max_evaluations": 100, "description": "d"}
    register_problem(**{"name": "awkward", **options, name: v})(lambda rng: (X, Y))
    return load_problem("awkward" if name != "name" else v).train.X


FILES = {
    "to_c(v)": to_c,
    "to_c(name=v)": lambda v: to_c(MODEL, v),
    "to_c(real=v)": lambda v: to_c(MODEL, real=v),
    "to_python(v)": to_python,
    "to_onnx(v)": to_onnx,
    "scores(v)": lambda v: scores(v, PROBLEM)["training"].error,
    "scores(problem=v)": lambda v: scores(MODEL, v)["training"].error,
    "sensitivity(v)": sensitivity,
    "read_arrays(v)": read_arrays,
    "table.numbers(v)": lambda v: table().numbers(v),
    "table.labels(v)": lambda v: table().labels(v),
    **each(
        "register_problem({}=v)",
        ("name", "net", "population_size", "max_evaluations", "description", "lr", "task"),
        registered,
    ),
}


@pytest.mark.parametrize("name", ESTIMATION)
def test_an_estimator_answers_awkward_values_in_words(name):
    but = (*TOO_MUCH, "huge matrix") if name in OVERFLOWS else TOO_MUCH
    assert complaints(ESTIMATION[name], but, also=THEIRS) == {}


@pytest.mark.parametrize("name", FILES)
def test_exports_inspection_and_files_answer_awkward_values_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_registry, "_MAKERS", dict(_registry._MAKERS))  # what it adds goes again
    assert complaints(FILES[name]) == {}
