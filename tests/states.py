"""Saved states of searches and runs."""

import json

import numpy as np


def through_json(state):
    """A state as it comes back from a file: arrays as arrays, the rest as strict JSON."""
    return {
        name: through_json(value)
        if isinstance(value, dict)
        else value.copy()
        if isinstance(value, np.ndarray)
        else json.loads(json.dumps(value, allow_nan=False))
        for name, value in state.items()
    }
