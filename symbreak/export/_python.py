"""A model as one Python file that needs the standard library only."""

from __future__ import annotations

from symbreak._support.checks import check_flag
from symbreak.export import _std
from symbreak.export._parts import check_model, facts, labels
from symbreak.models import Model

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
    labels stand in it as literals and comments only, so that they cannot execute anything. With
    ``std`` there is ``std(x)``, too: what ``predict(x, return_std=True)`` gives.
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
    if check_flag("std", std):
        values |= _std.python_values(model)
    head = "\n".join(f"# {fact}" for fact in facts(model, std))
    tables = "\n".join(f"{name} = {value!a}" for name, value in values.items())
    activation = _ACTIVATION.replace("EXPRESSION", ACTIVATIONS[model.topology.activation.name])
    return "\n".join([head, _IMPORTS, tables, activation, _ending(model)]) + (
        _std.python_functions(model) if std else ""
    )


def _ending(model: Model) -> str:
    if not model.classes:
        return _OUTPUTS.replace("FINISHED", _IN_UNITS) + _PREDICT
    softmax = model.output == "softmax"
    return _OUTPUTS.replace("FINISHED", _SOFTMAX if softmax else "    return sums") + _LABEL


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
