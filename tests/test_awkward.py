"""Every public call with every awkward value: an error in words, or a right answer."""

import dataclasses
import linecache
import math
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import symbreak
from symbreak import (
    CMAES,
    DE,
    Evaluator,
    Model,
    Problem,
    Topology,
    load_problem,
    make_optimizer,
    symmetry,
    train,
)
from symbreak.activations import find_activation
from symbreak.evaluation import network_error
from symbreak.evidence import EvidencePolisher, evidence
from symbreak.experiments import (
    RunSpec,
    Store,
    StoreError,
    StudySpec,
    check_store,
    execute,
    export_csv,
    export_ioh,
    merge_stores,
    missing_runs,
    relative_work,
    run_study,
    seconds_per_evaluation,
)
from symbreak.methods import find_method, population_size_of
from symbreak.models import write_text
from symbreak.optimizers import Optimizer
from symbreak.polish import Polisher, polish
from symbreak.problems import Dataset, Scaling, read_problem
from symbreak.training import Training

HOME = str(Path(symbreak.__file__).parent)
RNG = np.random.default_rng(0)
NET = Topology((1, 3, 1))
THETA, ANCHOR = RNG.normal(size=NET.dim), RNG.normal(size=NET.dim)
POPULATION = RNG.normal(size=(8, NET.dim))
X, Y = np.linspace(-1, 1, 12)[:, None], np.sin(np.linspace(-1, 1, 12))
LABELS = ["a", "b"] * 6
PROBLEM = Problem.from_arrays(X, Y, hidden=(3,), max_evaluations=40)
MODEL = Evaluator(PROBLEM).solve(THETA)
CLASSIFIER = Evaluator(Problem.from_arrays(X, LABELS, hidden=(3,), task="classification")).solve(
    RNG.normal(size=NET.dim)
)
EVALUATE = Evaluator(PROBLEM)
WEIGHTS = [np.eye(3, 2), np.eye(2, 3), np.eye(4, 2)[:, :2].T[:2, :3].T.T]
RUN = RunSpec("syn5", "DE", 0, 100, 0, 0)
SPEC = StudySpec.parse('problems = ["syn5"]\nmethods = ["DE"]\n[budgets]\nsyn5 = 100')
NO_BREAKING = symmetry.NoBreaking()
PROXIMITY = symmetry.ProximityBreaking(NET)
ASSIGNMENT = symmetry.AssignmentBreaking(NET)
OPERATOR = symmetry.SignedPermutation.identity(3)


def _masked():
    return np.ma.masked_array(np.ones((3, 6)), mask=np.eye(3, 6, dtype=bool))


#: Name -> what makes the value anew, since some are used up.
AWKWARD = {
    "None": lambda: None,
    "empty text": lambda: "",
    "text": lambda: "x",
    "number as text": lambda: "3",
    "markup": lambda: "[/x]\u2028\x00",
    "bytes": lambda: b"",
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "1.5": lambda: 1.5,
    "3.0": lambda: 3.0,
    "True": lambda: True,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1e300": lambda: 1e300,
    "2**80": lambda: 2**80,
    "-2**80": lambda: -(2**80),
    "10**400": lambda: 10**400,
    "10**9": lambda: 10**9,
    "complex": lambda: 1j,
    "datetime": lambda: datetime(2026, 1, 1),
    "object": object,
    "type": lambda: int,
    "function": lambda: len,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "strange dict": lambda: {"x": {"y": None}},
    "numbers": lambda: [1, 2, 3],
    "ragged": lambda: [[1, 2], [3]],
    "deep": lambda: _deep(2000),
    "generator": lambda: (i for i in range(3)),
    "range": lambda: range(3),
    "scalar array": lambda: np.array(1.0),
    "empty array": lambda: np.empty(0),
    "empty matrix": lambda: np.empty((0, 6)),
    "no columns": lambda: np.empty((12, 0)),
    "cube": lambda: np.ones((2, 3, 6)),
    "one": lambda: np.ones(1),
    "row": lambda: np.ones(6),
    "matrix": lambda: np.ones((3, 6)),
    "column": lambda: np.ones((12, 1)),
    "nan vector": lambda: np.full(6, np.nan),
    "nan matrix": lambda: np.full((12, 1), np.nan),
    "huge vector": lambda: np.full(6, 1e300),
    "huge matrix": lambda: np.full((12, 1), 1e300),
    "huge population": lambda: np.full((8, 6), 1e300),
    "masked": _masked,
    "complex array": lambda: np.full((12, 1), 1j),
    "dates": lambda: np.full((12, 1), "2026-01-01", dtype="datetime64[D]"),
    "objects": lambda: np.full((12, 1), None, dtype=object),
    "texts": lambda: np.array([["1"], ["x"]] * 6),
    "numbers as texts": lambda: np.array([["1"], ["2"]] * 6),
    "truth values": lambda: np.ones((12, 1), dtype=bool),
    "records": lambda: np.zeros(3, dtype=[("a", float)]),
    "pair": lambda: (X, Y),
    "unequal pair": lambda: (X, Y[:3]),
    "problem": lambda: PROBLEM,
    "topology": lambda: NET,
    "wide topology": lambda: Topology((1, 100_000, 1)),
    "model": lambda: MODEL,
    "no such path": lambda: Path("no/such/file"),
    "folder": lambda: Path(),
}


