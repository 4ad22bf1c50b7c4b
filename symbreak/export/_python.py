"""A model as one Python file that needs the standard library only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from symbreak._support.checks import Array, check_flag
from symbreak.export._parts import check_model, directions_of, facts, rows_of
from symbreak.models import Model
from symbreak.problems._tables import MISSING_LABELS


def to_python(model: Model, std: bool = False) -> str:
    """A Python file with ``outputs(x)`` and ``predict(x)`` for one sample.

    They answer what ``model.outputs`` and ``model.predict`` do, in the units of the data. Names and
    labels stand in it as literals and comments only, so that they cannot execute anything. Of
    columns with an encoding it takes the raw values, as ``model.predict`` does. With ``std`` there
    is ``std(x)``, too: what ``predict(x, return_std=True)`` gives.
    """
    check_model(model)
    values = {
        "columns": list(model.columns),
        "classes": list(model.classes),
        "activation": model.topology.activation.name,
        "output": model.output,
        "inputs": (model.inputs.mean.tolist(), model.inputs.scale.tolist()),
        "targets": (model.targets.mean.tolist(), model.targets.scale.tolist()),
        "layers": _lists(rows_of(model)),
        "encoding": [],
    }
    if model.encoding is not None:
        values["encoding"] = [asdict(column) for column in model.encoding.columns]
        values["features"] = [tuple(feature[:3]) for feature in model.encoding.features]
        values["missing"] = sorted(MISSING_LABELS)
    if check_flag("std", std):
        bars = model.check_error_bars()
        values["calibration"] = bars.scale.tolist()
        values["members"] = [
            (
                member.share,
                _lists(rows_of(member)),
                member.noise.tolist(),
                list(map(_lists, directions_of(member))),
            )
            for member in bars.members
        ]
    head = "\n".join(f"# {fact}" for fact in facts(model, std))
    table = "\n".join(f"    {name!r}: {value!a}," for name, value in values.items())
    return f"{head}\n\nimport math\n\nMODEL = {{\n{table}\n}}\n\n\n{_FUNCTIONS}"


def _lists(layers: list[Array]) -> list[Any]:
    return [rows.tolist() for rows in layers]


#: The same for all models.
_FUNCTIONS = '''def outputs(x):
    """All outputs for one sample, in the units of the data: targets, or scores of classes."""
    values = _inputs(x)
    for layer in MODEL["layers"][:-1]:
        values = [_activation(z) for z in _sums(layer, values)]
    sums = _sums(MODEL["layers"][-1], values)
    if MODEL["output"] == "softmax":
        most = max(sums)
        powers = [math.exp(z - most) for z in sums]
        total = sum(powers)
        return [power / total for power in powers]
    mean, scale = MODEL["targets"]
    return [z * s + m for z, s, m in zip(sums, scale, mean)]


def predict(x):
    """The class of one sample, its target, or a list of several."""
    found, classes = outputs(x), MODEL["classes"]
    if classes:
        return classes[found.index(max(found))]
    return found[0] if len(found) == 1 else found


def std(x):
    """Standard deviations of the targets around ``outputs(x)``, if they were exported."""
    if "members" not in MODEL:
        raise ValueError("this file was exported without standard deviations (--std).")
    (mean, scale), inputs = MODEL["targets"], _inputs(x)
    middle = [(y - m) / s for y, m, s in zip(outputs(x), mean, scale)]
    total = [0.0] * len(middle)
    for share, layers, noise, directions in MODEL["members"]:
        found = [_along(layers, direction, inputs) for direction in directions]
        for j, (value, _) in enumerate(found[0]):
            open_ = sum(pairs[j][1] ** 2 for pairs in found)
            total[j] += share * (noise[j] ** 2 * (1.0 + open_) + (value - middle[j]) ** 2)
    return [t**0.5 * c * s for t, c, s in zip(total, MODEL["calibration"], scale)]


def _inputs(x):
    """Inputs of the network, normalised."""
    if len(x) != len(MODEL["columns"]):
        raise ValueError("expected %d inputs, got %d." % (len(MODEL["columns"]), len(x)))
    values = _encoded(x) if MODEL["encoding"] else x
    mean, scale = MODEL["inputs"]
    return [(v - m) / s for v, m, s in zip(values, mean, scale)]


def _sums(layer, values):
    return [_sum(row, values) + row[-1] for row in layer]  # a row ends with the bias


def _sum(weights, values):
    total = 0.0
    for w, v in zip(weights, values):
        total += w * v
    return total


# Each with its derivative at z, where it is a.
ACTIVATIONS = {
    "tanh": (math.tanh, lambda z, a: 1.0 - a * a),
    "sin": (math.sin, lambda z, a: math.cos(z)),
    "softsign": (lambda z: z / (1.0 + abs(z)), lambda z, a: (1.0 - abs(a)) ** 2),
    "logistic": (lambda z: 1 / (1 + math.exp(-z)) if z > -700 else 0.0, lambda z, a: a * (1 - a)),
    "relu": (lambda z: max(z, 0.0), lambda z, a: float(z > 0)),
}
_activation, _slope = ACTIVATIONS[MODEL["activation"]]


def _along(layers, direction, values):
    """Each output with its change as all weights change along a direction."""
    pairs = [(v, 0.0) for v in values]
    for layer, along in zip(layers, direction):
        values, changes = zip(*pairs)
        pairs = []
        for z, w, v in zip(_sums(layer, values), layer, along):
            a, change = _activation(z), _sum(v, values) + v[-1] + _sum(w, changes)
            pairs.append((z, change) if layer is layers[-1] else (a, change * _slope(z, a)))
    return pairs


def _encoded(x):
    """Inputs of the network from the cells of a table."""
    columns = MODEL["encoding"]
    codes = [_code(cell, column) for cell, column in zip(x, columns)]
    filled = [column["fill"] if v != v else v for v, column in zip(codes, columns)]
    functions = {
        "value": lambda i, number: filled[i],
        "level": lambda i, number: float(filled[i] == number),
        "missing": lambda i, number: float(codes[i] != codes[i]),
        "sin": lambda i, number: math.sin(filled[i] % number * (2 * math.pi / number)),
        "cos": lambda i, number: math.cos(filled[i] % number * (2 * math.pi / number)),
    }
    return [functions[kind](i, number) for i, kind, number in MODEL["features"]]


def _code(cell, column):
    """A level by its place, a date in days since 1970, a number; NaN if it is missing."""
    levels = column["levels"]
    if isinstance(cell, float) and cell.is_integer() and levels:
        cell = int(cell)
    text = "" if cell is None or cell != cell else str(cell).strip()
    if text.lower() in MODEL["missing"]:
        return math.nan
    if levels:
        other = len(levels) if column["rare"] else column["fill"]
        return float(levels.index(text) if text in levels else other)
    if column["kind"] == "date":
        return _days(cell, text, column["pattern"])
    return float({"true": 1.0, "false": 0.0}.get(text.lower(), cell))


def _days(cell, text, pattern):
    import datetime

    if isinstance(cell, str):
        iso = pattern == "ISO 8601"
        moment = datetime.datetime
        cell = moment.fromisoformat(text) if iso else moment.strptime(text, pattern)
    elif not isinstance(cell, datetime.datetime):
        cell = datetime.datetime(cell.year, cell.month, cell.day)
    if cell.tzinfo is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (cell - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
'''
