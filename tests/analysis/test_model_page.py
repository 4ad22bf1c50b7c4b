"""The page on a model, and what each column does."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from symbreak import Problem, train
from symbreak.analysis import write_model_page
from symbreak.inspection import effects
from symbreak.problems import read_problem


def trained(problem, **options):
    return train(problem, **{"max_evaluations": 4_000, "seed": 0, **options}).model


def frame(n=150):
    rng = np.random.default_rng(0)
    columns = {
        "grade": rng.choice(["A", "B", "C"], n),
        "heat": rng.uniform(140, 220, n),
        "idle": rng.normal(size=n),
    }
    table = pd.DataFrame(columns)
    shift = table["grade"].map({"A": 0.0, "B": 40.0, "C": -40.0})
    return table.assign(strength=shift + table["heat"] + rng.normal(size=n))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "steel.csv"
    frame().to_csv(path, index=False)
    problem = read_problem(path, name="steel <b>", targets=["strength"], hidden=(4,))
    return trained(problem), problem


def test_effects_are_means_over_samples_that_differ_in_one_column(mixed):
    model, problem = mixed
    found = {effect.name: effect for effect in effects(model, problem)}
    heat, table = found["heat"], frame()
    for value, mean in zip(heat.values[::8], heat.means[::8, 0], strict=True):
        slow = model.predict(table.drop(columns="strength").assign(heat=value)).mean()
        assert mean == pytest.approx(slow, rel=1e-9)


def test_rows_that_are_merged_count_as_often_as_they_are_there():
    rng = np.random.default_rng(0)
    X = np.array([[0, 0]] * 120 + [[1, 1]] * 5 + [[0, 1]] * 10 + [[1, 0]] * 15)
    y = X[:, 0] * (1 + 3 * X[:, 1]) + rng.integers(2, size=150)
    merged, whole = (Problem.from_arrays(X, y, hidden=(2,), merge=m) for m in (True, False))
    assert len(merged.train) <= 8
    model = trained(merged)
    assert model.error_bars is not None
    for one, other in zip(effects(model, merged), effects(model, whole), strict=True):
        assert one.means == pytest.approx(other.means)
        assert one.std == pytest.approx(other.std)
        assert one.share == pytest.approx(other.share)
        assert one.shuffled == pytest.approx(other.shuffled, rel=0.5)  # .18 over 12 seeds


def test_a_level_that_a_table_does_not_have_has_an_effect_too(mixed):
    model, problem = mixed
    (column,) = [i for i, one in enumerate(model.encoding.columns) if one.name == "grade"]
    inputs = problem.train.X[:, np.flatnonzero(model.owners == column)]
    one_grade = replace(problem, train=problem.train[(inputs == inputs[0]).all(axis=1)])
    (grade,) = [effect for effect in effects(model, one_grade) if effect.name == "grade"]
    assert len(grade.means) == 3
    assert np.isfinite(grade.means).all()
    assert grade.share == pytest.approx(0)


def test_effects_are_those_that_made_the_data(mixed):
    found = {effect.name: effect for effect in effects(*mixed)}
    heat, grade = found["heat"], found["grade"]
    # noise of 1 in 150 samples: slopes and levels were within 2 % over 12 seeds
    slope = np.polyfit(heat.values, heat.means[:, 0], 1)[0]
    assert slope == pytest.approx(1, rel=0.1)
    levels = dict(zip(grade.levels, grade.means[:, 0], strict=True))
    assert levels["B"] - levels["A"] == pytest.approx(40, rel=0.1)
    assert levels["A"] - levels["C"] == pytest.approx(40, rel=0.1)
    assert [effect.name for effect in effects(*mixed)][-1] == "idle"
    # over 12 seeds 1.8 to 2.3 times, more than 25,000 times, and .0008 to .0012
    assert grade.share[0] > heat.share[0] > 10 * found["idle"].share[0]
    assert found["idle"].shuffled < 0.1 * heat.shuffled


def test_bands_of_effects_are_those_of_a_linear_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = 2 * X[:, 0] + rng.normal(size=60)
    problem = Problem.from_arrays(X, y, hidden=(1,), alpha="auto")
    model = trained(problem)
    (effect,) = effects(model, problem)
    middle = np.argmin(np.abs(effect.values - X.mean()))
    residuals = y - np.polyval(np.polyfit(X[:, 0], y, 1), X[:, 0])
    textbook = np.sqrt(np.sum(residuals**2) / 58 / 60)  # of the mean of a line, at its centre
    assert textbook / 2 < effect.std[middle, 0] < 2 * textbook  # 1.24 to 1.56 over 12 seeds
    # those at the ends are 2.1 to 3.8 times as wide
    assert effect.std[0, 0] > effect.std[middle, 0] < effect.std[-1, 0]


def test_the_page_says_what_the_model_is_worth_and_needs_nothing_else(mixed, tmp_path):
    model, problem = mixed
    write_model_page(model, problem, tmp_path / "m.html", command="symbreak train <steel>")
    page = (tmp_path / "m.html").read_text()
    text = unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<style>.*?</style>", "", page)))
    assert "steel <b>" in text  # names are no markup
    assert "symbreak train <steel>" in text
    assert "Values of strength from grade, heat, idle" in text
    rmse = model.error_bars.error[0] * model.targets.scale[0]
    assert f"{rmse:.4g}" in text
    low, high = frame()["heat"].min(), frame()["heat"].max()
    assert f"{low:.6g}" in text
    assert f"{high:.6g}" in text
    assert page.count("<img") == 2 + 3
    assert "http" not in re.sub(r"data:image/svg\+xml;base64,[^\"]+", "", page)


def test_the_page_says_which_sizes_were_tried(mixed, tmp_path):
    model, problem = mixed
    tried = [{"hidden": [n], "loss": 1 / n, "error": 0.01, "alpha": 1.0} for n in (1, 2)] + [3]
    model = replace(model, origin={**model.origin, "size_path": tried, "networks": 8})
    write_model_page(model, problem, tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    for said in ("Sizes tried", "0.5 \u00b1 0.01", "the mean of 8 networks"):
        assert said in page


def test_classes_get_a_page_and_effects_without_bands(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(X[:, 0] > 0, "yes", "no")
    problem = Problem.from_arrays(X, labels, hidden=(2,), task="classification", alpha="auto")
    model = trained(problem)
    first = effects(model, problem)[0]
    assert first.name == "x1"
    assert np.isnan(first.std).all()
    assert first.means[0] == pytest.approx(1 - first.means[0, ::-1])
    write_model_page(model, problem, tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert "probability of yes over x1" in page
    assert "misclassified" in page
