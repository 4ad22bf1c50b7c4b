"""A model as one Python file that needs the standard library only."""

from __future__ import annotations

from dataclasses import asdict

from symbreak._support.checks import check_flag
from symbreak.export._parts import check_model, facts, labels, rows_of
from symbreak.models import Model
from symbreak.problems._cells import MISSING_LABELS

#: An activation and its derivative, given z and a = f(z).
ACTIVATIONS = {
    "tanh": ("math.tanh(z)", "1.0 - a * a"),
    "sin": ("math.sin(z)", "math.cos(z)"),
    "softsign": ("z / (1.0 + abs(z))", "(1.0 - abs(a)) ** 2"),
    "logistic": ("1.0 / (1.0 + math.exp(-z)) if z > -700 else 0.0", "a * (1.0 - a)"),
    "relu": ("max(z, 0.0)", "1.0 if z > 0 else 0.0"),
}


def to_python(model: Model, std: bool = False) -> str:
    """A Python file with ``outputs(x)`` and ``predict(x)`` for one sample.

    They answer what ``model.outputs`` and ``model.predict`` do, in the units of the data. Names and
    labels stand in it as literals and comments only, so that they cannot execute anything. Of
    columns with an encoding it takes the raw values, as ``model.predict`` does. With ``std`` there
    is ``std(x)``, too: what ``predict(x, return_std=True)`` gives.
    """
    check_model(model)
    values = {
        "FEATURE_NAMES": [str(name) for name in model.feature_names],
        "TARGET_NAMES": [str(name) for name in model.target_names],
        "CLASSES": labels(model),
        "INPUT_MEAN": model.inputs.mean.tolist(),
        "INPUT_SCALE": model.inputs.scale.tolist(),
        "TARGET_MEAN": model.targets.mean.tolist(),
        "TARGET_SCALE": model.targets.scale.tolist(),
        "LAYERS": [rows.tolist() for rows in rows_of(model)],
    }
    imports, inputs, encoded = "import math", _INPUTS, ""
    if model.encoding is not None:
        values["COLUMNS"] = [asdict(column) for column in model.encoding.columns]
        values["FEATURES"] = [tuple(feature[:3]) for feature in model.encoding.features]
        values["MISSING"] = sorted(MISSING_LABELS)
        imports, encoded = "import datetime\nimport math", _ENCODED
        for plain, raw in (("INPUT_MEAN)", "COLUMNS)"), ("zip(x,", "zip(_encoded(x),")):
            inputs = inputs.replace(plain, raw)
    if check_flag("std", std):
        bars = model.check_error_bars()
        values["CALIBRATION"] = bars.scale.tolist()
        values["MEMBERS"] = [
            (
                member.share,
                [rows.tolist() for rows in rows_of(member)],
                member.noise.tolist(),
                [row[: i + 1].tolist() for i, row in enumerate(member.factor)],
            )
            for member in bars.members
        ]
    finished = _SOFTMAX if model.output == "softmax" else "    return sums"
    code = [inputs, _NETWORK, encoded, _LABEL if model.classes else _PREDICT, _STD if std else ""]
    words = {"FINISHED": finished if model.classes else _IN_UNITS}
    words["ACTIVATION"], words["SLOPE"] = ACTIVATIONS[model.topology.activation.name]
    text = "".join(code)
    for word, value in words.items():
        text = text.replace(word, value)
    head = "\n".join(f"# {fact}" for fact in facts(model, std))
    tables = "\n".join(f"{name} = {value!a}" for name, value in values.items())
    return f"{head}\n\n{imports}\n\n{tables}\n{text}"


_INPUTS = '''

def _inputs(x):
    """Inputs of the network, normalised."""
    if len(x) != len(INPUT_MEAN):
        raise ValueError(f"expected {len(INPUT_MEAN)} inputs, got {len(x)}.")
    return [(v - m) / s for v, m, s in zip(x, INPUT_MEAN, INPUT_SCALE)]

'''

_NETWORK = '''
def outputs(x):
    """All outputs for one sample, whose columns are as in the data; so are targets."""
    values = _inputs(x)
    for layer in LAYERS[:-1]:
        values = [_activation(z) for z in _sums(layer, values)]
    sums = _sums(LAYERS[-1], values)
FINISHED


def _activation(z):
    return ACTIVATION


def _sums(layer, values):
    return [_sum(row, values) + row[-1] for row in layer]  # a row ends with the bias


def _sum(weights, values):
    total = 0.0
    for w, v in zip(weights, values):
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

_STD = '''

def std(x):
    """Standard deviations of the targets around ``outputs(x)``."""
    mean = [(y - m) / s for y, m, s in zip(outputs(x), TARGET_MEAN, TARGET_SCALE)]
    values, total = _inputs(x), [0.0] * len(mean)
    for share, layers, noise, factor in MEMBERS:
        for j, (value, slopes) in enumerate(_derivatives(layers, values)):
            open_ = sum(_sum(row, slopes) ** 2 for row in factor)
            total[j] += share * (noise[j] ** 2 * (1.0 + open_) + (value - mean[j]) ** 2)
    return [t**0.5 * c * s for t, c, s in zip(total, CALIBRATION, TARGET_SCALE)]


def _slope(z, a):
    return SLOPE


def _derivatives(layers, values):
    """Each output with its derivatives by all weights."""
    inputs, slopes = [], []
    for layer in layers[:-1]:
        inputs.append(values)
        sums = _sums(layer, values)
        values = [_activation(z) for z in sums]
        slopes.append([_slope(z, a) for z, a in zip(sums, values)])
    for j, value in enumerate(_sums(layers[-1], values)):
        parts = [v if k == j else 0.0 for v in [*values, 1.0] for k in range(len(layers[-1]))]
        back = layers[-1][j]
        for h in range(len(layers) - 2, -1, -1):
            back = [s * b for s, b in zip(slopes[h], back)]
            parts = [b * v for b in back for v in [*inputs[h], 1.0]] + parts
            back = [sum(b * w for b, w in zip(back, column)) for column in zip(*layers[h])]
        yield value, parts
'''
