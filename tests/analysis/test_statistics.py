import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from symbreak.analysis import _statistics
from symbreak.analysis._lineup import Lineup, Member
from symbreak.analysis._statistics import (
    FACTORS,
    ecdf,
    evaluations_to_targets,
    holm,
    kruskal_wallis,
    overall_ranks,
    pairwise,
    running_times,
    summary,
    target_table,
)
from tests.analysis.frames import ROLE_OF, row_of, runs_of

FUNCTIONS = [summary, kruskal_wallis, pairwise]


SMALL = {"DE": [1, 2, 3, 6], "DE-INV-SB": [4, 4, 4, 4], "DE-SB": [1, 1, 2, 0], "DE-SB-BF": [8, 8]}


def test_moments_and_quartiles_are_those_worked_out_by_hand():
    row = row_of(summary(runs_of(SMALL)), method="DE")
    assert (row.n, row["mean"], row["median"]) == (4, 3, 2.5)
    assert row["std"] == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3))
    assert (row.q1, row.q3) == (1.75, 3.75)


def test_errors_are_divided_by_the_largest_mean_of_the_three_and_brute_force_stays_out():
    table = summary(runs_of(SMALL)).set_index("method")
    assert table["normalised_mean"].to_dict() == {
        "DE": 3 / 4,
        "DE-INV-SB": 1,
        "DE-SB": 1 / 4,
        "DE-SB-BF": 2,  # 8 / 4: divided by 4, but not the divisor
    }
    assert table.loc["DE", "normalised_std"] == pytest.approx(math.sqrt(14 / 3) / 4)
    assert table.loc["DE", "normalised_median"] == 2.5 / 4
    assert table.index[table["best"]].tolist() == ["DE-SB"]
    assert (table["note"] == "").all()


def test_the_best_of_three_is_best_even_if_brute_force_is_better_and_ties_share_it():
    table = summary(runs_of({"DE": [2, 2], "DE-INV-SB": [2, 2], "DE-SB": [3, 3], "DE-SB-BF": [1]}))
    assert table.loc[table["best"], "method"].tolist() == ["DE", "DE-INV-SB"]


def test_families_and_problems_are_normalised_apart():
    runs = pd.concat([runs_of({"DE": [2.0]}), runs_of({"CMA-ES": [8.0], "CMA-ES-SB": [2.0]})])
    runs = pd.concat([runs, runs_of({"DE": [32.0], "DE-SB": [4.0]}, "digits")])
    assert summary(runs)["normalised_mean"].tolist() == [1, 1, 1 / 4, 1, 1 / 8]


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ({"DE": [1.0]}, "one run"),
        ({"DE": [1.0, 2.0]}, "normalised without DE-INV-SB, DE-SB"),
        ({"DE": [0.0, 0.0], "DE-INV-SB": [0, 0], "DE-SB": [0, 0]}, "nothing to normalise by"),
        ({"DE-SB-BF": [1.0, 2.0]}, "nothing to normalise by"),
        ({"DE": [1.0, math.inf, math.inf]}, "infinite errors"),
    ],
)
def test_the_summary_says_what_is_odd(samples, words):
    others = runs_of({f"DE{end}": [1.0] for end in ROLE_OF}, "syn5")
    row = summary(pd.concat([runs_of(samples), others])).iloc[0]
    assert words in row.note
    assert math.isnan(row["std"]) == (len(samples.get("DE", [1, 2])) in (1, 3))
    assert not row.best or len(samples) > 1  # nothing to be better than


def test_kruskal_wallis_is_the_statistic_worked_out_by_hand():
    runs = runs_of({"DE": [1, 2], "DE-INV-SB": [3, 4], "DE-SB": [5, 6], "DE-SB-BF": [0, 9]})
    row = kruskal_wallis(runs).iloc[0]
    statistic = 12 / (6 * 7) * (3**2 / 2 + 7**2 / 2 + 11**2 / 2) - 3 * 7  # rank sums 3, 7, 11
    assert row.statistic == pytest.approx(statistic)
    assert row.p == pytest.approx(math.exp(-statistic / 2))  # chi-square of two degrees
    assert not row.significant
    assert row.methods == "DE, DE-INV-SB, DE-SB"  # brute force stays out
    assert "fewer than 5 repetitions" in row.note


