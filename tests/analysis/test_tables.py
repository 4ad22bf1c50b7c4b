"""Golden tables for a small committed store, and what is said about it in words.

Write the tables anew with: python -m tests.analysis.test_tables
"""

import dataclasses
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest

from symbreak.analysis import Results
from symbreak.analysis._lineup import COMPARED, Lineup, Member
from symbreak.analysis._report import Figures, _table, render_page
from symbreak.analysis._tables import cell_text, error_table, latex_table, markdown_table
from symbreak.analysis._words import provenance, summary_sentences
from symbreak.experiments import Store, StudySpec, run_study
from symbreak.experiments._frames import TABLE_OF
from symbreak.experiments._study import BUILT_IN

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


#: A family without an invariant method, named as nothing here is named.
NEW = {"DE": "Novel", "DE-SB": "Aligned"}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """The committed store with a third family: the runs of two methods under other names."""
    known = read(tmp_path_factory.mktemp("store"))
    frames = {name: getattr(known, name) for name in TABLE_OF}
    more = {name: frame[frame["method"].isin(NEW)] for name, frame in frames.items()}
    more = {name: frame.assign(method=frame["method"].map(NEW)) for name, frame in more.items()}
    more["runs"] = more["runs"].assign(family="Novel", key=more["runs"]["key"] + "x")
    frames = {name: pd.concat([frames[name], more[name]], ignore_index=True) for name in frames}
    return dataclasses.replace(known, **frames, lineup=Lineup.of(frames["runs"]))


def test_methods_come_by_family_role_and_name():
    names = [("zzz", "Z", "other"), ("b", "Z", "variant"), ("a", "Z", "variant")]
    names += [("BF", "Z", "exhaustive"), ("SB", "CMA-ES", "proximity"), ("base", "CMA-ES", "plain")]
    names += [("INV", "Z", "invariant"), ("DE", "DE", "plain")]
    lineup = Lineup.sorted(Member(*name) for name in names)
    assert [member.method for member in lineup.members] == [
        *("DE", "base", "SB", "INV", "BF", "a", "b", "zzz")
    ]
    assert lineup.families == ("DE", "CMA-ES", "Z")
    assert lineup.methods("Z", *COMPARED) == ("INV",)
    assert lineup.first("Z", "variant") == "a"
    assert lineup.first("Z", "plain") is None


def test_a_third_family_is_in_every_table_and_sentence(three):
    header, _, first, *_ = markdown_table(three).splitlines()
    assert header.endswith("| Novel | Aligned |")
    assert re.search(r"\| 1\.000 ± \d\.\d+ \| \*\*0\.\d+ ± \d\.\d+\*\* \|$", first)
    assert r"Novel & Aligned \\" in latex_table(three)
    pairs, families = (
        frame[frame["family"] == "Novel"] for frame in (three.pairwise, three.kruskal_wallis)
    )
    assert pairs[["a", "b"]].to_numpy().tolist() == [["Novel", "Aligned"]] * 2
    assert (families["methods"] == "Novel, Aligned").all()
    table = three.running_times.set_index("method")["speed_up"]
    twin = table["DE-SB"].to_numpy()
    assert table["Aligned"].to_numpy() == pytest.approx(twin, nan_ok=True)
    wins = three.summary.query("method == 'Aligned' and best")
    words = " ".join(summary_sentences(three))
    assert f"Aligned has a smaller mean error than Novel on {len(wins)} of 2 problems" in words


def test_a_third_family_is_in_all_charts_of_the_page(three, tmp_path):
    page = render_page(three, "small", Figures(tmp_path, ("svg",)))
    assert '<th colspan="2" class="family">Novel</th>' in page
    assert page.count("<h3>Novel</h3>") == 2  # a section per problem
    assert "<h4>Novel</h4>" in page  # targets reached
    assert ">Novel<" in (tmp_path / "lead-relative.svg").read_text()
    for name in ("targets-2", "problem-0-family-2-convergence", "problem-0-family-2-boxes"):
        picture = (tmp_path / f"{name}.svg").read_text()
        assert ">Aligned<" in picture, name
        assert three.styles("DE")["DE-SB"].color in picture, name
    assert "<td>Aligned</td><td>Novel</td><td>proximity</td>" in page


