"""A model predicts in units, comes back to the last bit, and no file makes it do anything else."""

import json
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbreak import LeastSquares, Topology
from symbreak._activations import ACTIVATIONS
from symbreak._model_file import MAX_FILE
from symbreak._support import frames
from symbreak._support.writing import write_text
from symbreak.models import Model
from symbreak.problems import Scaling
from tests.papers import paper_problem
from tests.strategies import seeds, topologies


def regressor(**fields):
    """A 2-2-1 network whose outputs are easily computed by hand."""
    arguments = {
        "topology": Topology((2, 2, 1)),
        "task": "regression",
        "theta": np.array([1, 0, 0, 0, 1, 0.5]),
        "output_weights": np.array([[2.0], [-1.0]]),
        "inputs": Scaling(np.array([10.0, 20]), np.array([2.0, 4])),
        "targets": Scaling(np.array([100.0]), np.array([50.0])),
    }
    return Model(**{**arguments, **fields})


def classifier(**fields):
    arguments = {
        "topology": Topology((2, 2, 3)),
        "task": "classification",
        "output_weights": np.array([[2.0, 0, -1], [1, 2, 0], [0, 0, 0.5]]),
        "targets": Scaling.identity(3),
        "output": "softmax",
        "classes": ("red", "green", "blue"),
    }
    return regressor(**{**arguments, **fields})


def by_hand(x):
    a, b = math.tanh((x[0] - 10) / 2), math.tanh((x[1] - 20) / 4 + 0.5)
    return a, b


X = [[10, 20], [12, 16], [7.5, 30], [11, 12]]


def test_predictions_are_in_the_units_of_the_data():
    expected = [100 + 50 * (2 * a - b) for a, b in map(by_hand, X)]
    assert regressor().predict(X) == pytest.approx(expected, rel=1e-14)
    shifted = regressor(output_weights=np.array([[2.0], [-1.0], [0.25]]))
    assert shifted.output_shift
    assert shifted.predict(X) == pytest.approx(np.add(expected, 12.5), rel=1e-14)
    assert shifted.outputs(X).shape == (4, 1)


def test_classes_are_labels_and_scores_are_probabilities():
    model = classifier()
    sums = np.array([[2 * a + b, 2 * b, 0.5 - a] for a, b in map(by_hand, X)])
    expected = np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True)
    assert model.outputs(X) == pytest.approx(expected, rel=1e-13)
    assert model.predict(X).tolist() == [model.classes[i] for i in sums.argmax(axis=1)]
    assert classifier(output="tanh").outputs(X) == pytest.approx(sums, rel=1e-13)


def test_errors_are_normalised_squares_or_shares_of_samples():
    model = regressor()
    assert model.error(X, model.predict(X) + 25) == pytest.approx(0.25)
    truth = classifier().predict(X).tolist()
    wrong = ["blue" if truth[0] != "blue" else "red", *truth[1:]]
    assert classifier().error(X, truth) == 0
    assert classifier().error(X, np.array(wrong, dtype=object)) == 0.25


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: regressor().predict([1, 2]), r"X must have shape \(K, d\), got \(2,\)"),
        (lambda: regressor().predict([[1, 2, 3]]), r"\(K, 2\) for a 2-2-1 network, got \(1, 3\)"),
        (lambda: regressor().predict([["a", "b"]]), "array of numbers"),
        (lambda: regressor().predict([[1, math.nan]]), "X must be finite"),
        (lambda: regressor().error(X, [1, 2]), r"\(4, 1\), got \(2, 1\)"),
        (lambda: regressor().error(X, np.ones((4, 2))), r"\(4, 1\), got \(4, 2\)"),
        (lambda: classifier().error(X, [1, 2, 3, 4]), "labels like 'red', got int64"),
        (lambda: classifier().error(X, [["red"]] * 4), "one class label per sample"),
        (lambda: classifier().error(X, ["red"]), r"\(4,\), got \(1,\)"),
    ],
)
def test_wrong_shapes_are_refused_in_words(act, message):
    with pytest.raises(ValueError, match=message):
        act()


FRAME = pd.DataFrame(X, columns=["volts", "humidity"], dtype=float)
OTHER_FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").table(dict(frame)),
}


