"""Exports give the numbers of the model, whatever it is called."""

import ctypes
import datetime
import io
import json
import math
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import openpyxl
import pandas as pd
import pytest

from symbreak import Topology
from symbreak._activations import ACTIVATIONS
from symbreak._error_bars import ErrorBars, Member
from symbreak.export import to_c, to_excel, to_latex, to_onnx, to_python
from symbreak.export._parts import identifiers
from symbreak.models import Model
from symbreak.network import hidden_outputs
from symbreak.problems import Scaling
from symbreak.problems._encoding import Coded, Encoding

#: What injects code where it is not escaped.
NASTY = (
    '*/ int evil(void) { return 1; } /* "',
    '"); import os; os.abort() #',
    "'''\nraise SystemExit(3)\n'''",
    '"""\\\nraise SystemExit(3)',
    "gr\u00f6\u00dfe \u2028 \u202e \U0001f600 \x00\x1b[31m",
    "??/ ??= %s %n \\ NAME REAL @ EXPRESSION FINISHED",
    "\\",
    "{0} {model}",
    "",
)


def random_model(net="3-5-4-2", activation="tanh", *, output="linear", shift=True, **fields):
    rng = np.random.default_rng(len(net) + len(activation))
    topology = Topology(Topology.parse(net).sizes, activation)
    task = "regression" if output == "linear" else "classification"
    d, q = topology.n_inputs, topology.n_outputs
    scaling = Scaling(rng.normal(size=q) * 100, rng.uniform(0.1, 50, size=q))
    classes = () if task == "regression" else tuple(f"class {i}" for i in range(q))
    arguments = {
        "topology": topology,
        "task": task,
        "theta": rng.normal(size=topology.dim),
        "output_weights": rng.normal(size=(topology.hidden[-1] + shift, q)),
        "inputs": Scaling(rng.normal(size=d) * 10, rng.uniform(0.1, 20, size=d)),
        "targets": scaling if task == "regression" else Scaling.identity(q),
        "output": output,
        "classes": classes,
    }
    return Model(**{**arguments, **fields})


MODELS = {
    **{name: random_model(activation=name) for name in ACTIVATIONS},
    "no shift": random_model(shift=False),
    "one target": random_model("3-6-1", shift=False),
    "one input": random_model("1-4-1"),
    "deep": random_model("3-2-7-1-3-2", "sin"),
    "softmax": random_model("3-4-5", "logistic", output="softmax"),
    "tanh outputs": random_model("3-4-2", output="tanh", shift=False),
}


def raw_table(n=200, seed=2):
    """Columns of every kind, with gaps, names that need care, and rare levels."""
    rng = np.random.default_rng(seed)
    sizes = pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True)
    day = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 1500 * 1440, n), unit="min")
    columns = {
        "grade": rng.choice(["gut", "so la la", "Gut", NASTY[0], "=1+1", None], n),
        "Gr\u00f6\u00dfe": sizes,
        "day": day.strftime("%d.%m.%Y %H:%M"),
        "ok": rng.random(n) < 0.5,
        "x1": np.where(rng.random(n) < 0.1, np.nan, 1e3 * rng.normal(size=n)),
        "=A1": rng.normal(size=n),
    }
    columns["grade"][:2] = "rare"
    return pd.DataFrame(columns)


def encoded_model(**fields):
    """A model of a raw table, whose inputs are scaled as those of the table are."""
    encoding = Encoding.learn(raw_table())
    names = tuple(feature.name for feature in encoding.features)
    scaling = Scaling.fit(encoding(raw_table()[2:]))
    net = f"{len(names)}-4-3"
    return random_model(net, encoding=encoding, feature_names=names, inputs=scaling, **fields)


ENCODED = {
    "numbers": encoded_model(),
    "sines": encoded_model(activation="sin"),
    "classes": encoded_model(output="softmax", classes=("a", "b", NASTY[5])),
}


