"""Networks, symmetries, problems and models under awkward values."""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from symbreak import Evaluator, Model, Problem, Topology, load_problem, symmetry
from symbreak._support.writing import write_text
from symbreak.activations import find_activation
from symbreak.evaluation import network_error
from symbreak.problems import Dataset, Scaling, read_problem, read_table
from tests.awkward.values import (
    ANCHOR,
    MODEL,
    NET,
    POPULATION,
    PROBLEM,
    RNG,
    THETA,
    X,
    Y,
    complaints,
    each,
)

ONES = np.ones((12, 1))
LABELS = ["a", "b"] * 6
CLASSIFIER = Evaluator(Problem.from_arrays(X, LABELS, hidden=(3,), task="classification")).solve(
    RNG.normal(size=NET.dim)
)
EVALUATE = Evaluator(PROBLEM)
OPERATOR = symmetry.SignedPermutation.identity(3)
BREAKINGS = ("NoBreaking", "InvariantBreaking", "ProximityBreaking", "ExhaustiveBreaking")
BREAKINGS += ("AssignmentBreaking",)
FIELDS = [field.name for field in dataclasses.fields(Problem)]
SETTINGS = [name for name in FIELDS if name not in ("topology", "train", "inputs", "classes")]
WEIGHTS = [np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)]
SHIFTS = [np.arange(3.0), np.arange(4.0)]
NETWORKS = {"network": [*WEIGHTS, *SHIFTS], "anchor": [*WEIGHTS, *SHIFTS], "activation": "tanh"}


def problem_with(v, name):
    problem = dataclasses.replace(PROBLEM, **{name: v})
    return Evaluator(problem)(POPULATION), problem.digest, repr(problem)


def problem_from(v, name, **options):
    arguments = {"X": X, "y": Y, "hidden": (3,), **options, name: v}
    train = Problem.from_arrays(**arguments).train
    return train.X, train.y


def problem_read(v, name):
    Path("data.csv").write_text("a,b,y\n" + "1,2,3\n4,5,7\n" * 6)
    return read_problem("data.csv", **{"name": "d", name: v}).train.X


