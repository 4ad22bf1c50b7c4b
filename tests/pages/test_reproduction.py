"""docs/reproduction.md says what the committed runs say."""

import csv
import gzip
import math
import re
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from symbreak import load_problem, train
from tests.pages.blocks import ROOT, load_module

STUDY = ROOT / "studies" / "paper"


@pytest.fixture(scope="module")
def script():
    return load_module("scripts", "reproduction")


def test_the_page_is_what_the_script_makes_of_the_results(script):
    written = script.PAGE.read_text(encoding="utf-8")
    assert script.page() == written, "run: python scripts/reproduction.py"


def test_every_difference_is_spoken_of_and_no_other(script):
    differences = load_module("scripts", "_differences")
    page = script.PAGE.read_text(encoding="utf-8")
    lines = page.split("Those that differ:\n\n")[1].split("\n\n")[0].splitlines()
    names = {f"- **{', '.join(name)}**" for name in differences.STAYS}
    assert {line.split(":")[0] for line in lines} == names


def test_a_family_agrees_only_with_the_winner_and_all_tests_of_the_paper():
    differences = load_module("scripts", "_differences")
    family = {"winner_paper": "DE-SB", "winner_here": "DE-SB"}
    family |= {"pairs_agreeing": 3, "pairs_reversed": 0}
    changes = ({}, {"winner_here": "DE"}, {"pairs_agreeing": 2}, {"pairs_reversed": 1})
    verdicts = [differences._as_in_the_paper(pd.Series(family | change)) for change in changes]
    assert verdicts == [True, False, False, False]


def test_the_published_table_follows_from_the_raw_rows():
    errors = defaultdict(list)
    for path in STUDY.glob("*/runs.csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                value = row["test_error"] or row["error"]
                errors[row["problem"], row["method"]].append(float(value))
    published = dict(_published_rows())
    assert published
    for problem, cells in published.items():
        assert set(cells) == {m for p, m in errors if p == problem and not m.endswith("-BF")}
        for family in ("DE", "CMA-ES"):
            three = [family, f"{family}-INV-SB", f"{family}-SB"]
            means = {m: math.fsum(errors[problem, m]) / len(errors[problem, m]) for m in three}
            for method in three:
                values, mean = errors[problem, method], means[method]
                squares = math.fsum((value - mean) ** 2 for value in values)
                std = math.sqrt(squares / (len(values) - 1))
                largest = max(means.values())
                text = f"{mean / largest:.3f} ± {std / largest:.3f}"
                bold = mean == min(means.values())
                assert cells[method] == (f"**{text}**" if bold else text), (problem, method)


def _published_rows():
    """Our rows of Table 1 in the page: problem, and the cells by method."""
    lines = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| problem | | DE |"))
    methods = [cell.strip() for cell in lines[start].split("|")[3:-1]]
    problem = ""
    for line in lines[start + 2 :]:
        if not re.match(r"\|.*\| (paper|here) \|", line):
            return
        name, where, *cells = (cell.strip() for cell in line.split("|")[1:-1])
        problem = name or problem
        if where == "here":
            yield problem, dict(zip(methods, cells, strict=True))


def test_the_committed_results_are_small_and_each_run_is_there_once(script):
    files = [path for path in STUDY.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20e6
    runs = script.Archive(STUDY).runs()
    assert not runs.duplicated(["problem", "method", "repetition"]).any()
    assert runs["key"].is_unique


def test_the_committed_runs_are_those_of_the_built_in_study(script):
    planned = {run.key for run in script.StudySpec.load("paper").runs()}
    assert set(script.Archive(STUDY).runs()["key"]) <= planned


def test_costs_are_of_every_method_and_of_runs_that_ended_as_committed(script):
    costs = pd.read_csv(script.COSTS)
    planned = [(run.problem, run.method) for run in script.StudySpec.load("paper").first_runs()]
    assert list(zip(costs["problem"], costs["method"], strict=True)) == planned
    assert costs["same"].all()  # docs/reliability.md says so


@pytest.mark.parametrize("method", ["DE-SB", "CMA-ES-SB"])
def test_a_budget_only_says_when_a_run_stops(method):
    short, long = (
        train(load_problem("syn5"), method, max_evaluations=n, seed=7) for n in (960, 2880)
    )
    begun = long.evaluations <= 960
    assert np.array_equal(long.errors[begun], short.errors[: begun.sum()])
    assert np.array_equal(long.evaluations[begun], short.evaluations[: begun.sum()])
    assert short.error == long.errors[begun][-1]


def test_other_readings_have_the_budgets_and_methods_of_the_study(script):
    paper = script.StudySpec.load("paper")
    files = list(script.SENSITIVITY.glob("*.toml"))
    names = {"population", "radius", "redrawn", "shift", "start", "start-sphere", "tanh"}
    assert {file.stem for file in files} == names
    for file in files:
        spec, found = script.StudySpec.load(file), script.Archive(file.with_suffix(""))
        assert spec.budgets == {problem: paper.budgets[problem] for problem in spec.problems}
        assert list(spec.methods) in (script.METHODS, script.METHODS[3:])
        assert set(found.runs()["key"]) <= {run.key for run in spec.runs()}
        assert len(found.runs()) == spec.n_runs


def test_how_near_a_reading_comes_is_worked_out_from_both_tables(script):
    readings = load_module("scripts", "_readings")
    results = script.Results.of(script.Archive(STUDY))
    lines = list(readings.both_readings(results, results, script.StudySpec.load("paper")))
    assert "It is still running" not in " ".join(lines)
    three = script.PAPER_METHODS["CMA-ES"]
    means = results.summary.query("problem == 'sinc'").set_index("method")["mean"][[*three]]
    ratios = [
        mean / means.max() / script.TABLE_1["sinc"][method].mean for method, mean in means.items()
    ]
    distance = f"{np.mean(np.abs(np.log(ratios))):.2f}"
    (row,) = [line for line in lines if re.match(r"\| sinc \| [\d.]+ \|", line)]
    assert row.split(" | ")[1:5] == [distance, distance, "3 of 3", "3 of 3"]
    (total,) = [line for line in lines if line.startswith("| **all** |")]
    verdicts = readings.verdicts(results)
    confirmed = sum(verdict == "confirmed" for verdict in verdicts.values())
    assert f"| {confirmed} of {len(verdicts)} |" in total
    assert all("CMA-ES" in claim or "INV-SB" in claim or "which" in claim for _, claim in verdicts)
