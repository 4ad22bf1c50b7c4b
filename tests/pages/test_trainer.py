"""The page on what was measured of the trainer tells the truth, as expected running times do."""

import json

import numpy as np
import pytest

from tests.pages.blocks import ROOT, load_module


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return lambda name: load_module("benchmarks", name)


def test_its_numbers_are_those_of_the_committed_results():
    tables = load_module("scripts", "trainer_tables")
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.filled(page, tables.parts()) == page, "run: python scripts/trainer_tables.py"


def test_the_committed_tables_follow_from_the_committed_tries(benchmark):
    tables = load_module("scripts", "trainer_tables")
    results = benchmark("_tries").Results.load(tables.RESULTS)
    assert results.tables() == tables.json.loads(tables.RESULTS.read_text())["tables"]


def test_the_expected_running_time_is_all_seconds_over_the_successes(benchmark):
    tries = benchmark("_tries")
    found = tries.Try("sinc", "auto", 0, 3.0, True, [[1.0, 0.5], [2.0, 0.1]])
    other = tries.Try("sinc", "auto", 1, 5.0, False, [[4.0, 0.3]])
    row = tries.times_to([found, other], 0.2, 1.1)
    assert row == {"hits 1.1": 1, "seconds 1.1": 2.0 + 5.0, "median 1.1": None}
    assert tries.times_to([found, other], 0.3, 2.0)["seconds 2"] == (2.0 + 4.0) / 2
    assert tries.times_to([found, other], 0.0, 2.0)["hits 2"] == 0


def test_tries_that_ended_above_the_present_target_are_made_again(benchmark):
    tries = benchmark("_tries")
    results = tries.Results(facts={"sinc": {"floor": 0.0, "group": "paper"}})
    results.learn("sinc", 0.10, "auto")
    results.add(tries.Try("sinc", "auto", 0, 1.0, True, [[1.0, 0.104]]))
    results.add(tries.Try("sinc", "auto", 1, 9.0, False, [[1.0, 0.2]]))
    assert [one.seed for one in results.valid("sinc", "auto")] == [0, 1]
    results.learn("sinc", 0.05, "pycma BIPOP")
    assert [one.seed for one in results.valid("sinc", "auto")] == [1]


def test_the_fastest_other_is_one_who_arrived_inside_the_ball(benchmark):
    def row(contestant, ratio, hits, outside=0):
        about = {"problem": "sinc", "contestant": contestant, "tries": 10, "outside": outside}
        return {**about, "hits 1.1": hits, "x auto 1.1": ratio}

    claims = benchmark("_tries").claims
    bound, rival = row("pycma BIPOP", 2.0, 0), row("random starts, our polish", 4.0, 3)
    ours, outside = row("auto without breaking", 0.5, 9), row("torch-lm", 0.1, 9, outside=9)
    (claim, _) = claims([bound, rival, ours, outside])  # and the median without breaking
    assert claim["what"] == "sinc: auto over the fastest other, random starts, our polish"
    assert claim["measured"] == 1 / 4
    assert claims([bound, outside])[0]["measured"] == 1 / 2  # at least twice as fast as a bound


def test_networks_of_others_have_the_error_of_the_evaluator_and_no_ball(benchmark):
    from symbreak import LeastSquares, load_problem

    watch = benchmark("_watch")
    problem = load_problem("sinc2d")
    theta = np.random.default_rng(0).uniform(-1, 1, size=problem.topology.dim)
    error = watch.network_error(problem)
    assert error(theta) == pytest.approx(LeastSquares(problem)(theta[None])[0], rel=1e-8)
    assert error(100 * theta) < 1  # outside the ball there is a penalty of hundreds


def test_the_clock_stands_still_while_a_network_is_measured(benchmark, monkeypatch):
    from symbreak import load_problem

    watch = benchmark("_watch")
    clock = iter([0.0, 1.0, 8.0, 9.0])  # begins; measures from 1 to 8; looks at 9
    monkeypatch.setattr(watch.time, "process_time", lambda: next(clock))
    one = watch.Watch(load_problem("syn5"), 3.0, 0.0)
    one.see_network(np.zeros(6))
    assert one.curve[0][0] == 2.0


def test_the_table_of_the_page_on_posteriors_is_that_of_the_results(benchmark):
    script = benchmark("posteriors")
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.filled(page) == page, "run: python benchmarks/posteriors.py"
    rows = json.loads(script.RESULTS.read_text())["tables"]["Posteriors"]
    by_way = {way: [row for row in rows if row["way"] == way] for way in ("Wiese", "align_draws")}
    factors = []
    for theirs, ours in zip(*by_way.values(), strict=True):
        assert ours["variance"] <= theirs["variance"] * (1 + 1e-9)
        assert ours["error of mean weights"] < 1.065 * ours["error of mean predictions"]
        factors.append(theirs["CPU seconds"] / ours["CPU seconds"])
    assert len(factors) == 9
    assert f"{min(factors):.0f} to {max(factors):.0f} times faster" in page
