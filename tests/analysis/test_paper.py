import pandas as pd
import pytest

from symbreak.analysis import _paper
from symbreak.analysis._paper import NOT_SIGNIFICANT, TABLE_1, paper_problems
from symbreak.analysis._statistics import pairwise, summary
from symbreak.problems import problem_names
from tests.analysis import frames
from tests.analysis.frames import row_of
from tests.pages.blocks import load_module

script = load_module("scripts", "_agreement")
agreement, paper_table = script.agreement_of, script.paper_table
paper_significance = script.paper_significance
NAMES = {name: name for name in problem_names()}
SHAPES = {"syn5": (3, 2, 1), "sinc": (3, 2, 1), "mine": (1, 2, 3)}  # means of plain, INV, SB


def summary_of_the_paper():
    names = {"mean": "normalised_mean", "std": "normalised_std"}
    return paper_table().rename(columns=names).assign(n=50)


def pairs_of_the_paper():
    pairs = paper_significance().assign(n_a=50, n_b=50, a12=0.5, better="")
    return pairs.assign(p=pairs["significant"].map({True: 0.001, False: 0.5}))


def runs_of(problem, family="DE", methods=("", "-INV-SB", "-SB"), n=6):
    """Runs whose methods lie apart, in the order of SHAPES."""
    means = dict(zip(("", "-INV-SB", "-SB"), SHAPES[problem], strict=True))
    samples = {family + m: [means[m] + i / 99 for i in range(n)] for m in methods}
    return frames.runs_of(samples, problem)


def compare(runs):
    return agreement(summary(runs), pairwise(runs), NAMES)


def test_table_1_and_the_statements_are_those_printed():
    table, pairs = paper_table(), paper_significance()
    assert sorted(TABLE_1) == sorted(problem_names())
    sums = table.groupby("method", sort=False)[["mean", "std"]].sum()
    printed = {
        **{"DE": (7.225, 3.837), "DE-INV-SB": (9.744, 4.525), "DE-SB": (3.755, 0.808)},
        **{"CMA-ES": (7.654, 8.080), "CMA-ES-INV-SB": (8.837, 4.658), "CMA-ES-SB": (2.262, 1.124)},
    }
    for method, (mean, std) in printed.items():
        assert sums.loc[method].tolist() == pytest.approx([mean, std])
    assert (table.groupby(["problem", "family"])["mean"].max() == 1).all()
    assert (table["best"] == table["method"].isin(["DE-SB", "CMA-ES-SB"])).all()
    assert (len(pairs), pairs["significant"].sum()) == (66, 59)  # all but the seven that are named
    known = set(pairs[["problem", "a", "b"]].itertuples(index=False, name=None))
    assert set(NOT_SIGNIFICANT) <= known  # spelt as tests spell their pairs


def test_the_paper_agrees_with_itself():
    families, cells, pairs = agreement(summary_of_the_paper(), pairs_of_the_paper(), NAMES)
    assert [len(frame) for frame in (families, cells, pairs)] == [22, 66, 66]
    for frame in (families[["same_winner", "same_order"]], pairs[["agree"]]):
        assert all(answer is True for answer in frame.to_numpy().ravel())
    assert (families["pairs_agreeing"] == 3).all()
    assert (families["note"] == "").all()
    assert row_of(families, problem="sinc", family="DE").order_here == "DE-SB < DE-INV-SB < DE"


@pytest.mark.parametrize(
    ("means", "winner", "order", "same"),
    [
        ((0.1, 0.2, 1.0), "DE", "DE < DE-INV-SB < DE-SB", (False, False)),
        ((0.2, 0.412, 0.114), "DE-SB", "DE-SB < DE < DE-INV-SB", (True, False)),
        ((0.114, 0.412, 0.114), "DE = DE-SB", "DE = DE-SB < DE-INV-SB", (False, False)),
    ],
)
def test_other_means_change_the_winner_or_the_order_of_one_family(means, winner, order, same):
    table = summary_of_the_paper()
    family = (table["problem"] == "sinc") & (table["family"] == "DE")
    table.loc[family, "normalised_mean"] = means
    families, _, pairs = agreement(table, pairs_of_the_paper(), NAMES)
    row = row_of(families, problem="sinc", family="DE")
    assert (row.winner_here, row.order_here) == (winner, order)
    assert (row.same_winner, row.same_order) == same
    assert (families["same_order"] == False).sum() == 1  # noqa: E712
    assert all(pairs["agree"])


