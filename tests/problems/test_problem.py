import numpy as np
import pytest

from symbreak import Problem, load_problem, problem_names
from symbreak.problems import Scaling

DATA = {"syn5": ("1-3-1", 200, 80, 48), "sinc": ("1-5-1", 200, 120, 400)}
DATA["sinc2d"] = ("2-3-1-3-1", 1000, 96, 1000)


@pytest.mark.parametrize("name", problem_names())
def test_the_papers_problems_have_its_nets_samples_and_population_sizes(name):
    problem = load_problem(name)
    net, n_samples, de, cmaes = DATA[name]
    assert problem.name == name
    assert str(problem.topology) == net
    assert len(problem.train) == n_samples
    assert problem.population_size == {"DE": de, "CMA-ES": cmaes}
    assert problem.validation is None
    assert problem.test is None
    assert problem.rescale == "unit"
    assert not problem.output_shift


@pytest.mark.parametrize("name", problem_names())
def test_training_data_have_zero_mean_and_unit_variance(name):
    train = load_problem(name, seed=3).train
    for values in (train.X, train.y):
        assert values.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert values.std(axis=0) == pytest.approx(1, abs=1e-12)


def test_sinc_is_the_papers_function_with_its_noise():
    problem = load_problem("sinc", seed=1)
    x, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    assert -1 <= x.min() < -0.9 < 0.9 < x.max() <= 1
    noise = y - np.sin(10 * x) / (10 * x)
    assert noise.std() == pytest.approx(5e-3, rel=0.2)
    assert abs(noise.mean()) < 2e-3


def test_syn5_and_sinc2d_are_the_papers_functions():
    problem = load_problem("syn5", seed=1)
    x, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    assert np.std(y - (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2)) == pytest.approx(5e-3, rel=0.2)
    problem = load_problem("sinc2d", seed=1)
    x, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    r = np.hypot(x[:, :1], x[:, 1:])
    assert np.std(y - np.sin(5 * r) / (15 * r)) == pytest.approx(5e-3, rel=0.1)


def test_data_depend_on_seed_and_name_only():
    again, same, other = load_problem("sinc", 1), load_problem("sinc", 1), load_problem("sinc", 2)
    assert np.array_equal(again.train.X, same.train.X)
    assert np.array_equal(again.train.y, same.train.y)
    assert not np.array_equal(again.train.X, other.train.X)


def test_a_problem_from_arrays_is_normalised_by_its_training_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(5, 3, size=(50, 2)), rng.normal(-1, 7, size=50)
    X[:, 1] = 4.0  # a constant column gets scale 1
    problem = Problem.from_arrays(X, y, hidden=(4, 2), test=(X[:10] + 3, y[:10]))
    assert str(problem.topology) == "2-4-2-1"
    assert problem.train.X.std(axis=0) == pytest.approx([1, 0])
    assert problem.train.X.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert problem.inputs.undo(problem.test.X) == pytest.approx(X[:10] + 3)
    assert problem.test.X[0, 1] == pytest.approx(3)
    assert problem.targets.undo(problem.train.y).ravel() == pytest.approx(y)


def test_class_labels_become_columns_of_zeros_and_ones():
    X = np.arange(8.0).reshape(4, 2)
    problem = Problem.from_arrays(X, ["b", "a", "c", "a"], task="classification", hidden=(2,))
    assert problem.classes == ("a", "b", "c")
    assert problem.train.y.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert str(problem.topology) == "2-2-3"


def test_scaling_of_a_tiny_spread_does_not_divide_by_zero():
    values = np.array([[1e-320], [0.0], [1e-320]])
    assert np.isfinite(Scaling.fit(values)(values)).all()


GOOD = np.ones((4, 2)), np.arange(4.0)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones(4), np.ones(4), {}, r"train X must have shape \(K, d\), got \(4,\).*reshape"),
        (np.ones((0, 2)), np.ones(0), {}, "train X must not be empty"),
        (np.ones((4, 2)), np.ones(3), {}, "same number K of samples, got 4 and 3"),
        (np.ones((4, 2)), np.ones((4, 1, 1)), {}, r"train y must have shape"),
        ([[1.0, np.nan]], [1.0], {}, r"train X must be finite, got 1 NaN .* index \(0, 1\)"),
        ([[1.0, 2.0]], [np.inf], {}, "train y must be finite"),
        ([["a", "b"]], [1.0], {}, "train X must be an array of numbers"),
        (*GOOD, {"hidden": ()}, "at least three layer sizes"),
        (*GOOD, {"hidden": (0,)}, "each a whole number"),
        (*GOOD, {"task": "regresion"}, "unknown task 'regresion'.*'regression'"),
        (*GOOD, {"rescale": "ball"}, "unknown rescale 'ball'"),
        (*GOOD, {"output_error": "tanh"}, "needs the 0/1 targets of classification"),
        (*GOOD, {"test": (np.ones((3, 5)), np.ones(3))}, r"test must have the columns"),
        (np.ones((4, 2)), np.zeros(4), {"task": "classification"}, "at least two classes, got 1"),
        (np.ones((4, 2)), np.ones((4, 2)), {"task": "classification"}, "one class label per"),
        (
            np.ones((4, 2)),
            [0, 1, 0, 1],
            {"task": "classification", "test": (np.ones((1, 2)), [7])},
            "test y has labels that the training set lacks: 7",
        ),
    ],
)
def test_bad_data_are_refused_in_words(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_arrays(X, y, **options)


@pytest.mark.parametrize("name", ["snic", "SINC", "sinc_2d", ""])
def test_an_unknown_problem_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"unknown problem .*Known: .*sinc"):
        load_problem(name)


def test_the_nearest_name_is_suggested():
    with pytest.raises(ValueError, match="Did you mean 'sinc"):
        load_problem("snic")