def samples(model, n=10_000):
    rng = np.random.default_rng(1)
    return model.inputs.undo(rng.normal(size=(n, model.topology.n_inputs)))


def magnitudes(model, X):
    """How large the terms are that outputs are sums of: rounding errors are relative to that."""
    A = hidden_outputs(model.theta, model.topology, model.inputs(X), shift=model.output_shift)
    sums = np.abs(A) @ np.abs(model.output_weights)
    return sums * model.targets.scale + np.abs(model.targets.mean)


def assert_close(found, model, X, ulps, eps=2.0**-52):
    assert found.shape == (len(X), model.topology.n_outputs)
    errors = np.abs(found - model.outputs(X)) / magnitudes(model, X)
    assert errors.max() < ulps * eps


def with_error_bars(model):
    """Two networks of a mixture, of which one is smaller."""
    rng, net = np.random.default_rng(7), model.topology
    q, shift = net.n_outputs, model.output_shift
    members = []
    for share, hidden in ((0.7, net.hidden), (0.3, tuple(max(n - 1, 1) for n in net.hidden))):
        own = Topology((net.n_inputs, *hidden, q), net.activation)
        V = rng.normal(size=(hidden[-1] + shift, q))
        factor = np.tril(rng.normal(size=(own.dim + V.size,) * 2))
        noise = rng.uniform(0.1, 1, size=q)
        members.append(Member(own, rng.normal(size=own.dim), V, share, noise, factor))
    scores = np.sort(rng.uniform(0.1, 3, size=(30, q)), axis=0)
    scale, error = rng.uniform(0.5, 2, size=q), np.ones(q)
    bars = ErrorBars(tuple(members), scores, scale, error, error / 10, 30)
    return replace(model, error_bars=bars)


@pytest.fixture
def compiled(tmp_path):
    def build(model, real="double", name="model", std=False):
        source, library = tmp_path / "model.c", tmp_path / f"lib{name}-{real}.so"
        source.write_text(to_c(model, name, real, std), encoding="ascii")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-fPIC", "-shared"]
        command = ["gcc", *flags, source, "-o", library, "-lm"]
        subprocess.run(command, check=True, timeout=300)
        return ctypes.CDLL(str(library))

    return build


def c_outputs(library, model, X, kind=np.float64, name="model", what="outputs"):
    X = np.ascontiguousarray(X, dtype=kind)
    y = np.zeros((len(X), model.topology.n_outputs), dtype=kind)
    function = library[f"{name}_{what}"]
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    for row, result in zip(X, y, strict=True):
        function(row.ctypes.data, result.ctypes.data)
    return y


@pytest.mark.parametrize("name", MODELS)
def test_c_has_the_numbers_of_the_model_to_the_last_few_bits(compiled, name):
    model, std = MODELS[name], not MODELS[name].classes
    if std:
        model = with_error_bars(model)
        assert "nine of ten targets lie within" in to_c(model, std=True)
    X = samples(model, 2000)
    library, small = compiled(model, std=std), compiled(model, "float", std=std)
    assert_close(c_outputs(library, model, X), model, X, ulps=16)
    assert_close(c_outputs(small, model, X, np.float32), model, X, ulps=64, eps=2.0**-23)
    if std:
        expected = model.predict(X, return_std=True)[1].reshape(len(X), -1)
        assert c_outputs(library, model, X, what="std") == pytest.approx(expected, rel=1e-12)
        found = c_outputs(small, model, X, np.float32, what="std")
        assert np.median(np.abs(found / expected - 1)) < 1e-5


def executed(source):
    scope = {"__name__": "model"}
    exec(compile(source, "model.py", "exec"), scope)
    return scope


def onnx_run(model, X, *names):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    return [
        values.tolist() if name == "label" else values
        for name, values in zip(names, session.run(list(names), {"x": X}), strict=True)
    ]


