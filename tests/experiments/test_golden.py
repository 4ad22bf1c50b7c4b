"""Results are the same as ever, or the numerics version has been raised.

Stored runs are found by a key that holds ``NUMERICS_VERSION``. If a change makes runs come out
differently and this test fails, raise the version and write the file anew; a new method needs only
its own lines, which the same command adds:

    python -m tests.experiments.test_golden
"""

import json
from pathlib import Path

import pytest

from symbreak import METHODS, load_problem, train
from symbreak.experiments._spec import NUMERICS_VERSION
from symbreak.methods import population_size_of
from symbreak.optimizers import Restarts

GOLDEN = Path(__file__).parent.parent / "golden" / f"numerics-{NUMERICS_VERSION}.json"
PROBLEMS = {"sinc": 6, "sinc2d": 3, "two-circles": 4}  # generations


def results():
    """Errors and some numbers of short runs: rounding has no time to grow."""
    found = {}
    for name, generations in PROBLEMS.items():
        problem = load_problem(name, seed=0)
        for method in METHODS:
            too_many = problem.topology.n_replicas > 10_000
            if METHODS[method].polish != "none" or (method.endswith("BF") and too_many):
                continue
            # the paper's populations are larger than D; with fewer candidates C has equal
            # eigenvalues, whose eigenvectors are a matter of rounding
            if METHODS[method].optimizer is Restarts:
                continue  # it begins with few
            size = population_size_of(method, problem)
            record = train(problem, method, max_evaluations=size * generations, seed=1)
            found[f"{name} {method}"] = {
                "evaluations": record.evaluations.tolist(),
                "errors": record.errors.tolist(),
                "theta": float(record.theta.sum()),
                "modified": record.modified_share.tolist(),
            }
    return found


def test_results_change_only_with_the_numerics_version():
    golden = json.loads(GOLDEN.read_text())
    found = results()
    assert found.keys() == golden.keys()
    for name, expected in golden.items():
        for part, values in expected.items():
            assert found[name][part] == pytest.approx(values, rel=1e-6, abs=1e-9), (name, part)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(results(), indent=1) + "\n")
