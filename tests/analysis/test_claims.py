import dataclasses

import numpy as np
import pandas as pd
import pytest

from symbreak.analysis import Results
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._paper import TABLE_1
from symbreak.analysis._words import paper_sentences
from symbreak.problems import problem_names
from tests.analysis.frames import ROLE_OF, nodes
from tests.pages.blocks import load_module

claims = load_module("scripts", "_claims")
CLAIMS, paper_claims = claims.CLAIMS, claims.paper_claims
NAMES = ["problem", "method", "repetition"]


def results(levels, n=50, problem="sinc", first=None, end=None):
    """Runs of 100,000 evaluations with errors around the levels; curves fall to them, the lower
    the faster.

    They begin with the ``first`` error, or a hundred times their own, and end at ``end`` if given.
    """
    rng = np.random.default_rng(5)
    runs, curves = [], []
    for method, level in levels.items():
        family = "CMA-ES" if method.startswith("CMA-ES") else "DE"
        role = ROLE_OF[method.removeprefix(family)]
        for repetition, factor in enumerate(rng.uniform(0.95, 1.05, size=n)):
            names = {"problem": problem, "method": method, "repetition": repetition}
            error, fallen = end or level * factor, int(1e5 * level * factor) + 200
            runs.append(
                names
                | {"family": family, "role": role, "error": error, "table_error": error}
                | {"validation_error": np.nan, "key": f"{method} {repetition}"}
                | {"max_evaluations": 100_000}
            )
            steps = ((100, first or 100 * error), (fallen, error))
            curves += [names | {"evaluations": at, "error": value} for at, value in steps]
    return results_of(pd.DataFrame(runs), pd.DataFrame(curves))


def results_of(runs, curves):
    none = pd.DataFrame(columns=[*NAMES, "evaluations"])
    lineup, facts = Lineup.of(runs), {name: {"name": "made up", "net": ""} for name in TABLE_1}
    return Results(runs, curves, none, none, none, none, facts, lineup)


def verdicts(found, problem="sinc"):
    table = paper_claims(found)
    table = table[table["problem"] == problem]
    return dict(zip(table["claim"], table["verdict"], strict=True))


PAIRS = "DE family: all pairwise differences are significant"
BETTER = "DE-SB clearly outperforms DE and DE-INV-SB"
FASTEST = "CMA-ES-SB is the fastest of its family"


@pytest.mark.parametrize(
    ("errors", "n", "pairs", "better"),
    [
        ((0.3, 0.2, 0.1), 50, "confirmed", "confirmed"),
        ((0.1, 0.2, 0.3), 50, "confirmed", "contradicted"),
        ((0.2, 0.2, 0.2), 50, "contradicted", "undecided"),
        ((0.3, 0.2, 0.1), 49, "incomplete", "incomplete"),  # the paper has 50
        ((0.3, 0.2, 0.1), 4, "not run yet", "not run yet"),
    ],
)
def test_claims_on_differences_are_judged_by_tests(errors, n, pairs, better):
    levels = dict(zip(("DE", "DE-INV-SB", "DE-SB"), errors, strict=True))
    found = verdicts(results(levels, n=n))
    assert (found[PAIRS], found[BETTER], found[FASTEST]) == (pairs, better, "not run yet")


@pytest.mark.parametrize(
    ("sb", "verdict"), [(0.1, "confirmed"), (0.3, "undecided"), (0.45, "contradicted")]
)
@pytest.mark.parametrize("end", [None, 0.01])
def test_the_fastest_has_the_lowest_curve_even_where_all_end_alike(sb, verdict, end):
    levels = {"CMA-ES": 0.3, "CMA-ES-INV-SB": 0.4, "CMA-ES-SB": sb}
    assert verdicts(results(levels, first=0.5, end=end))[FASTEST] == verdict


@pytest.mark.parametrize(
    ("brute_force", "verdict"),
    [(0.0105, "confirmed"), (0.02, "contradicted"), (0.001, "contradicted")],
)
def test_brute_force_is_almost_the_same_within_a_quarter(brute_force, verdict):
    found = verdicts(results({"DE": 1.0, "DE-SB": 0.01, "DE-SB-BF": brute_force}))
    assert found["DE-SB and DE-SB-BF are almost identical"] == verdict


def test_the_interval_of_a_ratio_has_the_width_that_theory_says():
    rng = np.random.default_rng(0)
    above = rng.normal(10, 3, size=400)
    ratio, low, high = claims.ratio_of_means(above, np.full(9, 10.0), rng)
    width = 2 * 1.96 * above.std(ddof=1) / np.sqrt(400) / 10
    assert high - low == pytest.approx(width, rel=0.08)
    assert low < ratio < high


