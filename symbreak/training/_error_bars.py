"""The last of a training: what the network that was found knows of itself.

Its error and scores and, in regression, its error bars, from all optima that were found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symbreak._error_bars import NoErrorBarsError, Optimum, error_bars_of
from symbreak._support.checks import Array
from symbreak.inspection import with_scores
from symbreak.objectives import LeastSquares
from symbreak.problems import Problem
from symbreak.training._last_step import POLISH_SAMPLES, part_of
from symbreak.training._record import RunRecord

#: Optima that are asked, at most.
MAX_MEMBERS = 10


def with_error_bars(
    problem: Problem, record: RunRecord, loss: float | None = None, costs: Array | None = None
) -> RunRecord:
    """The record with a model that knows its error, its scores and, in regression, how sure it is.

    A committee's error bars are those of its members. A single network's are those of all distinct
    optima that starts ended in: where these disagree, it is less sure. ``loss`` is the mean squared
    error on folds of networks that were not trained on them, if it is known; ``costs`` (d,) is what
    a weight of each input costs of the ridge, if that is not 1.
    """
    model, n = record.model, len(record.members)
    if model is None:
        return record
    error = LeastSquares(problem).network_error(model, with_ridge=False)
    model = replace(model, origin={**model.origin, "error": error})
    if problem.task == "regression":
        part = part_of(problem, POLISH_SAMPLES)
        optima = optima_of(record, others=part is problem)  # else others had all samples
        shares = np.full(n, 1 / n) if n > 1 else None
        try:
            total = problem.train.total_weight
            bars = error_bars_of(part, optima, shares, total_weight=total, costs=costs)
            model = replace(model, error_bars=bars if loss is None else bars.no_less_than(loss))
        except NoErrorBarsError as reason:
            model = replace(model, origin={**model.origin, "no_error_bars": str(reason)})
    model = with_scores(model, problem)
    return record.with_model(model) if n < 2 else replace(record, model=model)


def optima_of(record: RunRecord, *, others: bool = True) -> list[Optimum]:
    """Networks that speak for a model: its members, or itself and, if asked for, the others.

    Where the last step has chosen a larger ridge, the network that it began with is another one.
    """
    optima = [Optimum(one.theta, one.output_weights, record.alpha) for one in record.members]
    if others and len(optima) == 1:
        own = optima[0].theta
        ends = [end for end in record.ends() if not np.array_equal(end.theta, own)]
        optima += [Optimum(end.theta, end.output_weights, end.alpha) for end in ends]
        return optima[:MAX_MEMBERS]
    return optima