SYMMETRIES = {
    "Topology(v)": Topology,
    "Topology(activation=v)": lambda v: Topology((1, 3, 1), v),
    "Topology((1, v, 1))": lambda v: str(Topology((1, v, 1))),
    "Topology.parse(v)": Topology.parse,
    "find_activation(v)": find_activation,
    "flip(v)": lambda v: symmetry.flip(v, NET, 0, 0),
    "flip(topology=v)": lambda v: symmetry.flip(THETA, v, 0, 0),
    "flip(layer=v)": lambda v: symmetry.flip(THETA, NET, v, 0),
    "flip(neuron=v)": lambda v: symmetry.flip(THETA, NET, 0, v),
    "swap(v)": lambda v: symmetry.swap(v, NET, 0, 0, 1),
    "swap(topology=v)": lambda v: symmetry.swap(THETA, v, 0, 0, 1),
    "swap(layer=v)": lambda v: symmetry.swap(THETA, NET, v, 0, 1),
    "swap(j=v)": lambda v: symmetry.swap(THETA, NET, 0, v, 1),
    "swap(k=v)": lambda v: symmetry.swap(THETA, NET, 0, 0, v),
    "replicas(v)": lambda v: symmetry.replicas(v, NET),
    "replicas(topology=v)": lambda v: symmetry.replicas(THETA, v),
    "symmetries(v)": lambda v: next(symmetry.symmetries(v)),
    "align(v)": lambda v: symmetry.align(v, ANCHOR, NET),
    "align(anchor=v)": lambda v: symmetry.align(THETA, v, NET),
    "align(topology=v)": lambda v: symmetry.align(THETA, ANCHOR, v),
    "align(method=v)": lambda v: symmetry.align(THETA, ANCHOR, NET, v),
    "align(seed=v)": lambda v: symmetry.align(THETA, ANCHOR, NET, "proximity", seed=v),
    "distance(v)": lambda v: symmetry.distance(v, ANCHOR, NET),
    "distance(b=v)": lambda v: symmetry.distance(THETA, v, NET),
    "distance(topology=v)": lambda v: symmetry.distance(THETA, ANCHOR, v),
    "distance(method=v)": lambda v: symmetry.distance(THETA, ANCHOR, NET, v),
    "centroid(v)": lambda v: symmetry.centroid(v, NET),
    "centroid(topology=v)": lambda v: symmetry.centroid(POPULATION, v),
    "centroid(method=v)": lambda v: symmetry.centroid(POPULATION, NET, v),
    "canonical(v)": lambda v: symmetry.canonical(v, NET),
    "canonical(topology=v)": lambda v: symmetry.canonical(THETA, v),
    "canonical(key=v)": lambda v: symmetry.canonical(THETA, NET, v),
    "spread(v)": lambda v: symmetry.spread(v, ANCHOR, NET),
    "spread(anchor=v)": lambda v: symmetry.spread(POPULATION, v, NET),
    "spread(topology=v)": lambda v: symmetry.spread(POPULATION, ANCHOR, v),
    "spread(method=v)": lambda v: symmetry.spread(POPULATION, ANCHOR, NET, v),
    **each("{}(v)", BREAKINGS, lambda v, name: getattr(symmetry, name)(v)),
    **each("{}()(v)", BREAKINGS[1:], lambda v, name: getattr(symmetry, name)(NET)(v, ANCHOR, RNG)),
    **each(
        "{}()(anchor=v)",
        BREAKINGS,
        lambda v, name: getattr(symmetry, name)(NET)(POPULATION, v, RNG),
    ),
    "ProximityBreaking()(rng=v)": lambda v: symmetry.ProximityBreaking(NET)(POPULATION, ANCHOR, v),
    "AssignmentBreaking.align(v)": lambda v: symmetry.AssignmentBreaking(NET).align(v, ANCHOR),
    "SignedPermutation(v)": lambda v: symmetry.SignedPermutation(v, np.ones(6)),
    "SignedPermutation(sign=v)": lambda v: symmetry.SignedPermutation(np.arange(6), v)(THETA),
    "SignedPermutation.identity(v)": symmetry.SignedPermutation.identity,
    "SignedPermutation.of(v)": lambda v: symmetry.SignedPermutation.of(v, 6),
    "SignedPermutation.of(dim=v)": lambda v: symmetry.SignedPermutation.of(lambda t: t, v),
    "operator(v)": OPERATOR,
    "operator @ v": lambda v: OPERATOR @ v,
    **each(
        "networks.align({}=v)",
        (*NETWORKS, "layout"),
        lambda v, name: symmetry.networks.align(**{**NETWORKS, name: v}),
    ),
}
PROBLEMS = {
    "load_problem(v)": load_problem,
    "load_problem(seed=v)": lambda v: load_problem("syn5", v).train.X,
    **each("Problem({}=v)", FIELDS, problem_with),
    **each(
        "from_arrays({}=v)",
        ("X", "y", "hidden", "activation", "weights", "lr", *SETTINGS),
        problem_from,
    ),
    **each(
        "from_arrays(task='classification', {}=v)",
        ("X", "y", "validation", "test", "output_error"),
        partial(problem_from, task="classification"),
    ),
    "Dataset(v)": lambda v: len(Dataset(v, ONES)),
    "Dataset(y=v)": lambda v: len(Dataset(ONES, v)),
    "Dataset(weights=v)": lambda v: len(Dataset(ONES, ONES, v)),
    "Scaling(v)": lambda v: Scaling(v, np.ones(1))(X),
    "Scaling(scale=v)": lambda v: Scaling(np.ones(1), v)(X),
    "Scaling.fit(v)": lambda v: Scaling.fit(v).scale,
    "Scaling.fit(weights=v)": lambda v: Scaling.fit(X, v).scale,
    "Scaling.identity(v)": lambda v: Scaling.identity(v).scale,
    "scaling(v)": lambda v: PROBLEM.inputs(v),
    "scaling.undo(v)": lambda v: PROBLEM.inputs.undo(v),
    "read_table(v)": read_table,
    "read_problem(v)": lambda v: read_problem(v, name="d"),
    **each(
        "read_problem({}=v)",
        ("name", "targets", "ignore", "hidden", "task", "validation", "test", "seed", "lr"),
        problem_read,
    ),
}
MODELS = {
    **each(
        "Model({}=v)",
        [field.name for field in dataclasses.fields(Model)],
        lambda v, name: dataclasses.replace(MODEL, **{name: v}).predict(X),
    ),
    "predict(v)": MODEL.predict,
    "classifier.predict(v)": CLASSIFIER.predict,
    "outputs(v)": MODEL.outputs,
    "weighted_sums(v)": MODEL.weighted_sums,
    "error_on(v)": MODEL.error_on,
    "error(v)": lambda v: MODEL.error(v, Y),
    "error(y=v)": lambda v: MODEL.error(X, v),
    "classifier.error(y=v)": lambda v: CLASSIFIER.error(X, v),
    "save(v)": MODEL.save,
    "Model.load(v)": Model.load,
    "Model.from_json(v)": Model.from_json,
    "write_text(v)": lambda v: write_text(v, "text"),
    "write_text(text=v)": lambda v: write_text(Path("text"), v),
    "Evaluator(v)": lambda v: Evaluator(v)(POPULATION),
    "Evaluator(threads=v)": lambda v: Evaluator(PROBLEM, threads=v)(POPULATION),
    "evaluate(v)": EVALUATE,
    "evaluate.solve(v)": EVALUATE.solve,
    "network_error(v)": lambda v: network_error(v, PROBLEM),
    "network_error(problem=v)": lambda v: network_error(MODEL, v),
}


@pytest.mark.parametrize(
    "call", [pytest.param(call, id=name) for name, call in {**SYMMETRIES, **PROBLEMS}.items()]
)
def test_an_awkward_value_gets_an_error_in_words_or_a_right_answer(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaints(call) == {}


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in MODELS.items()])
def test_a_model_answers_awkward_values_in_words(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaints(call) == {}


@pytest.mark.parametrize("call", [NET.layers, lambda v: symmetry.NoBreaking()(v, ANCHOR, RNG)])
def test_what_gives_back_its_argument_refuses_what_is_no_array_of_its_shape(call):
    assert set(complaints(call).values()) <= {"gave NaN"}
    assert set(complaints(call)) <= {"nan vector", "nan matrix"}
