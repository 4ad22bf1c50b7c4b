"""The last of a training: error bars of the network that was found, from all optima that were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symbreak.error_bars import NoErrorBarsError, Optimum, error_bars_of
from symbreak.objectives._base import Found
from symbreak.problems import Problem
from symbreak.training._last_step import POLISH_SAMPLES, part_of
from symbreak.training._record import RunRecord

#: Optima that are asked, at most.
MAX_MEMBERS = 10


def with_error_bars(problem: Problem, record: RunRecord) -> RunRecord:
    """The record with a model that knows how sure it is.

    A committee's are those of its members. A single network's are those of all distinct optima
    that starts ended in: where these disagree, it is less sure.
    """
    model, members = record.model, record.members
    if model is None or problem.task != "regression":
        return record
    part = part_of(problem, POLISH_SAMPLES)
    optima = [Optimum(m.theta, m.output_weights, record.alpha) for m in members or (model,)]
    shares = record.shares if len(optima) > 1 else None
    if shares is None and part is problem:  # others were found with all samples, too
        optima += _others(record)
    try:
        bars = error_bars_of(part, optima, shares, total_weight=problem.train.total_weight)
        model = replace(model, error_bars=bars)
    except NoErrorBarsError as reason:
        model = replace(model, origin={**model.origin, "no_error_bars": str(reason)})
    return record.with_model(model) if len(members) < 2 else replace(record, model=model)


def _others(record: RunRecord) -> list[Optimum]:
    """The best end in each optimum, the better first; not what the model is already.

    Where the last step has chosen a larger ridge, the network that it began with is another one.
    """
    assert record.model is not None
    best: dict[int, Found] = {}
    for found in sorted(record.founds, key=lambda found: found.score):
        if found.optimum >= 0 and found.output_weights.size:
            best.setdefault(found.optimum, found)
    own = record.model.theta
    ends = [found for found in best.values() if not np.array_equal(found.theta, own)]
    return [Optimum(end.theta, end.output_weights, end.alpha) for end in ends[: MAX_MEMBERS - 1]]
