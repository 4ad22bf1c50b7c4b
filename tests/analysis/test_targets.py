import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from symbreak.analysis import _targets
from symbreak.analysis._lineup import Lineup, Member
from symbreak.analysis._targets import (
    FACTORS,
    ecdf,
    evaluations_to_targets,
    running_times,
    target_table,
)

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
    monkeypatch.setattr(_targets, "N_BOOTSTRAP", 9999)
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
