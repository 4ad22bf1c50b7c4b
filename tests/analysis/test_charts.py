"""Charts hold the rows they should, look alike, export, and survive odd input."""

import functools
import json

import numpy as np
import pandas as pd
import pytest
import vl_convert

from symbreak.analysis import _charts as charts
from symbreak.analysis import _overview_charts as matrix
from symbreak.analysis import _style as style
from symbreak.analysis._charts import N_POINTS, averaged, quartiles, until_the_end
from symbreak.analysis._lineup import (
    ROLE_STYLES,
    VARIANT_STYLES,
    Lineup,
    Member,
    styles_of,
)
from symbreak.analysis._overview_charts import relative_chart
from tests.analysis.frames import (
    DE,
    STYLES,
    curves_frame,
    ecdf_frame,
    lineup_of,
    nodes,
    pairwise_frame,
    rates_frame,
    rows_of,
    runs_frame,
    styles,
    summary_frame,
    svg,
    traces_frame,
)

EVIL = "<script>alert(1)</script>"
ODD = (EVIL, 'it\'s "odd"\n', "a.b[0]\\", '\\" + 1')
CURVES = ["convergence", "rates", "modified", "ecdf"]
NAMES = [*CURVES, "box", "rate boxes", "heat map", "significance", "relative"]


@functools.cache
def all_charts(problem="sinc", methods=DE):
    """A chart of every kind, by name."""
    runs, chosen, lineup = runs_frame(problem, methods), styles(methods), lineup_of(methods)
    return {
        "convergence": charts.convergence_chart(curves_frame(problem, methods), problem, chosen),
        "rates": charts.part_convergence_charts(
            rates_frame(problem, methods), runs, problem, chosen
        ),
        "modified": charts.modified_chart(traces_frame(problem, methods), problem, chosen),
        "ecdf": charts.ecdf_chart(ecdf_frame(methods), chosen),
        "box": charts.box_chart(runs, problem, chosen),
        "rate boxes": charts.part_box_charts(runs, problem, chosen),
        "heat map": matrix.heat_map(summary_frame((problem,), methods), lineup),
        "significance": matrix.significance_chart(pairwise_frame(methods[:3], problem), lineup),
        "relative": relative_chart(summary_frame((problem,), methods), lineup),
    }


def method_colors(chart):
    """The colours of methods, as all scales of a chart with such a domain have them."""
    found = {}
    for node in nodes(chart.to_dict()):
        for channel in ("color", "stroke", "fill"):
            scale = node.get(channel, {}).get("scale") if isinstance(node.get(channel), dict) else 0
            if scale and isinstance(scale["domain"][0], str):
                pairs = zip(scale["domain"], scale["range"], strict=True)
                found.setdefault(channel, []).extend(pairs)
    return {pair for pairs in found.values() for pair in pairs}


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


@pytest.mark.parametrize("repetitions", [1, 50])
def test_a_chart_never_holds_the_curves_of_all_runs(repetitions):
    long = curves_frame(repetitions=repetitions, end=10**7)
    chart = charts.convergence_chart(long, "sinc", styles())
    assert rows_of(chart, "median").groupby("method").size().max() <= N_POINTS + 1
    assert len(chart.to_json(indent=None)) < 60_000


def test_a_line_ends_where_the_shortest_run_of_its_method_does():
    both = pd.concat([curves_frame(methods=["DE"]), curves_frame(methods=["DE"], end=5_000)])
    assert quartiles(both, "error")["evaluations"].max() == 5_000


def test_two_runs_of_the_same_repetition_stay_two():
    twice = pd.concat([curves_frame(methods=["DE"], repetitions=1)] * 2)
    twice.iloc[:5, twice.columns.get_loc("error")] *= 3
    row = quartiles(twice, "error").iloc[-1]
    assert (row["lower"], row["median"], row["upper"]) == (0.09375, 0.125, 0.1562)


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


def test_the_spread_chart_shows_conventions_down_to_one():
    frame = traces_frame().rename(columns={"modified_share": "conventions"})
    frame["conventions"] = 1 + 99 * frame["conventions"]
    chart = charts.spread_chart(frame, "sinc", styles())
    rows = rows_of(chart, "median")
    assert set(rows["method"]) == set(DE)
    assert rows.query("method == 'DE'")["median"].tolist() == [1.0] * sum(rows["method"] == "DE")
    assert rows.query("method == 'DE-SB'")["median"].iloc[0] == 100
    assert "nothing to draw yet" in charts.spread_chart(frame, "other", styles()).to_json()


