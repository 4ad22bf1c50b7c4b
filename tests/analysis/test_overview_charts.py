"""Charts of all problems and methods at once: numbers, winners and multiples of the best."""

import numpy as np

from symbreak.analysis import _overview_charts as matrix
from tests.analysis.frames import (
    CMA,
    DE,
    STYLES,
    lineup_of,
    pairwise_frame,
    rows_of,
    summary_frame,
    svg,
)


def test_errors_are_multiples_of_the_smallest_of_all_families():
    frame = summary_frame(("sinc", "syn5"))
    frame.loc[frame["problem"] == "syn5", "mean"] = 0.0  # nothing is a multiple of 0
    rows = rows_of(matrix.relative_chart(frame, lineup_of((*DE, *CMA))), "multiple")
    assert rows["problem"].unique().tolist() == ["sinc"]
    assert rows["multiple"].tolist() == [1, 2, 3, 4, 5, 6]
    assert rows["breaking"].tolist() == ["no breaking", "fixed rules", "towards the optimum"] * 2


def test_the_heat_map_prints_numbers_in_blocks_and_the_best_in_bold():
    chart = matrix.heat_map(summary_frame(), lineup_of((*DE, *CMA)))
    assert len(rows_of(chart, "text")) == 12
    picture = svg(chart)
    assert picture.count(">0.25<") == picture.count('font-weight="bold"') - 3 == 4  # and 3 titles
    assert picture.count(">0.75<") == 4
    titles = [block["title"]["text"] for block in chart.to_dict()["hconcat"]]
    assert titles == ["DE", "CMA-ES"]


def test_the_heat_map_leaves_out_what_has_no_number():
    frame = summary_frame()
    frame.loc[:1, "normalised_mean"] = [np.nan, np.inf]
    assert len(rows_of(matrix.heat_map(frame, lineup_of((*DE, *CMA))), "text")) == 10


def test_a_triangle_points_to_the_better_method_in_its_colour():
    rows = rows_of(matrix.significance_chart(pairwise_frame(), lineup_of()), "result")
    assert rows["result"].tolist() == ["second better", "first better", "no difference"]
    assert rows["label"].tolist() == ["DE : INV-SB", "DE : SB", "INV-SB : SB"]
    picture = svg(matrix.significance_chart(pairwise_frame(), lineup_of()))
    assert f'fill="{STYLES["DE-INV-SB"].color}"' in picture
    assert f'fill="{STYLES["DE-SB"].color}"' not in picture


def test_a_difference_that_holm_does_not_confirm_is_hollow():
    rows = rows_of(matrix.significance_chart(pairwise_frame(p_holm=0.06), lineup_of()), "result")
    assert rows["holm"].tolist() == [False, False, True]
    assert rows["result"].tolist()[0] == "second better"


def test_a_pair_that_was_not_tested_is_marked():
    frame = pairwise_frame(p=np.nan, p_holm=np.nan, a12=np.nan, significant=False, note="missing")
    rows = rows_of(matrix.significance_chart(frame, lineup_of()), "result")
    assert rows["result"].tolist() == ["no test", "no test", "no difference"]
    assert rows["p"].tolist()[0] == "-"