def from_latex(text, fill=None):
    """A function of one sample that does what the equations say."""
    lines = [line for line in text.splitlines() if "&=" in line and "{i}" not in line]
    code = "\n".join(line.strip().removesuffix(r" \\") for line in lines if "z" not in line)
    for found, meant in (
        (r"\\cdot 10\^\{(-?\d+)\}", r"* 1e\1"),
        (r"([xhy])_\{(\d+)(?:,(\d+))?\}", r"\1_\2_\3"),
        (r"\\operatorname\{(\w+)\}", r"\1"),
        (r"\\left\[(x_\d+_) = (\d+)\\right\]", r"(\1 == \2)"),
        (r"\\left\[x_(\d+_) \\text\{ is missing\}\\right\]", r"missing_\1"),
        (r"\\(left|right)", ""),
        (r"\\,", " * "),
        (r"\\", ""),
        ("&=", "="),
    ):
        code = re.sub(found, meant, code)

    def outputs(x):
        lost = np.isnan(x)
        scope = {f"missing_{i}_": bool(no) for i, no in enumerate(lost, start=1)}
        values = np.where(lost, fill or x, x).tolist()
        scope |= {f"x_{i}_": v if fill is None else mpmath.mpf(v) for i, v in enumerate(values, 1)}
        functions = math if fill is None else mpmath
        scope |= {name: getattr(functions, name) for name in ("tanh", "sin", "cos", "pi")}
        scope |= {"softsign": lambda z: z / (1 + abs(z))}
        scope["sigma"] = lambda z: 1 / (1 + math.exp(-z))
        with mpmath.workprec(80):  # of the phase of a day, many digits are whole turns
            exec(compile(code, "model.tex", "exec"), scope)
        return [scope[f"y_{i}_"] for i in range(1, 1 + sum(key.startswith("y_") for key in scope))]

    return outputs


def latex_outputs(model, X):
    fill = model.encoding and [column.fill for column in model.encoding.columns]
    formula = from_latex(to_latex(model, digits=17), fill)
    found = np.array([formula(row) for row in X.tolist()], dtype=np.float64)
    if model.output == "softmax":
        found = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
    return found


def python_outputs(model, rows, what="outputs"):
    function = executed(to_python(model, std=what == "std"))[what]
    return np.array([function(row) for row in rows])


@pytest.mark.parametrize("name", MODELS)
def test_python_onnx_and_latex_have_the_numbers_of_the_model(name):
    model = MODELS[name]
    X = samples(model, 100)
    assert_close(python_outputs(model, X.tolist()), model, X, ulps=16)
    room = 1e-12 * magnitudes(model, X).max()
    assert np.allclose(latex_outputs(model, X), model.outputs(X), rtol=1e-12, atol=room)
    X = samples(model, 2000)
    assert_close(*onnx_run(model, X, "y"), model, X, ulps=16)
    predict = executed(to_python(model))["predict"]
    found, expected = [predict(row) for row in X[:100].tolist()], model.predict(X)
    if model.classes:
        assert onnx_run(model, X, "label") == [expected.tolist()]
        assert found == expected[:100].tolist()
        return
    assert np.allclose(found, expected[:100], rtol=1e-9)
    sure = with_error_bars(model)
    expected = sure.predict(X[:100], return_std=True)[1].reshape(100, -1)
    assert python_outputs(sure, X[:100].tolist(), "std") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.filterwarnings("ignore:Rare, or not seen")
def test_exports_take_the_cells_of_raw_tables(name, compiled):
    model, table = ENCODED[name], raw_table(100, seed=5)
    table.loc[3, "grade"] = "new"
    expected, codes = model.outputs(table), model.encoding.codes(table)
    cells = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    found = {
        "python": python_outputs(model, cells),
        "c": c_outputs(compiled(model), model, codes),
        "latex": latex_outputs(model, codes),
        "onnx": onnx_run(model, codes, "y")[0],
    }
    for kind, outputs in found.items():
        assert np.abs(outputs - expected).max() < 1e-12 * np.abs(expected).max(), kind
    if not model.classes:
        sure = with_error_bars(model)
        expected = sure.predict(table, return_std=True)[1].reshape(len(table), -1)
        library = compiled(sure, name="sure", std=True)
        found = c_outputs(library, model, codes, name="sure", what="std")
        assert found == pytest.approx(expected, rel=1e-12)
        assert python_outputs(sure, cells, "std") == pytest.approx(expected, rel=1e-12)


