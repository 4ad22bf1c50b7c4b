"""The pictures of the idea show what the breakings do."""

import pandas as pd

from tests.analysis.frames import nodes
from tests.pages.blocks import load_module

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
