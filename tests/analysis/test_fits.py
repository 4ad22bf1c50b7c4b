"""Pictures of data and of what the best network makes of them, and saving any chart."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import vl_convert

from symbreak import load_problem
from symbreak.analysis import problem_chart, save_chart
from symbreak.analysis._data_charts import fit_chart
from symbreak.analysis._results import Fit
from symbreak.analysis._tables import integer_text, quality_table
from symbreak.experiments import Store, StudySpec, run_study
from symbreak.models import Model
from symbreak.network import hidden_outputs
from tests.papers import paper_problem

KINDS = {
    "sinc": ("line", "circle"),
    "sinc2d": ("point", "rect"),
    "sinc3d": ("line", "circle"),
    "autoenc-circle": ("point",),
    "autoenc-sphere": ("point",),
    "two-circles": ("point", "rect"),
    "digits": ("rect", "text"),
}


def fit_of(problem, seed=0):
    """A random network on a problem, with the output weights that fit best."""
    theta = np.random.default_rng(seed).normal(size=problem.topology.dim)
    hidden = hidden_outputs(theta, problem.topology, problem.train.X, shift=problem.output_shift)
    weights = np.linalg.lstsq(hidden, problem.train.y, rcond=None)[0]
    kind = "tanh" if problem.classes else "linear"
    model = Model(
        *(problem.topology, problem.task, theta, weights, problem.inputs, problem.targets),
        *(kind, problem.classes),
    )
    return Fit(problem, model, "DE", 3)


def chart_of(fit):
    return fit_chart(fit.problem, fit.model, fit.problem.name)


@pytest.mark.parametrize(("name", "marks"), KINDS.items())
def test_data_and_fit_are_drawn_for_every_kind_of_problem(name, marks):
    spec = chart_of(fit_of(load_problem(name))).to_dict()  # validates
    text = json.dumps(spec, allow_nan=False)
    assert all(f'"type": "{mark}"' in text for mark in marks)
    assert len(text) < 200_000
    assert spec["title"]["subtitle"] == name
    assert vl_convert.vegalite_to_svg(spec).count("<path") > 20


def test_the_curve_is_that_of_the_network_in_the_units_of_the_data():
    fit = fit_of(load_problem("sinc"))
    spec = chart_of(fit).to_dict()
    frames = [pd.DataFrame(rows) for rows in spec["datasets"].values()]
    (line,) = [frame for frame in frames if set(frame) == {"x", "true"}]
    expected = fit.model.outputs(line["x"].to_numpy()[:, None])[:, 0]
    assert line["true"].to_numpy() == pytest.approx(expected, abs=2e-3)
    assert line["x"].min() == pytest.approx(
        fit.problem.inputs.undo(fit.problem.train.X).min(), rel=1e-3
    )


def test_own_names_are_on_the_axes():
    fit = fit_of(paper_problem(np.arange(9.0)[:, None], np.arange(9.0) ** 2, hidden=(2,)))
    model = dataclasses.replace(fit.model, feature_names=("time",), target_names=("<b>way</b>",))
    picture = vl_convert.vegalite_to_svg(chart_of(fit._replace(model=model)).to_dict())
    assert ">time<" in picture
    assert "&lt;b&gt;way" in picture


def test_the_quality_of_a_regression_is_that_worked_out_by_hand():
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 2.0, 2.0, 4.0])
    fit = fit_of(paper_problem(x, y, hidden=(1,), test=(x[:2], y[:2])))
    residuals = y - fit.model.predict(x).ravel()
    table = quality_table(fit)
    assert table["columns"] == ["data", "samples", "R²", "root mean squared error"]
    r2, rmse = 1 - np.sum(residuals**2) / 8, np.sqrt(np.mean(residuals**2))
    assert table["rows"][0] == ["training", "4", f"{r2:.4g}", f"{rmse:.4g}"]
    assert table["rows"][1][:2] == ["test", "2"]


def test_the_quality_of_a_classification_is_the_share_of_right_ones():
    fit = fit_of(load_problem("two-circles"))
    right = {row[0]: float(row[-1]) for row in quality_table(fit)["rows"]}
    assert list(right) == ["training", "validation", "test"]
    truth = np.array(fit.problem.classes)[fit.problem.test.y.argmax(axis=1)]
    X = fit.problem.inputs.undo(fit.problem.test.X)
    assert right["test"] == pytest.approx(1 - fit.model.error(X, truth), abs=1e-4)


def test_the_best_network_is_found_with_its_data_and_left_out_where_they_are_gone(tmp_path):
    text = """
    problems = ["syn5", "own"]
    methods = ["DE", "DE-SB"]
    repetitions = 2
    budgets = { syn5 = 800, own = 800 }
    [data_file.own]
    file = "own.csv"
    hidden = [2]
    [problem.own]
    alpha = 0.0
    """
    x = np.linspace(-1, 1, 30)
    lines = [f"{a:.4f},{b:.4f}" for a, b in zip(x, x**2, strict=True)]
    (tmp_path / "own.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    run_study(StudySpec.parse(text, folder=tmp_path), tmp_path / "a.db", workers=1)
    from symbreak.analysis import Results

    with Store(tmp_path / "a.db") as store:
        results = Results.of(store)
        for name in ("syn5", "own"):
            fit, runs = results.fits[name], results.runs[results.runs["problem"] == name]
            best = runs.loc[runs["error"].idxmin()]
            assert (fit.method, fit.repetition) == (best["method"], best["repetition"])
            (row,) = quality_table(fit)["rows"]
            assert row[2] == f"{1 - best['network_error']:.4g}"
        (tmp_path / "own.csv").write_text("x,y\n1,2\n3,4\n")
        assert set(Results.of(store).fits) == {"syn5"}


@pytest.mark.parametrize(
    "name", ["syn5", "sinc2d", "sinc3d", "autoenc-sphere", "two-spirals", "digits"]
)
def test_a_picture_of_a_problem_shows_its_training_data(name):
    problem = load_problem(name)
    spec = problem_chart(problem).to_dict()  # validates
    rows = [row for data in spec["datasets"].values() for row in data]
    assert len(rows) == min(len(problem.train), 1_500)
    assert spec["title"]["text"] == name
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")


@pytest.mark.parametrize(
    ("ending", "start"),
    [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".html", b"<!DOCTYPE html>")],
)
def test_a_chart_is_saved_as_its_name_ends(tmp_path, ending, start):
    path = tmp_path / f"chart{ending}"
    save_chart(problem_chart(load_problem("syn5")), path)
    assert path.read_bytes().lstrip().startswith(start)


def test_a_chart_is_not_saved_in_other_formats_or_missing_folders(tmp_path):
    chart = problem_chart(load_problem("syn5"))
    with pytest.raises(ValueError, match=r"saved as \.svg, \.png, \.pdf, \.html, got .*\.gif"):
        save_chart(chart, tmp_path / "chart.gif")
    with pytest.raises(ValueError, match=r"the folder of .* must exist"):
        save_chart(chart, tmp_path / "no" / "chart.svg")
    assert list(tmp_path.iterdir()) == []


def test_integer_texts_of_any_length_have_a_text():
    assert integer_text("3840") == "3,840"
    assert integer_text("4350" + "0" * 5000) == "about 4.35e5003"