def test_logistic_neurons_that_are_nearly_off_are_exported_exactly(compiled):
    """A formula with tanh has an absolute error of 1e-16, and weights may be large."""
    one = Scaling.identity(1)
    model = random_model("1-1-1", "logistic", shift=False, inputs=one, targets=one, theta=[1.0, 0])
    X = np.linspace(-690, -1, 2000)[:, None]
    truth = model.output_weights * np.array([[float(1 / (1 + mpmath.exp(-x)))] for x in X[:, 0]])
    found = (
        model.outputs(X),
        c_outputs(compiled(model), model, X),
        python_outputs(model, X.tolist()),
        *onnx_run(model, X, "y"),
    )
    for values in found:
        assert np.allclose(values, truth, rtol=1e-14, atol=0)


def test_without_error_bars_there_is_no_standard_deviation_to_export():
    for export in (to_c, to_python):
        with pytest.raises(ValueError, match="the model has no error bars"):
            export(MODELS["tanh"], std=True)
    with pytest.raises(ValueError, match="exported without standard deviations"):
        executed(to_python(MODELS["tanh"]))["std"]([1, 2, 3])


def test_c_names_the_class_of_a_sample(compiled):
    nasty = [name for name in NASTY if "\0" not in name][:5]
    model = random_model("3-4-5", output="softmax", classes=tuple(nasty))
    X = samples(model, 200)
    for real, kind in (("double", np.float64), ("float", np.float32)):
        library = compiled(model, real, "net")
        labels = (ctypes.c_char_p * 5).in_dll(library, "net_labels")
        assert [label.decode() for label in labels] == nasty
        rows = np.ascontiguousarray(X, dtype=kind)
        library.net_class.argtypes = [ctypes.c_void_p]
        found = [labels[library.net_class(row.ctypes.data)].decode() for row in rows]
        assert found == model.predict(X).tolist()


def test_nasty_names_inject_nothing_into_c(compiled):
    plain = to_c(random_model()).partition("*/")[2]
    for i in range(0, len(NASTY), 3):
        names = tuple(f"{nasty}{i}" for i, nasty in enumerate(NASTY[i : i + 3]))
        origin = {**dict(zip(names, names, strict=True)), "nested": {"a": names[0]}, "n": 10**400}
        model = random_model(feature_names=names, target_names=names[:2], origin=origin)
        compiled(model)
        comment, _, code = to_c(model).partition("*/")
        assert code == plain
        assert comment.isascii()
        assert comment.replace("\n", "").isprintable()
    source = to_c(ENCODED["numbers"], "net")
    assert "enum { net_Gr_e__s, net_Gr_e__m, net_Gr_e__l };" in source
    (grades,) = re.findall(r"enum \{ (net_grade__.*) \};", source)
    assert sorted(grades.split(", ")) == sorted(set(grades.split(", ")))
    assert "net_grade__so_la_la" in grades


@pytest.mark.parametrize("name", ["", "1a", "a b", "a;", "_a", "\u00e9", "a" * 32, "a\n"])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match="name must be an identifier of C"):
        to_c(random_model(), name)


@pytest.mark.parametrize("name", ["REAL", "a_REAL_NAME", "SLOPE", "int"])
def test_names_may_be_words_of_the_template(compiled, name):
    table = pd.DataFrame({name: ["REAL", "NAME", "ACTIVATION"] * 9, "NAME_": range(27)})
    encoding = Encoding.learn(table)
    names = tuple(feature.name for feature in encoding.features)
    model = random_model("3-2-1", encoding=encoding, feature_names=names)
    codes = encoding.codes(table)
    found = c_outputs(compiled(model, name=name), model, codes, name=name)
    assert np.allclose(found, model.outputs(table), rtol=1e-12)


