"""A committee: several optima averaged into one network, their neurons side by side.

Starts end in different optima, which err differently where data are scarce. The mean of their
outputs errs less than most of them, and it is the output of one network: hidden layers block by
block, output weights times their share. So model, file, inspection and exports need no more. For
classes the mean is that of the weighted sums, before softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from symbreak._polish._evidence import evidence_of
from symbreak._polish._polisher import Polisher
from symbreak._support.checks import Array, check_count, check_vectors
from symbreak.models import Model
from symbreak.objectives import LeastSquares
from symbreak.objectives._base import Found
from symbreak.objectives._cross_entropy import CrossEntropy
from symbreak.objectives._least_squares import EXACT
from symbreak.problems import Problem, Scaling
from symbreak.topology import Topology
from symbreak.training._last_step import (
    DESCENT,
    FIRST_DESCENT,
    ITERATIONS,
    POLISH_SAMPLES,
    has_probabilities,
    part_for_classes,
    part_of,
    refitted,
)
from symbreak.training._record import RunRecord

#: Those whose error is more than so many times the best one's have missed what others found.
MUCH_WORSE = 1.5
#: What the origin of one network says of its quality, which is not that of a mean.
MEASURED = ("error", "scores", "no_error_bars")


def check_networks(
    problem: object,
    n_networks: int | None,
    max_neurons: int | None,
    *,
    averages: bool,
    chooses: bool = False,
) -> int:
    """How many networks there may be in a committee; one by default.

    Of networks whose size is to be chosen, as many as are asked for.
    """
    n = 1 if n_networks is None else check_count("n_networks", n_networks, 1)
    if n > 1 and not averages:
        raise ValueError(
            "n_networks is for networks of your own data; of this problem a single one is kept, "
            f"got {n}."
        )
    if max_neurons is None or not isinstance(problem, Problem):
        return n
    bound, own = check_count("max_neurons", max_neurons, 1), sum(problem.topology.hidden)
    if chooses:
        return n
    if own > bound:
        raise ValueError(
            f"max_neurons must be at least the {own} neurons of a {problem.topology} network, got "
            f"{bound}; ask for smaller layers, or for more."
        )
    return min(n, bound // own)


def join(models: Sequence[Model], shares: Array) -> Model:
    """One network whose outputs are the mean of those of several, weighted by their shares.

    Args:
        models: Networks of the same task, inputs, targets and depth.
        shares: (n,) numbers, one for each network, whose sum is 1.

    Returns:
        A model as any other, whose error is not known; one alone is returned as it is.
    """
    weights = check_vectors(shares, "(n,)", "shares")
    if not models or weights.shape != (len(models),) or not np.isclose(weights.sum(), 1):
        raise ValueError(
            f"shares must be {len(models)} numbers that add up to 1, one for each of at least one "
            f"model, got shape {weights.shape} and a sum of {weights.sum():.6g}."
        )
    first = models[0]
    if len(models) == 1:
        return first
    for model in models[1:]:
        _check_alike(first, model)
    layers = [model.topology.layers(model.theta) for model in models]
    joined = [np.vstack([own[0] for own in layers])]
    for h in range(1, len(first.topology.hidden)):
        inner = block_diag(*(own[h][:, :-1] for own in layers))
        joined.append(
            np.hstack([inner, np.concatenate([own[h][:, -1] for own in layers])[:, None]])
        )
    hidden = [len(layer) for layer in joined]
    parts = list(zip(weights, models, strict=True))
    V = [share * model.output_weights[: model.topology.hidden[-1]] for share, model in parts]
    if first.output_shift:
        V.append(np.sum([share * model.output_weights[-1:] for share, model in parts], axis=0))
    net = first.topology
    return replace(
        first,
        topology=Topology((net.n_inputs, *hidden, net.n_outputs), net.activation),
        theta=np.concatenate([layer.ravel() for layer in joined]),
        output_weights=np.vstack(V),
        origin={k: v for k, v in first.origin.items() if k not in MEASURED}
        | {"networks": len(models)},
        error_bars=None,
    )


def split(model: Model) -> list[Model]:
    """The networks whose mean a committee is, with equal shares; of any other model, itself."""
    n, net = model.origin.get("networks", 1), model.topology
    if not isinstance(n, int) or n < 2 or any(size % n for size in net.hidden):
        return [model]
    hidden = [size // n for size in net.hidden]
    members = []
    for i in range(n):
        parts = []
        for h, layer in enumerate(net.layers(model.theta)):
            rows = layer[i * hidden[h] : (i + 1) * hidden[h]]
            first = 0 if h == 0 else i * hidden[h - 1]
            last = net.n_inputs if h == 0 else first + hidden[h - 1]
            parts += [np.hstack([rows[:, first:last], rows[:, -1:]]).ravel()]
        V = n * model.output_weights[i * hidden[-1] : (i + 1) * hidden[-1]]
        members.append(
            replace(
                model,
                topology=Topology((net.n_inputs, *hidden, net.n_outputs), net.activation),
                theta=np.concatenate(parts),
                output_weights=np.vstack([V, model.output_weights[net.hidden[-1] :]]),
                error_bars=None,
                origin={key: value for key, value in model.origin.items() if key != "networks"},
            )
        )
    return members


def _check_alike(first: Model, other: Model) -> None:
    """Refuse networks whose outputs have no mean, or none that is a network."""
    nets = first.topology, other.topology
    facts = {
        "depth": len(nets[0].hidden) == len(nets[1].hidden),
        "activation": nets[0].activation is nets[1].activation,
        "output": first.output == other.output and first.output_shift == other.output_shift,
        "classes": first.classes == other.classes,
        "inputs": _is_same(first.inputs, other.inputs) and first.encoding == other.encoding,
        "targets": _is_same(first.targets, other.targets),
    }
    for fact, is_alike in facts.items():
        if not is_alike:
            raise ValueError(f"only networks with the same {fact} can be joined into one.")


def _is_same(one: Scaling, other: Scaling) -> bool:
    return np.array_equal(one.mean, other.mean) and np.array_equal(one.scale, other.scale)


def with_committee(
    problem: Problem,
    record: RunRecord,
    theta: Array,
    n_networks: int,
    may_go_on: Callable[[], bool],
    *,
    n_stages: int = 1,
) -> RunRecord:
    """The record with the mean of its best distinct optima, ``n_networks`` at most.

    Its model, in its last form, is the first of them; ``theta`` (D,) is what it was before. Others
    are brought into the same form with its ridge, while there is time.
    """
    if record.model is None or n_networks == 1:
        return record
    members = [record.model]
    for found in others(record, theta)[: n_networks - 1]:
        if not may_go_on():
            break
        members.append(_in_last_form(found, problem, record, may_go_on, n_stages))
    model = join(members, np.full(len(members), 1 / len(members)))
    return replace(record, model=model, members=tuple(members))


def others(record: RunRecord, theta: Array) -> list[Found]:
    """The best end in each optimum but that of ``theta``, the better first, without the hopeless.

    Where that was polished once more, after its start, it is in the best of them.
    """
    ends = record.ends()
    same = (found.optimum for found in record.founds if np.array_equal(found.theta, theta))
    own = max(max(same, default=0), 0)
    most = max(MUCH_WORSE * min((found.error for found in ends), default=0.0), EXACT)
    return [found for found in ends if found.optimum != own and found.error <= most]


def _in_last_form(
    found: Found, problem: Problem, record: RunRecord, may_go_on: Callable[[], bool], n_stages: int
) -> Model:
    """A model of an end, as the last step has made the record's of the best one."""
    first = record.model
    assert first is not None
    if has_probabilities(problem):
        part = part_for_classes(problem)
        on = CrossEntropy(part.topology, part.train, shift=part.output_shift)
        start = np.concatenate([found.theta, found.output_weights.ravel()])
        x = on.fit(start, record.alpha, FIRST_DESCENT, lambda: True)
        x = on.fit(x, record.alpha, DESCENT, may_go_on)
        theta, V = np.split(x, [found.theta.size])
        return replace(first, theta=theta, output_weights=V.reshape(first.output_weights.shape))
    if n_stages == 1 and found.alpha >= record.alpha:
        return replace(first, theta=found.theta, output_weights=found.output_weights)
    part = part_of(problem, POLISH_SAMPLES) if n_stages > 1 else problem
    ridged = LeastSquares(part).with_ridge(record.alpha)
    polisher = Polisher(ridged, found.theta, max_iterations=ITERATIONS)
    while not polisher.finished and may_go_on():
        polisher.step()
    if n_stages > 1:
        return refitted(replace(first, theta=polisher.theta.copy()), problem, record.alpha)
    best = evidence_of(ridged, polisher.theta).output_weights if record.alpha > 0 else None
    return ridged.model(polisher.theta, best)
