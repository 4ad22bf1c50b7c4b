"""Columns that are no plain numbers become inputs, by rules that the model keeps."""

import csv
import datetime
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbreak import Problem, train
from symbreak.cli._predict import choose_inputs, inputs_of
from symbreak.export import to_c, to_excel, to_latex, to_onnx, to_python
from symbreak.models import Model
from symbreak.problems import read_problem, read_table
from symbreak.problems._encoding import Encoding
from tests.cli.shell import symbreak_here

#: How columns of files may look.
COLUMNS = (
    st.sampled_from(["a", "b", "a b", "\u00fc", "=1", "7"]),
    st.floats(-1e3, 1e3).map(lambda x: f"{x:.3f}"),
    st.integers(0, 9).map(str),
    st.dates().map(str),
    st.dates().map(lambda day: f"{day:%d.%m.%Y} 12:30"),
    st.booleans().map(str),
    st.text(st.characters(codec="ascii", exclude_characters="\r\n\0"), max_size=5),
)
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.dates()
)


def raw_file(folder):
    """A table as people have it: a timestamp, grades, blanks, German decimals."""
    lines = ["time;G\u00fcte;heat;yield"]
    for i in range(60):
        grade, heat = "ABC"[i * i % 7 % 3], f"{20 + i % 11 / 4:.2f}".replace(".", ",")
        y = f"{(i % 11) / 4 + 2 * (grade == 'B'):.3f}".replace(".", ",")
        cells = [grade if i % 17 else "", heat if i % 13 else "NA", y if i % 29 else ""]
        lines.append(";".join([f"{i % 28 + 1:02d}.{i // 28 + 1:02d}.2024 08:{i % 60:02d}", *cells]))
    path = folder / "raw.csv"
    path.write_text("\n".join(lines) + "\n", encoding="cp1252")
    return path


def test_levels_are_indicators_and_the_most_frequent_has_none():
    encoding = Encoding.learn({"g": np.array([*"aaabbbcccaz", None], dtype=object)})
    assert [feature.name for feature in encoding.features] == [
        *("g = b", "g = c", "g = other", "g is missing")
    ]
    with pytest.warns(UserWarning, match="not seen in training: g new"):
        inputs = encoding([["a"], ["c"], ["new"], [None]])
    assert inputs.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_booleans_are_numbers_in_any_case_as_in_files():
    cells = np.array(["TRUE", "False", None, "true"] * 3, dtype=object)
    (column,) = Encoding.learn({"a": cells}).columns
    assert column.kind == "number"
    assert np.array_equal(column.codes(cells)[0][:4], [1, 0, np.nan, 1], equal_nan=True)


def test_gaps_where_training_had_none_are_filled_and_named():
    encoding = Encoding.learn({"x": np.arange(7.0), "g": np.array(list("aaaabbb"), object)})
    with pytest.warns(UserWarning, match="where training had none: x, g"):
        assert encoding([[None, None]]).tolist() == [[3, 0]]
    with pytest.warns(UserWarning, match="most frequent"):  # where there are no others
        assert encoding([[1, "new"], [2, "b"]]).tolist() == [[1, 0], [2, 1]]
    encoding = Encoding.learn({"x": np.array([1, 2, 9, np.nan])})
    assert encoding({"x": np.array([np.nan, 5])}).tolist() == [[2, 1], [5, 0]]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["01/02/2024", "03/04/2024"] * 20, "day and month cannot be told apart"),
        ([f"name {i}" for i in range(40)], "has 40 levels that hardly repeat"),
        (["2024-01-01T10:00", "2024-01-02T10:00Z"] * 20, "a zone beside times without one"),
        (["same"] * 40, "is the same in all rows"),
        ([""] * 40, "is empty"),
    ],
)
def test_what_nothing_can_be_made_of_is_left_out_with_a_word(cells, why):
    columns = {"d": np.array(cells, dtype=object), "x": np.arange(40.0)}
    encoding = Encoding.learn(columns)
    assert encoding.names == ("x",)
    assert why in encoding.left_out["d"]


def test_times_with_a_zone_are_not_taken_beside_those_without():
    days = np.array([f"2024-01-0{i % 9 + 1} 10:00" for i in range(40)], dtype=object)
    encoding = Encoding.learn({"d": days})
    with pytest.raises(ValueError, match=r"column 'd' must hold dates like .* a zone beside"):
        encoding([["2024-01-01 10:00"], ["2024-01-01 10:00+02:00"]])


def test_ordered_categories_and_booleans_are_numbers():
    sizes = pd.Categorical(["s", "l", None, "m"], categories=["s", "m", "l"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "ok": [True, False, True, True]})
    assert Encoding.learn(frame)(frame).tolist() == [[0, 0, 1], [2, 0, 0], [1, 1, 1], [1, 0, 1]]


def test_dates_are_days_and_long_ones_have_a_time_of_the_year():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=40 * i) for i in range(30)]
    one = Encoding.learn({"d": np.array([str(day) for day in days], dtype=object)})
    other = Encoding.learn({"d": np.array([f"{day:%d.%m.%Y}" for day in days], dtype=object)})
    assert len(one.features) == 3
    assert one([["2020-03-01"]]).tolist() == other([["01.03.2020"]]).tolist()
    assert one([["1970-01-03"]])[0, 0] == 2


def test_a_column_can_be_taken_for_levels_or_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zone,y\n" + "".join(f"{i % 3},{i}.5\n" for i in range(30)))
    assert read_problem(path, name="a").encoding is None
    zones = read_problem(path, name="a", categories="zone").encoding
    assert zones.columns[0].levels == ("0", "1", "2")
    with pytest.raises(ValueError, match="'zone' cannot be a category and a number"):
        read_problem(path, name="a", categories="zone", numbers="zone")