def _deep(n):
    value = []
    for _ in range(n):
        value = [value]
    return value


def _told(v, *, candidates=False):
    optimizer = DE(6, population_size=8)
    asked = optimizer.ask()
    optimizer.tell(v, np.ones(8)) if candidates else optimizer.tell(asked, v)
    return optimizer.best.theta, optimizer.ask()


def _changed_states(made, from_state):
    """A state with one of its values replaced, for each of them."""

    def call(v, name):
        state = made.state()
        state[name] = v
        return from_state(state)

    return {name: (lambda v, name=name: call(v, name)) for name in made.state()}


def _going_on(optimizer):
    for _ in range(2):
        asked = optimizer.ask()
        optimizer.tell(asked, np.arange(len(asked), dtype=float))
    return optimizer.best.theta, optimizer.ask()


def _optimizer(kind, v, name):
    return _going_on(kind(6, **{"population_size": 8, name: v}))


def _train(v, name, **options):
    options = {"max_evaluations": 40, "population_size": 8, "method": "DE", **options, name: v}
    return train(PROBLEM, **options).theta


def _polished(v, name, function=polish, theta=THETA):
    result = function(
        *((theta, PROBLEM) if function is polish else (PROBLEM, theta)),
        **{"max_iterations": 2, name: v},
    )
    return result.theta, result.error


def _model(v, name):
    return dataclasses.replace(MODEL, **{name: v}).predict(X)


def _problem(v, name):
    problem = dataclasses.replace(PROBLEM, **{name: v})
    return Evaluator(problem)(POPULATION), problem.digest, repr(problem)


def _from_arrays(v, name, **options):
    arguments = {"X": X, "y": Y, "hidden": (3,), "max_evaluations": 40, **options, name: v}
    problem = Problem.from_arrays(**arguments)
    if problem.topology.dim != 6:
        return problem.train.X, problem.train.y
    return problem.train.X, problem.train.y, Evaluator(problem)(POPULATION)


def _run(v, name):
    run = dataclasses.replace(RUN, **{name: v})
    return execute(run).theta


def _study(v, name):
    spec = dataclasses.replace(SPEC, **{name: v})
    return [run.key for run, _ in zip(spec.runs(), range(3))]


def _parsed(v, table, key):
    text = {
        None: "{k} = {v}\n",
        "budgets": "[budgets]\n{k} = {v}\n",
        "problem": "[problem.syn5]\n{k} = {v}\n",
        "method": "[method.DE]\n{k} = {v}\n",
    }
    return StudySpec.parse(v)


def _store(v, method, **options):
    with Store("s.db") as store:
        answer = getattr(store, method)(v, **options)
    return None if hasattr(answer, "columns") else answer


def _with_store(function, v, *rest):
    with Store("s.db") as store:
        return function(store, v, *rest)


def _file(text, suffix=".csv"):
    path = Path("data" + suffix)
    path.write_text(text)
    return path


def _read(v, name):
    options = {"name": "d", "hidden": (3,), "max_evaluations": 40, name: v}
    return read_problem(_file("a,b,y\n" + "1,2,3\n4,5,7\n" * 6), **options).train.X


def _networks(v, name):
    weights = [np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)]
    shifts = [np.arange(3.0), np.arange(4.0)]
    arguments = {
        "weights": weights,
        "shifts": shifts,
        "anchor_weights": weights,
        "anchor_shifts": shifts,
        name: v,
    }
    return symmetry.align_networks(**arguments)


def _of(v):
    """An operator that is no symmetry."""
    return symmetry.SignedPermutation.of(v, 6)


def rows(template, names, call, **options):
    return {
        template.format(name): (lambda v, name=name: call(v, name, **options)) for name in names
    }


