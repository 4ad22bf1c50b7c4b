import dataclasses

import numpy as np
import pandas as pd
import pytest

from symbreak import Problem, Topology, load_problem, problem_names, train
from symbreak.problems import PAPER, Scaling, _registry, register_problem
from symbreak.problems._registry import load_digits

# net, samples, population sizes, budget
DATA = {
    "syn5": ("1-3-1", [200], 80, 48, 40_000),
    "sinc": ("1-5-1", [200], 120, 400, 200_000),
    "inc-sinc": ("1-5-1", [200], 144, 400, 200_000),
    "sinc2d": ("2-3-1-3-1", [1000], 96, 1000, 200_000),
    "sinc3d": ("3-4-1-4-1", [1000], 120, 1000, 300_000),
    "autoenc-circle": ("2-5-3-2-1-2-3-5-2", [200], 64, 4000, 400_000),
    "autoenc-spiral": ("3-1-3-4-7-3", [1000], 80, 400, 400_000),
    "autoenc-sphere": ("3-8-5-2-5-8-3", [1000], 96, 1000, 600_000),
    "two-circles": ("2-4-2-4-2", [400, 400, 400], 80, 400, 200_000),
    "two-spirals": ("2-8-3-1-3-8-2", [114, 40, 40], 120, 1000, 2_000_000),
    "digits": ("16-8-3-10-10", [1000, 1000, 1000], 100, 1000, 300_000),
}


def parts(problem):
    every = (problem.train, problem.validation, problem.test)
    return [part for part in every if part is not None]


def original(problem, part=None):
    """Inputs and targets in their own units."""
    part = part or problem.train
    return problem.inputs.undo(part.X), problem.targets.undo(part.y)


def test_a_problem_is_registered_by_one_decorator(monkeypatch):
    monkeypatch.setattr(_registry, "_MAKERS", dict(_registry._MAKERS))

    @register_problem(
        "ramp", "1-2-1 relu", population_size={}, max_evaluations=2_000, description="a", **PAPER
    )
    def ramp(rng):
        x = rng.uniform(-1, 1, size=(30, 1))
        return x, np.maximum(x, 0)

    problem = load_problem("ramp", seed=1)
    assert problem_names()[-1] == "ramp"
    assert str(problem.topology) == "1-2-1 relu"
    assert train(problem, "DE-SB").error < 1e-3  # seen 2e-5 at most over 16 seeds


@pytest.mark.parametrize("name", DATA)
def test_the_papers_problems_have_its_nets_samples_and_population_sizes(name):
    assert problem_names()[:11] == list(DATA)
    problem = load_problem(name)
    net, samples, de, cmaes, budget = DATA[name]
    assert problem.name == name
    assert str(problem.topology) == net
    assert [len(part) for part in parts(problem)] == samples
    assert problem.population_size == {"DE": de, "CMA-ES": cmaes}
    assert problem.max_evaluations == budget
    assert problem.rescale == "unit"
    assert problem.output_error == "linear"
    assert not problem.output_shift
    assert problem.description
    classes = problem.task == "classification"
    for values in (problem.train.X,) if classes else (problem.train.X, problem.train.y):
        assert values.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert values.std(axis=0) == pytest.approx(1, abs=1e-12)


def test_autoencoders_reproduce_their_inputs_but_for_noise():
    for name in ("autoenc-circle", "autoenc-spiral", "autoenc-sphere"):
        problem = load_problem(name, seed=1)
        x, y = original(problem)
        assert problem.task == "autoencoding"
        assert np.std(y - x, axis=0) == pytest.approx(5e-3, rel=0.2)
        if name == "autoenc-spiral":
            assert x[:, :2] == pytest.approx(np.column_stack([np.cos(x[:, 2]), np.sin(x[:, 2])]))
            assert 0 <= x[:, 2].min() < 0.2 < 18.6 < x[:, 2].max() <= 6 * np.pi
        else:
            assert np.linalg.norm(x, axis=1) == pytest.approx(1)
            assert np.abs(x.mean(axis=0)).max() < 0.15


def test_two_circles_are_where_the_paper_puts_them():
    problem = load_problem("two-circles", seed=1)
    for part in parts(problem):
        x, y = original(problem, part)
        inside = (np.hypot(*(x - 0.5).T) <= 0.39894) | (np.hypot(*(x + 0.5).T) <= 0.39894)
        assert np.array_equal(y.argmax(axis=1), inside)
        assert 0.17 < inside.mean() < 0.33  # two of area 1/2 in a square of area 4
        assert -1 <= x.min() < -0.9 < 0.9 < x.max() <= 1