def test_numbers_that_no_float_holds_are_refused():
    model = random_model()
    large = Scaling(model.inputs.mean * 1e39, model.inputs.scale)
    small = Scaling(model.inputs.mean, model.inputs.scale * 1e-60)
    for scaling in (large, small):
        with pytest.raises(ValueError, match="which no float can hold"):
            to_c(random_model(inputs=scaling), real="float")
    with pytest.raises(ValueError, match="unknown real 'half'"):
        to_c(model, real="half")


def test_python_needs_the_standard_library_only(tmp_path):
    (tmp_path / "net.py").write_text(to_python(MODELS["tanh"]))
    code = "import sys; sys.path.append('.'); import net; print(net.predict([1, 2, 3]))"
    command = [sys.executable, "-I", "-S", "-c", f"{code}; assert 'numpy' not in sys.modules"]
    options = {"capture_output": True, "text": True, "timeout": 300, "cwd": tmp_path}
    result = subprocess.run(command, check=True, **options)
    expected = MODELS["tanh"].predict([[1.0, 2, 3]])[0]
    assert json.loads(result.stdout) == pytest.approx(expected.tolist(), rel=1e-12)


def test_labels_keep_their_types_in_python():
    for classes in ((1, 2), (0.5, 1.5), (False, True), tuple(np.array([3, 4]))):
        model = random_model("3-4-2", output="tanh", classes=classes)
        assert executed(to_python(model))["MODEL"]["classes"] == [
            np.array(c).item() for c in classes
        ]
    with pytest.raises(ValueError, match="classes must be strings, finite numbers or booleans"):
        random_model("3-4-2", output="tanh", classes=(None, 1))


def test_onnx_keeps_names_and_types_of_labels():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    for classes in (NASTY[:2], (7, 9), (0.5, 1.5), (False, True), ("a\ud800", "b")):
        names = tuple(f"{nasty} {i}" for i, nasty in enumerate(NASTY[:3]))
        model = random_model("3-4-2", output="softmax", classes=classes, feature_names=names)
        session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
        X = samples(model, 50)
        expected = model.predict(X).tolist()
        if classes[0] == "a\ud800":  # half a character, which UTF-8 cannot hold
            expected, classes = [label.replace("\ud800", "?") for label in expected], classes[1:]
        assert session.run(["label"], {"x": X})[0].tolist() == expected
        facts = session.get_modelmeta().custom_metadata_map
        assert json.loads(facts["feature_names"]) == list(names)
        assert json.loads(facts["classes"])[-len(classes) :] == list(classes)


def test_latex_is_readable_and_names_inject_nothing():
    one = Scaling.identity(1)
    fields = {"inputs": one, "targets": one, "theta": [2.0, -0.5], "output_weights": [[-1e-7], [3]]}
    for nasty in NASTY:
        text = to_latex(random_model("1-1-1", **fields, feature_names=(nasty,)))
        comments, equations = text.split(r"\begin{align*}")
        assert all(line.startswith("% ") for line in comments.splitlines())
        assert comments.isascii()
        assert "y_1 is" not in comments  # it has no name
        assert equations.split("\n")[1:3] == [
            r"  h_{1,1} &= \tanh\left(2\,x_{1} - 0.5\right) \\",
            r"  y_{1} &= - 1 \cdot 10^{-7}\,h_{1,1} + 3",
        ]