SETTINGS = ("population_size", "max_evaluations", "breaking", "initial_population", "seed")
CALLS = {
    "Topology(v)": Topology,
    "Topology(activation=v)": lambda v: Topology((1, 3, 1), v),
    "Topology((1, v, 1))": lambda v: Topology((1, v, 1)).dim,
    "Topology.parse(v)": Topology.parse,
    "topology.layers(v)": NET.layers,
    "find_activation(v)": find_activation,
    "find_method(v)": find_method,
    "population_size_of(v)": lambda v: population_size_of(v, NET),
    "population_size_of(problem=v)": lambda v: population_size_of("DE", v),
    "load_problem(v)": load_problem,
    "load_problem(seed=v)": lambda v: load_problem("syn5", v).train.X,
    # symmetry
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
    "symmetries(v)": lambda v: list(symmetry.symmetries(v))[0],
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
    "spread_cost(v)": symmetry.spread_cost,
    **rows(
        "{}(v)",
        ("Invariant", "Proximity", "Exhaustive", "Assignment", "No"),
        lambda v, name: getattr(symmetry, f"{name}Breaking")(v),
    ),
    **rows(
        "{}Breaking()(v)",
        ("Invariant", "Proximity", "Exhaustive", "Assignment", "No"),
        lambda v, name: getattr(symmetry, f"{name}Breaking")(NET)(v, ANCHOR, RNG),
    ),
    **rows(
        "{}Breaking()(anchor=v)",
        ("Invariant", "Proximity", "Exhaustive", "Assignment", "No"),
        lambda v, name: getattr(symmetry, f"{name}Breaking")(NET)(POPULATION, v, RNG),
    ),
    "ProximityBreaking()(rng=v)": lambda v: PROXIMITY(POPULATION, ANCHOR, v),
    "AssignmentBreaking.align(v)": lambda v: ASSIGNMENT.align(v, ANCHOR),
    "SignedPermutation(v)": lambda v: symmetry.SignedPermutation(v, np.ones(6))(THETA),
    "SignedPermutation(sign=v)": lambda v: symmetry.SignedPermutation(np.arange(6), v)(THETA),
    "SignedPermutation.identity(v)": symmetry.SignedPermutation.identity,
    "SignedPermutation.of(v)": _of,
    "SignedPermutation.of(dim=v)": lambda v: symmetry.SignedPermutation.of(lambda t: t, v),
    "operator(v)": OPERATOR,
    "operator @ v": lambda v: OPERATOR @ v,
    **rows(
        "align_networks({}=v)",
        ("weights", "shifts", "anchor_weights", "anchor_shifts", "activation", "layout"),
        _networks,
    ),
    # optimisers
    "DE(v)": lambda v: _going_on(DE(v, population_size=8)),
    "CMAES(v)": lambda v: _going_on(CMAES(v, population_size=8)),
    **rows(
        "DE({}=v)",
        (*SETTINGS, "F", "CR", "inflate", "dither", "full_crossover_share", "anchor"),
        lambda v, name: _optimizer(DE, v, name),
    ),
    **rows(
        "CMAES({}=v)",
        (*SETTINGS, "mean", "sigma", "replace_mean", "own_partition"),
        lambda v, name: _optimizer(CMAES, v, name),
    ),
    "tell(v)": lambda v: _told(v, candidates=True),
    "tell(errors=v)": _told,
    "from_state(v)": Optimizer.from_state,
    **{
        f"DE state {k}": c
        for k, c in _changed_states(
            DE(6, population_size=8), lambda s: _going_on(DE.from_state(s))
        ).items()
    },
    **{
        f"CMAES state {k}": c
        for k, c in _changed_states(
            CMAES(6, population_size=8, breaking=PROXIMITY),
            lambda s: _going_on(CMAES.from_state(s)),
        ).items()
    },
    "make_optimizer(v)": lambda v: make_optimizer(v, NET),
    "make_optimizer(problem=v)": lambda v: make_optimizer("DE", v).ask()[0],
    "make_optimizer('CMA-ES', v)": lambda v: make_optimizer("CMA-ES", v).ask()[0],
    **rows(
        "make_optimizer({}=v)",
        ("seed", "population_size", "max_evaluations", "initial_population", "F", "lr"),
        lambda v, name: _going_on(make_optimizer("DE-SB", NET, **{"population_size": 8, name: v})),
    ),
    # problems
    **rows(
        "from_arrays({}=v)",
        (
            "X",
            "y",
            "hidden",
            "activation",
            "task",
            "weights",
            "validation",
            "test",
            "name",
            "alpha",
            "rescale",
            "output_error",
            "output_shift",
            "population_size",
            "max_evaluations",
            "feature_names",
            "target_names",
            "description",
            "lr",
        ),
        _from_arrays,
    ),
    **{
        f"classification {k}": c
        for k, c in rows(
            "from_arrays({}=v)",
            ("X", "y", "validation", "test", "output_error"),
            _from_arrays,
            **{"task": "classification"},
        ).items()
    },
    **rows("Problem({}=v)", [f.name for f in dataclasses.fields(Problem)], _problem),
    "Dataset(v)": lambda v: len(Dataset(v, np.ones((12, 1)))),
    "Dataset(y=v)": lambda v: len(Dataset(np.ones((12, 1)), v)),
    "Dataset(weights=v)": lambda v: len(Dataset(np.ones((12, 1)), np.ones((12, 1)), v)),
    "Scaling(v)": lambda v: Scaling(v, np.ones(1))(X),
    "Scaling(scale=v)": lambda v: Scaling(np.ones(1), v)(X),
    "Scaling.fit(v)": lambda v: Scaling.fit(v).scale,
    "Scaling.fit(weights=v)": lambda v: Scaling.fit(X, v).scale,
    "Scaling.identity(v)": lambda v: Scaling.identity(v).scale,
    "scaling(v)": lambda v: PROBLEM.inputs(v),
    "scaling.undo(v)": lambda v: PROBLEM.inputs.undo(v),
    "read_problem(v)": lambda v: read_problem(v, name="d"),
    **rows(
        "read_problem({}=v)",
        ("name", "targets", "hidden", "task", "validation", "test", "seed", "alpha", "lr"),
        _read,
    ),
    # models
    **rows("Model({}=v)", [f.name for f in dataclasses.fields(Model)], _model),
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
    # evaluation
    "Evaluator(v)": lambda v: Evaluator(v)(POPULATION),
    "Evaluator(threads=v)": lambda v: Evaluator(PROBLEM, threads=v)(POPULATION),
    "evaluate(v)": EVALUATE,
    "evaluate.evaluated(v)": EVALUATE.evaluated,
    "evaluate.solve(v)": EVALUATE.solve,
    "network_error(v)": lambda v: network_error(v, PROBLEM),
    "network_error(problem=v)": lambda v: network_error(MODEL, v),
    # polish and evidence
    "polish(v)": lambda v: polish(v, PROBLEM, max_iterations=2).theta,
    "polish(problem=v)": lambda v: polish(THETA, v, max_iterations=2).theta,
    **rows("polish({}=v)", ("max_iterations", "max_evaluations", "tolerance"), _polished),
    "evidence(v)": lambda v: evidence(v, THETA, max_iterations=2).theta,
    "evidence(theta=v)": lambda v: evidence(PROBLEM, v, max_iterations=2).theta,
    **rows(
        "evidence({}=v)",
        ("max_iterations", "max_evaluations", "tolerance"),
        lambda v, name: _polished(v, name, evidence),
    ),
    "Polisher.from_state(v)": lambda v: Polisher.from_state(PROBLEM, v),
    "Polisher.from_state(problem=v)": lambda v: Polisher.from_state(
        v, Polisher(PROBLEM, THETA).state()
    ),
    **{
        f"Polisher state {k}": c
        for k, c in _changed_states(
            Polisher(PROBLEM, THETA, max_iterations=3),
            lambda s: Polisher.from_state(PROBLEM, s).result().theta,
        ).items()
    },
    **{
        f"EvidencePolisher state {k}": c
        for k, c in _changed_states(
            EvidencePolisher(PROBLEM, THETA, max_iterations=3),
            lambda s: EvidencePolisher.from_state(PROBLEM, s).result().theta,
        ).items()
    },
    # training
    "train(v)": lambda v: train(v, "DE", max_evaluations=200).theta,
    **rows(
        "train({}=v)",
        (
            "method",
            "max_evaluations",
            "max_time",
            "polish",
            "seed",
            "population_size",
            "threads",
            "callback",
            "F",
            "lr",
            "breaking",
            "initial_population",
        ),
        _train,
    ),
    "Training(v)": lambda v: Training(v, "DE"),
    "Training.from_state(v)": lambda v: Training.from_state(PROBLEM, v),
    "Training.from_state(problem=v)": lambda v: Training.from_state(
        v, Training(PROBLEM, "DE", population_size=8).state()
    ),
    **{
        f"Training state {k}": c
        for k, c in _changed_states(
            Training(PROBLEM, "auto", population_size=8),
            lambda s: _stepped(Training.from_state(PROBLEM, s)),
        ).items()
    },
    # experiments
    **rows("RunSpec({}=v)", [f.name for f in dataclasses.fields(RunSpec)], _run),
    **rows("StudySpec({}=v)", [f.name for f in dataclasses.fields(StudySpec)], _study),
    "StudySpec.load(v)": StudySpec.load,
    "StudySpec.parse(v)": StudySpec.parse,
    "StudySpec.parse(name=v)": lambda v: StudySpec.parse(SPEC.text, name=v).n_runs,
    "StudySpec.parse(folder=v)": lambda v: StudySpec.parse(SPEC.text, folder=v).n_runs,
    "Store(v)": lambda v: Store(v).close(),
    **rows(
        "store.{}(v)",
        (
            "add_study",
            "has",
            "has_failed",
            "load_checkpoint",
            "delete_checkpoint",
            "count",
            "differences",
            "traces",
            "arrays",
            "model",
        ),
        _store,
    ),
    "store.add(v)": lambda v: _store(v, "add", record=None),
    "store.add(record=v)": lambda v: _with_store(lambda s, w: s.add(RUN, w), v),
    "store.add_failure(v)": lambda v: _store(v, "add_failure", traceback="t"),
    "store.add_failure(traceback=v)": lambda v: _with_store(lambda s, w: s.add_failure(RUN, w), v),
    "store.save_checkpoint(v)": lambda v: _store(v, "save_checkpoint", state={}),
    "store.save_checkpoint(state=v)": lambda v: _with_store(
        lambda s, w: s.save_checkpoint("k", w), v
    ),
    "execute(v)": execute,
    **rows(
        "execute({}=v)",
        ("checkpoint", "checkpoint_every", "on_checkpoint", "on_progress", "should_stop"),
        lambda v, name: execute(RUN, **{name: v}),
    ),
    "run_study(v)": lambda v: run_study(v, "s.db", workers=1),
    "run_study(store=v)": lambda v: run_study(SPEC, v, workers=1),
    "run_study(workers=v)": lambda v: run_study(SPEC, "done.db", workers=v),
    **rows(
        "run_study({}=v)",
        ("shard", "checkpoint_every"),
        lambda v, name: run_study(SPEC, "done.db", workers=1, **{name: v}),
    ),
    "missing_runs(v)": lambda v: _with_store(lambda s, w: list(missing_runs(w, s)), v),
    "missing_runs(store=v)": lambda v: list(missing_runs(SPEC, v)),
    "missing_runs(shard=v)": lambda v: _with_store(
        lambda s, w: list(missing_runs(SPEC, s, shard=w)), v
    ),
    "relative_work(v)": relative_work,
    "seconds_per_evaluation(v)": lambda v: seconds_per_evaluation(v, 0.001),
    "seconds_per_evaluation(at_least=v)": lambda v: seconds_per_evaluation(RUN, v),
    "check_store(v)": check_store,
    "merge_stores(v)": lambda v: merge_stores(v, ["done.db"]),
    "merge_stores(sources=v)": lambda v: merge_stores("m.db", v),
    "export_csv(v)": lambda v: export_csv(v, "csv"),
    "export_csv(folder=v)": lambda v: _with_store(export_csv, v),
    "export_ioh(v)": lambda v: export_ioh(v, "ioh"),
    "export_ioh(folder=v)": lambda v: _with_store(export_ioh, v),
}


def _stepped(training):
    if not training.finished:
        training.step()
    return training.record().theta


def has_nan(value):
    """Whether a result, or what it is made of, is not a number."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, Model):
        return has_nan((value.theta, value.output_weights))
    if isinstance(value, Mapping):
        return has_nan(list(value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def complaint(call, value):
    """What is wrong with the answer to a call; empty if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return "gave NaN" if has_nan(call(value)) else ""
    except (ValueError, TypeError, StoreError, OSError) as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
        own = code.co_filename.startswith(HOME) and line.startswith("raise")
        if isinstance(error, OSError) and not isinstance(error, ValueError):
            return ""  # the system's own words about a file
        return "" if own else f"{error!r:.150} from {code.co_filename}:{trace.tb_lineno}"
    except Exception as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        return f"{error!r:.150} from {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("awkward")
    run_study(SPEC, path / "done.db", workers=1)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_an_awkward_value_gets_an_error_in_words_or_a_right_answer(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    complaints = {what: complaint(CALLS[name], make()) for what, make in AWKWARD.items()}
    assert {what: wrong for what, wrong in complaints.items() if wrong} == {}
