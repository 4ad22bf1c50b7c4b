from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from symbreak._activations import ACTIVATIONS
from symbreak.estimators import EvolvedMLPRegressor
from symbreak.inspection import N_POINTS, SEED, scores, sensitivity
from symbreak.models import Model
from symbreak.problems import Scaling
from tests.papers import paper_problem
from tests.test_export import random_model


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("net", ["3-4-2", "3-2-5-1-1"])
def test_sensitivity_is_the_mean_absolute_derivative(name, net):
    model = random_model(net, name)
    x = np.random.default_rng(SEED).normal(size=(N_POINTS, 3))
    for i, step in enumerate(1e-6 * np.eye(3)):
        outputs = [model.outputs(model.inputs.undo(x + sign * step)) for sign in (1, -1)]
        slopes = (outputs[0] - outputs[1]) / 2e-6 / model.targets.scale
        assert sensitivity(model)[i] == pytest.approx(np.abs(slopes).mean(axis=0), rel=1e-3)


def test_sensitivity_does_not_depend_on_units():
    model = random_model()
    other = random_model(inputs=Scaling(model.inputs.mean * 7, model.inputs.scale * 1000))
    assert np.array_equal(sensitivity(model), sensitivity(other))


def test_relevance_adds_up_what_was_made_of_a_column():
    frame = pd.DataFrame(
        {"x": np.random.default_rng(1).normal(size=60), "kind": np.repeat(["a", "b", "c"], 20)}
    )
    y = 3 * np.tanh(frame["x"]) + frame["kind"].map({"a": 0, "b": 1, "c": 0})
    model = EvolvedMLPRegressor(3, alpha=0.01, max_evaluations=20_000, random_state=0).fit(frame, y)
    by_input = sensitivity(model.model_).mean(axis=1)
    assert model.relevance_.shape == (2,)
    assert model.relevance_ == pytest.approx([by_input[0], by_input[1:].sum()])
    assert model.relevance_[0] > model.relevance_[1] > 0


def test_sensitivity_of_wide_networks_takes_little_memory():
    assert sensitivity(random_model("3000-4-1", inputs=Scaling.identity(3000))).shape == (3000, 1)


def linear(slope):
    """A network that is nearly ``slope * x``, since tanh is straight near 0."""
    topology = random_model("1-1-1").topology
    weights, small = np.array([[slope / 1e-5]]), np.array([1e-5, 0])
    unit = Scaling.identity(1)
    return Model(topology, "regression", small, weights, unit, unit)


def test_scores_are_in_units():
    X = np.array([[-2.0], [-1], [1], [2]])
    problem = paper_problem(X, 3 * X, test=(X + 1, 3 * X))
    found = scores(linear(3.0), problem)
    assert list(found) == ["training", "test"]
    assert found["training"].rmse == pytest.approx([0], abs=1e-6)
    assert found["training"].r2 == pytest.approx([1])
    assert found["test"].rmse == pytest.approx([3], rel=1e-6)
    assert found["test"].r2 == pytest.approx([1 - 9 / 22.5])
    assert found["test"].error == pytest.approx(9 / 22.5)  # the training set has that variance too
    assert found["test"].n == 4
    constant = paper_problem(X, 3 * X, test=(X, np.ones((4, 1))))
    assert np.isnan(scores(linear(3.0), constant)["test"].r2).all()


@pytest.mark.parametrize("output", ["linear", "tanh"])
def test_scores_heed_the_weights_of_samples(output):
    rng, model = np.random.default_rng(0), random_model("3-4-2", output=output)
    X, counts = rng.normal(size=(50, 3)), rng.integers(1, 4, size=50)
    y = rng.choice(model.classes, 50) if model.classes else rng.normal(size=(50, 2))
    weighted = paper_problem(X, y, weights=counts, task=model.task)
    again = (np.repeat(values, counts, axis=0) for values in (X, y))
    repeated = paper_problem(*again, task=model.task)
    model = replace(model, inputs=weighted.inputs, targets=weighted.targets)
    one, other = (scores(model, problem)["training"] for problem in (weighted, repeated))
    assert one.error == pytest.approx(model.error_on(weighted.train), rel=1e-12)
    for name in ("error", "rmse", "r2"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)


def test_scores_of_classes_are_shares_of_samples():
    model = random_model("3-4-2", output="tanh")
    X = model.inputs.undo(np.random.default_rng(0).normal(size=(50, 3)))
    labels = np.resize(model.classes, 50)
    problem = paper_problem(X, labels, task="classification")
    error = scores(model, problem)["training"].error
    assert error == pytest.approx(model.error(X, labels))
    assert 0 < error < 1
