"""The last of a training: what the network that was found knows of itself.

Its scores and, in regression, its error bars, from all optima that were found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symbreak.error_bars import NoErrorBarsError, Optimum, error_bars_of
from symbreak.inspection import with_scores
from symbreak.models import Model
from symbreak.objectives._base import Found
from symbreak.problems import Problem
from symbreak.training._last_step import POLISH_SAMPLES, part_of
from symbreak.training._record import RunRecord

#: Optima that are asked, at most.
MAX_MEMBERS = 10


def with_error_bars(problem: Problem, record: RunRecord) -> RunRecord:
    """The record with a model that knows its scores and, in regression, how sure it is.

    A committee's error bars are those of its members. A single network's are those of all distinct
    optima that starts ended in: where these disagree, it is less sure.
    """
    model, members = record.model, record.members
    if model is None:
        return record
    if problem.task == "regression":
        model = _with_error_bars(problem, record, model)
    model = with_scores(model, problem)
    return record.with_model(model) if len(members) < 2 else replace(record, model=model)


def _with_error_bars(problem: Problem, record: RunRecord, model: Model) -> Model:
    part = part_of(problem, POLISH_SAMPLES)
    shares = record.shares if len(record.members) > 1 else None
    optima = optima_of(record, others=part is problem)  # else others were found with all samples
    try:
        bars = error_bars_of(part, optima, shares, total_weight=problem.train.total_weight)
    except NoErrorBarsError as reason:
        return replace(model, origin={**model.origin, "no_error_bars": str(reason)})
    return replace(model, error_bars=bars)


def optima_of(record: RunRecord, *, others: bool = True) -> list[Optimum]:
    """Networks that speak for a model: its members, or itself and, if asked for, the others."""
    assert record.model is not None
    members = record.members or (record.model,)
    optima = [Optimum(one.theta, one.output_weights, record.alpha) for one in members]
    return optima + (_others(record) if others and len(members) == 1 else [])


def _others(record: RunRecord) -> list[Optimum]:
    """The best end in each optimum, the better first; not what the model is already.

    Where the last step has chosen a larger ridge, the network that it began with is another one.
    """
    best: dict[int, Found] = {}
    for found in sorted(record.founds, key=lambda found: found.score):
        if found.optimum >= 0 and found.output_weights.size:
            best.setdefault(found.optimum, found)
    assert record.model is not None
    own = record.model.theta
    ends = [found for found in best.values() if not np.array_equal(found.theta, own)]
    return [Optimum(end.theta, end.output_weights, end.alpha) for end in ends[: MAX_MEMBERS - 1]]
