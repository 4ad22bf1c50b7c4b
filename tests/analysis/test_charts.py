"""Charts hold the rows they should, look alike, export, and survive odd input."""

import dataclasses
import functools
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert

from symbreak.analysis import _charts as charts
from symbreak.analysis import _style as style
from symbreak.analysis._charts import N_POINTS, averaged, quartiles, until_the_end
from symbreak.analysis._lineup import ROLE_STYLES, VARIANT_STYLES, Lineup, Member, styles_of
from symbreak.analysis._statistics import ecdf
from symbreak.experiments._frames import TABLE_OF
from tests.analysis.frames import (
    CMA,
    DE,
    STYLES,
    curves_frame,
    lineup_of,
    nodes,
    rates_frame,
    rows_of,
    runs_frame,
    styles,
    summary_frame,
    svg,
)
from tests.analysis.test_tables import read

EVIL = "<script>alert(1)</script>"
ODD = (EVIL, 'it\'s "odd"\n', 'a.b[0]\\" + 1\\')
CURVES = ["convergence", "part", "modified", "spread", "ecdf"]
NAMES = [*CURVES, "box", "relative", "ranks"]


@functools.cache
def golden():
    """Results of the committed store."""
    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder))


def made_of(results, problem="two-circles"):
    """A chart of every kind, by name."""
    chosen, runs = results.styles("DE"), results.runs
    made = {
        "convergence": charts.convergence_chart(results.curves, problem, chosen),
        "part": charts.part_chart(results.part_errors, runs, problem, chosen, "train_error"),
        "modified": charts.modified_chart(results.traces, problem, chosen),
        "spread": charts.spread_chart(results.spread, problem, chosen),
        "ecdf": charts.ecdf_chart(ecdf(results.hits), chosen),
        "box": charts.box_chart(runs, problem, chosen),
        "relative": charts.relative_chart(results.summary, results.lineup),
    }
    styles = styles_of(results.lineup)
    return made | ({"ranks": charts.rank_chart(results.ranks, styles)} if results.ranks else {})


def changed(change):
    """Results whose frames are changed."""
    frames = {name: change(getattr(golden(), name)) for name in TABLE_OF}
    return dataclasses.replace(golden(), **frames, lineup=Lineup.of(frames["runs"]))


@functools.cache
def usual():
    """Charts of usual frames, and what they look like."""
    made = made_of(golden())
    return {name: (chart.to_dict(), svg(chart)) for name, chart in made.items()}  # validates


def test_medians_and_quartiles_are_those_of_the_runs_at_that_evaluation():
    data = charts.convergence_chart(curves_frame(), "sinc", styles())
    row = rows_of(data, "median").set_index(["method", "evaluations"]).loc[("DE-INV-SB", 10_000)]
    # five runs of the second method: 2, 4, 6, 8, 10, halved four times
    assert row.tolist() == [0.25, 0.375, 0.5]


def test_between_improvements_the_error_is_the_last_one():
    data = quartiles(curves_frame(methods=["DE"]), "error").set_index("evaluations")["median"]
    assert set(data.loc[100:999]) == {3 * 0.5**2}
    assert set(data.loc[1_000:9_999]) == {3 * 0.5**3}
    assert set(data.loc[10_000:]) == {3 * 0.5**4}


def test_a_chart_never_holds_the_curves_of_all_runs():
    long = curves_frame(repetitions=50, end=10**7)
    chart = charts.convergence_chart(long, "sinc", styles())
    assert rows_of(chart, "median").groupby("method").size().max() <= N_POINTS + 1
    assert len(chart.to_json(indent=None)) < 60_000


def test_a_line_ends_where_the_shortest_run_of_its_method_does():
    short = curves_frame(methods=["DE"], end=5_000).assign(repetition=9)
    both = pd.concat([curves_frame(methods=["DE"]), short])
    assert quartiles(both, "error")["evaluations"].max() == 5_000


def test_infinite_errors_leave_the_quartiles_of_the_others():
    frame = curves_frame(methods=["DE"], repetitions=5)
    frame.loc[frame["repetition"] == 4, "error"] = np.inf
    chart = charts.convergence_chart(frame, "sinc", styles(["DE"]))
    assert rows_of(chart, "median")["median"].min() == 3 * 0.5**4
    json.dumps(chart.to_dict(), allow_nan=False)


def test_rates_hold_until_the_end_of_the_run():
    frame = until_the_end(rates_frame(), runs_frame())
    ends = frame.groupby(["method", "repetition"]).tail(1)
    assert set(ends["evaluations"]) == {10_000}
    assert (ends["test_error"] == 0.25).all()


