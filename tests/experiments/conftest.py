"""The study that tests of clusters do, and what it gives in local processes."""

import pytest

from symbreak.experiments import run_study
from tests.experiments.processes import results

# Runs of about half a second, so that slices of 0.1 s end inside.
TEXT = """
problems = ["sinc"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 3
[budgets]
sinc = 60_000
"""


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="session")
def local(study, tmp_path_factory):
    """Results of the study in local processes."""
    path = tmp_path_factory.mktemp("local") / "local.db"
    assert run_study(study, path, workers=2) == (6, 0, False)
    return results(path)
