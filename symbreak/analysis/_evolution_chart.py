"""What an evolution came to: the best fitness over evaluations, and what a controller does."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array, check_kind
from symbreak.analysis._data_charts import FITTED
from symbreak.analysis._style import HEIGHT, WIDTH, log_switch, styled, switched
from symbreak.control import Control
from symbreak.objectives import Fitness
from symbreak.training._evolve import EvolutionRecord

#: Actions that are drawn at most.
MAX_STEPS = 1_000


def evolution_chart(record: EvolutionRecord, fitness: Fitness) -> alt.TopLevelMixin:
    """Draw the best fitness so far over evaluations; of a problem of control the states, too."""
    check_kind("record", record, EvolutionRecord, "as evolve returns")
    check_kind("fitness", fitness, Fitness, "that was evolved against")
    panels = [_progress(record)]
    if isinstance(fitness.function, Control) and np.isfinite(record.theta).all():
        states = fitness.function.episode(record.theta, fitness.topology, MAX_STEPS)
        panels.append(_states(fitness.function, states))
    net = f"{fitness.topology.sizes[0]}-{'-'.join(map(str, fitness.topology.sizes[1:]))} network"
    about = [f"{net}, {record.method}", *([fitness.description] if fitness.description else [])]
    title = alt.TitleParams(record.problem, subtitle=about, anchor="start", offset=12)
    return styled(alt.hconcat(*panels).properties(title=title))


def _progress(record: EvolutionRecord) -> Any:
    sign = -1.0 if record.maximize else 1.0
    finite = np.isfinite(record.errors)
    frame = pd.DataFrame(
        {"evaluations": record.evaluations[finite], "fitness": sign * record.errors[finite]}
    )
    ending = pd.DataFrame({"evaluations": [record.n_evaluations], "fitness": frame["fitness"][-1:]})
    frame = pd.concat([frame, ending])
    better = "higher" if record.maximize else "lower"
    title = f"fitness, {better} is better"
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
