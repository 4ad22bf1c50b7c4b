"""Studies that mix problems with data and problems of control."""

import numpy as np
import pytest

from symbreak.analysis import Results, write_report
from symbreak.analysis._statistics import target_table
from symbreak.experiments import Store, StudySpec, execute
from tests.experiments.processes import store_of

TEXT = """
problems = ["sinc", "acrobot", "poles", "small sinc"]
methods = ["DE", "L-SHADE", "CMA-ES-IPOP"]
repetitions = 2
budgets = { sinc = 600, acrobot = 600, poles = 600, "small sinc" = 600 }
[method.L-SHADE]
population_size = 20
[problem.poles]
of = "double-pole"
hidden = [4]
biases = false
["problem"."small sinc"]
of = "sinc"
hidden = [2]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return store_of(tmp_path_factory.mktemp("store") / "a.db", TEXT)


def test_variants_have_their_own_networks_and_names(store):
    with Store(store) as opened:
        facts = Results.of(opened).facts
    nets = {name: fact["net"] for name, fact in facts.items()}
    assert nets["poles"] == "6-4-1 searched unbiased"
    assert (nets["sinc"], nets["small sinc"]) == ("1-5-1", "1-2-1")
    assert facts["small sinc"]["data"] == facts["sinc"]["data"]


def test_the_goal_of_a_problem_is_its_target(store):
    with Store(store) as opened:
        runs = opened.runs()
    targets = target_table(runs).groupby("problem")["target"]
    assert set(targets.get_group("acrobot")) == {66.0}
    assert targets.get_group("sinc").nunique() > 1


def test_a_run_of_control_goes_on_bit_by_bit():
    run = next(r for r in StudySpec.parse(TEXT).runs() if r.problem == "acrobot")
    whole, parts = execute(run), execute(run, max_time=0)
    while isinstance(parts, dict):
        parts = execute(run, checkpoint=parts, max_time=0)
    assert np.array_equal(whole.theta, parts.theta)
    assert np.array_equal(whole.errors, parts.errors)


def test_the_report_shows_control_beside_data(store, tmp_path):
    write_report(store, tmp_path, formats=())
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "steps until the tip is high enough" in page
    assert "Control with a 6-8-1 searched network: 65 parameters" in " ".join(page.split())
    assert " 0 samples" not in page


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('of = "acrobots"', "acrobot"),
        ('of = "acrobot"\nalpha = 0.1', "alpha"),
        ('of = "sinc"\nbiases = false', "problems of control"),
        ('of = "acrobot"\nhidden = 5', "list of layer sizes"),
    ],
)
def test_a_variant_that_cannot_be_is_refused(table, words):
    text = f'problems = ["a"]\nmethods = ["DE"]\nbudgets.a = 600\n[problem.a]\n{table}\n'
    with pytest.raises(ValueError, match=words):
        StudySpec.parse(text)
