"""The trainer's results are the same as ever, to the last bit.

They are found in a process that plays one kind of processor, Haswell, as every newer one can.
If a change is meant to make trainings come out differently, write the file anew:

    python -m tests.training.test_golden write
"""

import hashlib
import itertools
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.reliability.processors import environment, lacking

GOLDEN = Path(__file__).parent.parent / "golden" / "trainer.json"
#: What the bits depend on besides the processor.
PACKAGES = ("numpy", "scipy", "numba")


def on_haswell():
    """What this file finds in a process of that kind."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.training.test_golden"],
        env=environment("Haswell"),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def _hex(values):
    """A hash of the bits of an array, and its first number to look at."""
    import numpy as np

    array = np.ascontiguousarray(values, dtype=np.float64)
    first = float(array.flat[0]).hex() if array.size else ""
    return f"{hashlib.sha256(array.tobytes()).hexdigest()[:16]} {first}"


def _of_model(model):
    return {"theta": _hex(model.theta), "output_weights": _hex(model.output_weights)}


def _of_record(record):
    arrays = ("evaluations", "errors", "theta", "output_weights", "rates", "starts", "spread")
    return {
        **{name: _hex(getattr(record, name)) for name in arrays},
        **{f"model {key}": value for key, value in _of_model(record.model).items()},
        "alpha": float(record.alpha).hex(),
        "end": [record.n_evaluations, record.stopped, str(record.agreement)],
    }


def _tables():
    """A regression with outliers of weight, and three classes, both with samples to validate on."""
    import numpy as np

    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2)) * [1, 30] + [100, 0]
    y = np.sin(2 * (X[:, 0] - 100)) + 0.02 * X[:, 1] + rng.normal(size=90) / 20
    return X, y, np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])], rng.uniform(0.5, 2, 60)


def _problems():
    from symbreak import Problem, load_problem

    X, y, labels, weights = _tables()
    for name in ("sinc", "sinc2d", "two-circles"):
        yield name, load_problem(name)
    both = (False, True)
    for row in itertools.product(("unit", "none"), (0.0, 0.01, "auto"), both, both):
        rescale, alpha, weighted, validated = row
        settings = {"rescale": rescale, "alpha": alpha, "merge": False}
        settings["output_shift"] = not weighted
        if weighted:
            settings["weights"] = weights
        if validated:
            settings |= {"validation": (X[60:75], y[60:75]), "test": (X[75:], y[75:])}
        name = f"{rescale} {alpha} weights {weighted} validation {validated}"
        yield name, Problem.from_arrays(X[:60], y[:60], hidden=(3,), **settings)
    for alpha in (0.0, "auto"):
        settings = {"rescale": "none", "alpha": alpha, "output_shift": True, "merge": False}
        table = Problem.from_arrays(X, labels, task="classification", hidden=(3,), **settings)
        yield f"classes {alpha}", table


def _trainings():
    """Runs with every way to polish."""
    from symbreak.training import Run

    for name, problem in _problems():
        budget = 6_000 if problem.name != "data" else 20_000
        plans = [("auto", None), ("DE-SB", "final"), ("CMA-ES-SB", "restarts")]
        for method, polish in plans if "weights True" not in name else plans[:1]:
            run = Run(problem, method, polish=polish, max_evaluations=budget, seed=3)
            steps = 0
            while not run.finished:
                run.step()
                steps += 1
                if steps % 7 == 0:  # a state goes on as if never interrupted
                    run = Run.from_state(problem, run.state())
            yield f"{name}, {method} {polish}", _of_record(run.record())


def _estimators():
    import numpy as np

    from symbreak.estimators import EvolvedAutoencoder, EvolvedMLPClassifier, EvolvedMLPRegressor

    X, y, labels, weights = _tables()
    many = np.random.default_rng(1).normal(size=(4_200, 2))
    cases = [
        (EvolvedMLPRegressor, X, y, {}),
        (EvolvedMLPRegressor, X, y, {"alpha": 0.01, "hidden_layer_sizes": (3, 2)}),
        (EvolvedMLPRegressor, X, y, {"early_stopping": True, "n_jobs": 2}),
        (EvolvedMLPRegressor, X, y, {"method": "DE-SB"}),
        (EvolvedMLPRegressor, many, np.sin(many[:, 0]), {"hidden_layer_sizes": 2}),
        (EvolvedMLPClassifier, X, labels, {}),
        (EvolvedMLPClassifier, X, labels, {"alpha": 0.1}),
        (EvolvedAutoencoder, X, None, {}),
    ]
    for kind, inputs, targets, options in cases:
        fixed = {} if kind is EvolvedAutoencoder else {"hidden_layer_sizes": 5}
        settings = {"max_evaluations": 3_000, "random_state": 2, **fixed, **options}
        found = kind(**settings).fit(inputs, targets)
        facts = (found.best_loss_, found.alpha_, found.n_effective_parameters_)
        yield (
            f"{kind.__name__} {options}",
            {**_of_model(found.model_), "facts": [float(fact).hex() for fact in facts]},
        )
    found = EvolvedMLPRegressor(5, max_evaluations=3_000, random_state=2)
    found.fit(X[:60], y[:60], sample_weight=weights)
    yield "EvolvedMLPRegressor weights", _of_model(found.model_)


def results():
    warnings.simplefilter("ignore")
    return {**dict(_trainings()), **dict(_estimators())}


def test_trainings_are_the_same_bit_by_bit():
    import importlib.metadata

    if missing := lacking("Haswell"):
        pytest.skip(f"needs a processor that can play a Haswell, with {missing}")
    golden = json.loads(GOLDEN.read_text())
    here = {name: importlib.metadata.version(name) for name in PACKAGES}
    if here != golden["versions"]:
        pytest.skip(f"the bits are those of {golden['versions']}, here are {here}")
    found = on_haswell()
    assert found.keys() == golden["results"].keys()
    for name, expected in golden["results"].items():
        assert found[name] == expected, name


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        import importlib.metadata

        versions = {name: importlib.metadata.version(name) for name in PACKAGES}
        text = json.dumps({"versions": versions, "results": on_haswell()}, indent=1)
        GOLDEN.write_text(text + "\n")
    else:
        print(json.dumps(results()))