def test_ties_are_corrected_for_and_said():
    runs = runs_of({"DE": [1, 1, 2], "DE-SB": [2, 3, 3]})
    ranks = 6.5, 14.5  # of 1.5, 1.5, 3.5 and 3.5, 5.5, 5.5
    uncorrected = 12 / (6 * 7) * (ranks[0] ** 2 / 3 + ranks[1] ** 2 / 3) - 3 * 7
    row = kruskal_wallis(runs).iloc[0]
    assert row.statistic == pytest.approx(uncorrected / (1 - 3 * (2**3 - 2) / (6**3 - 6)))
    pair = row_of(pairwise(runs), a="DE", b="DE-SB")
    sigma = math.sqrt(3 * 3 / 12 * (7 - 3 * (2**3 - 2) / (6 * 5)))
    z = (4.5 - 0.5 - 0.5) / sigma  # mean 9/2, one tie of nine pairs, continuity
    assert pair.p == pytest.approx(math.erfc(z / math.sqrt(2)))
    assert pair.a12 == pytest.approx(8.5 / 9)


def test_tests_are_scipys():
    rng = np.random.default_rng(0)
    names = "CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"
    samples = {name: rng.normal(i, 2, size=20 + i).round(1) for i, name in enumerate(names)}
    runs = runs_of(samples)
    assert kruskal_wallis(runs).iloc[0].p == stats.kruskal(*samples.values()).pvalue
    table = pairwise(runs)
    assert table[["a", "b"]].to_numpy().tolist() == [
        ["CMA-ES", "CMA-ES-INV-SB"],
        ["CMA-ES", "CMA-ES-SB"],
        ["CMA-ES-INV-SB", "CMA-ES-SB"],
    ]
    for row in table.itertuples():
        x, y = samples[row.a], samples[row.b]
        assert row.p == stats.mannwhitneyu(x, y, method="asymptotic").pvalue
        smaller = np.mean(x[:, None] < y) + np.mean(x[:, None] == y) / 2
        assert row.a12 == pytest.approx(smaller)
    assert table["p_holm"].to_numpy() == pytest.approx(holm(table["p"]))


def test_a_pair_is_significant_only_if_kruskal_wallis_rejects_too():
    samples = {"DE": [5, 10, 11, 12, 13], "DE-INV-SB": [0, 2, 8, 9, 14], "DE-SB": [1, 3, 4, 6, 7]}
    pair = row_of(pairwise(runs_of(samples)), a="DE", b="DE-SB")
    assert pair.p < 0.05 < kruskal_wallis(runs_of(samples)).iloc[0].p
    assert not pair.significant
    assert pair.better == ""
    del samples["DE-INV-SB"]
    assert row_of(pairwise(runs_of(samples)), a="DE", b="DE-SB").better == "DE-SB"


def test_holm_can_take_significance_away():
    samples = {"DE": [5, 8, 10, 11, 13], "DE-INV-SB": [3, 7, 9, 12, 14], "DE-SB": [0, 1, 2, 4, 6]}
    pair = row_of(pairwise(runs_of(samples)), a="DE", b="DE-SB")
    assert kruskal_wallis(runs_of(samples)).iloc[0].significant
    assert pair.p_holm == pytest.approx(3 * pair.p)  # the smallest of three
    assert pair.significant
    assert not pair.significant_holm


def test_holm_is_the_adjustment_worked_out_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert holm([math.nan, 0.02, 0.03]) == pytest.approx([math.nan, 0.04, 0.04], nan_ok=True)
    assert len(holm([])) == 0


