"""A picture of the idea: where to cut the space, and what each way of breaking does.

Nothing here is drawn by hand: candidates are moved by the breakings of ``symbreak.symmetry``.
"""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array
from symbreak.analysis._lineup import ROLE_STYLES
from symbreak.analysis._style import GREY, styled
from symbreak.symmetry import (
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
    replicas,
)
from symbreak.topology import Topology

NEAR, FAR = "the chosen optimum", "another replica"
STAR = "M0,-1L.25,-.34L.95,-.31L.4,.13L.59,.81L0,.42L-.59,.81L-.4,.13L-.95,-.31L-.25,-.34Z"
GOLD = "#e69f00"
EDGE = 1.25  # of a panel; optima are at a distance of 1


def separation_chart() -> alt.TopLevelMixin:
    """Worst, suboptimal and optimal separation of a point symmetry (Section 5.1)."""
    return styled(_separation())


def breaking_chart() -> alt.TopLevelMixin:
    """A population before and after each kind of breaking (Section 5.4)."""
    return styled(_breaking())


def _separation() -> alt.HConcatChart:
    """The parameters (w, tau) of a single neuron, whose only symmetry is the point symmetry.

    Keeping the half plane around a reference is to flip what is nearer to it after that, as
    rule-1 does for the reference (0, 1) (Lemma 5.1).
    """
    topology, rng = Topology((1, 1, 1)), np.random.default_rng(1)
    optimum, keep = _direction(60), ProximityBreaking(topology)
    population = 1.2 * np.sqrt(rng.random((90, 1))) * _direction(rng.uniform(0, 360, 90))
    panels = []
    for title, angle in (("worst", 60 - 86), ("suboptimal", 60 - 45), ("optimal", 60)):
        kept, _ = keep(population, _direction(angle), rng)
        near = _is_nearest(kept, optimum, topology)
        panel = _panel(kept, near, replicas(optimum, topology), size=95)
        heading = alt.TitleParams(title, subtitle=f"{near.mean():.0%} nearest to it")
        panels.append(alt.layer(_sector(angle, 90), *panel).properties(title=heading))
    explained = alt.TitleParams(
        "Where to cut",
        subtitle=[
            "A neuron and its negative compute the same. Each candidate",
            "is flipped into the shaded half. If the cut is near the optima,",
            "many are then nearer to the hidden one than to the chosen.",
        ],
    )
    return alt.hconcat(*panels, spacing=6).properties(title=explained)


def _breaking() -> alt.ConcatChart:
    """The four parameters of a 1-2-1 network, projected on a plane with four of eight replicas.

    A plane that flips and swaps map to itself would show nothing: they are mirrors there, and
    every rule keeps a sector between mirrors. So the population is spread over all directions in
    space, and only the picture is flat. The two neurons of the optimum are perpendicular and
    equally long, which puts the replicas at right angles: four in the plane, four behind its
    centre. The border to the replicas in the plane is then where it is drawn (Eq. 38).
    """
    topology, rng = Topology((1, 2, 1)), np.random.default_rng(0)
    optimum = _two_neurons()
    axes = np.array([optimum, [-1, -1, 1, 1] * optimum[[2, 3, 0, 1]]]) / 2
    population = rng.normal(size=(150, 4))
    population *= np.sqrt(2) / np.linalg.norm(population, axis=1, keepdims=True)
    ways: dict[str, Breaking] = {
        "before": NoBreaking(),
        "rule-1 and rule-2": InvariantBreaking(topology),
        "Algorithm 1": ProximityBreaking(topology),
        "brute force": ExhaustiveBreaking(topology),
    }
    panels = []
    for title, breaking in ways.items():
        broken, _ = breaking(population, optimum, rng)
        near = _is_nearest(broken, optimum, topology)
        panel = _panel(broken @ axes.T, near, replicas(optimum, topology) @ axes.T, size=112)
        heading = alt.TitleParams(title, subtitle=f"{near.mean():.0%} nearest to it")
        panels.append(alt.layer(_sector(0, 45), *panel).properties(title=heading))
    explained = alt.TitleParams(
        "What breaking does",
        subtitle=[
            "150 networks of two neurons, spread over all directions in",
            "the space of their 4 parameters, seen on a plane with 4 of",
            "the 8 replicas of an optimum; 4 are behind its centre.",
            "Shaded: what the plane has of the chosen one's partition.",
        ],
    )
    return alt.concat(*panels, columns=4, spacing=6).properties(title=explained)