def computed(content):
    """What is beside each label of the first sheet, as the package formulas computes it."""
    formulas = pytest.importorskip("formulas", reason="formulas is not installed")
    with warnings.catch_warnings(action="ignore"):
        solved = formulas.ExcelModel().loads(str(content)).finish().calculate()
    values = {
        str(key).partition("!")[2]: found.value[0, 0]
        for key, found in solved.items()
        if getattr(found, "value", None) is not None and "'!B" in str(key)
    }
    rows = openpyxl.load_workbook(content)["model"].iter_rows()
    return {a.value: values.get(b.coordinate) for a, b, *_ in rows}


def filled_in(model, cells, path):
    """A workbook with these values in its named cells."""
    book = openpyxl.load_workbook(io.BytesIO(to_excel(model)))
    for name, cell in zip(identifiers(model.columns), cells, strict=True):
        place = book.defined_names[f"in_{name}"].attr_text.replace("$", "")
        book["model"][place.partition("!")[2]].value = cell
    book.save(path)


BOOKS = {
    **{name: random_model("2-2-1", name) for name in ACTIVATIONS},
    "scores": random_model("1-2-2", output="tanh"),
    "table": ENCODED["classes"],
    "gaps": ENCODED["numbers"],
}


@pytest.mark.parametrize("name", BOOKS)
def test_workbooks_compute_what_models_do(name, tmp_path):
    model, path = BOOKS[name], tmp_path / "model.xlsx"
    if model.encoding is None:
        X = samples(model, 1)
        filled_in(model, X[0].tolist(), path)
    else:
        X = raw_table(1, seed=8).assign(day="24.12.2023 18:00", grade="Gut")
        if name == "gaps":
            X = X.assign(x1=np.nan, grade=None)
        cells = X.assign(day=datetime.datetime(2023, 12, 24, 18)).astype(object)
        filled_in(model, cells.where(cells.notna(), None).iloc[0].tolist(), path)
    found, expected = computed(path), model.outputs(X)[0]
    size = max(magnitudes(model, model.encode(X)).max(), 1)
    labels = [f"probability of {c}" if model.output == "softmax" else c for c in model.output_names]
    assert np.abs([found[label] for label in labels] - expected).max() < 1e-12 * size
    assert found.get("class") == (model.predict(X)[0] if model.classes else None)


@pytest.mark.parametrize("nasty", NASTY)
def test_nasty_names_inject_nothing_into_python(nasty):
    names = (nasty, nasty + "b", nasty + "c")
    model = random_model(
        "3-4-2", output="tanh", classes=names[:2], feature_names=names, origin={nasty: nasty}
    )
    source = to_python(model)
    assert source.isascii()
    scope = executed(source)
    assert scope["MODEL"]["classes"] == list(names[:2])
    assert scope["MODEL"]["columns"] == list(names)
    X = samples(model, 5)
    assert [scope["predict"](row) for row in X.tolist()] == model.predict(X).tolist()


def test_names_stay_text_in_a_workbook():
    formulas = ("=1+1", "=cmd|' /C calc'!A0")
    for names in (NASTY[:3], NASTY[3:6], (*NASTY[6:8], "a"), (*formulas, "a")):
        book = openpyxl.load_workbook(io.BytesIO(to_excel(random_model(feature_names=names))))
        assert {book["model"].cell(row, 1).data_type for row in (4, 5, 6)} == {"s"}


def test_a_workbook_has_room_for_many_columns():
    columns = tuple(Coded(f"c{i}", "category", ("a", "b")) for i in range(30))
    model = random_model("30-2-1", encoding=Encoding(columns))
    book = openpyxl.load_workbook(io.BytesIO(to_excel(model)))
    assert book["numbers"].max_column <= 30 + 2 + 1 + 5  # a sheet has 16,384


def test_names_of_cells_differ_by_more_than_their_case():
    labelled = {"feature_names": ("A", "a", "A_2"), "classes": ("class", "CLASS")}
    model = random_model(output="tanh", **labelled)
    names = openpyxl.load_workbook(io.BytesIO(to_excel(model))).defined_names
    # inputs, the class, a score for each
    assert len({name.lower() for name in names}) == len(names) == 3 + 1 + 2
