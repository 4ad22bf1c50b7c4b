"""Whatever a file holds, reading it gives an error in words or a sound answer.

``pytest tests/test_fuzz.py --hypothesis-profile=long`` looks for minutes, at other files each time.
"""

import io
import json
import tomllib
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbreak import LeastSquares, Model
from symbreak.experiments import StudySpec
from symbreak.problems import read_problem
from tests.papers import paper_problem

SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
X = np.linspace(-1, 1, 12)[:, None]
MODEL = LeastSquares(paper_problem(X, X**2, hidden=(3,))).model(np.linspace(-1, 1, 6))
STUDY = """
name = "fuzz"
problems = ["syn5", "sinc"]
methods = ["DE", "CMA-ES-SB"]
repetitions = 2
seed = 1
data = "fixed"
[budgets]
syn5 = 400
[problem.sinc]
hidden = [4, 2]
population_size = {DE = 20}
[method.DE]
F = 0.6
problems = ["sinc"]
"""
TASKS = ("auto", "regression")
LABELS = ["red", "green", "blue"] * 4
TABLE = "a,b,y\n" + "".join(f"{i},{i / 3:.3f},{i % 4}\n" for i in range(40))


def values():
    """Anything that JSON or TOML can hold."""
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    return st.recursive(
        plain | st.sampled_from([2**80, -1, 1e308, 10**400, "sinc", "DE", "auto"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    )


@st.composite
def mutated(draw, original: bytes):
    """Bytes with some places overwritten, cut out, doubled or filled with others."""
    content = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, max(0, len(content) - 1)))
        last = min(len(content), first + draw(st.integers(0, 40)))
        middle = draw(st.binary(max_size=12) | st.just(bytes(content[first:last]) * 2))
        content[first:last] = middle
    return bytes(content)


@st.composite
def replaced(draw, original: str):
    """A JSON text with the value at some place replaced."""
    facts = json.loads(original)
    place = facts
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            place[key] = draw(values())
            return json.dumps(facts)
        place = inner


def check_model(text):
    try:
        model = Model.from_json(text)
    except ValueError:
        return
    outputs = model.outputs(np.zeros((2, model.topology.n_inputs)))
    assert np.isfinite(outputs).all()
    assert Model.from_json(model.to_json()).to_json() == model.to_json()


@given(mutated(MODEL.to_json().encode()))
def test_a_model_file_of_any_bytes(content):
    check_model(content.decode(errors="replace"))


@given(replaced(MODEL.to_json()))
def test_a_model_file_of_any_values(text):
    check_model(text)


@given(mutated(STUDY.encode()))
def test_a_study_file_of_any_bytes(content):
    check_study(content.decode(errors="replace"))


def check_study(text):
    try:
        spec = StudySpec.parse(text)
    except ValueError:
        return
    assert len({run.key for run in spec.first_runs()}) == len(spec.pairs())
    tomllib.loads(spec.text)


def file_of(kind):
    """A table of this kind, as bytes."""
    file, numbers = io.BytesIO(), np.arange(12.0)
    if kind == "parquet":
        columns = {"a": numbers, "b": np.arange(12), "c": LABELS, "y": numbers}
        pd.DataFrame(columns).to_parquet(file)
    elif kind == "npz":
        np.savez(file, X=np.arange(24.0).reshape(12, 2), y=numbers)
    return file.getvalue() or TABLE.encode()


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@SETTINGS
@given(data=st.data())
def test_a_table_of_any_bytes(tmp_path, kind, data):
    content = data.draw(mutated(file_of(kind)))
    check_table(tmp_path / f"table.{kind}", content, data.draw(st.sampled_from(TASKS)))


@SETTINGS
@given(header=mutated(b"{'descr': '<f8', 'fortran_order': False, 'shape': (12, 2), }"))
def test_an_array_file_with_any_header(tmp_path, header):
    file = io.BytesIO()
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(192)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", array)
        archive.writestr("y.npy", array)
    check_table(tmp_path / "table.npz", file.getvalue(), "regression")


def check_table(path, content, task):
    path.write_bytes(content)
    try:
        problem = read_problem(path, name="fuzz", task=task)
    except ValueError:
        return
    assert np.isfinite(problem.train.X).all()
    assert np.isfinite(problem.train.y).all()
