"""Pictures of data and of what the best network makes of them, and saving any chart."""

import dataclasses
import json
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
import vl_convert

from symbreak import Topology, load_problem
from symbreak.analysis import (
    Results,
    draws_chart,
    evolution_chart,
    match_chart,
    network_chart,
    problem_chart,
    save_chart,
    training_chart,
)
from symbreak.analysis._data_charts import fit_chart
from symbreak.analysis._results import Fit
from symbreak.analysis._tables import integer_text, quality_table
from symbreak.experiments import Store, StudySpec, run_study
from symbreak.models import Model
from symbreak.network import hidden_outputs
from symbreak.symmetry import align_draws, networks
from tests.papers import paper_problem
from tests.test_export import random_model

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


def values(chart):
    """All data of a chart, by row."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def problem_of(model, n, **parts):
    rng = np.random.default_rng(0)
    X = model.inputs.undo(rng.normal(size=(n, model.topology.n_inputs)))
    noisy = model.outputs(X) + rng.normal(size=(n, model.topology.n_outputs))
    y = np.resize(model.classes, n) if model.classes else noisy
    return paper_problem(X, y, task=model.task, **parts), X, y


def picture_of(model, problem, **options):
    curve = {"evaluations": np.array([1, 10, 100]), "errors": np.array([np.inf, 2.0, 1])}
    record = SimpleNamespace(model=model, n_evaluations=100, size_path=(), **curve)
    return training_chart(record, problem, **options)


def test_residuals_are_true_minus_predicted_values_in_units():
    model = random_model("3-4-2", feature_names=("a", "b", "c"), target_names=("p", "q"))
    problem, X, y = problem_of(model, 30)
    rows = [row for row in values(picture_of(model, problem)) if "residual" in row]
    found = sorted(row["residual"] for row in rows if row.get("set") == "training")
    assert found == pytest.approx(np.sort((y - model.outputs(X)).ravel()))


def test_one_input_gets_a_curve():
    model = random_model("1-4-1")
    problem, X, _ = problem_of(model, 30)
    curve = [row for row in values(picture_of(model, problem)) if set(row) == {"x", "true"}]
    assert len(curve) == 300
    assert min(row["x"] for row in curve) == pytest.approx(X.min())
    for row in curve[::50]:
        assert row["true"] == pytest.approx(model.predict([[row["x"]]])[0])


def visible(picture):
    """The texts of a picture that are seen."""
    texts = re.findall(r"<text([^>]*)>([^<]+)</text>", picture)
    return [text for style, text in texts if 'opacity="0"' not in style]


def test_classes_are_counted_on_the_test_set():
    names = tuple(f"{'i ' * 15}{i}" for i in range(3))  # alike in their first 30 characters
    model = random_model("3-4-3", output="tanh", classes=names)
    rng = np.random.default_rng(1)
    held_out = model.inputs.undo(rng.normal(size=(20, 3)))
    classes = np.resize(model.classes, 20)
    problem, *_ = problem_of(model, 200, test=(held_out, classes))
    chart = picture_of(model, problem)
    texts = visible(vl_convert.vegalite_to_svg(chart.to_dict()))
    assert [texts.count(name) for name in names] == [2, 2, 2]
    cells = [row for row in values(chart) if "count" in row]
    assert sum(row["count"] for row in cells) == 20
    right = sum(row["count"] for row in cells if row["true"] == row["predicted"])
    assert 1 - right / 20 == pytest.approx(model.error(held_out, classes))


@pytest.mark.parametrize(
    ("alpha", "options", "said"),
    [("auto", {}, True), ("auto", {"seen": [(1, 2.0)]}, False), (0.0, {}, False)],
)
def test_an_error_with_a_ridge_in_it_is_called_so(alpha, options, said):
    model = random_model("3-4-1")
    problem, *_ = problem_of(model, 30, alpha=alpha, rescale="none")
    text = picture_of(model, problem, **options).to_json(indent=None)
    assert ('"title": "error with its ridge"' in text) == said


def test_labels_of_an_axis_do_not_touch():
    """8,000 and 10,000 would, where the latter ends with the axis."""
    X = np.linspace(-1, 1, 30)[:, None] * [1, 2, 3]
    problem = paper_problem(X, np.linspace(1_000, 10_000, 30))
    chart = picture_of(random_model("3-4-1"), problem)
    texts = visible(vl_convert.vegalite_to_svg(chart.to_dict()))
    assert texts.count("8,000") == 3
    assert texts.count("10,000") == 2  # of upright axes


def test_a_long_name_of_an_axis_ends_in_dots():
    model = random_model("3-4-1", target_names=("a long name " * 9,))
    chart = picture_of(model, problem_of(model, 30)[0])
    texts = visible(vl_convert.vegalite_to_svg(chart.to_dict()))
    long = [text for text in texts if "long name" in text]
    assert len(long) == 4
    assert all(text.endswith("…") for text in long)


def test_a_page_has_its_chart_in_the_middle_and_panels_in_line(page, tmp_path):
    model = random_model("3-4-1")
    X = np.linspace(-1, 1, 30)[:, None] * [1, 2, 3]
    problem = paper_problem(X, np.linspace(-10, 50, 30))  # its axis ends with a label
    save_chart(picture_of(model, problem), tmp_path / "a.html")
    page.open(tmp_path / "a.html")
    all_of = "[...document.querySelectorAll(arguments[0])]"
    boxes = f"return {all_of}.map(element => element.getBoundingClientRect())"
    deadline = time.monotonic() + 300
    while not (chart := page.run(boxes, "svg.marks")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert chart[0]["left"] == pytest.approx(1200 - chart[0]["right"], abs=40)
    [switch] = page.run(boxes, ".vega-bind")
    assert switch["right"] == pytest.approx(chart[0]["right"], abs=5)
    font = "return getComputedStyle(document.querySelector('.vega-bind')).fontFamily"
    assert page.run(font) == "sans-serif"
    texts = page.run(f"return {all_of}.map(element => element.textContent)", "svg text")
    tops = dict(zip(texts, (box["top"] for box in page.run(boxes, "svg text")), strict=True))
    assert np.ptp([tops[name] for name in ("fit", "residuals", "convergence")]) < 2


def test_many_samples_are_thinned():
    model = random_model("3-2-1")
    problem, *_ = problem_of(model, 20_000)
    assert len(values(picture_of(model, problem))) < 5_000


def test_a_network_is_drawn_with_all_its_weights():
    model = random_model("3-4-2", feature_names=("a", "b", "c"))
    rows = values(network_chart(model))
    lines = [row for row in rows if "x2" in row]
    assert len(lines) == 3 * 4 + 4 * 2
    weights = np.concatenate(
        [w.ravel() for w in (model.theta.reshape(4, 4)[:, :3].T, model.output_weights[:4])]
    )
    assert [row["color"] == "#d55e00" for row in lines] == (weights < 0).tolist()
    assert {"a", "b", "c", "y1", "y2"} <= {row.get("name") for row in rows}
    with pytest.raises(ValueError, match="cannot be drawn"):
        network_chart(random_model("100-100-1"))
    with pytest.raises(ValueError, match=r"record\.maximize must be"):
        evolution_chart(model, model.topology)


def test_names_of_columns_execute_nothing_in_a_page(tmp_path):
    evil = "</script><script>alert(1)</script>"
    model = random_model("1-4-1", feature_names=(evil,), target_names=(evil,))
    X = np.linspace(-1, 1, 20)[:, None]
    problem = paper_problem(X, X, name=evil)
    for chart in (picture_of(model, problem), network_chart(model)):
        save_chart(chart, tmp_path / "a.html")
        page = (tmp_path / "a.html").read_text()
        assert r"\u003c/script" in page
        assert "<script>alert" not in page


def test_the_lines_of_the_match_chart_are_the_matches(tmp_path):
    rng = np.random.default_rng(0)
    one = [rng.normal(size=shape) for shape in ((2, 3), 3, (3, 1), 1)]
    other = [one[0][:, [2, 0, 1]] * [1, -1, 1], one[1][[2, 0, 1]] * [1, -1, 1]]
    other += [one[2][[2, 0, 1]] * [[1], [-1], [1]], one[3]]
    chart = match_chart({"b": networks.compare(other, one, "tanh")}, "a")
    drawn = chart.to_dict()
    parts = (drawn, *drawn["vconcat"][0]["hconcat"])
    below = [line for part in parts for line in np.ravel(part["title"]["subtitle"])]
    assert max(map(len, below)) <= 26  # what is wider than the chart would be cut
    rows = next(iter(drawn["datasets"].values()))
    assert [(row["a"], row["b"]) for row in rows] == [(0, 1), (1, 2), (2, 0)]
    assert len({row["color"] for row in rows}) == 2
    assert rows[1]["color"] == rows[2]["color"] != rows[0]["color"]
    save_chart(chart, tmp_path / "chart.svg")
    assert "Which neuron is which" in (tmp_path / "chart.svg").read_text(encoding="utf-8")


def test_the_points_of_the_draws_chart_are_weights_before_and_after():
    topology, rng = Topology.parse("1-2-1"), np.random.default_rng(0)
    draws = rng.choice([-1.0, 1.0], size=(3, 1, 1)) * (
        np.arange(1.0, 5) + 0.01 * rng.normal(size=(3, 10, 4))
    )
    aligned = align_draws(draws, topology)
    rows = next(iter(draws_chart(draws, aligned).to_dict()["datasets"].values()))
    for when, theta in (("as drawn", draws), ("aligned", aligned.theta)):
        shown = [row["y"] for row in rows if row["when"] == when]
        assert shown == pytest.approx(theta.reshape(-1, 4).T.ravel())
    with pytest.raises(ValueError, match=r"before must have shape \(3, 10, 4\), got \(30, 4\)"):
        draws_chart(draws.reshape(30, 4), aligned)
