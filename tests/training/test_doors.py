"""One way to a trained network, through whichever door; and objectives that know no data."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from symbreak import Model, Problem, Run, Topology, train
from symbreak.objectives import Objective
from tests.cli.shell import symbreak_here
from tests.states import through_json

SENSOR = Path(__file__).parent.parent.parent / "examples" / "sensor.csv"


@pytest.mark.filterwarnings("ignore:The budget ended")
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(
    "options",
    [
        {"max_neurons": 6, "max_evaluations": 1_000_000},
        {"hidden": (5,), "networks": 2},
        {"alpha": 0.01, "hidden": (4, 3), "method": "DE-SB"},
    ],
)
def test_three_doors_give_the_same_model_byte_for_byte(tmp_path, task, options):
    estimators = pytest.importorskip("symbreak.estimators")
    table = pd.read_csv(SENSOR)
    if task == "classification":
        levels = pd.cut(table["temperature"], 3, labels=["cold", "mild", "warm"])
        table["temperature"] = levels.astype(str)
    table.to_csv(tmp_path / "table.csv", index=False)
    X, y = table[["voltage", "humidity"]], table["temperature"]
    alpha, hidden = options.get("alpha", "auto"), options.get("hidden", "auto")
    layers = (5,) if hidden == "auto" else hidden
    limits = {"n_networks": options.get("networks"), "max_neurons": options.get("max_neurons")}
    limits["max_evaluations"] = options.get("max_evaluations", 3_000)
    method = options.get("method", "auto")
    kinds = {"regression": "EvolvedMLPRegressor", "classification": "EvolvedMLPClassifier"}
    estimator = getattr(estimators, kinds[task])(
        hidden, alpha=alpha, method=method, random_state=4, **limits
    )
    settings = {"task": task, "hidden": layers, "alpha": alpha, "target_names": ()}
    if task == "regression":
        settings["target_names"] = ("temperature",)
    problem = Problem.from_arrays(X, y, **settings)
    chosen = "auto" if hidden == "auto" else None
    record = train(problem, method, seed=4, hidden=chosen, **limits)
    assert bool(record.size_path) == (hidden == "auto")
    here = record.model.to_json()
    assert estimator.fit(X, y).model_.to_json() == here
    command = ["train", tmp_path / "table.csv", "--seed", 4, "--alpha", alpha, "-m", method]
    command += ["--hidden", ",".join(map(str, layers))] if hidden != "auto" else []
    names = {"n_networks": "--networks", "max_neurons": "--max-neurons", "max_evaluations": "-n"}
    command += [word for key, n in limits.items() if n for word in (names[key], n)]
    assert symbreak_here(*command, "--out", tmp_path / "model.json").returncode == 0
    assert (tmp_path / "model.json").read_text() == here
    assert Model.load(tmp_path / "model.json").output == (
        "softmax" if task == "classification" else "linear"
    )


class Bowl(Objective):
    """A toy without data, gradient or model: how far a complete network's weights are from 1."""

    topology = Topology((1, 2, 1))
    digest = "bowl"
    max_evaluations = 4_000

    def __call__(self, population):
        return np.sum((population - 1) ** 2, axis=1) - 3


@pytest.mark.parametrize("method", ["auto", "DE-SB", "CMA-ES"])
def test_an_objective_without_data_or_polisher_runs_through_the_same_loop(method):
    seen = []
    record = train(Bowl(), method, seed=1, callback=lambda progress: seen.append(progress.error))
    assert record.stopped == "budget"
    assert record.error == pytest.approx(-3, abs=1e-3)
    assert record.theta == pytest.approx(1, abs=0.05)
    assert record.model is None
    assert seen[-1] == record.error
    run = Run(Bowl(), method, seed=1)
    for n in itertools.count():
        if run.finished:
            break
        run.step()
        if n % 5 == 0:
            run = Run.from_state(Bowl(), through_json(run.state()))
    assert run.record().theta.tobytes() == record.theta.tobytes()


def test_what_has_no_gradient_is_not_polished():
    with pytest.raises(ValueError, match="no gradient to polish by"):
        train(Bowl(), polish="restarts")
    with pytest.raises(ValueError, match="the state is of another problem"):
        Run.from_state(Problem.from_arrays(np.eye(3), np.arange(3.0)), Run(Bowl()).state())


def test_a_callback_that_asks_to_stop_is_heard_by_all_that_would_follow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 2))  # so many that a part is searched first, and then polished
    problem = Problem.from_arrays(X, np.sin(X[:, 0]), hidden=(2,))
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    record = train(problem, callback=stop)
    assert len(seen) == 3
    assert record.stopped == "interrupted"
    assert record.model is not None


def test_every_end_is_kept_and_told_apart():
    table = pd.read_csv(SENSOR)
    problem = Problem.from_arrays(table[["voltage", "humidity"]], table["temperature"])
    record = train(problem, max_evaluations=8_000, seed=0)
    assert len(record.founds) == len(record.starts) == record.agreement.n_starts > 2
    best = [found for found in record.founds if found.optimum == 0]
    probable = max(record.founds, key=lambda found: found.log_evidence)
    assert any(found is probable for found in best)
    for found in record.founds:
        assert found.alpha > 0
        assert 0 < found.n_effective < 22
        assert found.output_weights.shape == (6, 1)
        assert found.error == pytest.approx(found.noise**2, rel=1)