def test_a_family_without_a_plain_or_a_proximity_method_makes_a_page(three, tmp_path):
    runs = three.runs[three.runs["method"].isin(["DE", "Aligned"])]
    lone = dataclasses.replace(three, runs=runs, lineup=Lineup.of(runs), studies=[])
    page = render_page(lone, "small", Figures(tmp_path))
    assert "10 finished runs" not in page
    assert "20 finished runs: 2 problems, 2 methods, 5 repetitions each." in page
    assert "has a smaller mean error than" not in page


def test_a_study_leads_with_its_own_methods_and_the_best_of_every_other_family(three):
    problem, styles = three.lead
    best = three.summary[three.summary["problem"] == problem].sort_values("mean")
    others = best.drop_duplicates("family").query("family != 'Novel'")["method"]
    assert set(styles) == {"Novel", "Aligned", *others}
    assert len(set(styles.values())) == 4  # whatever their roles are


def test_every_method_is_tested_against_the_best_where_its_errors_stand(three):
    table = error_table(three, "syn5")
    assert table["columns"][-2:] == ["p", "first is better"]
    first, *others = table["rows"]
    assert first[-2:] == ["", ""]
    assert all(0 <= float(p) <= 1 and 0 <= float(chance) <= 1 for *_, p, chance in others)
    assert "Kruskal-Wallis" in table["text"]


@pytest.mark.parametrize(
    ("better", "holm", "mark"),
    [("DE-SB", True, "▲"), ("DE-SB", False, "△"), ("DE", True, "▼"), ("DE", False, "▽")],
)
def test_the_table_marks_what_is_significantly_better_or_worse_than_the_plain_method(
    three, better, holm, mark
):
    first, pairs = three.family_tests
    row = (pairs["problem"] == "syn5") & (pairs["a"] == "DE") & (pairs["b"] == "DE-SB")
    changed = pairs.assign(better="", significant_holm=holm)
    changed.loc[row, "better"] = better
    other = dataclasses.replace(three)
    other.__dict__["family_tests"] = first, changed  # as if it had been computed
    table = _table(other)
    marks = {m: c["mark"] for m, c in zip(table["methods"], table["rows"][0]["cells"], strict=True)}
    assert marks == dict.fromkeys(marks, "") | {"DE-SB": mark}


OWN = 'problems = ["syn5"]\nmethods = ["DE-SB-LA-W"]\nrepetitions = 2\n[budgets]\nsyn5 = 800\n'


def provenance_of(tmp_path, *specs):
    with Store(tmp_path / "a.db") as store:
        for spec in specs:
            store.add_study(spec)
        return provenance(Results.of(store))


def test_built_in_studies_are_named_and_others_printed_as_files(tmp_path, monkeypatch):
    own = [StudySpec.parse(OWN, name="my own; rm -rf /"), StudySpec.parse(OWN + "#", name="quick")]
    studies = provenance_of(tmp_path, *own, *map(StudySpec.load, BUILT_IN))["studies"]
    assert len(studies) == 2 + len(BUILT_IN)  # each of a merged store
    monkeypatch.chdir(tmp_path)
    for study in studies:
        again, report = map(shlex.split, study["commands"].splitlines())
        if study["file"]:
            (tmp_path / study["file"]).write_text(study["text"])
        assert again[:2] == ["symbreak", "study"]
        assert StudySpec.load(again[2]).text == study["text"]
        assert again[3:] == ["--store", report[2]]
        assert report[:2] == ["symbreak", "report"]
    files = [study["file"] for study in studies if study["file"]]
    assert files == ["my-own-rm-rf.toml", "quick.toml"]  # another study of that name


def test_only_what_a_study_changed_is_called_a_setting(tmp_path):
    text = OWN.replace('"DE-SB-LA-W"', '"DE-SB-LA-W", "DE"') + "[method.DE]\nF = 0.7\n"
    run_study(StudySpec.parse(text), tmp_path / "a.db", workers=1)
    with Store(tmp_path / "a.db") as store:
        rows = provenance(Results.of(store))["settings"]
    changes = {method: changes for method, *_, changes in rows}
    assert changes == {"DE": '{"F": 0.7}', "DE-SB-LA-W": "none"}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        small = read(Path(folder))
        for ending, table in TABLES.items():
            (GOLDEN / f"table.{ending}").write_text(table(small))
