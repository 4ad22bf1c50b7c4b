"""Statistics, charts and reports under awkward values, and under frames with a spoilt column."""

import inspect

import numpy as np
import pandas as pd
import pytest

from symbreak import Topology, analysis
from symbreak.experiments import Store, StudySpec, run_study
from symbreak.symmetry import align_draws, networks
from tests.awkward.values import CALLABLE, MODEL, PROBLEM, complaint, complaints, each, nothing

STUDY = """
problems = ["syn5", "two-circles"]
methods = ["DE", "DE-SB", "DE-SB-BF", "CMA-ES"]
repetitions = 2
[budgets]
syn5 = 400
two-circles = 400
[problem.two-circles]
hidden = [3]
"""
DRAWS = np.random.default_rng(0).normal(size=(2, 10, 4))
#: What may become of a column.
SPOILT = {
    "dropped": lambda frame, column: frame.drop(columns=column),
    "nothing": lambda frame, column: frame.assign(**{column: None}),
    "-1": lambda frame, column: frame.assign(**{column: -1}),
    "lists": lambda frame, column: frame.assign(**{column: [[1]] * len(frame)}),
}
#: Columns that functions of the analysis use; some frames have many more.
USED = {"problem", "family", "role", "method", "repetition", "evaluations", "error", "mean"}
USED |= {"table_error", "test_error", "modified_share", "conventions", "share", "normalised_mean"}
USED |= {"a", "p", "n_a", "significant", "factor", "target", "hit", "spent", "solved", "total"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("awkward")
    run_study(StudySpec.parse(STUDY), path / "done.db", workers=1)
    return path


@pytest.fixture(scope="module")
def arguments(folder):
    """What each function of the analysis is called with, by its name."""
    with Store(folder / "done.db", read_only=True) as store:
        results = analysis.Results.of(store)
    lineup, looks, problem = results.lineup, results.looks("DE"), "syn5"
    parts = (problem, looks)
    # charts of boxes take long, whatever other columns say
    runs = results.runs[["problem", "method", "repetition", "evaluations", "test_error"]]
    return {
        "agreement": (results.summary, results.pairwise, {"syn5": "syn5"}),
        "box_chart": (runs, "two-circles", looks, "test_error"),
        "conclusions": (results,),
        "convergence_chart": (results.curves, *parts),
        "draws_chart": (DRAWS, align_draws(DRAWS, Topology.parse("1-2-1"))),
        "ecdf": (results.hits, False),
        "ecdf_chart": (analysis.ecdf(results.hits), looks),
        "evaluations_to_targets": (
            results.runs,
            results.curves,
            analysis.target_table(results.runs),
        ),
        "expected_running_time": (results.hits,),
        "fit_chart": (results.fits["syn5"], "syn5"),
        "heat_map": (results.summary, lineup),
        "ideal_against_approximate": (results.runs, 0, 20, "table_error", lineup),
        "kruskal_wallis": (results.runs, "table_error", lineup),
        "looks_of": (lineup,),
        "match_chart": ({"b": networks.compare(MODEL, MODEL)}, "a"),
        "modified_chart": (results.traces, *parts),
        "network_chart": (MODEL,),
        "pairwise": (results.runs, "table_error", lineup),
        "paper_significance": (False,),
        "part_box_charts": (runs, "two-circles", looks),
        "part_convergence_charts": (results.rates, runs, "two-circles", looks),
        "problem_chart": (PROBLEM,),
        "relative_chart": (results.summary, lineup),
        "save_chart": (analysis.separation_chart(), "chart.html"),
        "significance_chart": (results.pairwise, lineup),
        "speed_up": (results.hits, lineup, 0, 20),
        "spread_chart": (results.spread, *parts),
        "summary": (results.runs, "table_error", lineup),
        "summary_sentences": (results,),
        "target_table": (results.runs, (10.0, 3.0)),
        "training_chart": (MODEL, PROBLEM, np.arange(1, 4), np.arange(3.0)),
    }


FUNCTIONS = sorted(
    name
    for name in analysis.__all__
    if inspect.isfunction(getattr(analysis, name))
    and name not in ("write_report", "paper_table", "breaking_chart", "separation_chart")
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_analysis_answers_awkward_values_in_words(name, arguments, folder, monkeypatch):
    monkeypatch.chdir(folder)
    given, function = arguments[name], getattr(analysis, name)
    for i in range(len(given)):
        assert complaints(lambda v, i=i: nothing(function(*given[:i], v, *given[i + 1 :]))) == {}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_frame_with_a_spoilt_column_is_refused_or_used(name, arguments):
    given, function = arguments[name], getattr(analysis, name)
    for i, frame in enumerate(given):
        if isinstance(frame, pd.DataFrame):
            found = {
                (column, how): complaint(
                    lambda v, i=i: nothing(function(*given[:i], v, *given[i + 1 :])),
                    spoil(frame, column),
                )
                for column in USED.intersection(frame)
                for how, spoil in SPOILT.items()
            }
            assert not any(found.values()), found


REPORTS = {
    "write_report(v)": lambda v: nothing(analysis.write_report(v, "report", formats=())),
    **each(
        "write_report({}=v)",
        ("folder", "formats", "refresh", "on_step"),
        lambda v, name: nothing(
            analysis.write_report(
                **{"store": "no.db", "folder": "report", name: v}  # drawing takes seconds
            )
        ),
    ),
    "Results.of(v)": analysis.Results.of,
    "Lineup(v)": analysis.Lineup,
    "Lineup.of(v)": analysis.Lineup.of,
    "Lineup.sorted(v)": analysis.Lineup.sorted,
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_answers_awkward_values_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaints(REPORTS[name], CALLABLE if "on_step" in name else ()) == {}
