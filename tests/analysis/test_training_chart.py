import numpy as np
import pytest

from symbreak import Problem
from symbreak.analysis import network_chart, save_chart, training_chart
from tests.test_export import random_model


def values(chart):
    """All data of a chart, by row."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def problem_of(model, n, **parts):
    rng = np.random.default_rng(0)
    X = model.inputs.undo(rng.normal(size=(n, model.topology.n_inputs)))
    noisy = model.outputs(X) + rng.normal(size=(n, model.topology.n_outputs))
    y = np.resize(model.classes, n) if model.classes else noisy
    return Problem.from_arrays(X, y, task=model.task, **parts), X, y


CURVE = np.array([1, 10, 100]), np.array([np.inf, 2.0, 1])


def test_residuals_are_true_minus_predicted_values_in_units():
    model = random_model("3-4-2", feature_names=("a", "b", "c"), target_names=("p", "q"))
    problem, X, y = problem_of(model, 30)
    rows = [row for row in values(training_chart(model, problem, *CURVE)) if "residual" in row]
    found = sorted(row["residual"] for row in rows if row.get("set") == "training")
    assert found == pytest.approx(np.sort((y - model.outputs(X)).ravel()))


def test_one_input_gets_a_curve():
    model = random_model("1-4-1")
    problem, X, _ = problem_of(model, 30)
    curve = [
        row for row in values(training_chart(model, problem, *CURVE)) if set(row) == {"x", "true"}
    ]
    assert len(curve) == 300
    assert min(row["x"] for row in curve) == pytest.approx(X.min())
    for row in curve[::50]:
        assert row["true"] == pytest.approx(model.predict([[row["x"]]])[0])


def test_classes_are_counted_on_the_test_set():
    model = random_model("3-4-3", output="tanh")
    rng = np.random.default_rng(1)
    held_out = model.inputs.undo(rng.normal(size=(20, 3)))
    classes = np.resize(model.classes, 20)
    problem, *_ = problem_of(model, 200, test=(held_out, classes))
    cells = [row for row in values(training_chart(model, problem, *CURVE)) if "count" in row]
    assert sum(row["count"] for row in cells) == 20
    right = sum(row["count"] for row in cells if row["true"] == row["predicted"])
    assert 1 - right / 20 == pytest.approx(model.error(held_out, classes))


def test_many_samples_are_thinned():
    model = random_model("3-2-1")
    problem, *_ = problem_of(model, 20_000)
    assert len(values(training_chart(model, problem, *CURVE))) < 5_000


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


def test_names_of_columns_execute_nothing_in_a_page(tmp_path):
    evil = "</script><script>alert(1)</script>"
    model = random_model("1-4-1", feature_names=(evil,), target_names=(evil,))
    X = np.linspace(-1, 1, 20)[:, None]
    problem = Problem.from_arrays(X, X, name=evil)
    for chart in (training_chart(model, problem, *CURVE), network_chart(model)):
        save_chart(chart, tmp_path / "a.html")
        page = (tmp_path / "a.html").read_text()
        assert r"\u003c/script" in page
        assert "<script>alert" not in page
