"""A model as one Python file that needs the standard library only."""

from __future__ import annotations

from dataclasses import asdict

from symbreak._support.checks import check_flag
from symbreak.export import _std
from symbreak.export._parts import check_model, facts, labels
from symbreak.models import Model
from symbreak.problems._tables import MISSING_LABELS

ACTIVATIONS = {
    "tanh": "math.tanh(z)",
    "sin": "math.sin(z)",
    "softsign": "z / (1.0 + abs(z))",
    "logistic": "1.0 / (1.0 + math.exp(-z)) if z > -700 else 0.0",
    "relu": "max(z, 0.0)",
}


def to_python(model: Model, std: bool = False) -> str:
    """A Python file with ``outputs(x)`` and ``predict(x)`` for one sample.

    They answer what ``model.outputs`` and ``model.predict`` do, in the units of the data. Names and
    labels stand in it as literals and comments only, so that they cannot execute anything. Of
    columns with an encoding it takes the raw values, as ``model.predict`` does. With ``std`` there
    is ``std(x)``, too: what ``predict(x, return_std=True)`` gives.
    """
    check_model(model)
    layers = [layer.tolist() for layer in model.topology.layers(model.theta)]
    weights = model.output_weights.T
    shifts = weights[:, -1].tolist() if model.output_shift else [0.0] * len(weights)
    if model.output_shift:
        weights = weights[:, :-1]
    values = {
        "FEATURE_NAMES": [str(name) for name in model.feature_names],
        "TARGET_NAMES": [str(name) for name in model.target_names],
        "CLASSES": labels(model),
        "INPUT_MEAN": model.inputs.mean.tolist(),
        "INPUT_SCALE": model.inputs.scale.tolist(),
        "TARGET_MEAN": model.targets.mean.tolist(),
        "TARGET_SCALE": model.targets.scale.tolist(),
        "LAYERS": layers,
        "OUTPUT_WEIGHTS": weights.tolist(),
        "OUTPUT_SHIFTS": shifts,
    }
    if model.encoding is not None:
        values["COLUMNS"] = [asdict(column) for column in model.encoding.columns]
        values["FEATURES"] = [tuple(feature[:3]) for feature in model.encoding.features]
        values["MISSING"] = sorted(MISSING_LABELS)
    if check_flag("std", std):
        values |= _std.python_values(model)
    head = "\n".join(f"# {fact}" for fact in facts(model, std))
    tables = "\n".join(f"{name} = {value!a}" for name, value in values.items())
    activation = _ACTIVATION.replace("EXPRESSION", ACTIVATIONS[model.topology.activation.name])
    imports = _IMPORTS if model.encoding is None else f"\nimport datetime{_IMPORTS}"
    ending = _ending(model) + (_std.python_functions(model) if std else "")
    return "\n".join([head, imports, tables, activation, ending])


def _ending(model: Model) -> str:
    finished = _SOFTMAX if model.output == "softmax" else "    return sums"
    outputs = _OUTPUTS.replace("FINISHED", finished if model.classes else _IN_UNITS)
    if model.encoding is not None:
        words = {"in the units of the data": "as the columns hold them; None is missing"}
        words |= {"INPUT_MEAN)": "COLUMNS)", "zip(x, INPUT": "zip(_encoded(x), INPUT"}
        for old, new in words.items():
            outputs = outputs.replace(old, new)
        outputs += _ENCODED
    return outputs + (_LABEL if model.classes else _PREDICT)


_IMPORTS = """
import math
"""

_ACTIVATION = """

def _activation(z):
    return EXPRESSION
"""

_OUTPUTS = '''
def outputs(x):
    """All outputs for one sample, a sequence of numbers in the units of the data."""
    if len(x) != len(INPUT_MEAN):
        raise ValueError(f"expected {len(INPUT_MEAN)} inputs, got {len(x)}.")
    values = [(v - m) / s for v, m, s in zip(x, INPUT_MEAN, INPUT_SCALE)]
    for layer in LAYERS:
        values = [_activation(_sum(row, values) + row[-1]) for row in layer]
    sums = [_sum(row, values) + t for row, t in zip(OUTPUT_WEIGHTS, OUTPUT_SHIFTS)]
FINISHED


def _sum(weights, values):
    total = 0.0
    for w, v in zip(weights, values):  # a row may end with the bias
        total += w * v
    return total

'''

_ENCODED = '''
def _encoded(x):
    codes = [_code(cell, column) for cell, column in zip(x, COLUMNS)]
    filled = [column["fill"] if v != v else v for v, column in zip(codes, COLUMNS)]
    functions = {
        "value": lambda i, number: filled[i],
        "level": lambda i, number: float(filled[i] == number),
        "missing": lambda i, number: float(codes[i] != codes[i]),
        "sin": lambda i, number: math.sin(filled[i] % number * (2 * math.pi / number)),
        "cos": lambda i, number: math.cos(filled[i] % number * (2 * math.pi / number)),
    }
    return [functions[kind](i, number) for i, kind, number in FEATURES]


def _code(cell, column):
    """A level by its place, a date in days since 1970, a number; NaN if it is missing."""
    if isinstance(cell, float) and cell.is_integer() and column["levels"]:
        cell = int(cell)
    text = "" if cell is None or cell != cell else str(cell).strip()
    if text.lower() in MISSING:
        return math.nan
    if column["levels"]:
        levels = column["levels"]
        other = len(levels) if column["rare"] else column["fill"]
        return float(levels.index(text) if text in levels else other)
    if column["kind"] == "date":
        return _days(cell, text, column["pattern"])
    return float({"true": 1.0, "false": 0.0}.get(text.lower(), cell))


def _days(cell, text, pattern):
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

_IN_UNITS = "    return [z * s + m for z, s, m in zip(sums, TARGET_SCALE, TARGET_MEAN)]"

_SOFTMAX = """    most = max(sums)
    powers = [math.exp(z - most) for z in sums]
    return [power / sum(powers) for power in powers]"""

_PREDICT = '''
def predict(x):
    """The target of one sample, or a list of them if there are several."""
    found = outputs(x)
    return found[0] if len(found) == 1 else found
'''

_LABEL = '''
def predict(x):
    """The class of one sample."""
    scores = outputs(x)
    return CLASSES[scores.index(max(scores))]
'''
