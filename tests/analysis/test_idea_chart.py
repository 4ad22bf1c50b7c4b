"""The pictures of the idea show what the breakings do."""

import pandas as pd

from tests.analysis.frames import nodes
from tests.pages.blocks import load_module

idea = load_module("scripts", "_idea_charts")


def test_the_better_the_cut_the_more_are_nearest_to_the_chosen_optimum():
    shares = panel_shares(idea.separation_chart())
    assert list(shares) == ["worst", "suboptimal", "optimal"]
    assert shares["worst"] < 0.6 < shares["suboptimal"] < 0.9 < shares["optimal"] == 1


def test_breaking_gathers_the_population_and_only_the_ideal_one_wholly():
    shares = panel_shares(idea.breaking_chart())
    before, invariant, proximity, ideal = shares.values()
    assert list(shares)[1:3] == ["rule-1 and rule-2", "Algorithm 1"]
    assert 0.05 < before < 0.2  # an eighth
    assert before < invariant < proximity < ideal == 1


def test_the_ideal_population_lies_in_the_shaded_sector():
    spec = idea.breaking_chart().to_dict()
    *_, ideal = spec["concat"]
    rows = [spec["datasets"][layer["data"]["name"]] for layer in leaves(ideal) if "data" in layer]
    [points] = [pd.DataFrame(part) for part in rows if "candidate" in part[0]]
    assert len(points) == 150
    assert (points["x"] + 0.011 >= points["y"].abs()).all()  # rounded to hundredths


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
