"""What a model is worth: its scores on data, and what each input does to its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from symbreak._support.checks import Array, IntArray, check_count, check_kind
from symbreak.models import Model
from symbreak.network import linearisations
from symbreak.problems import Dataset, Problem

__all__ = ["effects", "scores", "sensitivity"]

#: Where the sensitivity is measured; always the same points. And samples that tell a constant.
N_POINTS, SEED = 2_000, 0
#: Outputs that differ by less, in standard deviations of a target, are the same.
FLAT = 1e-3
#: What a line of an origin can show.
SCALARS = (str, int, float, bool)
#: Points of a curve of effects, between which quantiles of the data, and samples it averages over.
N_EFFECT, ENDS, N_SAMPLES = 25, (0.01, 0.99), 200
#: How often a column is shuffled.
N_SHUFFLES = 5


@dataclass(frozen=True, eq=False)
class Score:
    """How good a model is on some samples, which count by their weights.

    Attributes:
        n: Number of rows, those included that are equal.
        error: ``Model.error``: share misclassified, or mean squared error in normalised targets.
        rmse: Root of the mean squared error (q,) in the units of the targets; empty for classes.
        r2: Coefficient of determination (q,), NaN where a target is constant; empty for classes.
        spread: Standard errors (q,) of ``rmse``, or (1,) of ``error`` for classes.
    """

    n: int
    error: float
    rmse: Array
    r2: Array
    spread: Array


#: What is known of training samples as if they had not been seen, by its key among scores.
LEFT_OUT = "left out"


def recorded_scores(model: Model) -> dict[str, Score]:
    """What was measured when the model was trained; empty if nothing was.

    Besides the sets of its problem there is ``"left out"``, for models with error bars: how well
    each training sample is predicted by the network without it, to first order; where sizes were
    compared, no better than networks of this size did.
    """
    found = {}
    facts = model.origin.get("scores", {})
    for name, part in facts.items() if isinstance(facts, Mapping) else ():
        with suppress(TypeError, ValueError, KeyError):  # a file may hold anything
            arrays = (np.array(part[key], dtype=np.float64) for key in ("rmse", "r2", "spread"))
            found[str(name)] = Score(int(part["n"]), float(part["error"]), *arrays)
    return found


def with_scores(model: Model, problem: Problem) -> Model:
    """The model with its scores on the sets of a problem in its origin, and the ranges of it."""
    found, bars = scores(model, problem), model.error_bars
    if bars is not None:
        error = bars.error * model.targets.scale
        spread = bars.error_spread * model.targets.scale
        mean = float(np.mean(bars.error**2))
        found[LEFT_OUT] = Score(bars.n_samples, mean, error, 1 - bars.error**2, spread)
    facts = {name: {k: _plain(v) for k, v in vars(one).items()} for name, one in found.items()}
    ranges = np.array([problem.train.X.min(axis=0), problem.train.X.max(axis=0)])
    return replace(model, ranges=ranges, origin={**model.origin, "scores": facts})


def _plain(value: Any) -> Any:
    """For a file, which has no NaN."""
    if not isinstance(value, np.ndarray):
        return value
    return [None if np.isnan(x) else x for x in value.tolist()]


def origin_in_words(model: Model, most: int = 20) -> list[tuple[str, str]]:
    """Where a model came from, but for its scores: names and short texts, of ``most`` facts."""
    lines = []
    for name, value in list(model.origin.items())[:most]:
        if isinstance(value, Mapping) and name != "scores":
            parts = [f"{k} {v}" for k, v in list(value.items())[:10] if isinstance(v, SCALARS)]
            value = ", ".join(parts)
        if isinstance(value, SCALARS):  # a file may hold anything else too
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append((str(name), text if len(text) <= 200 else f"{text[:200]} ..."))
    return lines


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # beyond all numbers is infinite
def scores(model: Model, problem: Problem) -> dict[str, Score]:
    """Scores on the training, validation and test set of a problem, as far as there are any."""
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    return {name: _score(model, problem, data) for name, data in problem.parts.items()}


def _score(model: Model, problem: Problem, data: Dataset) -> Score:
    """The score on one data set, weighted; the model may have been scaled by other data."""
    outputs = model.outputs(problem.inputs.undo(data.X))
    if model.classes:
        wrong = outputs.argmax(axis=1) != data.y.argmax(axis=1)
        error = float(np.average(wrong, weights=data.weights))
        spread = np.sqrt([error * (1 - error) / data.n_effective])
        return Score(data.n_rows, error, np.empty(0), np.empty(0), spread)
    residuals = (outputs - problem.targets.undo(data.y)) / problem.targets.scale
    squares = np.average(residuals**2, axis=0, weights=data.weights)
    variance = _variance(data.y, data.weights)
    r2 = 1 - squares / np.where(variance > 0, variance, np.nan)
    rmse, scale = np.sqrt(squares), problem.targets.scale
    spread = np.sqrt(_variance(residuals**2, data.weights) / data.n_effective)
    spread /= np.maximum(2 * rmse, np.finfo(float).tiny)
    return Score(data.n_rows, float(squares.mean()), scale * rmse, r2, scale * spread)


def is_constant(model: Model, problem: Problem) -> bool:
    """Whether a network says the same of all samples, although their targets differ."""
    X, y = problem.train.X[:N_POINTS], problem.train.y[:N_POINTS]
    outputs = model.weighted_sums(X)
    return float(np.ptp(outputs, axis=0).max()) < FLAT < float(np.ptp(y, axis=0).max())


def sensitivity(model: Model) -> Array:
    """How much each input matters to each output, (d, q).

    The mean absolute derivative of an output, in standard deviations of its target, by an input,
    in standard deviations of that input, over inputs that are independent and normally
    distributed with the mean and the deviation of the training set. 0.5 says that a change of an
    input by its standard deviation changes the target by half of its own. Outputs of classes
    count before softmax, in no unit.
    """
    check_kind("model", model, Model, "such as record.model")
    net, first = model.topology, model.topology.layers(model.theta)[0]
    points = np.random.default_rng(SEED).normal(size=(N_POINTS, net.n_inputs))
    total = np.zeros((net.n_inputs, net.n_outputs))
    for _, _, J in linearisations(model.theta, net, model.output_weights, points):
        # what a bias of the first layer does, a change of its weighted sum does
        by_sums = J[:, :, : first.size].reshape(*J.shape[:2], *first.shape)[:, :, :, -1]
        total += np.abs(by_sums @ first[:, :-1]).sum(axis=0).T
    return total / N_POINTS


def relevance(model: Model) -> Array:
    """How much each column of the data matters, (n,): the sensitivities of the inputs made of it.

    They are added up, and of several outputs the mean is taken.
    """
    by_input = sensitivity(model).mean(axis=1)
    return np.bincount(model.owners, by_input).astype(np.float64)


class Effect(NamedTuple):
    """What one column of the data does to the predictions, whatever the others are.

    Attributes:
        name: Of the column.
        levels: Of a category; empty of numbers.
        is_date: Whether values are days since 1970.
        values: (n,) of the column in its units, or places of the levels.
        means: (n, q) predictions, averaged over samples that are as they are but for this column
            (partial dependence).
        std: Standard deviations (n, q) of the means, by what the data leave open; NaN of a model
            without error bars.
        share: Share (q,) of the variance of the predictions that this column explains alone.
        shuffled: ``Model.error`` where the column is shuffled among the samples, on the last set
            of the problem: the larger it is, the more the model needs the column.
    """

    name: str
    levels: tuple[str, ...]
    is_date: bool
    values: Array
    means: Array
    std: Array
    share: Array
    shuffled: float


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # beyond all numbers is infinite
def effects(model: Model, problem: Problem, n: int = 12) -> list[Effect]:
    """What the columns do that a model is most sensitive to, at most ``n``, the most needed first.

    Args:
        model: The network.
        problem: With the data that it is looked at with, in general those of its training.
        n: How many columns.
    """
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    check_count("n", n, 1)
    most = np.argsort(-relevance(model))[:n]
    found = [_effect(model, problem, int(column)) for column in most]
    return sorted(found, key=lambda effect: -effect.shuffled)


def importance(model: Model, problem: Problem, found: list[Effect]) -> dict[str, Any]:
    """How much each column matters, as ``columns`` and ``rows`` of a table of texts.

    What it explains alone, and the error where it is shuffled: of classes the share misclassified,
    else how many times as large the root of the mean square is.
    """
    before = list(scores(model, problem).values())[-1].error
    what = "misclassified" if model.classes else "error"
    rows = []
    for effect in found:
        shuffled = f"{effect.shuffled:.1%}" if model.classes else ""
        if before > 0 and not model.classes:
            shuffled = f"\u00d7 {(effect.shuffled / before) ** 0.5:.3g}"
        rows.append([effect.name, f"{effect.share.mean():.0%}", shuffled])
    return {"columns": ["column", "explains alone", f"{what} when shuffled"], "rows": rows}


def _effect(model: Model, problem: Problem, column: int) -> Effect:
    mine = np.flatnonzero(model.owners == column)
    every, weights = problem.inputs.undo(problem.train.X), problem.train.weights
    weights = np.ones(len(every)) if weights is None else weights
    some = _even_steps(len(every), N_SAMPLES)
    X, w = every[some], weights[some]
    levels, values, patterns = _patterns(model, every[:, mine], column)
    means, std = np.full((2, len(values), model.topology.n_outputs), np.nan)
    for i, pattern in enumerate(patterns):
        X[:, mine] = pattern
        means[i] = np.average(model.outputs(X), axis=0, weights=w)
        if model.error_bars is not None:
            normal = model.targets(means[i][None])[0]
            spread = model.error_bars.std_of_mean(model.inputs(X), normal, w)
            std[i] = spread * model.targets.scale
    some = _even_steps(len(every), N_POINTS)
    alone = _nearest(means, patterns, every[some][:, mine])
    whole = np.maximum(_variance(model.outputs(every), weights), np.finfo(float).tiny)
    share = np.minimum(_variance(alone, weights[some]) / whole, 1.0)
    shuffled = float(np.mean(list(_shuffled(model, problem, mine))))
    coded = model.rule.columns[column]
    dated = coded.kind == "date"
    return Effect(coded.name, levels, dated, values, means, std, share, shuffled)


def _even_steps(n: int, most: int) -> IntArray:
    """Some of n samples, or all."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _variance(values: Array, weights: Array | None) -> Array:
    """Of the columns of values (K, q)."""
    mean = np.average(values, axis=0, weights=weights)
    return np.average((values - mean) ** 2, axis=0, weights=weights)