def test_methods_that_modify_nothing_are_not_among_those_that_do():
    rows = rows_of(charts.modified_chart(traces_frame(), "sinc", styles()), "median")
    assert set(rows["method"]) == {"DE-INV-SB", "DE-SB"}


def test_a_box_chart_has_a_point_for_each_run_and_they_do_not_cover_each_other():
    rows = rows_of(charts.box_chart(runs_frame(), "sinc", styles()), "aside")
    assert len(rows) == 15
    assert sorted(rows["error"])[-1] == 3.0
    places = sorted(rows[rows["method"] == "DE"]["aside"])
    assert min(np.diff(places)) > 0.1
    assert places[0] >= -0.5
    assert places[-1] <= 0.5


def test_a_box_chart_says_how_many_runs_it_leaves_out():
    frame = runs_frame()
    frame.loc[:1, "error"] = np.inf
    chart = charts.box_chart(frame, "sinc", styles())
    assert len(rows_of(chart, "aside")) == 13
    assert "not shown: 2 without a finite value" in chart.to_json()
    assert "not shown" not in charts.box_chart(runs_frame(), "sinc", styles()).to_json()


@pytest.mark.parametrize(("change", "switched"), [(1.0, True), (0.0, False), (-1.0, False)])
def test_only_positive_values_have_a_logarithmic_axis(change, switched):
    frame = runs_frame().assign(error=lambda f: f["error"] * change)
    names = [
        param["name"]
        for param in charts.box_chart(frame, "sinc", styles()).to_dict().get("params", [])
    ]
    assert ("logarithmic" in names) == switched


def test_classification_has_three_of_each():
    made = all_charts()
    for name in ("rates", "rate boxes"):
        panels = made[name].to_dict()["hconcat"]
        assert [panel["title"] for panel in panels] == ["training", "validation", "test"]


def test_the_switch_between_log_and_linear_moves_the_lines_and_the_ticks():
    spec = charts.convergence_chart(curves_frame(), "sinc", styles()).to_dict()
    logarithmic = vl_convert.vegalite_to_svg(spec)
    [switch] = [param for param in spec["params"] if param["name"] == "logarithmic"]
    assert switch["bind"]["input"] == "checkbox"
    switch["value"] = False
    linear = vl_convert.vegalite_to_svg(spec)
    assert ">0.3<" in logarithmic
    assert ">0.3<" not in linear
    assert ">0<" in linear
    assert ">0<" not in logarithmic


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


def test_there_are_never_too_many_ticks():
    assert len(style.log_ticks(1e-30, 1e30)) <= 9


@pytest.mark.parametrize("name", CURVES)
def test_a_click_in_the_legend_takes_a_method_out(name):
    spec = all_charts()[name].to_dict()
    legends = [param for param in spec["params"] if param.get("bind") == "legend"]
    if not legends:  # in a chart that stands alone they are in its layer
        legends = [p for n in nodes(spec) for p in n.get("params", []) if p.get("bind") == "legend"]
    whole = vl_convert.vegalite_to_svg(spec)
    for legend in legends:
        assert legend["select"]["toggle"] == "true"
        legend["value"] = [row for row in legend["value"] if row["method"] != "DE-SB"]
    without = vl_convert.vegalite_to_svg(spec)
    color = f'stroke="{STYLES["DE-SB"].color}"'
    assert without.count(color) < whole.count(color)
    assert whole.count(">DE-SB<") == without.count(">DE-SB<") > 0  # the legend keeps it


def test_hovering_shows_every_method():
    spec = charts.convergence_chart(curves_frame(), "sinc", styles()).to_dict()
    [tooltip] = [node["tooltip"] for node in nodes(spec) if "tooltip" in node]
    assert [entry.get("title") for entry in tooltip][1:] == list(DE)
    rows = rows_of(charts.convergence_chart(curves_frame(), "sinc", styles()), "m0", "m2")
    row = rows.set_index("evaluations").loc[10_000]
    assert row[["m0", "m2"]].tolist() == ["0.188 (0.125 to 0.25)", "0.562 (0.375 to 0.75)"]


def test_the_same_method_has_the_same_colour_everywhere():
    made = all_charts()
    seen = {
        name: method_colors(chart)
        for name, chart in made.items()
        if name not in ("heat map", "relative")
    }
    for name, pairs in seen.items():
        for method, color in pairs - {("", style.GREY)}:
            assert STYLES[method].color == color, name
    assert {method for pairs in seen.values() for method, _ in pairs} >= set(DE)


