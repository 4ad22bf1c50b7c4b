"""Families and roles come from the runs: what no code names shows up everywhere."""

import dataclasses
import re

import pandas as pd
import pytest

from symbreak.analysis._lineup import Lineup, Member
from symbreak.analysis._report import Figures, _table, render_page
from symbreak.analysis._tables import error_table, latex_table, markdown_table
from symbreak.analysis._words import summary_sentences
from symbreak.experiments._frames import TABLE_OF
from tests.analysis.test_tables import read

#: A family without an invariant method, named as nothing here is named.
NEW = {"DE": "Novel", "DE-SB": "Aligned"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
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
    assert lineup.compared("Z") == ("INV",)
    assert lineup.first("Z", "variant") == "a"
    assert lineup.first("Z", "plain") is None


def test_a_third_family_is_in_every_table_and_sentence(results):
    header, _, first, *_ = markdown_table(results).splitlines()
    assert header.endswith("| Novel | Aligned |")
    assert re.search(r"\| 1\.000 ± \d\.\d+ \| \*\*0\.\d+ ± \d\.\d+\*\* \|$", first)
    assert r"Novel & Aligned \\" in latex_table(results)
    pairs, families = (
        frame[frame["family"] == "Novel"] for frame in (results.pairwise, results.kruskal_wallis)
    )
    assert pairs[["a", "b"]].to_numpy().tolist() == [["Novel", "Aligned"]] * 2
    assert (families["methods"] == "Novel, Aligned").all()
    table = results.running_times.set_index("method")["speed_up"]
    twin = table["DE-SB"].to_numpy()
    assert table["Aligned"].to_numpy() == pytest.approx(twin, nan_ok=True)
    wins = results.summary.query("method == 'Aligned' and best")
    words = " ".join(summary_sentences(results))
    assert f"Aligned has a smaller mean error than Novel on {len(wins)} of 2 problems" in words


def test_a_third_family_is_in_all_charts_of_the_page(results, tmp_path):
    page = render_page(results, "small", Figures(tmp_path, ("svg",)))
    assert '<th colspan="2" class="family">Novel</th>' in page
    assert page.count("<h3>Novel</h3>") == 2  # a section per problem
    assert "<h4>Novel</h4>" in page  # targets reached
    assert ">Novel<" in (tmp_path / "lead-relative.svg").read_text()
    for name in ("targets-2", "problem-0-family-2-convergence", "problem-0-family-2-boxes"):
        picture = (tmp_path / f"{name}.svg").read_text()
        assert ">Aligned<" in picture, name
        assert results.styles("DE")["DE-SB"].color in picture, name
    assert "<td>Aligned</td><td>Novel</td><td>proximity</td>" in page


def test_a_family_without_a_plain_or_a_proximity_method_makes_a_page(results, tmp_path):
    runs = results.runs[results.runs["method"].isin(["DE", "Aligned"])]
    lone = dataclasses.replace(results, runs=runs, lineup=Lineup.of(runs), studies=[])
    page = render_page(lone, "small", Figures(tmp_path))
    assert "10 finished runs" not in page
    assert "20 finished runs: 2 problems, 2 methods, 5 repetitions each." in page
    assert "has a smaller mean error than" not in page


def test_a_study_leads_with_its_own_methods_and_the_best_of_every_other_family(results):
    problem, styles = results.lead
    best = results.summary[results.summary["problem"] == problem].sort_values("mean")
    others = best.drop_duplicates("family").query("family != 'Novel'")["method"]
    assert set(styles) == {"Novel", "Aligned", *others}
    assert len(set(styles.values())) == 4  # whatever their roles are


def test_every_method_is_tested_against_the_best_where_its_errors_stand(results):
    table = error_table(results, "syn5")
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
    results, better, holm, mark
):
    first, pairs = results.family_tests
    row = (pairs["problem"] == "syn5") & (pairs["a"] == "DE") & (pairs["b"] == "DE-SB")
    changed = pairs.assign(better="", significant_holm=holm)
    changed.loc[row, "better"] = better
    other = dataclasses.replace(results)
    other.__dict__["family_tests"] = first, changed  # as if it had been computed
    table = _table(other)
    marks = {m: c["mark"] for m, c in zip(table["methods"], table["rows"][0]["cells"], strict=True)}
    assert marks == dict.fromkeys(marks, "") | {"DE-SB": mark}