@pytest.mark.parametrize("kind", OTHER_FRAMES)
def test_columns_of_a_frame_are_found_by_name(kind):
    """In any order, and beside others, whatever these hold."""
    model = regressor(feature_names=("volts", "humidity"))
    frame = OTHER_FRAMES[kind](FRAME[["humidity", "volts"]].assign(id=list("abcd")))
    expected = model.predict(X)
    assert model.predict(frame).tolist() == expected.tolist()
    assert model.outputs(frame).tolist() == model.outputs(X).tolist()
    assert model.error(frame, expected) == 0


def test_columns_of_several_targets_are_found_by_name():
    two = {"topology": Topology((2, 2, 2)), "targets": Scaling.identity(2)}
    names = {"feature_names": ("volts", "humidity"), "target_names": ("u", "v")}
    model = regressor(**two, **names, output_weights=np.array([[2.0, 1], [-1, 0]]))
    assert model.predict(FRAME)[:, 1] == pytest.approx([a for a, _ in map(by_hand, X)])
    frame = FRAME.assign(**dict(zip("uv", model.predict(FRAME).T, strict=True)))
    assert model.error(frame, frame[["v", "u"]]) == 0
    assert model.error(frame, frame) == 0
    with pytest.raises(ValueError, match=r"y lacks columns that are needed: 'v'"):
        model.error(frame, frame[["u"]])
    one = regressor(target_names=("u",))
    assert one.error(X, pd.DataFrame({"any": one.predict(X)})) == 0


def test_columns_without_names_are_taken_as_they_stand():
    expected = regressor().predict(X).tolist()
    named = regressor(feature_names=("volts", "humidity"))
    assert regressor().predict(FRAME).tolist() == expected
    assert named.predict(pd.DataFrame(X)).tolist() == expected
    numbered = regressor(feature_names=("x1", "x3"))  # of a file without a header
    assert numbered.predict(FRAME).tolist() == expected
    turned = FRAME.set_axis(["x1", "x3"], axis=1)[["x3", "x1"]]
    assert numbered.predict(turned).tolist() == expected
    with pytest.raises(ValueError, match="X lacks columns that are needed: 'x3'"):
        numbered.predict(turned.rename(columns={"x3": "x2"}))
    twice = FRAME.set_axis(["a", "a"], axis=1)
    assert regressor().predict(twice).tolist() == expected


def test_spaces_around_names_do_not_count_as_in_files():
    model = regressor(feature_names=("volts", "humidity"))
    spaced = FRAME.rename(columns={"volts": " volts"})[["humidity", " volts"]]
    assert model.predict(spaced).tolist() == model.predict(X).tolist()
    both = FRAME.assign(**{"volts": FRAME["volts"] + 1, " volts": 0})
    assert model.predict(both).tolist() == model.predict(np.add(X, [1, 0])).tolist()
    with pytest.raises(ValueError, match="got 2 columns 'volts'"):
        model.predict(spaced.assign(**{"volts ": 0}))


DAYS = pd.date_range("2024-01-01", periods=4)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            FRAME.rename(columns={"humidity": "Humidty"}),
            r"^X lacks columns that are needed: 'humidity'\. Did you mean 'Humidty'\? "
            r"Add or rename them; it has 'volts', 'Humidty'\.$",
        ),
        (pd.DataFrame({"a": [1], "b": [2]}), "needed: 'volts', 'humidity'. Add or rename"),
        (FRAME.iloc[:, [0, 1, 1]], r"each needed column once, got 2 columns 'humidity'; remove"),
        (FRAME.assign(volts=DAYS), "column 'volts' has dates or times, 2024-01-01"),
        (FRAME.assign(volts=DAYS.tz_localize("UTC")), r"column 'volts' has Timestamp\('2024"),
        (FRAME.assign(volts=DAYS - DAYS[0]), "column 'volts' has dates or times, 0"),
        (FRAME.assign(humidity=[1, 2, "wet", 4]), "column 'humidity' has 'wet'; encode or"),
        (FRAME.assign(volts=[1, 2, None, np.inf]), "2 NaN or .* in column 'volts', .* index 2"),
        (
            FRAME.assign(volts=pd.array([True, None, False, True], dtype="boolean")),
            "1 NaN or infinite values in column 'volts', the first at index 1",
        ),
        (FRAME.iloc[:0], "X must not be empty"),
    ],
)
def test_frames_that_lack_numbers_are_refused_with_the_column(frame, message):
    with pytest.raises(ValueError, match=message):
        regressor(feature_names=("volts", "humidity")).predict(frame)