def _two_neurons() -> Array:
    """Perpendicular neurons (w, tau) of length 1, as rule-1 and rule-2 would have them."""
    return np.concatenate([_direction(50 + 90), _direction(50)])


def _direction(degrees: float | Array) -> Array:
    angle = np.deg2rad(degrees)
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _is_nearest(candidates: Array, optimum: Array, topology: Topology) -> Array:
    """Whether no other replica of the optimum is nearer to a candidate."""
    others = replicas(optimum, topology)
    distances = np.linalg.norm(candidates[:, None] - others, axis=2)
    return distances[:, 0] <= distances.min(axis=1) + 1e-12  # the first is the optimum itself


def _sector(angle: float, half_width: float) -> alt.LayerChart:
    """The shaded part of the plane, with lines where it ends."""
    arc = EDGE * _direction(np.linspace(angle - half_width, angle + half_width, 31))
    outline = pd.DataFrame(np.vstack([[0, 0], arc, [0, 0]]).round(3), columns=["x", "y"])
    outline["order"] = range(len(outline))
    ends = [EDGE * _direction(angle + side * half_width) for side in (1, -1)]
    lines = pd.DataFrame([(*-end, *end) for end in ends], columns=["x", "y", "x2", "y2"]).round(3)
    x, y = _position("x"), _position("y")
    shade = alt.Chart(outline).mark_line(
        fill=ROLE_STYLES["proximity"].color, fillOpacity=0.15, strokeWidth=0
    )
    cut = alt.Chart(lines).mark_rule(color=GREY, strokeDash=[4, 2])
    layers = [
        shade.encode(x=x, y=y, order="order:Q"),
        cut.encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
    ]
    return alt.LayerChart(layer=layers)


def _position(channel: str) -> alt.X | alt.Y:
    kind = alt.X if channel == "x" else alt.Y
    return kind(f"{channel}:Q", scale=alt.Scale(domain=[-EDGE, EDGE]), axis=None)


def _panel(points: Array, near: Array, optima: Array, size: int) -> list[alt.Chart]:
    """Candidates by what they are nearest to, and stars for the optima, the chosen one filled."""
    rows = pd.DataFrame(points.round(2), columns=["x", "y"])
    rows["candidate"] = np.where(near, NEAR, FAR)
    stars = pd.DataFrame(optima.round(3), columns=["x", "y"]).drop_duplicates()
    stars["chosen"] = np.arange(len(stars)) == 0
    x, y = _position("x"), _position("y")
    colors = alt.Scale(
        domain=[NEAR, FAR], range=[ROLE_STYLES["proximity"].color, ROLE_STYLES["invariant"].color]
    )
    shapes = alt.Scale(domain=[NEAR, FAR], range=["circle", "triangle-up"])
    legend = alt.Legend(title="candidate nearest to", columns=2)
    dots = alt.Chart(rows, width=size, height=size).mark_point(
        filled=True, size=14, opacity=1, fillOpacity=0.8
    )
    star = alt.Chart(stars).mark_point(shape=STAR, size=110, strokeWidth=1)
    star = star.encode(stroke=alt.value(GREY), fill=alt.value(GOLD), opacity=alt.value(1))
    filled = alt.condition("datum.chosen", alt.value(1), alt.value(0))
    return [
        dots.encode(
            x=x,
            y=y,
            color=alt.Color("candidate:N", scale=colors, legend=legend),
            shape=alt.Shape("candidate:N", scale=shapes, legend=legend),
        ),
        star.encode(x=x, y=y, fillOpacity=filled),
    ]