def test_two_spirals_are_those_of_lang_and_witbrock():
    problem = load_problem("two-spirals", seed=1)
    x, y = map(
        np.concatenate, zip(*(original(problem, part) for part in parts(problem)), strict=True)
    )
    first = x[y[:, 0] == 1]
    assert len(first) == len(x) - len(first) == 97
    i = 104 * (1 - np.hypot(*first.T) / 6.5)
    assert np.sort(i) == pytest.approx(np.arange(97), abs=1e-9)
    angle = np.arctan2(first[:, 0], first[:, 1])
    assert np.exp(1j * angle) == pytest.approx(np.exp(1j * i * np.pi / 16))
    mirrored = {tuple(point) for point in np.round(-x[y[:, 1] == 1], 9) + 0.0}
    assert {tuple(point) for point in np.round(first, 9) + 0.0} == mirrored


def test_digits_are_the_whole_uci_set():
    X, labels = load_digits()
    assert X.shape == (10_992, 16)
    assert X.min() == 0
    assert X.max() == 100
    assert np.bincount(labels).tolist() == [
        *(1143, 1143, 1144, 1055, 1144),
        *(1055, 1056, 1142, 1055, 1055),
    ]
    assert X[0].astype(int).tolist() == [
        *(47, 100, 27, 81, 57, 37, 26, 0),
        *(0, 23, 56, 53, 100, 90, 40, 98),
    ]
    assert labels[0] == 8


def test_digits_are_drawn_from_it_without_overlap():
    problem = load_problem("digits", seed=1)
    X, _ = load_digits()
    chosen = [tuple(row) for part in parts(problem) for row in np.rint(original(problem, part)[0])]
    known = {tuple(row) for row in X}
    assert set(chosen) <= known
    assert len(set(chosen)) > 0.99 * len(chosen)  # the set itself has a few twins
    assert problem.classes == tuple(range(10))


FUNCTIONS = {
    "syn5": lambda x: (x - 0.5) ** 2 * (0.1 + (x + 0.65) ** 2),
    "sinc": lambda x: np.sin(10 * x) / (10 * x),
    "inc-sinc": lambda x: x / 2 + np.sin(10 * x) / (10 * x),
    "sinc2d": lambda x: np.sin(5 * length(x)) / (15 * length(x)),
    "sinc3d": lambda x: np.sin(5 * length(x)) / (15 * length(x)),
}


