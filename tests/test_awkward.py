"""Public functions with one argument replaced: an error in words or an answer, never NaN."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symbreak import (
    CMAES,
    DE,
    LeastSquares,
    Model,
    Problem,
    Topology,
    load_problem,
    make_optimizer,
    polish,
    symmetry,
    train,
)
from symbreak.experiments import StoreError
from symbreak.export import to_c, to_latex, to_onnx, to_python
from symbreak.inspection import scores, sensitivity
from symbreak.optimizers import Optimizer
from symbreak.problems import Dataset, Scaling, read_problem, read_table
from symbreak.problems._readers import read_arrays
from symbreak.symmetry._operators import SignedPermutation
from symbreak.training import Run

RNG = np.random.default_rng(0)
NET = Topology((1, 3, 1))
THETA, ANCHOR = RNG.normal(size=(2, NET.dim))
POPULATION = RNG.normal(size=(8, NET.dim))
X, Y = np.linspace(-1, 1, 12)[:, None], np.sin(np.linspace(-1, 1, 12))
PROBLEM = Problem.from_arrays(X, Y, hidden=(3,), max_evaluations=40)
MODEL = LeastSquares(PROBLEM).model(THETA)
LABELS = ["a", "b"] * 6

AWKWARD = {
    "None": None,
    "empty string": "",
    "-1": -1,
    "1.5": 1.5,
    "True": True,
    "nan": math.nan,
    "inf": math.inf,
    "10**400": 10**400,
    "object": object(),
    "dict": {"x": {"y": None}},
    "ragged": [[1, 2], [3]],
    "empty matrix": np.empty((0, 6)),
    "nan matrix": np.full((12, 1), np.nan),
    "huge population": np.full((8, 6), 1e300),
    "masked": np.ma.masked_array(np.ones((3, 6)), mask=np.eye(3, 6, dtype=bool)),
    "strings": np.array([["1"], ["x"]] * 6),
    "problem": PROBLEM,
}


def door(function, *arguments, **named):
    """A call that is right; each of its arguments is replaced in turn."""
    name = getattr(function, "__qualname__", type(function).__name__)
    return pytest.param(function, arguments, named, id=name)


def complaints(function, arguments, named):
    """What is wrong with the answers, by argument and value."""
    found = {}
    for key in [*range(len(arguments)), *named]:
        for name, value in AWKWARD.items():
            changed = [value if i == key else x for i, x in enumerate(arguments)]
            others = {k: value if k == key else x for k, x in named.items()}
            if wrong := complaint(lambda c=changed, o=others: function(*c, **o)):
                found[key, name] = wrong
    return found


def complaint(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return "gave NaN" if has_nan(call()) else ""
    except (ValueError, TypeError, StoreError, OSError) as error:
        return "" if str(error) else f"{type(error).__name__} without a word"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"


def has_nan(value):
    """Whether a result, or what it is made of, is not a number."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, Mapping):
        return has_nan(list(value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def going_on(made):
    """What an optimizer does with settings."""

    def optimized(*arguments, **settings):
        optimizer = made(*arguments, **settings)
        for _ in range(2):
            asked = optimizer.ask()
            optimizer.tell(asked, np.arange(len(asked), dtype=float))
        return optimizer.best.theta, optimizer.ask()

    optimized.__qualname__ = made.__qualname__
    return optimized


def tell(candidates, errors):
    optimizer = DE(6, population_size=8, seed=0)
    optimizer.ask()
    optimizer.tell(candidates, errors)
    return optimizer.ask()


def trained(problem, method, **options):
    record = train(problem, method, **options)
    return None if record.model is None else record.theta


def from_arrays(*arguments, **settings):
    problem = Problem.from_arrays(*arguments, **settings)
    return problem.train.X, problem.train.y


def breaking(topology, population, anchor):
    rules = (symmetry.InvariantBreaking, symmetry.ProximityBreaking, symmetry.AssignmentBreaking)
    return [rule(topology)(population, anchor, np.random.default_rng(0))[0] for rule in rules]


def scaled(mean, scale, values):
    return Scaling(mean, scale)(values), Scaling(mean, scale).undo(values)


def columns(names, name):
    table = read_table("data.csv")
    return table.numbers(names), table.labels(name)


WEIGHTS = [np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.arange(3.0), np.ones(4)]
NUMERICS = [
    door(Topology, (1, 3, 1), "tanh"),
    door(Topology.parse, "1-3-1"),
    door(symmetry.flip, THETA, NET, 0, 0),
    door(symmetry.swap, THETA, NET, 0, 0, 1),
    door(symmetry.replicas, THETA, NET),
    door(symmetry.align, THETA, ANCHOR, NET, "assignment"),
    door(symmetry.distance, THETA, ANCHOR, NET, "exact"),
    door(symmetry.centroid, POPULATION, NET),
    door(symmetry.canonical, THETA, NET),
    door(symmetry.spread, POPULATION, ANCHOR, NET),
    door(symmetry.networks.align, WEIGHTS, WEIGHTS, activation="tanh", layout="auto"),
    door(
        lambda source, sign: SignedPermutation(source, sign)(THETA),
        np.arange(6),
        np.ones(6),
    ),
    door(breaking, NET, POPULATION, ANCHOR),
    door(LeastSquares, PROBLEM, threads=1),
    door(LeastSquares(PROBLEM), POPULATION),
    door(LeastSquares(PROBLEM).model, THETA),
    door(
        going_on(DE),
        6,
        population_size=8,
        max_evaluations=40,
        breaking=None,
        initial_population=POPULATION,
        seed=0,
        F=0.5,
        CR=0.9,
        inflate=False,
    ),
    door(going_on(CMAES), 6, population_size=8, mean=THETA, sigma=0.3, replace_mean=False, seed=0),
    door(going_on(make_optimizer), "DE-SB", NET, population_size=8, seed=0),
    door(tell, POPULATION, np.ones(8)),
    door(Optimizer.from_state, DE(6, population_size=8).state()),
]
PROBLEMS = [
    door(load_problem, "syn5", 0),
    door(from_arrays, X, Y, hidden=(3,), validation=(X, Y), weights=np.ones(12), alpha=0.1),
    door(from_arrays, X, LABELS, hidden=(3,), task="classification", name="a", activation="tanh"),
    door(Dataset, X, X, np.ones(12)),
    door(Scaling.fit, X, np.ones(12)),
    door(scaled, np.zeros(1), np.ones(1), X),
    door(read_arrays, "data.npz"),
    door(read_table, "data.csv", header=True, encoding="utf-8"),
    door(
        read_problem,
        "data.csv",
        name="d",
        targets="y",
        ignore=["a"],
        hidden=(3,),
        task="regression",
        validation=0.25,
        test=0.25,
        seed=0,
    ),
    door(columns, ["a"], "b"),
    door(polish, THETA, PROBLEM, max_iterations=2, max_evaluations=40, tolerance=1e-3),
    door(
        trained,
        PROBLEM,
        "DE",
        max_evaluations=40,
        population_size=8,
        max_time=1,
        polish="none",
        seed=0,
        threads=1,
    ),
    door(Run.from_state, PROBLEM, Run(PROBLEM, "auto", population_size=8).state()),
    door(MODEL.predict, X),
    door(MODEL.error, X, Y),
    door(MODEL.error_on, PROBLEM.train),
    door(MODEL.save, "model.json"),
    door(Model.load, "model.json"),
    door(Model.from_json, MODEL.to_json()),
    door(to_c, MODEL, "model", real="double"),
    door(to_python, MODEL),
    door(to_latex, MODEL, 5),
    door(to_onnx, MODEL),
    door(scores, MODEL, PROBLEM),
    door(sensitivity, MODEL),
]


@pytest.mark.parametrize(("function", "arguments", "named"), [*NUMERICS, *PROBLEMS])
def test_an_awkward_value_gets_an_error_in_words_or_a_right_answer(
    function, arguments, named, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b,y\n" + "1,2,3\n4,5,7\n" * 6)
    np.savez("data.npz", X=X)
    MODEL.save("model.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(*arguments, **named)  # which is right
    assert complaints(function, arguments, named) == {}


def parts(state):
    """Paths to all that a nested state is made of."""
    for name, value in state.items():
        yield (name,)
        yield from ((name, *path) for path in (parts(value) if isinstance(value, dict) else ()))


def with_part(state, path, value):
    """The state with something else in one place."""
    name, *rest = path
    return {**state, name: with_part(state[name], rest, value) if rest else value}


def searching(method):
    optimizer = make_optimizer(method, NET, population_size=8)
    going_on(lambda: optimizer)()
    return optimizer.state(), lambda state: going_on(Optimizer.from_state)(state)


def polishing(alpha):
    """A training in the middle of a polish, with starts behind it."""
    problem = replace(PROBLEM, alpha=alpha)
    run = Run(problem, max_evaluations=10**6)
    while run.progress.n_starts == 0 or run.state()["start"]["polisher"] is None:
        run.step()

    def goes_on(state):
        Run.from_state(problem, state).step()

    return run.state(), goes_on


@pytest.mark.parametrize(
    ("make", "kind"),
    [(searching, name) for name in ("DE-SB", "CMA-ES", "L-SHADE", "CMA-ES-IPOP")]
    + [(polishing, alpha) for alpha in (0.1, "auto")],
)
def test_a_state_with_any_part_replaced_is_refused_or_goes_on(make, kind):
    state, goes_on = make(kind)
    goes_on(state)
    found = {}
    for path in parts(state):
        for name, value in AWKWARD.items():
            if wrong := complaint(lambda p=path, v=value: goes_on(with_part(state, p, v))):
                found[path, name] = wrong
    assert found == {}