def test_colours_follow_the_role_in_every_family_and_differ_between_methods():
    roles = ("plain", "invariant", "proximity", "exhaustive", *["variant"] * 9)
    members = [Member(f"{f}{i}", f, role) for f in "ab" for i, role in enumerate(roles)]
    made = styles_of(Lineup.sorted(members))
    ours, others = ([made[f"{f}{i}"] for i in range(len(roles))] for f in "ab")
    assert ours == others
    assert len(set(ours)) == len(roles)
    assert len({look.color for look in ours[:9]}) == 9


def test_two_methods_of_one_role_look_different():
    members = [Member(name, "DE", "proximity") for name in ("one", "two")]
    made = styles_of(Lineup.sorted(members))
    assert made["one"] == ROLE_STYLES["proximity"]
    assert made["two"] == VARIANT_STYLES[0]


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


def test_the_ecdf_shows_the_methods_that_are_asked_for():
    only = charts.ecdf_chart(ecdf_frame(), styles())
    assert rows_of(only, "median").groupby("method")["median"].max().to_dict() == dict.fromkeys(
        DE, 1
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_exports_with_a_transparent_background(name):
    spec = all_charts()[name].to_dict()  # validates
    assert spec["config"]["background"] == "transparent"
    json.dumps(spec, allow_nan=False)
    picture = vl_convert.vegalite_to_svg(spec)
    assert picture.startswith("<svg")
    width = float(picture.split('width="')[1].split('"')[0])
    assert 100 < width < 540  # readable when printed
    assert vl_convert.svg_to_png(picture).startswith(b"\x89PNG")
    assert vl_convert.svg_to_pdf(picture).startswith(b"%PDF")


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_shown_as_they_are(name):
    chart = all_charts(problem=EVIL, methods=ODD)[name]
    picture = svg(chart)
    assert "<script" not in picture
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in picture
    if name in CURVES:
        assert picture.count("stroke-dasharray") >= len(ODD)  # all lines are drawn


@pytest.mark.parametrize("repetitions", [1, 2])
@pytest.mark.parametrize("methods", [("DE",), DE])
def test_few_runs_make_a_chart(repetitions, methods):
    curves, runs = (
        make(methods=methods, repetitions=repetitions) for make in (curves_frame, runs_frame)
    )
    for chart in (
        charts.convergence_chart(curves, "sinc", styles(methods)),
        charts.box_chart(runs, "sinc", styles(methods)),
        charts.part_box_charts(runs, "sinc", styles(methods)),
        charts.ecdf_chart(ecdf_frame(methods), styles(methods)),
        matrix.heat_map(summary_frame(("sinc",), methods), lineup_of(methods)),
    ):
        assert "DE" in svg(chart)


@pytest.mark.parametrize("empty", [pd.DataFrame(), "no rows", "another problem"])
def test_without_rows_a_chart_says_so(empty):
    def of(frame):
        return empty if isinstance(empty, pd.DataFrame) else frame.iloc[:0]

    problem = "sinc"
    curves, runs = of(curves_frame()), of(runs_frame())
    if isinstance(empty, str) and empty == "another problem":
        curves, runs, problem = curves_frame(), runs_frame(), "syn5"
    for chart in (
        charts.convergence_chart(curves, problem, styles()),
        charts.part_convergence_charts(of(rates_frame()), runs, problem, styles()),
        charts.modified_chart(of(traces_frame()), problem, styles()),
        charts.ecdf_chart(of(ecdf_frame()), styles()),
        charts.box_chart(runs, problem, styles()),
        charts.part_box_charts(runs, problem, styles()),
        matrix.heat_map(of(summary_frame()), lineup_of()),
        matrix.significance_chart(of(pairwise_frame()), lineup_of()),
        relative_chart(of(summary_frame()), lineup_of()),
    ):
        assert "nothing to draw yet" in svg(chart)


def test_regression_runs_have_no_rates_to_draw():
    frame = runs_frame().assign(train_error=np.nan, validation_error=np.nan, test_error=np.nan)
    assert "nothing to draw yet" in svg(charts.part_box_charts(frame, "sinc", styles()))


def test_only_parts_of_the_data_with_errors_are_drawn_and_those_of_regression_are_no_shares():
    runs, rates = (frame.assign(validation_error=np.nan) for frame in (runs_frame(), rates_frame()))
    for chart in (
        charts.part_box_charts(runs, "sinc", styles(), shares=False),
        charts.part_convergence_charts(rates, runs, "sinc", styles(), shares=False),
    ):
        spec = chart.to_dict()
        assert [panel["title"] for panel in spec["hconcat"]] == ["training", "test"]
        assert "~%" not in json.dumps(spec)
        assert "%" not in vl_convert.vegalite_to_svg(spec)
