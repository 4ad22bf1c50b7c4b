"""Golden tables for a small committed store, and what is said about it in words.

Write the tables anew with: python -m tests.analysis.test_tables
"""

import shutil
from pathlib import Path

import pytest

from symbreak.analysis._results import Results
from symbreak.analysis._tables import cell_text, latex_table, markdown_table
from symbreak.analysis._words import summary_sentences
from symbreak.experiments import Store

GOLDEN = Path(__file__).parent.parent / "golden"
TABLES = {
    "md": markdown_table,
    "tex": latex_table,
    "csv": lambda results: results.summary.to_csv(index=False),
}


def read(folder):
    """Results of the committed store, from a copy: opening one leaves files beside it."""
    shutil.copy(GOLDEN / "small.db", folder / "small.db")
    with Store(folder / "small.db", create=False) as store:
        return Results.of(store)


@pytest.fixture
def results(tmp_path):
    return read(tmp_path)


@pytest.mark.parametrize("ending", ["md", "tex"])
def test_tables_of_the_committed_store_are_the_golden_ones(results, ending):
    assert TABLES[ending](results) == (GOLDEN / f"table.{ending}").read_text()


def test_the_numbers_behind_the_table_are_the_golden_ones(results):
    ours, golden = (
        TABLES["csv"](results).splitlines(),
        (GOLDEN / "table.csv").read_text().splitlines(),
    )
    assert ours[0] == golden[0]
    for line, expected in zip(ours[1:], golden[1:], strict=True):
        for a, b in zip(line.split(","), expected.split(","), strict=True):
            if a.replace(".", "", 1).replace("e-", "").isdigit():
                assert float(a) == pytest.approx(float(b), rel=1e-9)
            else:
                assert a == b


def test_problems_come_in_the_papers_order_and_methods_by_family(results):
    assert results.problems == ["syn5", "two-circles"]
    assert results.methods("DE") == ["DE", "DE-INV-SB", "DE-SB"]
    assert results.methods("CMA-ES", "syn5") == ["CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"]


def test_the_words_are_those_of_the_numbers(results):
    words = " ".join(summary_sentences(results))
    assert "60 finished runs: 2 problems, 6 methods, 5 repetitions each." in words
    table = results.summary
    wins = table[(table.method == "DE-SB") & table.best]
    assert f"DE-SB has a smaller mean error than DE and DE-INV-SB on {len(wins)} of 2" in words
    pairs = results.pairwise
    pair = pairs[(pairs.a == "CMA-ES") & (pairs.b == "CMA-ES-SB") & pairs.significant]
    better = (pair.better == "CMA-ES-SB").sum()
    assert better == 0
    assert "CMA-ES-SB has a smaller mean error than CMA-ES and CMA-ES-INV-SB on 1 of 2" in words
    assert "against CMA-ES it is significantly better on 0, worse on 0." in words
    assert "missing" not in words
    assert "pooled" not in words


def test_an_empty_store_has_tables_and_words(tmp_path):
    with Store(tmp_path / "a.db") as store:
        results = Results.of(store)
    assert summary_sentences(results) == ["The store holds no finished run yet."]
    for table in TABLES.values():
        assert table(results)
    assert results.problems == []


def test_a_cell_without_a_spread_shows_its_mean():
    assert cell_text(0.1234, 0.01) == "0.123 ± 0.010"
    assert cell_text(0.1234, float("nan")) == "0.123"
    assert cell_text(float("nan"), float("nan")) == "-"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        small = read(Path(folder))
        for ending, table in TABLES.items():
            (GOLDEN / f"table.{ending}").write_text(table(small))