def test_the_mean_error_on_the_way_is_that_of_the_drawn_curve():
    levels = {"CMA-ES": 0.3, "CMA-ES-INV-SB": 0.4, "CMA-ES-SB": 0.1}
    found = results(levels, first=0.5)
    curves = found.curves.query("method == 'CMA-ES-SB'")
    by_hand = []
    for _, curve in curves.groupby("repetition"):
        (start, fallen), (first, last) = curve["evaluations"], curve["error"]
        early, late = fallen - start, 100_000 - fallen
        by_hand.append((early * np.log(first) + late * np.log(last)) / (early + late))
    table = paper_claims(found).set_index(["problem", "claim"])
    numbers = table.loc[("sinc", FASTEST), "numbers"]
    assert f"CMA-ES-SB {np.exp(np.median(by_hand)):.3g};" in numbers


def test_on_syn5_failures_and_equal_medians_are_counted():
    levels = {"DE": 1.0, "DE-INV-SB": 1.05, "DE-SB": 1.0}
    found = verdicts(results(levels, problem="syn5"), "syn5")
    assert found["all DE variants reach the same low error"] == "confirmed"
    apart = verdicts(results({**levels, "DE": 2.0}, problem="syn5"), "syn5")
    assert apart["all DE variants reach the same low error"] == "contradicted"
    levels = {"CMA-ES": 0.001, "CMA-ES-INV-SB": 0.0015, "CMA-ES-SB": 0.00105}
    some = results(levels, problem="syn5")
    few, larger = (
        "CMA-ES fails to reach a low error in a few runs",
        "which leads to a larger mean error",
    )
    assert {verdicts(some, "syn5")[claim] for claim in (few, larger)} == {"contradicted"}
    failed = np.where(np.arange(50) < 2, 5, 1)
    some.runs.loc[some.runs["method"] == "CMA-ES", ["error", "table_error"]] *= failed[:, None]
    some = results_of(some.runs, some.curves)
    assert {verdicts(some, "syn5")[claim] for claim in (few, larger)} == {"confirmed"}


@pytest.mark.parametrize(("n_failed", "verdict"), [(25, "confirmed"), (26, "contradicted")])
def test_on_sinc2d_the_majority_trains_whatever_the_median_is(n_failed, verdict):
    some = results({"CMA-ES": 0.5, "CMA-ES-INV-SB": 0.5, "CMA-ES-SB": 0.01}, problem="sinc2d")
    sb = some.runs["method"] == "CMA-ES-SB"
    some.runs.loc[sb, "error"] = np.where(np.arange(50) < n_failed, 0.3, 0.01)
    found = verdicts(some, "sinc2d")
    assert found["CMA-ES-SB trains in the majority of the runs"] == verdict
    assert found["CMA-ES fails to solve the problem completely"] == "confirmed"


def test_the_report_says_how_many_pairs_are_as_in_the_paper():
    def sentence(**levels):
        found = results({"DE": 0.3, "DE-INV-SB": 0.2, "DE-SB": 0.1} | levels)
        facts = {"sinc": {"name": "sinc", "net": "1-5-1"}}
        runs = found.runs.assign(max_evaluations=400_000)  # as in the study of the paper
        return paper_sentences(dataclasses.replace(found, runs=runs, facts=facts))[0]

    assert sentence().endswith("in 3 of 3 pairs.")
    best = sentence(DE=0.05)  # better than the two others
    assert best.endswith("in 1 of 3 pairs.")


def test_every_problem_of_the_paper_has_claims():
    assert {claim.problem for claim in CLAIMS} == set(problem_names())


idea = load_module("scripts", "_idea_charts")


def test_panels_say_what_share_is_nearest_to_the_chosen_optimum():
    worst, suboptimal, optimal = panel_shares(idea.separation_chart()).values()
    assert worst < 0.6 < suboptimal < 0.9 < optimal == 1
    before, invariant, proximity, ideal = panel_shares(idea.breaking_chart()).values()
    assert 0.05 < before < 0.2  # an eighth
    assert before < invariant < proximity < ideal == 1


def panel_shares(chart):
    """Title of each panel, and the share of its candidates nearest to the chosen optimum."""
    spec = chart.to_dict()
    shares = {}
    for panel in spec.get("hconcat") or spec["concat"]:
        data = [spec["datasets"][layer["data"]["name"]] for layer in leaves(panel)]
        [points] = [pd.DataFrame(part) for part in data if "candidate" in part[0]]
        shares[panel["title"]["text"]] = (points["candidate"] == idea.NEAR).mean()
        assert panel["title"]["subtitle"].startswith(f"{shares[panel['title']['text']]:.0%}")
    return shares


def leaves(spec):
    return [node for node in nodes(spec) if "mark" in node]
