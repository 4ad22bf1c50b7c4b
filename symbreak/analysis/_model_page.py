"""A model as one page to hand on: what it is, how good it is, and what each input does."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import numpy as np
import pandas as pd
import vl_convert

from symbreak._support.checks import check_kind, check_path
from symbreak._support.writing import write_text
from symbreak._version import __version__
from symbreak.analysis._data_charts import (
    COVERAGE,
    confusion_chart,
    fit_points,
    predicted_chart,
    residual_chart,
)
from symbreak.analysis._style import FITTED, HEIGHT, WIDTH, styled
from symbreak.inspection import (
    Effect,
    effects,
    importance,
    origin_in_words,
    recorded_scores,
    scores,
)
from symbreak.models import Model
from symbreak.problems import Problem

X_SCALE = alt.Scale(zero=False, nice=False)
#: Targets that get charts, and classes whose probabilities do.
MAX_TARGETS = 4
#: What sets of samples are called; and samples that the model was not trained on.
SAID = {
    "training": "of training, as seen",
    "left out": "of training, each left out",
    "validation": "of validation, which chose it",
    "test": "of the test, not seen",
}
NEW = "of this table"


def write_model_page(
    model: Model, problem: Problem, path: str | Path, *, command: str = "", seen: bool = True
) -> None:
    """Write a page on a model beside its data: one file that needs no network.

    Args:
        model: The network.
        problem: The data that it is shown with.
        path: The page, an ``.html`` file.
        command: How it was made, for whoever makes it again.
        seen: Whether the model was trained on this problem; else its samples are new ones.
    """
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    path = check_path("path", path)
    found = effects(model, problem)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("symbreak.analysis"), autoescape=True, trim_blocks=True
    )
    page = environment.get_template("model.html.j2").render(
        title=problem.name,
        version=__version__,
        facts=_facts(model, problem),
        scores=_scores(model, problem, seen),
        intervals=model.error_bars is not None,
        fits=[_picture(*chart) for chart in _fit_charts(model, problem)],
        effects=[_picture(*chart) for chart in _effect_charts(model, found)],
        sizes=_sizes(model),
        importance=importance(model, problem, found),
        last=SAID[list(problem.parts)[-1]] if seen else NEW,
        ranges=_ranges(model),
        origin=origin_in_words(model),
        command=command,
    )
    write_text(path, page)


def _picture(title: str, chart: Any, caption: str = "") -> dict[str, str]:
    svg = vl_convert.vegalite_to_svg(styled(chart).to_dict())
    data = base64.b64encode(svg.encode()).decode()
    return {"title": title, "data": f"data:image/svg+xml;base64,{data}", "caption": caption}


def _facts(model: Model, problem: Problem) -> str:
    names, net = model.columns, model.topology
    goal = ", ".join(model.target_names[:MAX_TARGETS]) or "the target"
    inputs = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    size = net.dim + model.output_weights.size
    known = recorded_scores(model).get("training")
    fitted = f", fitted to {known.n:,} rows" if known else ""
    neurons = "neuron" if sum(net.hidden) == 1 else "neurons"
    n = model.origin.get("networks", 1)
    mean = f"the mean of {n} networks, side by side, " if n != 1 else "a network "
    return (
        f"{'Classes' if model.classes else 'Values'} of {goal} from {inputs}: {mean}with "
        f"{sum(net.hidden):,} hidden {net.activation} {neurons} ({net}), a formula with {size:,} "
        f"numbers{fitted}."
    )


def _scores(model: Model, problem: Problem, seen: bool) -> dict[str, Any]:
    """A row for each set of samples and target."""
    found = recorded_scores(model) or (scores(model, problem) if seen else {})
    if not seen:
        found[NEW] = scores(model, problem)["training"]
    names = model.target_names or [f"y{i + 1}" for i in range(model.topology.n_outputs)]
    several, rows = len(names) > 1 and not model.classes, []
    for part, score in found.items():
        said, n = SAID.get(part, part), f"{score.n:,}"
        if model.classes:
            rows.append([said, n, f"{score.error:.1%} \u00b1 {score.spread[0]:.1%}"])
        for name, rmse, r2, spread in zip(names, score.rmse, score.r2, score.spread, strict=False):
            quality = "none" if np.isnan(r2) else f"{r2:.4f}"
            words = [said, name] if several else [said]
            rows.append([*words, n, f"{rmse:.4g} \u00b1 {spread:.2g}", quality])
    head = ["rows", *(["target"] if several else []), "number", "RMSE", "R2"]
    return {"columns": [*head[:-2], "misclassified"] if model.classes else head, "rows": rows}


def _fit_charts(model: Model, problem: Problem) -> Iterator[tuple[str, Any, str]]:
    if model.classes:
        part = list(problem.parts)[-1]
        yield f"Classes of the {part} set", confusion_chart(model, problem), "Numbers of rows."
        return
    frame, names = fit_points(model, problem), model.target_names or ("y",)
    for j, name in enumerate(names[:MAX_TARGETS]):
        rows = frame[frame["output"] == j].drop(columns=["output", "x"])
        said = "All would be on the dashed line if all were right."
        if "low" in rows:
            said += f" A grey line should hold {COVERAGE:.0%} of the true values."
        yield f"{name}: predicted over true", predicted_chart(rows, name), said
        chart = residual_chart(rows, "predicted", f"predicted {name}", name)
        yield f"{name}: what is left over", chart, "No pattern should be seen."


def _effect_charts(model: Model, found: list[Effect]) -> Iterator[tuple[str, Any, str]]:
    names = [str(label) for label in model.classes] or list(model.target_names) or ["y"]
    bands = [(effect.means, 2 * np.nan_to_num(effect.std)) for effect in found]
    ends = np.vstack([mean + sign * wide for mean, wide in bands for sign in (-1, 1)])
    low, high = ends.min(axis=0), ends.max(axis=0)
    for effect in found:
        for j, name in list(enumerate(names))[: 1 if len(names) == 2 else MAX_TARGETS]:
            if model.classes:
                j, name = (1, names[1]) if len(names) == 2 else (j, name)
                name = f"{'probability' if model.output == 'softmax' else 'score'} of {name}"
            # the same of all: what is flat looks flat
            scale = alt.Scale(domain=[low[j], high[j]], zero=False)
            yield f"{name} over {effect.name}", _effect_chart(effect, j, name, scale), ""


def _effect_chart(effect: Effect, output: int, name: str, scale: alt.Scale) -> Any:
    """The mean prediction over a column, with the band of two standard deviations."""
    mean, std = effect.means[:, output], 2 * np.nan_to_num(effect.std[:, output])
    values: Any = list(effect.levels) or effect.values
    if effect.is_date:
        values = pd.to_datetime(effect.values, unit="D")
    frame = pd.DataFrame({"x": values, "mean": mean, "low": mean - std, "high": mean + std})
    y = alt.Y("mean:Q", title=name, scale=scale)
    base = alt.Chart(frame, width=WIDTH, height=HEIGHT)
    if effect.levels:
        x: Any = alt.X("x:N", title=effect.name, sort=None, axis=alt.Axis(labelAngle=0))
        line = base.mark_point(filled=True, size=60, color=FITTED).encode(x=x, y=y)
        return alt.layer(base.mark_rule(color=FITTED).encode(x=x, y="low:Q", y2="high:Q"), line)
    x = alt.X("x:T" if effect.is_date else "x:Q", title=effect.name, scale=X_SCALE)
    area = base.mark_area(opacity=0.25, color=FITTED).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    return alt.layer(area, base.mark_line(color=FITTED, strokeWidth=2).encode(x=x, y=y))


def _sizes(model: Model) -> dict[str, Any]:
    """Sizes that were tried, if the model's was chosen; a file may hold anything there."""
    rows, tried = [], model.origin.get("size_path", ())
    for one in tried if isinstance(tried, list | tuple) else ():
        with suppress(TypeError, ValueError, KeyError):
            hidden = ", ".join(str(int(n)) for n in one["hidden"])
            loss, error = float(one["loss"]), float(one["error"])
            rows.append([hidden, f"{loss:.4g} \u00b1 {error:.2g}"])
    what = "cross-entropy" if model.classes else "squared error, normalised"
    return {"columns": ["hidden neurons", f"{what}, of rows not shown"], "rows": rows}


def _ranges(model: Model) -> dict[str, Any]:
    """What was seen in training, by column."""
    rows: list[list[str]] = []
    ends = model.inputs.undo(model.ranges) if model.ranges is not None else np.empty((2, 0))
    for i, name in enumerate(model.columns if ends.size else ()):
        coded = model.encoding.columns[i] if model.encoding is not None else None
        both = ends[:, int(np.argmax(model.owners == i))]
        seen = " to ".join(f"{end:.6g}" for end in both)
        if coded is not None and coded.levels:
            seen = ", ".join(coded.levels)
        elif coded is not None and coded.kind == "date":
            seen = " to ".join(str(np.datetime64(int(day), "D")) for day in both)
        rows.append([name, seen, coded.in_words.removeprefix(f"{name}: ") if coded else ""])
    wide = 3 if any(row[-1] for row in rows) else 2
    return {"columns": ["column", "seen", "becomes"][:wide], "rows": [row[:wide] for row in rows]}