@pytest.mark.parametrize(
    ("samples", "words", "tested"),
    [
        ({"DE": [1.0], "DE-SB": [2.0]}, "too few repetitions: DE, DE-SB", False),
        ({"DE": [1.0], "DE-SB": [2.0, 3.0]}, "too few repetitions: DE; no test", False),
        ({"DE": [1.0] * 6, "DE-SB": [1.0] * 6}, "", True),
        ({"DE": [1.0] * 6, "DE-SB-BF": [1.0, 2.0]}, "no test", False),
        ({"DE": [1.0, math.inf], "DE-SB": [2.0, 3.0]}, "fewer than 5 repetitions", True),
    ],
)
def test_what_prevents_a_test_is_said(samples, words, tested):
    (family,), pairs = kruskal_wallis(runs_of(samples)).itertuples(), pairwise(runs_of(samples))
    assert len(pairs) == ("DE-SB" in samples)
    for row in (family, *pairs.itertuples()):
        assert not row.significant
        assert words in row.note
        assert math.isnan(row.p) != tested
        assert ("no test" in row.note) != tested
    if not words:  # all are equal
        (pair,) = pairs.itertuples()
        assert (family.statistic, family.p, pair.p, pair.a12) == (0, 1, 1, 0.5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_runs_give_no_rows_and_runs_without_a_value_do_not_count(function):
    assert function(runs_of({})).empty
    runs = runs_of({**SMALL, "DE": [1, 2, 3, 6, math.nan]})
    pd.testing.assert_frame_equal(function(runs), function(runs_of(SMALL)))
    assert not function(runs).empty


@pytest.mark.parametrize("function", FUNCTIONS)
def test_another_column_can_be_judged(function):
    runs = runs_of(SMALL).assign(train_rate=lambda frame: 1 + (frame["table_error"] - 2) ** 2)
    assert not function(runs, value="train_rate").equals(function(runs))
    other = runs.drop(columns="table_error").rename(columns={"train_rate": "table_error"})
    pd.testing.assert_frame_equal(function(runs, value="train_rate"), function(other))


OTHERS = {"DE-SB-BF": [9, 9.5, 8, 9.1, 8.5], "CMA-ES": [0.1, 0.2, 0.15, 0.05, 0.12]}
ALL = {"DE": [3, 4, 5, 6, 7], "DE-SB": [1, 1.5, 2, 1.2, 0.9], **OTHERS}


def test_every_method_is_tested_in_its_family_and_against_all_of_the_problem():
    runs = runs_of(ALL)
    family = pairwise(runs, among="family")
    assert set(zip(family["a"], family["b"], strict=True)) == {
        ("DE", "DE-SB"), ("DE", "DE-SB-BF"), ("DE-SB", "DE-SB-BF"),
    }  # fmt: skip
    every = pairwise(runs, among="all")
    assert len(every) == 6
    row = row_of(every, a="DE-SB", b="CMA-ES")
    test = stats.mannwhitneyu(ALL["DE-SB"], ALL["CMA-ES"], method="asymptotic")
    assert row.p == pytest.approx(test.pvalue)
    assert row.a12 == 0
    assert every["p_holm"].to_numpy() == pytest.approx(holm(every["p"]))
    (overall,) = kruskal_wallis(runs, among="all").itertuples()
    assert overall.p == pytest.approx(stats.kruskal(*ALL.values()).pvalue)
    assert overall.methods == "DE, DE-SB, DE-SB-BF, CMA-ES"


def test_among_all_methods_a_pair_is_significant_only_after_holm():
    samples = {f"DE{end}": np.arange(5) + 5.0 * i for i, end in enumerate(ROLE_OF)}
    every = pairwise(runs_of(samples), among="all")
    assert (every["p"] < 0.05).all()
    assert (every["significant"] == (every["p_holm"] < 0.05)).all()
    assert not every["significant"].all()  # six tests of five runs each
    assert pairwise(runs_of(samples), among="family")["significant"].all()


def ranked(*means):
    """A summary of three methods: a tuple of means per problem."""
    names = [f"DE{end}" for end in ("", "-INV-SB", "-SB")]
    frames = [
        runs_of({name: [mean] for name, mean in zip(names, row, strict=True)}, f"p{i}")
        for i, row in enumerate(means)
    ]
    return summary(pd.concat(frames))


def test_overall_ranks_and_their_critical_difference_are_those_of_demsar():
    means = [(3, 2, 1), (30, 10, 20), (0.3, 0.2, 0.1), (5, 4, 4)]
    ranks = overall_ranks(ranked(*means))
    found = dict(zip(ranks.table["method"], ranks.table["rank"], strict=True))
    assert found == {"DE-SB": 1.375, "DE-INV-SB": 1.625, "DE": 3.0}
    assert list(found) == sorted(found, key=found.get)
    assert ranks.p == pytest.approx(stats.friedmanchisquare(*zip(*means, strict=True)).pvalue)
    # q = 2.343 for three methods at 0.05 in Demsar's table 5a
    assert ranks.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 4)), rel=1e-3)