def test_dates_are_no_numbers_without_names_either():
    """A polars frame of dates and numbers makes numbers of both."""
    frame = FRAME.assign(volts=DAYS)
    with pytest.raises(ValueError, match="column 'volts' has dates or times"):
        regressor().predict(pytest.importorskip("polars").from_pandas(frame))
    with pytest.raises(ValueError, match="column 0 has dates or times"):
        regressor().predict(frame.set_axis([0, 1], axis=1))


def test_a_lazy_frame_is_asked_to_be_collected():
    pl = pytest.importorskip("polars")
    lazy = pl.from_pandas(FRAME).lazy()
    with pytest.raises(ValueError, match=r"got a lazy frame \(LazyFrame\); give what its collect"):
        regressor(feature_names=("volts", "humidity")).predict(lazy)


def test_a_message_about_many_columns_is_short():
    names = [f"column {i}" for i in range(5_000)]
    with pytest.raises(ValueError, match="'column 7' and 4,992 more") as refused:
        frames.choose_columns("X", names, ["colum 17", *map(str, range(99))])
    assert "Did you mean 'column 17'" in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (regressor, {"theta": np.zeros(5)}, r"theta must have shape \(6,\) for a 2-2-1"),
        (regressor, {"theta": np.full(6, np.nan)}, "theta must be finite"),
        (regressor, {"output_weights": np.zeros((4, 1))}, "output_weights must have shape"),
        (
            regressor,
            {"inputs": Scaling.identity(3)},
            "inputs must be a Scaling of 2 columns, got 3",
        ),
        (regressor, {"task": "clustering"}, "unknown task 'clustering'"),
        (regressor, {"output": "softmax"}, "must be 'linear', got 'softmax'"),
        (regressor, {"classes": ("a",)}, "cannot have 1 classes"),
        (regressor, {"feature_names": ("a",)}, "feature_names must be 2 different names"),
        (classifier, {"classes": ("a", "b")}, "cannot have 2 classes"),
        (classifier, {"classes": ("a", "b", "a")}, "classes must differ"),
        (classifier, {"classes": (1, "1", 2)}, "strings all of them or none of them"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**change)


def equal(a, b):
    arrays = [
        [m.theta, m.output_weights, m.inputs.mean, m.inputs.scale, m.targets.mean, m.targets.scale]
        for m in (a, b)
    ]
    same = all(x.tobytes() == y.tobytes() for x, y in zip(*arrays, strict=True))
    plain = ("topology", "task", "output", "classes", "feature_names", "target_names", "origin")
    return same and all(getattr(a, n) == getattr(b, n) for n in plain)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([-0.0, 5e-324, 1.7e308])
)