def length(x):
    return np.sqrt((x**2).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_regressions_are_the_papers_functions_with_their_noise(name):
    x, y = original(load_problem(name, seed=1))
    assert -1 <= x.min() < -0.9 < 0.9 < x.max() <= 1
    noise = y - FUNCTIONS[name](x)
    assert noise.std() == pytest.approx(5e-3, rel=0.2)
    assert abs(noise.mean()) < 2e-3


def test_data_depend_on_seed_and_name_only():
    again, same, other = load_problem("sinc", 1), load_problem("sinc", 1), load_problem("sinc", 2)
    assert np.array_equal(again.train.X, same.train.X)
    assert np.array_equal(again.train.y, same.train.y)
    assert not np.array_equal(again.train.X, other.train.X)
    assert not np.array_equal(again.train.X, load_problem("inc-sinc", 1).train.X)


def test_a_problem_from_arrays_is_normalised_by_its_training_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(5, 3, size=(50, 2)), rng.normal(-1, 7, size=50)
    X[:, 1] = 4.0  # a constant column gets scale 1
    test = (X[:10] + 3, y[:10])
    problem = Problem.from_arrays(X, y, hidden=(4, 2), test=test, merge=False)
    assert str(problem.topology) == "2-4-2-1"
    assert problem.train.X.std(axis=0) == pytest.approx([1, 0])
    assert problem.train.X.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert problem.inputs.undo(problem.test.X) == pytest.approx(X[:10] + 3)
    assert problem.test.X[0, 1] == pytest.approx(3)
    assert problem.targets.undo(problem.train.y).ravel() == pytest.approx(y)


def test_class_labels_become_columns_of_zeros_and_ones():
    X = np.arange(8.0).reshape(4, 2)
    labels, options = ["b", "a", "c", "a"], {"task": "classification", "hidden": (2,)}
    problem = Problem.from_arrays(X, labels, merge=False, **options)
    assert problem.classes == ("a", "b", "c")
    assert problem.train.y.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert str(problem.topology) == "2-2-3"
    with pytest.raises(ValueError, match=r"train X must have shape \(K, 3\) for a 3-2-3 network"):
        dataclasses.replace(problem, topology=Topology.parse("3-2-3"))


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_data_in_any_unit_are_normalised_alike(unit):
    X = np.random.default_rng(0).normal(3, 2, size=(20, 2))
    expected = Problem.from_arrays(X, X, merge=False).train.X
    found = Problem.from_arrays(X * unit, X * unit, merge=False).train.X
    assert pytest.approx(expected, rel=1e-9) == found


def test_scaling_of_a_tiny_spread_does_not_divide_by_zero():
    values = np.array([[1e-320], [0.0], [1e-320]])
    assert np.isfinite(Scaling.fit(values)(values)).all()


GOOD = np.ones((4, 2)), np.arange(4.0)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones(4), np.ones(4), {}, r"train X must have shape \(K, d\), got \(4,\).*reshape"),
        (np.ones((4, 2)), np.ones(3), {}, "same number K of samples, got 4 and 3"),
        (np.ones((4, 2)), np.ones((4, 1, 1)), {}, r"train y must have shape"),
        ([[1.0, np.nan]], [1.0], {}, r"train X must be finite, got 1 NaN .* index \(0, 1\)"),
        ([[1.0, 2.0]], [np.inf], {}, "train y must be finite"),
        ([[1 + 2j]], [1.0], {}, "train X must be an array of numbers"),
        ([[1e308], [-1e308]], [1.0, 2.0], {}, "too large to normalise"),
        (np.ma.masked_greater(np.eye(2), 0), [1.0, 2.0], {}, "masked entries"),
        (*GOOD, {"hidden": 5}, r"hidden must be a sequence of layer sizes, such as \(5,\)"),
        (*GOOD, {"population_size": 50}, "population_size of a problem must be given by family"),
        (*GOOD, {"max_evaluations": -5}, "max_evaluations must be an integer"),
        (
            *(np.ones((3, 2)), np.array(["a", 1, "b"], dtype=object), {"task": "classification"}),
            "all be numbers or all be str",
        ),
        (
            *(np.ones((4, 2)), ["a", None, np.nan, pd.NA], {"task": "classification"}),
            "a label for each sample, got 3 without one, the first at index 1",
        ),
        (*GOOD, {"hidden": ()}, "at least three layer sizes"),
        (*GOOD, {"task": "regresion"}, "unknown task 'regresion'.*'regression'"),
        (*GOOD, {"rescale": "ball"}, "unknown rescale 'ball'"),
        (*GOOD, {"output_error": "tanh"}, "needs the 0/1 targets of classification"),
        (*GOOD, {"test": (np.ones((3, 5)), np.ones(3))}, r"test must have the columns"),
        (np.ones((4, 2)), np.zeros(4), {"task": "classification"}, "two classes .*, got 1"),
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


@pytest.mark.parametrize("name", ["snic", "SINC"])
def test_an_unknown_problem_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"unknown problem .*Did you mean 'sinc.*Known: .*sinc"):
        load_problem(name)


def test_frames_give_their_names_and_are_brought_into_one_order():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 4)), columns=list("abuv"))
    turned = (frame[["b", "a"]], frame)
    problem = Problem.from_arrays(frame[["a", "b"]], frame[["u", "v"]], test=turned, merge=False)
    assert (problem.feature_names, problem.target_names) == (("a", "b"), ("u", "v"))
    assert problem.test.X.tolist() == problem.train.X.tolist()
    assert problem.test.y.tolist() == problem.train.y.tolist()
    arrays = frame[["a", "b"]].to_numpy(), frame[["u", "v"]].to_numpy()
    plain = Problem.from_arrays(*arrays, merge=False)
    assert problem.train.X.tolist() == plain.train.X.tolist()
    assert (plain.feature_names, plain.target_names) == ((), ())
    other = {"feature_names": ("c", "d"), "validation": (frame[["a", "b"]], frame[["v"]])}
    named = Problem.from_arrays(frame[["a", "b"]], frame[["u"]], **other)
    assert (named.feature_names, named.target_names) == (("c", "d"), ("u",))
    with pytest.raises(ValueError, match="test X lacks columns that are needed: 'b'"):
        Problem.from_arrays(frame[["a", "b"]], frame["u"], test=(frame[["a"]], frame["u"]))
    with pytest.raises(ValueError, match="train X must hold numbers, but column 'a' has dates"):
        Problem.from_arrays(frame[["b"]].assign(a=pd.Timestamp(0)), frame["u"])
