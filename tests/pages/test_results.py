"""Pages about what was measured say what the committed results say."""

import importlib
import itertools
import json
import re

import pytest

from tests.pages.blocks import ROOT, load_module


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_the_pages_on_evolution_say_what_the_results_say():
    for path, text in load_module("scripts", "control").pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python scripts/control.py"


def test_auto_solves_two_poles_every_time():
    control = load_module("scripts", "control")
    runs = control.read(control.STUDIES / "control-auto")
    assert len(runs) == 150
    assert runs["solved"].all()
    few = runs[runs["problem"] == "double-pole-6"]["evaluations"]
    assert few.mean() <= 450


def test_runs_a_second_are_those_of_the_committed_results():
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "benchmarks" / "results" / "cluster.json").read_text())
    cells = {}
    for row in results["rows"]:
        rate, share = row["runs a second"], row["of what is possible"]
        number = f"{rate:.0f}" if rate >= 100 else f"{rate:.2g}"
        cells.setdefault(row["workers"], []).append(f"{number} a second, {100 * share:.0f} %")
    assert sorted(cells) == [64, 256, 1000]
    for workers, said in cells.items():
        assert f"| {workers:,} | {' | '.join(said)} |" in text
    assert f"without the wait for the disk | {results['storing_ms']:.1f} |" in text
    costs = [row["driver ms a run"] for row in results["rows"]]
    assert f"driver, all in all | {min(costs):.1f} to {max(costs):.1f} |" in text


def test_error_bars_are_those_of_the_committed_results(benchmark):
    page = benchmark("_error_bars_page")
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "run: python benchmarks/error_bars.py write"
    results = page.read()
    assert [row["data"] for row in results["densities"]] == list(page.CHAINS)
    found = page.intervals(results)
    assert found.notna()["rmse"].all(axis=None)
    assert len(found) == 15


def test_error_bars_beyond_their_limits_are_called_so(benchmark):
    page = benchmark("_error_bars_page")
    results = page.read()
    for row in results["densities"]:
        row["mixture"] -= 1.0
    assert "airfoil 0.91" in page.density_claim(results)[0]
    for row in results["intervals"]:
        row["coverage"][0] -= 0.07
    assert page.coverage_claim(results)[0].count("**beyond**") == 2


@pytest.mark.parametrize(
    ("name", "pages", "command"),
    [
        ("_generalisation_page", "filled", "generalisation.py write"),
        ("tables", "pages", "tables.py write"),
        ("sizes", "pages", "sizes.py write"),
        ("ridge_groups", "pages", "ridge_groups.py write"),
    ],
)
def test_tables_of_generalisation_are_those_of_the_committed_results(
    benchmark, name, pages, command
):
    for path, text in getattr(benchmark(name), pages)().items():
        assert path.read_text(encoding="utf-8") == text, f"run: python benchmarks/{command}"


def test_every_estimator_was_scored_once_on_every_fold_of_every_table(benchmark):
    page, tables = benchmark("_generalisation_page"), benchmark("tables")
    runs = page.read()
    contests = [(m, net) for m in (page.OURS, *page.MLPS) for net in page.nets(runs)]
    contests += [(method, "") for method in page.OTHERS]
    names, folds = runs["data"].unique(), range(runs["fold"].max() + 1)
    assert len(names) >= 10
    assert len(folds) >= 5
    expected = itertools.product(names, contests, folds)
    scored = list(runs[["data", "method", "net", "fold"]].itertuples(index=False, name=None))
    assert sorted(scored) == sorted((data, *contest, fold) for data, contest, fold in expected)
    scored = [(row["data"], row["method"], row["fold"]) for row in tables.read()]
    folds = range(2 * tables.FOLDS)
    assert sorted(scored) == sorted(itertools.product(tables.SOURCES, tables.METHODS, folds))


def test_a_loss_of_more_than_a_standard_error_is_called_worse(benchmark):
    page = benchmark("_generalisation_page")
    runs = page.read()
    ours = (runs["method"] == page.OURS) & (runs["data"] == "iris")
    runs.loc[ours, "score"] = 0.5
    table = "\n".join(page.comparison_table(runs))
    assert len(re.findall(r"\| iris .*\*\*worse\*\*", table)) == len(page.nets(runs))
    assert "iris" in page.claim(runs)[0]