def test_ranks_are_over_methods_that_ran_everywhere_and_need_three_on_two_problems():
    frame = ranked((3, 2, 1), (3, 2, 1))
    assert overall_ranks(frame[frame["problem"] == "p0"]) is None
    lacking = (frame["problem"] == "p0") & (frame["method"] == "DE")
    assert overall_ranks(frame[~lacking]) is None
    assert overall_ranks(ranked((1, 1, 1), (2, 2, 2))).p == 1


# (evaluations, best error) of two runs each, worked through by hand below.
CURVES = {
    "DE": [[(1, 20), (10, 5), (50, 1), (100, 1)], [(1, 30), (20, 8), (90, 8)]],
    "DE-SB": [[(1, 10), (5, 2), (30, 1), (100, 1)], [(1, 9), (15, 1), (100, 1)]],
}

LINEUP = Lineup.sorted([Member("DE", "DE", "plain"), Member("DE-SB", "DE", "proximity")])


def frames(curves, problem="sinc"):
    """Runs and curves as a store gives them."""
    points = [
        (problem, method, repetition, *point)
        for method, runs in curves.items()
        for repetition, run in enumerate(runs)
        for point in run
    ]
    names = ["problem", "method", "repetition", "evaluations", "error"]
    long = pd.DataFrame(points, columns=names)
    runs = long.groupby(names[:3], sort=False, as_index=False).last()
    return runs.assign(family=runs["method"].str.removesuffix("-SB")), long


def hits_of(curves, problem="sinc"):
    runs, long = frames(curves, problem)
    return evaluations_to_targets(runs, long, target_table(runs))


def hitting(plain, other, factor=3.0):
    """Hits of two methods that reach the target after so many evaluations, or never (None)."""
    rows = [
        ("sinc", "DE", method, i, factor, hit is not None, 100 if hit is None else hit)
        for method, hits in (("DE", plain), ("DE-SB", other))
        for i, hit in enumerate(hits)
    ]
    names = ["problem", "family", "method", "repetition", "factor", "solved", "spent"]
    return pd.DataFrame(rows, columns=names)


def test_targets_are_multiples_of_the_best_mean_of_training_errors():
    runs, _ = frames(CURVES)
    other, _ = frames({"DE": [[(1, 4)], [(1, 8)]], "DE-SB": [[(1, math.inf)]]}, "syn5")
    hopeless, _ = frames({"DE": [[(1, math.inf)]]}, "digits")
    table = target_table(pd.concat([runs.assign(table_error=0.0), hopeless, other]))
    assert table["problem"].tolist() == ["sinc"] * 4 + ["syn5"] * 4
    assert table["factor"].tolist() == [*FACTORS, *FACTORS]
    assert table["target"].tolist() == pytest.approx([10, 3, 1.5, 1.1, 60, 18, 9, 6.6])


def test_a_target_is_hit_at_the_first_error_that_is_no_greater():
    hits = hits_of(CURVES)
    table = hits.pivot(index=["method", "repetition"], columns="factor", values="hit")
    nan = math.nan
    assert table.loc["DE", 0].tolist() == [50, 50, 50, 10]  # 1.1, 1.5, 3 and 10
    assert table.loc["DE", 1].tolist() == pytest.approx([nan, nan, nan, 20], nan_ok=True)
    assert table.loc["DE-SB", 0].tolist() == [30, 30, 5, 1]  # 10 is on the target 10
    assert table.loc["DE-SB", 1].tolist() == [15, 15, 15, 1]
    failed = hits[~hits["solved"]]
    assert failed[
        ["method", "repetition", "spent", "total"]
    ].drop_duplicates().to_numpy().tolist() == [["DE", 1, 90, 90]]
    assert (hits["spent"] == hits["hit"])[hits["solved"]].all()
    assert set(hits["family"]) == {"DE"}


