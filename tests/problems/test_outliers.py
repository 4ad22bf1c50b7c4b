"""What is far from all other values of its column is named before training."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from symbreak import Problem
from symbreak.problems import read_problem
from symbreak.problems._data import outliers

RNG = np.random.default_rng(0)
X, Y = RNG.normal(50, 10, size=(60, 2)), RNG.normal(20, 5, size=60)


def spoiled(value=-999.0):
    values = X.copy()
    values[7, 1] = value
    return values


@pytest.mark.parametrize("value", [1e6, -9999.0, -999.0])
def test_a_problem_of_arrays_names_column_value_and_index(value):
    words = re.escape(f"all other values: x2 {value:g} (index 7). A network bends")
    with pytest.warns(UserWarning, match=words):
        Problem.from_arrays(spoiled(value), Y)
    with warnings.catch_warnings(action="error"):
        Problem.from_arrays(X, Y)
        Problem.from_arrays(spoiled(value), Y, name_outliers=False)


def test_a_target_is_named_and_labels_are_not(tmp_path):
    y = np.append(Y[:-1], 1e4)
    frame = pd.DataFrame(spoiled(), columns=["volts", "damp"]).assign(warm=y)
    with pytest.warns(UserWarning, match=r"damp -999 \(index 7\), warm 10000 \(index 59\)\."):
        Problem.from_arrays(frame[["volts", "damp"]], frame[["warm"]])
    frame.to_csv(tmp_path / "far.csv", index=False)
    with pytest.warns(UserWarning, match=r"damp -999 \(row 9\), warm 10000 \(row 61\)\."):
        read_problem(tmp_path / "far.csv", name="far")
    with warnings.catch_warnings(action="error"):
        Problem.from_arrays(X, np.where(np.arange(60) == 3, 10_000, 1), task="classification")


def test_an_estimator_names_the_row_that_it_was_given():
    estimators = pytest.importorskip("symbreak.estimators")
    network = estimators.EvolvedMLPRegressor(2, method="DE", max_evaluations=100)
    weights = np.append(np.zeros(5), np.ones(55))
    network.set_params(early_stopping=True, random_state=0)
    with pytest.warns(UserWarning, match=r"values: x2 -999 \(index 7\)\."):
        network.fit(spoiled(), Y, weights)
    with warnings.catch_warnings(action="error"):  # it counts for nothing
        network.fit(spoiled(), Y, np.arange(60) != 7)


def test_heavy_tails_and_sparse_columns_have_no_outliers():
    rng = np.random.default_rng(0)
    for n in (20, 300, 10_000):
        for values in (
            rng.lognormal(0, 1.5, size=n),
            rng.exponential(size=n),
            rng.standard_t(3, size=n),
            rng.poisson(0.3, size=n) * 1.0,
            (rng.random(n) < 0.1) * 1.0,
            (rng.random(n) < 0.25) * rng.uniform(0, 1e6, size=n),
        ):
            assert len(outliers(values)) == 0
    mostly_the_same = np.full(100, 0.3)
    mostly_the_same[:40] = 0.1 + 0.2  # another number by rounding
    mostly_the_same[0] = 1e6
    assert len(outliers(mostly_the_same)) == 0
    two_kinds = np.where(rng.random(300) < 0.2, 1_000, 0) + rng.normal(size=300)
    assert len(outliers(two_kinds)) == 0


def test_all_samples_with_a_code_for_missing_are_found_and_gaps_are_none():
    rng = np.random.default_rng(0)
    coded = rng.random(300) < 0.2
    values = np.where(coded, -9_999, 50 + rng.normal(size=300))
    values[~coded & (rng.random(300) < 0.1)] = np.nan
    assert outliers(values).tolist() == np.flatnonzero(coded).tolist()
    assert len(outliers(np.full(3, np.nan))) == 0
