"""The page about error bars says what the committed results say."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_error_bars_page")


def test_its_tables_are_those_of_the_committed_results(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "run: python benchmarks/error_bars.py write"


def test_every_method_was_measured_on_every_table(page):
    results = page.read()
    assert [row["data"] for row in results["densities"]] == list(page.CHAINS)
    found = page.intervals(results)
    assert found.notna()["rmse"].all(axis=None)
    assert len(found) == 15


def test_what_is_beyond_its_limits_is_called_so(page):
    results = page.read()
    for row in results["densities"]:
        row["mixture"] -= 1.0
    assert "airfoil 0.91" in page.density_claim(results)[0]
    for row in results["intervals"]:
        row["coverage"][0] -= 0.07
    assert page.coverage_claim(results)[0].count("**beyond**") == 2