def _patterns(model: Model, X: Array, column: int) -> tuple[tuple[str, ...], Array, Array]:
    """Levels, values (n,) and inputs (n, m) of a column; the data have X (K, m) of it."""
    coded = model.rule.columns[column]
    levels = coded.levels + ("others",) * coded.rare
    seen = np.arange(float(len(levels))) if levels else np.unique(X[:, 0])
    low, high = np.quantile(X[:, 0], ENDS)
    values = seen if levels or len(seen) <= N_EFFECT else np.linspace(low, high, N_EFFECT)
    codes = np.tile([c.fill for c in model.rule.columns], (len(values), 1))
    codes[:, column] = values
    return levels, values, model.rule.inputs(codes)[:, model.owners == column]


def _nearest(means: Array, patterns: Array, X: Array) -> Array:
    """The effect (K, q) at each sample X (K, m): that of the nearest of the patterns (n, m)."""
    scale = X.std(axis=0)
    scale[scale == 0] = 1  # the same everywhere
    return means[(((X[:, None] - patterns) / scale) ** 2).sum(axis=2).argmin(axis=1)]


def _shuffled(model: Model, problem: Problem, mine: IntArray) -> Iterator[float]:
    """Errors on the last set of samples, where some inputs are shuffled among them."""
    data, rng = list(problem.parts.values())[-1], np.random.default_rng(SEED)
    for _ in range(N_SHUFFLES):
        X = data.X.copy()
        rows = rng.permutation(len(X))
        if data.weights is not None:  # what counts more is more often the value of another
            rows = rng.choice(len(X), len(X), p=data.weights / data.total_weight)
        X[:, mine] = X[rows][:, mine]
        yield _score(model, problem, Dataset(X, data.y, data.weights)).error