def test_what_has_no_targets_or_is_not_among_the_runs_is_left_out():
    runs, curves = frames(CURVES)
    _, more = frames({"DE-SB": [[(1, 1)]]}, "syn5")  # finished after the runs were read
    _, unknown = frames({"DE-LA": [[(1, 1)]]})
    hits = evaluations_to_targets(runs, pd.concat([curves, more, unknown]), target_table(runs))
    pd.testing.assert_frame_equal(hits, hits_of(CURVES))


def test_running_times_and_speed_ups_are_those_worked_out_by_hand():
    table = running_times(hits_of(CURVES), LINEUP).set_index(["method", "factor"])
    times = table[["successes", "n", "ert"]]
    assert times.loc[("DE", 10)].tolist() == [2, 2, (10 + 20) / 2]
    assert times.loc[("DE", 3)].tolist() == [1, 2, (50 + 90) / 1]
    assert times.loc[("DE-SB", 3)].tolist() == [2, 2, (5 + 15) / 2]
    ratios = table["speed_up"]["DE-SB"].to_dict()
    assert ratios == pytest.approx({10: 15 / 1, 3: 140 / 10, 1.5: 140 / 22.5, 1.1: 140 / 22.5})
    assert table["speed_up"]["DE"].isna().all()


def speed_up(plain, other):
    """The ratio of running times and its interval."""
    row = running_times(hitting(plain, other), LINEUP).set_index("method").loc["DE-SB"]
    return [row.speed_up, row.low, row.high]


@pytest.mark.parametrize(
    ("plain", "other", "expected"),
    [
        # a quarter of resamples has no hit, half has both runs, a quarter the hit twice
        ([50, None], [10, 10], [150 / 10, 50 / 10, math.inf]),
        # resamples in which neither hits do not count
        ([50, None], [10, None], [150 / 110, 0, math.inf]),
        ([50, 50, 50], [10, 10], [5, 5, 5]),
        ([None, None], [None, None], [math.nan] * 3),
        ([None, None], [5, 5], [math.inf] * 3),
        ([5, 5], [None, None], [0, 0, 0]),
        ([5], [5, 5], [1, math.nan, math.nan]),
        ([10, 10], [5], [2, math.nan, math.nan]),
    ],
)
def test_a_speed_up_and_its_interval_say_who_reaches_the_target(plain, other, expected):
    assert speed_up(plain, other) == pytest.approx(expected, nan_ok=True)


def test_the_interval_is_scipys_where_every_run_hits(monkeypatch):
    monkeypatch.setattr(_statistics, "N_BOOTSTRAP", 9999)
    rng = np.random.default_rng(0)
    plain, other = rng.exponential(size=(2, 50)) * [[1000], [200]]
    _, low, high = speed_up(plain, other)
    expected = stats.bootstrap(
        (plain, other),
        lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis),
        method="percentile",
        random_state=rng,
    ).confidence_interval
    assert (low, high) == pytest.approx(tuple(expected), rel=0.03)


def test_intervals_are_the_same_whatever_else_is_there():
    rng = np.random.default_rng(0)
    hits = hitting(rng.integers(1, 99, size=9), rng.integers(1, 99, size=9))
    table = running_times(hits, LINEUP)
    both = running_times(pd.concat([hits.assign(problem="syn5"), hits]), LINEUP)
    pd.testing.assert_frame_equal(table, both.iloc[2:].reset_index(drop=True))
    assert both["low"][1] != both["low"][3]  # another problem, another stream


def test_the_distribution_counts_pairs_of_run_and_target():
    curves = ecdf(hits_of(CURVES)).groupby("method")[["evaluations", "share"]]
    plain = curves.get_group("DE").to_numpy().tolist()
    assert plain == [[1, 0], [10, 1 / 8], [20, 2 / 8], [50, 5 / 8], [100, 5 / 8]]
    broken = curves.get_group("DE-SB").to_numpy().tolist()
    assert broken == [[1, 2 / 8], [5, 3 / 8], [15, 6 / 8], [30, 1], [100, 1]]


def test_a_store_without_runs_gives_no_rows():
    runs = pd.DataFrame(columns=["problem", "method", "family", "repetition", "error"])
    curves = pd.DataFrame(columns=["problem", "method", "repetition"])
    hits = evaluations_to_targets(runs, curves, target_table(runs))
    for table in (hits, running_times(hits, LINEUP), ecdf(hits)):
        assert table.empty
        assert "method" in table