def test_a_model_keeps_its_encoding_and_takes_the_raw_table(tmp_path):
    problem = read_problem(raw_file(tmp_path), name="raw", encoding="cp1252")
    model = train(problem, max_evaluations=500).model
    frame = pd.DataFrame(
        {"heat": [20.5, None], "time": ["03.02.2024 08:01"] * 2, "G\u00fcte": ["B", None]}
    )
    predicted = model.predict(frame)
    assert np.isfinite(predicted).all()
    again = Model.from_json(model.to_json())
    assert again.encoding == model.encoding
    rows = [["03.02.2024 08:01", "B", 20.5], ["03.02.2024 08:01", None, None]]
    assert again.predict(rows).tolist() == predicted.tolist()


def test_a_raw_file_trains_predicts_and_exports_with_three_commands(tmp_path):
    path, model = raw_file(tmp_path), tmp_path / "model.json"
    assert "name its encoding, such as cp1252" in symbreak_here("train", path).stderr
    said = symbreak_here("train", path, "--encoding", "cp1252", "--out", model, "-n", 500).stdout
    assert "G\u00fcte: 3 levels" in said
    assert "3 rows without a target are left out" in said
    options = ("--encoding", "cp1252", "--key", "time")
    predicted = symbreak_here("predict", model, path, *options).stdout.splitlines()
    assert predicted[0] == "time;yield;outside"
    assert len(predicted) == 61
    assert re.fullmatch(r"01\.01\.2024 08:00;\d+,\d+;", predicted[1])
    for kind in ("c", "excel"):
        assert symbreak_here("export", model, "--to", kind).returncode == 0
    assert "G\u00fcte = " not in symbreak_here("inspect", model).stdout


@pytest.mark.filterwarnings("ignore:Rare")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=5, max_size=12))
def test_any_cells_are_encoded_or_refused_in_words(rows):
    cells = np.empty((len(rows), 2), dtype=object)
    cells[:] = rows
    columns = {"a": cells[:, 0], "b": cells[:, 1]}
    try:
        encoding = Encoding.learn(columns)
    except ValueError:  # anything else fails
        return
    assert np.isfinite(encoding(columns)).all()
    assert Encoding.from_json(encoding.to_json()) == encoding


@st.composite
def files(draw):
    """Tables of columns of any kind with gaps, and a target."""
    n = draw(st.integers(8, 24))
    kinds = draw(st.lists(st.sampled_from(range(len(COLUMNS))), min_size=1, max_size=4))
    columns = [
        draw(
            st.lists(st.one_of(COLUMNS[kind], st.sampled_from(["", "NA"])), min_size=n, max_size=n)
        )
        for kind in kinds
    ]
    target = draw(st.sampled_from([COLUMNS[0], COLUMNS[1], COLUMNS[2]]))
    return [*columns, draw(st.lists(target, min_size=n, max_size=n))]


@pytest.mark.filterwarnings("ignore:Rare")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_any_file_is_refused_in_words_or_trained_on_kept_predicted_for_and_exported(columns):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"column {chr(97 + i)}" for i in range(len(columns))])
            writer.writerows(zip(*columns, strict=True))
        try:
            table = read_table(path)
            problem = read_problem(table, name="any", task="auto", hidden=(2,))
        except ValueError:  # anything else fails
            return
        record = train(problem, max_evaluations=60)
        record.model.save(path.with_suffix(".json"))
        model = Model.load(path.with_suffix(".json"))
    inputs = choose_inputs(model, table)
    outputs = model.outputs(inputs_of(model, table, inputs))
    assert np.isfinite(outputs).all()
    scope = {}
    exec(to_python(model), scope)
    if model.encoding is not None:
        kinds = [
            (name, column.kind) for name, column in zip(inputs, model.encoding.columns, strict=True)
        ]
        numbers = [name for name, kind in kinds if kind == "number"]
        raw = table.raw(inputs, [name for name, kind in kinds if kind != "number"], numbers)
        rows = list(zip(*(raw[name].tolist() for name in inputs), strict=True))
        assert np.allclose([scope["outputs"](row) for row in rows], outputs, rtol=1e-9, atol=1e-9)
    for export in (to_c, to_latex, to_onnx, to_excel):
        assert export(model)


def test_a_level_may_be_called_other_and_a_column_like_a_level():
    levels = np.array([*"aaaaa", *["other"] * 4, "q", "r"] * 2)
    levels[:2] = "s", "t"  # with q and r, rare
    levels[levels == "q"] = [*"uv"]
    levels[levels == "r"] = [*"wx"]
    table = {"g": levels, "g = other": np.arange(22.0), "y": np.arange(22) % 5}
    encoding = Encoding.learn({name: table[name] for name in ("g", "g = other")})
    names = [feature.name for feature in encoding.features]
    assert names == ["g = other", "g = other (2)", "g = other (3)"]
    with pytest.warns(UserWarning, match="Rare, or not seen in training: g s, t, u"):
        X = encoding(pd.DataFrame(table))
    assert X[:, 0].tolist() == (levels == "other").astype(float).tolist()
    assert X[:, 1].sum() == 6
    assert X[:, 2].tolist() == table["g = other"].tolist()
    problem = Problem.from_arrays(X, table["y"], feature_names=tuple(names), encoding=encoding)
    assert train(problem, max_evaluations=60).model.columns == ("g", "g = other")
