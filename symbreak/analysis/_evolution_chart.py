"""What an evolution came to: the best fitness over evaluations, and what a controller does."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from symbreak._support.checks import Array, check_kind
from symbreak.analysis._data_charts import FITTED, _check_curve
from symbreak.analysis._style import HEIGHT, WIDTH, log_switch, styled, switched
from symbreak.control import Control
from symbreak.topology import Topology

#: Actions that are drawn at most.
MAX_STEPS = 1_000


def evolution_chart(
    name: str,
    evaluations: ArrayLike,
    fitness: ArrayLike,
    *,
    maximize: bool = False,
    about: str = "",
    control: Control | None = None,
    theta: Array | None = None,
    topology: Topology | None = None,
) -> alt.TopLevelMixin:
    """Draw the best fitness so far over evaluations; of a problem of control the states, too.

    Args:
        name: The heading.
        evaluations: When the fitness improved.
        fitness: To what.
        maximize: Whether higher is better.
        about: A line below the heading.
        control: The problem of control, if it was one.
        theta: A network (D,) whose states are drawn.
        topology: Of that network.
    """
    panels = [_progress(*_check_curve(evaluations, fitness), maximize=maximize)]
    if control is not None and theta is not None and np.isfinite(theta).all():
        net = check_kind("topology", topology, Topology, "of theta")
        panels.append(_states(control, control.episode(theta, net, MAX_STEPS)))
    title = alt.TitleParams(name, subtitle=about, anchor="start", offset=12)
    return styled(alt.hconcat(*panels).properties(title=title))


def _progress(evaluations: Array, fitness: Array, *, maximize: bool) -> Any:
    frame = pd.DataFrame({"evaluations": evaluations, "fitness": fitness})
    frame = frame[np.isfinite(frame["fitness"])]
    title = f"fitness, {'higher' if maximize else 'lower'} is better"
    positive = bool((frame["fitness"] > 0).all())
    scale: dict[str, Any] = {"scale": alt.Scale(zero=False)}
    if positive:
        scale = switched(frame["fitness"].to_numpy())
    mark = alt.Chart(frame, width=WIDTH, height=HEIGHT, title="best so far").mark_line(
        interpolate="step-after", color=FITTED, strokeWidth=2
    )
    chart = mark.encode(
        x=alt.X("evaluations:Q", title="evaluations"), y=alt.Y("fitness:Q", title=title, **scale)
    )
    return chart.add_params(log_switch("fitness ")) if positive else chart


def _states(control: Control, states: Array) -> Any:
    """A panel for each number of the state but velocities: metres and degrees over seconds."""
    seconds = np.arange(len(states)) * control.step
    shown = [i for i, name in enumerate(control.states) if not name.endswith("'")]
    rows = []
    for i in shown:
        is_angle = control.states[i].startswith("angle")
        values = np.degrees(states[:, i]) if is_angle else states[:, i]
        frame = pd.DataFrame({"seconds": seconds, "value": values})
        last = i == shown[-1]
        axis = alt.Axis(title="seconds" if last else None, labels=last)
        title = f"{control.states[i]} [{'°' if is_angle else 'm'}]"
        height = (HEIGHT - 10 * (len(shown) - 1)) / len(shown)
        mark = alt.Chart(frame, width=WIDTH, height=height).mark_line(color=FITTED, strokeWidth=1.5)
        x, y = alt.X("seconds:Q", axis=axis), alt.Y("value:Q", title=title)
        rows.append(mark.encode(x=x, y=y))
    return alt.vconcat(*rows, spacing=10, title="what the best one does")