@given(topologies(), seeds(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_model_comes_back_to_the_last_bit(topology, seed, data):
    rng = np.random.default_rng(seed)
    name = data.draw(st.sampled_from(sorted(ACTIVATIONS)))
    topology = Topology(topology.sizes, name)
    theta = rng.normal(size=topology.dim) * 10.0 ** rng.integers(-300, 300, size=topology.dim)
    theta[:1] = data.draw(numbers)
    q, shift = topology.n_outputs, data.draw(st.booleans())
    model = regressor(
        topology=topology,
        theta=theta,
        output_weights=rng.normal(size=(topology.hidden[-1] + shift, q)),
        inputs=Scaling.fit(rng.normal(size=(5, topology.n_inputs))),
        targets=Scaling.fit(rng.normal(size=(5, q))),
        target_names=tuple(data.draw(st.lists(st.text(), min_size=q, max_size=q, unique=True))),
        origin={"method": data.draw(st.text()), "error": 0.1, "versions": {"a": [1, None]}},
    )
    assert equal(Model.from_json(model.to_json()), model)


@pytest.mark.parametrize(
    "classes",
    [
        ("", "\u00e9\u2028\n", "\ud800"),
        (0.5, -0.0, 1e300),
        tuple(np.arange(3)),
        (0, 1, 2**64 - 1),
        (2**64 - 3, 2**64 - 2, 2**64 - 1),
        (-(2**63), 0, 2**63 - 1),
    ],
)
def test_labels_come_back(tmp_path, classes):
    model = classifier(classes=classes)
    model.save(tmp_path / "a.json")
    loaded = Model.load(tmp_path / "a.json")
    assert loaded.classes == classes
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert set(loaded.predict(X).tolist()) <= set(classes)
    with pytest.raises(ValueError, match="must be strings, finite numbers or booleans"):
        classifier(classes=(None, 1, 2)).save(tmp_path / "a.json")


def test_a_saved_file_stays_if_the_next_cannot_be_written(tmp_path):
    path = tmp_path / "a.json"
    regressor().save(path)
    before = path.read_text()
    with pytest.raises(ValueError, match="not JSON compliant"):
        regressor(origin={"error": math.nan}).save(path)
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["a.json"]
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    with pytest.raises(ValueError, match="is a folder"):
        write_text(tmp_path, "new")
    write_text(Path(os.devnull), "new")
    assert not Path(os.devnull).is_file()


FACTS = json.loads(classifier(feature_names=("a", "b"), origin={"seed": 1}).to_json())
DEEP = 100_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "does not say that its format"),
        ({"version": 2}, "version 2, this symbreak reads 1; upgrade"),
        ({"net": "2-2-3"}, "net must be a list"),
        ({"net": [2, 2]}, "at least three layer sizes"),
        ({"net": [2] * 10_000}, "theta must have shape"),
        ({"activation": "exec"}, "unknown activation 'exec'"),
        ({"task": None}, "unknown task None"),
        ({"theta": [10**400] * 6}, "theta must be"),
        ({"output_weights": [[1, 2, 3], [1, 2]]}, "output_weights must be"),
        ({"inputs": {"mean": [0, 0], "scale": [0, 1]}}, "scale must be positive"),
        ({"inputs": {"mean": [0, 0]}}, "missing .* 'scale'"),
        ({"classes": ["a", "b", None]}, "classes must be strings"),
        ({"classes": [10**400, 1, 2]}, "classes must be .* of 64 bits"),
        ({"feature_names": "ab"}, "feature_names must be"),
        ({"origin": 1}, "origin must be"),
    ],
)
def test_a_tampered_file_is_refused_with_the_reason(tmp_path, change, message):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**FACTS, **change}))
    with pytest.raises(ValueError, match=rf"a\.json is no model file: .*{message}") as refused:
        Model.load(path)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON, or cut short"),
        ("[" * DEEP, "nested too deeply"),
        (json.dumps(FACTS).replace("0.5", "NaN"), "holds NaN"),
        (json.dumps(FACTS).replace("0.5", "1e999"), "must be finite"),
        (json.dumps(FACTS).replace("0.5", "1" * 5000), "digits"),
    ],
)
def test_what_is_no_model_is_refused_with_the_reason(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"is no model file: .*{message}"):
        Model.load(path)


def test_other_files_are_refused_unread(tmp_path):
    with pytest.raises(ValueError, match="there is no model file"):
        Model.load(tmp_path / "none.json")
    with pytest.raises(ValueError, match="there is no model file"):
        Model.load(tmp_path)
    (tmp_path / "a.json").write_bytes(b"\x80\x04.")
    with pytest.raises(ValueError, match="not UTF-8 text"):
        Model.load(tmp_path / "a.json")
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(10 * 2**30)  # it takes no room on the disk
    with pytest.raises(ValueError, match=f"more than {MAX_FILE >> 20} MiB"):
        Model.load(tmp_path / "a.json")


def test_a_model_of_a_trained_network_predicts_what_its_evaluator_does():
    rng = np.random.default_rng(0)
    inputs = rng.normal(3, 5, size=(30, 2))
    problem = paper_problem(inputs, inputs[:, 0] * 7 + 2, hidden=(3,))
    evaluate, theta = LeastSquares(problem), rng.uniform(-0.5, 0.5, size=problem.topology.dim)
    model = evaluate.model(theta)
    assert model.error(inputs, inputs[:, 0] * 7 + 2) == pytest.approx(evaluate(theta[None])[0])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(inputs), model.predict(inputs))