def test_shares_are_averaged_between_two_points():
    frame = pd.DataFrame({"method": "DE", "repetition": 0, "evaluations": range(1, 10_001)})
    frame["modified_share"] = frame["evaluations"] % 2
    data = averaged(frame)
    assert len(data) <= N_POINTS + 1
    assert data["modified_share"].iloc[-1] == pytest.approx(0.5, abs=0.01)


def test_only_methods_that_modify_are_among_those_and_conventions_are_one_or_more():
    results = golden()
    shown = charts.modified_chart(results.traces, "syn5", results.styles("DE"))
    assert set(rows_of(shown, "median")["method"]) == {"DE-INV-SB", "DE-SB"}
    rows = rows_of(charts.spread_chart(results.spread, "syn5", results.styles("DE")), "median")
    assert set(rows["method"]) == set(DE)
    assert (rows["median"] >= 1).all()


def test_a_box_chart_has_a_point_for_each_finite_run_and_they_do_not_cover_each_other():
    frame = runs_frame()
    chart = charts.box_chart(frame, "sinc", styles())
    rows = rows_of(chart, "aside")
    assert len(rows) == 15
    assert sorted(rows["error"])[-1] == 3.0
    places = sorted(rows[rows["method"] == "DE"]["aside"])
    assert min(np.diff(places)) > 0.1
    assert -0.5 <= places[0] < places[-1] <= 0.5
    assert "not shown" not in chart.to_json()
    frame.loc[:1, "table_error"] = np.inf
    chart = charts.box_chart(frame, "sinc", styles())
    assert len(rows_of(chart, "aside")) == 13
    assert "not shown: 2 without a finite value" in chart.to_json()


@pytest.mark.parametrize(
    ("change", "task", "switched"),
    [(1.0, "regression", True), (0.0, "regression", False), (1.0, "classification", False)],
)
def test_only_positive_values_that_are_no_shares_have_a_logarithmic_axis(change, task, switched):
    frame = runs_frame().assign(table_error=lambda f: f["error"] * change, task=task)
    spec = charts.box_chart(frame, "sinc", styles()).to_dict()
    assert ("logarithmic" in [param["name"] for param in spec.get("params", [])]) == switched
    assert ("error rate on test data" in json.dumps(spec)) == (task == "classification")


def test_errors_on_parts_of_the_data_have_one_scale_and_are_shares_in_classification():
    for task, sign in (("classification", "~%"), ("regression", "~g")):
        runs = runs_frame().assign(task=task)
        axes = []
        for part in charts.PARTS:
            spec = charts.part_chart(rates_frame(), runs, "sinc", styles(), part).to_dict()
            axes.append(json.dumps(spec["layer"][0]["encoding"]["y"]))
        assert len(set(axes)) == 1
        assert sign in axes[0]


def test_the_switch_between_log_and_linear_moves_the_lines_and_the_ticks():
    chart = charts.convergence_chart(curves_frame(), "sinc", styles())
    spec, logarithmic = chart.to_dict(), svg(chart)
    params = [{**p, "value": False} if p["name"] == "logarithmic" else p for p in spec["params"]]
    linear = vl_convert.vegalite_to_svg({**spec, "params": params})
    for label, picture, other in ((">0.3<", logarithmic, linear), (">0<", linear, logarithmic)):
        assert label in picture
        assert label not in other


def test_the_logarithmic_axis_is_one():
    """Decades are equally far apart, to a hundredth of a pixel."""
    frame = curves_frame().assign(error=lambda f: 10.0 ** -f["repetition"])
    picture = svg(charts.convergence_chart(frame, "sinc", styles()))
    heights = []
    for label in ("0.001", "0.01", "0.1"):
        before = picture.split(f">{label}<")[0]
        heights.append(float(before.rsplit("translate(", 1)[1].split(",")[1].split(")")[0]))
    assert np.ptp(np.diff(heights)) < 0.01
    assert heights[0] - heights[1] > 50


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 2000, [1, 10, 100, 1000]),
        (0.02, 1.5, [0.03, 0.1, 0.3, 1]),
        (0.9, 6, [1, 2, 5]),
        (2.5, 5.5, [3, 4, 5]),
        (0.13, 0.18, [0.14, 0.16, 0.18]),
        (0.1501, 0.1508, [0.1502, 0.1504, 0.1506, 0.1508]),
        (996, 1013, [1000, 1005, 1010]),
        (1, 1, [1]),
    ],
)
def test_logarithmic_ticks_are_round_and_some(low, high, ticks):
    assert style.log_ticks(low, high) == ticks
    assert len(style.log_ticks(1e-30, 1e30)) <= 9


