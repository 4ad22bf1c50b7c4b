"""Awkward values for any argument, and the judge of what a call makes of one."""

import linecache
import math
import traceback
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import numpy as np

import symbreak
from symbreak import Evaluator, Model, Problem, Topology
from symbreak.experiments import StoreError

HOME = str(Path(symbreak.__file__).parent)
RNG = np.random.default_rng(0)
NET = Topology((1, 3, 1))
THETA, ANCHOR = RNG.normal(size=NET.dim), RNG.normal(size=NET.dim)
POPULATION = RNG.normal(size=(8, NET.dim))
X, Y = np.linspace(-1, 1, 12)[:, None], np.sin(np.linspace(-1, 1, 12))
PROBLEM = Problem.from_arrays(X, Y, hidden=(3,), max_evaluations=40)
MODEL = Evaluator(PROBLEM).solve(THETA)


def deep(n):
    """Lists in lists, deeper than repr can go."""
    value = []
    for _ in range(n):
        value = [value]
    return value


#: Name -> what makes the value anew, since some are used up.
AWKWARD = {
    "None": lambda: None,
    "empty text": lambda: "",
    "text": lambda: "x",
    "number as text": lambda: "3",
    "markup": lambda: "[/x]\u2028\x00",
    "bytes": lambda: b"",
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "1.5": lambda: 1.5,
    "3.0": lambda: 3.0,
    "True": lambda: True,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1e300": lambda: 1e300,
    "2**80": lambda: 2**80,
    "-2**80": lambda: -(2**80),
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "10**9": lambda: 10**9,
    "complex": lambda: 1j,
    "datetime": lambda: datetime(2026, 1, 1),
    "object": object,
    "type": lambda: int,
    "function": lambda: len,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "strange dict": lambda: {"x": {"y": None}},
    "numbers": lambda: [1, 2, 3],
    "ragged": lambda: [[1, 2], [3]],
    "deep": lambda: deep(2000),
    "generator": lambda: (i for i in range(3)),
    "range": lambda: range(3),
    "scalar array": lambda: np.array(1.0),
    "empty array": lambda: np.empty(0),
    "empty matrix": lambda: np.empty((0, 6)),
    "no columns": lambda: np.empty((12, 0)),
    "cube": lambda: np.ones((2, 3, 6)),
    "one": lambda: np.ones(1),
    "row": lambda: np.ones(6),
    "matrix": lambda: np.ones((3, 6)),
    "column": lambda: np.ones((12, 1)),
    "nan vector": lambda: np.full(6, np.nan),
    "nan matrix": lambda: np.full((12, 1), np.nan),
    "huge vector": lambda: np.full(6, 1e300),
    "huge matrix": lambda: np.full((12, 1), 1e300),
    "huge population": lambda: np.full((8, 6), 1e300),
    "masked": lambda: np.ma.masked_array(np.ones((3, 6)), mask=np.eye(3, 6, dtype=bool)),
    "complex array": lambda: np.full((12, 1), 1j),
    "dates": lambda: np.full((12, 1), "2026-01-01", dtype="datetime64[D]"),
    "objects": lambda: np.full((12, 1), None, dtype=object),
    "texts": lambda: np.array([["1"], ["x"]] * 6),
    "numbers as texts": lambda: np.array([["1"], ["2"]] * 6),
    "truth values": lambda: np.ones((12, 1), dtype=bool),
    "records": lambda: np.zeros(3, dtype=[("a", float)]),
    "pair": lambda: (X, Y),
    "unequal pair": lambda: (X, Y[:3]),
    "problem": lambda: PROBLEM,
    "topology": lambda: NET,
    "wide topology": lambda: Topology((1, 100_000, 1)),
    "model": lambda: MODEL,
    "no such path": lambda: Path("no/such/file"),
    "folder": lambda: Path(),
}
#: What a function that the caller gives may do is the caller's.
CALLABLE = ("type", "function")


def complaints(call, but=(), also=None):
    """What is wrong with the answers of a call to the values, by their names."""
    values = {name: make() for name, make in AWKWARD.items() if name not in but}
    found = {name: complaint(call, value, also) for name, value in values.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def complaint(call, value, also=None):
    """What is wrong with an answer; ``also`` is a folder of others whose errors are in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return "gave NaN" if has_nan(call(value)) else ""
    except OSError:
        return ""  # the system's own words about a file
    except Exception as error:
        places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        file, number = places[-1]
        own = file.startswith(HOME) and linecache.getline(file, number).strip().startswith("raise")
        theirs = also is not None and any(place.startswith(also) for place, _ in places)
        if (own or theirs) and isinstance(error, ValueError | TypeError | StoreError):
            return ""
        return f"{type(error).__name__}: {_text(error)} at {file}:{number}"


def _text(error):
    try:
        return f"{error!s:.150}"
    except ValueError:  # about a number with too many digits to be printed
        return "no text"


def has_nan(value):
    """Whether a result, or what it is made of, is not a number."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, Model):
        return has_nan((value.theta, value.output_weights))
    if isinstance(value, Mapping):
        return has_nan(list(value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def nothing(answer):
    """For answers that are not looked at, such as charts and frames with gaps."""


def each(template, names, call):
    """A call for each of some arguments, by the name of the argument."""
    return {template.format(name): (lambda v, name=name: call(v, name)) for name in names}


def each_in_state(name, made, go_on):
    """A state with one of its values replaced, for each of them."""

    def call(v, key):
        return go_on({**made.state(), key: v})

    return each(f"{name} state, {{}}", made.state(), call)
