"""The pages about when to use a small network say what the committed results say."""

import importlib
import itertools
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_generalisation_page")


def test_their_tables_are_those_of_the_committed_results(page):
    for path, text in page.filled().items():
        written = path.read_text(encoding="utf-8")
        assert written == text, "run: python benchmarks/generalisation.py write"


def test_every_estimator_was_scored_once_on_every_fold_of_every_table(page):
    runs = page.read()
    contests = [(m, net) for m in (page.OURS, *page.MLPS) for net in page.nets(runs)]
    contests += [(method, "") for method in page.OTHERS]
    tables = runs["data"].unique()
    assert len(tables) >= 10
    folds = range(runs["fold"].max() + 1)
    assert len(folds) >= 5
    expected = itertools.product(tables, contests, folds)
    scored = list(runs[["data", "method", "net", "fold"]].itertuples(index=False, name=None))
    assert sorted(scored) == sorted((data, *contest, fold) for data, contest, fold in expected)


def test_a_loss_of_more_than_a_standard_error_is_called_worse(page):
    runs = page.read()
    ours = (runs["method"] == page.OURS) & (runs["data"] == "iris")
    runs.loc[ours, "score"] = 0.5
    table = "\n".join(page.comparison_table(runs))
    assert len(re.findall(r"\| iris .*\*\*worse\*\*", table)) == len(page.nets(runs))
    assert "iris" in page.claim(runs)[0]


def test_the_tables_with_words_and_gaps_are_those_of_the_committed_results(page):
    tables = importlib.import_module("tables")
    for path, text in tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python benchmarks/tables.py write"
    scored = [(row["data"], row["method"], row["fold"]) for row in tables.read()]
    folds = range(2 * tables.FOLDS)
    assert sorted(scored) == sorted(itertools.product(tables.SOURCES, tables.METHODS, folds))


def test_sizes_that_were_chosen_are_scored_as_the_committed_results_say(page):
    sizes = importlib.import_module("sizes")
    for path, text in sizes.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python benchmarks/sizes.py write"