@pytest.mark.parametrize("name", CURVES)
def test_a_click_in_the_legend_takes_a_method_out(name):
    spec, whole = usual()[name]
    spec = json.loads(json.dumps(spec))
    [legend] = [p for n in nodes(spec) for p in n.get("params", []) if p.get("bind") == "legend"]
    assert legend["select"]["toggle"] == "true"
    legend["value"] = [row for row in legend["value"] if row["method"] != "DE-SB"]
    without = vl_convert.vegalite_to_svg(spec)
    color = f'stroke="{STYLES["DE-SB"].color}"'
    assert without.count(color) < whole.count(color)
    assert whole.count(">DE-SB<") == without.count(">DE-SB<") > 0  # the legend keeps it


def test_hovering_shows_every_method():
    chart = charts.convergence_chart(curves_frame(), "sinc", styles())
    [tooltip] = [node["tooltip"] for node in nodes(chart.to_dict()) if "tooltip" in node]
    assert [entry.get("title") for entry in tooltip][1:] == list(DE)
    row = rows_of(chart, "m0", "m2").set_index("evaluations").loc[10_000]
    assert row[["m0", "m2"]].tolist() == ["0.188 (0.125 to 0.25)", "0.562 (0.375 to 0.75)"]


def test_the_same_method_has_the_same_colour_everywhere():
    for name in set(NAMES) - {"relative"}:
        scales = [
            node["color"]["scale"]
            for node in nodes(usual()[name][0])
            if isinstance(node.get("color"), dict) and "scale" in node["color"]
        ]
        pairs = {p for s in scales for p in zip(s["domain"], s["range"], strict=True)}
        assert pairs, name
        assert all(STYLES[method].color == color for method, color in pairs), name


def test_colours_follow_the_role_in_every_family_and_differ_between_methods():
    roles = ("plain", "invariant", "proximity", "proximity", "exhaustive", *["variant"] * 8)
    members = [Member(f"{f}{i:02}", f, role) for f in "ab" for i, role in enumerate(roles)]
    made = styles_of(Lineup.sorted(members))
    ours, others = ([made[f"{f}{i:02}"] for i in range(len(roles))] for f in "ab")
    assert ours == others
    assert len(set(ours)) == len(roles)
    assert len({look.color for look in ours[:9]}) == 9
    assert ours[2] == ROLE_STYLES["proximity"]


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_roles_and_words_read_on_light_and_dark(background):
    drawn = [*ROLE_STYLES.values(), *VARIANT_STYLES]
    for color, least in [(style.GREY, 4), *((look.color, 3) for look in drawn)]:
        assert contrast(color, background) >= least, color


def contrast(one, other):
    """WCAG's contrast of two colours."""

    def luminance(color):
        parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_exports_with_a_transparent_background(name):
    spec, picture = usual()[name]
    assert spec["config"]["background"] == "transparent"
    json.dumps(spec, allow_nan=False)
    width = float(picture.split('width="')[1].split('"')[0])
    assert 100 < width < 540  # readable when printed
    assert vl_convert.svg_to_pdf(picture).startswith(b"%PDF")


def test_odd_names_are_shown_as_they_are():
    names = dict(zip((*DE, "two-circles"), (*ODD, EVIL), strict=True))
    made = made_of(changed(lambda f: f.replace({"method": names, "problem": names})), EVIL)
    for name in NAMES:
        picture = svg(made[name])
        assert "<script" not in picture, name
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture, name
        if name in CURVES:
            n = len(ODD) - (name == "modified")  # the plain method modifies nothing
            assert picture.count("stroke-dasharray") >= n, name  # all lines are drawn


def test_without_rows_a_chart_says_so():
    nothing, elsewhere = made_of(changed(lambda frame: frame.iloc[:0])), made_of(golden(), "sinc")
    for name, chart in nothing.items():
        for each in (chart,) if name in ("ecdf", "relative") else (chart, elsewhere[name]):
            said = name in ("part", "modified", "spread") and each is None  # left out of a page
            assert said or "nothing to draw yet" in json.dumps(each.to_dict()), name


def test_errors_are_multiples_of_the_smallest_of_all_families():
    frame = summary_frame(("sinc", "syn5"))
    frame.loc[frame["problem"] == "syn5", "mean"] = 0.0  # nothing is a multiple of 0
    rows = rows_of(charts.relative_chart(frame, lineup_of((*DE, *CMA))), "multiple")
    assert rows["problem"].unique().tolist() == ["sinc"]
    assert rows["multiple"].tolist() == [1, 2, 3, 4, 5, 6]
    assert rows["breaking"].tolist() == ["no breaking", "fixed rules", "towards the optimum"] * 2