def test_a_pair_is_reversed_where_means_and_ranks_are_both_against_the_paper():
    table, tests = summary_of_the_paper(), pairs_of_the_paper()
    pair = (tests["problem"] == "sinc") & (tests["a"] == "DE") & (tests["b"] == "DE-SB")
    tests.loc[pair, "better"] = "DE"  # DE-SB in the paper
    row = row_of(agreement(table, tests, NAMES).pairs, problem="sinc", a="DE", b="DE-SB")
    assert (row.agree, row.reversed) == (True, False)
    table.loc[(table["problem"] == "sinc") & (table["method"] == "DE"), "normalised_mean"] = 0.05
    found = agreement(table, tests, NAMES)
    assert row_of(found.pairs, problem="sinc", a="DE", b="DE-SB").reversed is True
    assert row_of(found.families, problem="sinc", family="DE").pairs_reversed == 1
    assert found.families["pairs_reversed"].sum() == 1
    tests.loc[pair, "significant"] = False
    assert not row_of(
        agreement(table, tests, NAMES).pairs, problem="sinc", a="DE", b="DE-SB"
    ).reversed


def test_real_tests_are_compared_with_the_statements():
    families, _, pairs = compare(pd.concat([runs_of("syn5"), runs_of("sinc")]))
    sinc = row_of(pairs, problem="sinc", a="DE", b="DE-SB")
    assert (sinc.significant_paper, sinc.significant_here, sinc.agree) == (True, True, True)
    assert (sinc.a12, sinc.better) == (0, "DE-SB")
    syn5 = row_of(pairs, problem="syn5", a="DE", b="DE-SB")  # the paper found no difference
    assert (syn5.significant_paper, syn5.significant_here, syn5.agree) == (False, True, False)
    found = families.set_index(["problem", "family"])[["pairs_agreeing", "pairs_compared"]]
    assert found.loc[("sinc", "DE")].tolist() == [3, 3]
    assert found.loc[("syn5", "DE")].tolist() == [0, 3]
    assert found.loc[("sinc", "CMA-ES")].tolist() == [0, 0]


def test_what_was_not_run_cannot_be_said():
    families, cells, pairs = compare(runs_of("sinc", methods=("", "-SB")))
    row = row_of(families, problem="sinc", family="DE")
    assert (row.winner_here, row.same_winner, row.same_order) == ("DE-SB", None, None)
    assert (row.note, row.pairs_compared, row.pairs_agreeing) == ("missing: DE-INV-SB", 1, 1)
    cell = row_of(cells, problem="sinc", method="DE-INV-SB")
    assert (cell.n_here, cell.best_here, cell.mean_paper) == (0, False, 0.412)
    pair = row_of(pairs, problem="sinc", a="DE", b="DE-INV-SB")
    assert (pair.significant_paper, pair.significant_here, pair.agree) == (True, None, None)
    few = row_of(compare(runs_of("sinc", n=3)).pairs, problem="sinc", a="DE", b="DE-SB")
    assert (few.significant_paper, few.significant_here, few.agree) == (True, False, None)


def test_a_problem_is_the_papers_only_with_its_name_and_its_network():
    facts = {
        "sinc": {"name": "sinc", "net": "1-5-1"},
        "syn5": {"name": "syn5", "net": "1-9-1"},
        "mine": {"name": "mine", "net": "1-5-1"},
    }
    assert paper_problems(facts) == {"sinc": "sinc"}
    other = [runs_of("sinc").assign(problem=name) for name in facts] + [runs_of("sinc", "L-SHADE")]
    runs = pd.concat(other)
    families = agreement(summary(runs), pairwise(runs), paper_problems(facts)).families
    compared = families[families["winner_here"] != ""]
    assert compared[["problem", "winner_here"]].to_numpy().tolist() == [["sinc", "DE-SB"]]


def test_the_report_says_which_winners_and_tests_are_the_papers():
    runs = pd.concat([runs_of("syn5"), runs_of("sinc"), runs_of("sinc", "CMA-ES", ("", "-SB"))])
    rows = _paper.agreement(summary(runs), pairwise(runs), NAMES)
    told = ("winner", "same_winner", "agreeing", "compared", "note")
    found = {(row["problem"], row["family"]): tuple(row[name] for name in told) for row in rows}
    assert found == {
        ("syn5", "DE"): ("DE-SB", True, 0, 3, ""),  # the paper found no difference
        ("sinc", "DE"): ("DE-SB", True, 3, 3, ""),
        ("sinc", "CMA-ES"): ("CMA-ES-SB", None, 1, 1, "missing: CMA-ES-INV-SB"),
    }
    few = runs_of("sinc", n=3)
    (row,) = _paper.agreement(summary(few), pairwise(few), NAMES)
    assert (row["same_winner"], row["compared"]) == (True, 0)
    turned = runs.assign(table_error=-runs["table_error"])
    rows = _paper.agreement(summary(turned), pairwise(turned), NAMES)
    assert {row["same_winner"] for row in rows} == {False, None}
    assert sum(row["agreeing"] for row in rows) == 0  # the other method is ahead
    assert _paper.agreement(summary(runs), pairwise(runs), {}) == []
