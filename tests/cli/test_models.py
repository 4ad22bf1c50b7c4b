"""From a table to a model, its predictions and its exports, on the command line."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from symbreak import LeastSquares, Problem, train
from symbreak.cli import app
from symbreak.cli._scores import best_record
from symbreak.export import to_c, to_latex, to_onnx, to_python
from symbreak.inspection import effects, recorded_scores, scores
from symbreak.models import Model
from symbreak.problems import Scaling, read_problem
from tests.cli.shell import symbreak_here

NASTY = "[bold]x[/x]"


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return " ".join(result.output.split())


def error_of(model, problem):
    return LeastSquares(problem).network_error(model, with_ridge=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, and models trained on them."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = rng.normal(3, 5, size=(80, 2))
    y = 100 + 10 * np.tanh(X[:, 0]) + X[:, 1]
    rows = np.column_stack([X, y]).round(6).tolist()
    lines = [";".join(map(str, row)).replace(".", ",") for row in rows]
    (folder / "house.csv").write_text(f"area;{NASTY};price\n" + "\n".join(lines) + "\n")
    lines = [f"{a},{b},{'dear' if c > 100 else 'cheap'}" for a, b, c in rows]
    (folder / "kind.csv").write_text("\n".join(lines) + "\n")
    options = ("--hidden", "3", "-n", 2000, "--test", 0.25, "--validation", 0.25)
    run("train", folder / "house.csv", *options, "--out", folder / "house.json")
    run("train", folder / "kind.csv", *options, "--out", folder / "kind.json")
    return folder


def test_of_several_methods_the_best_network_is_kept(folder, tmp_path):
    """The errors of a search with a first guess of the ridge are not those of its networks."""
    out = tmp_path / "best.json"
    methods = ("--method", "DE", "--method", "auto")
    options = ("--target", "price", "--hidden", "3", "-n", 3000, "--out", out)
    text = run("train", folder / "house.csv", *methods, *options)
    errors = {name: float(re.search(rf"\b{name} (\d\S*)", text)[1]) for name in ("DE", "auto")}
    best = Model.load(out)
    assert best.origin["method"] == "auto"
    assert best.origin["error"] == pytest.approx(errors["auto"], rel=1e-3)
    assert errors["auto"] < errors["DE"]


def test_rows_that_teach_nothing_are_said_to(tmp_path):
    rows = np.random.default_rng(1).normal(size=(60, 3)).round(6).tolist()
    (tmp_path / "noise.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    text = run("train", tmp_path / "noise.csv")
    assert "It predicts the same for all rows. If they are no noise, try --alpha 0.01." in text
    assert re.search(r"\d of \d+ starts ended in the best network", text)


def test_the_error_that_is_shown_is_that_of_the_network_that_is_saved(tmp_path):
    """In the bar, in the table and by inspect; not that of the searches, nor of a first form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + 2 * rng.normal(size=150)
    rows = np.column_stack([X, y]).tolist()
    (tmp_path / "line.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    kinds = [",".join([*map(str, row[:4]), "up" if row[4] > 0 else "down"]) for row in rows]
    (tmp_path / "kind.csv").write_text("\n".join(kinds))
    for name in ("line.csv", "kind.csv"):
        out = tmp_path / "model.json"
        text = run("train", tmp_path / name, "-n", 3000, "--test", 0.2, "--out", out)
        bar, shown = re.search(r"100 % error (\S+) .* auto (\S+) [\d,]+ \d", text).groups()
        model = Model.load(out)
        settings = {"task": "auto", "test": 0.2}
        problem = read_problem(tmp_path / name, name=name, **settings)
        assert bar == shown == f"{model.origin['error']:.4g}" == f"{error_of(model, problem):.4g}"
        assert f"error {shown}" in run("inspect", out)


def test_misclassified_rows_are_compared_between_methods_and_else_among_the_scores(folder):
    options = ("--hidden", "3", "-n", 800, "--test", 0.25)
    assert run("train", folder / "kind.csv", *options).count("misclassified") == 1
    text = run("train", folder / "kind.csv", *options, "-m", "DE", "-m", "auto")
    assert "misclassified: in the test set" in text


def test_a_ridge_that_is_given_is_said_to_be_in_the_error(folder):
    options = ("--hidden", "3", "-n", 400, "-m", "DE")
    text = run("train", folder / "house.csv", *options, "--alpha", 0.01)
    assert re.search(r"error \S+ with its ridge", text)
    assert "MSE + ridge" in text
    assert "ridge" not in run("train", folder / "house.csv", *options, "--alpha", 0)


def test_a_value_far_from_all_others_is_pointed_at_before_training(tmp_path):
    rows = "".join(f"{i % 9},{i % 7},{i % 5}\n" for i in range(60))
    (tmp_path / "far.csv").write_text(f"a,hum\x1b[1mid,y\n{rows}1,-999,2\n")
    said = symbreak_here("train", tmp_path / "far.csv", *SMALL).stderr
    assert said.startswith(r"Warning: Far from all other values: hum\x1b[1mid -999 (row 62).")


def test_with_a_validation_set_it_says_which_method_is_best():
    x = np.linspace(-1, 1, 20)[:, None]
    problem = Problem.from_arrays(x, x**2, hidden=(1,), validation=(x, -(x**2)), alpha=0.0)
    good = train(problem, "DE", max_evaluations=400)
    flat = replace(good.model, output_weights=0 * good.model.output_weights, origin={"error": 1.0})
    records = [good, replace(good, model=flat)]
    assert best_record(records, problem) is records[1]  # which predicts the other way round
    assert best_record(records, replace(problem, validation=None)) is good


def test_too_few_starts_are_said_and_a_search_alone_has_none(folder):
    options = ("--target", "price", "--hidden", "3")
    text = run("train", folder / "house.csv", *options, "-n", 100)
    assert "no start has ended: too few to tell" in text
    assert "give it more --evaluations" in text
    assert "starts" not in run("train", folder / "house.csv", *options, "-n", 400, "-m", "DE")


def test_train_says_what_it_read_and_what_came_out(folder):
    out = folder / "again.json"
    options = ("--target", "price", "--hidden", "3", "-n", 2000, "--test", 0.25, "--out", out)
    text = run("train", folder / "house.csv", *options)
    assert "2-3-1 network, 13 parameters (9 of them searched), 60 samples" in text
    assert "parameters 13" in run("inspect", out)
    assert "separated by ';', decimal comma" in text
    assert f"regression (recognised, --task changes it) of price from area, {NASTY}" in text
    assert "misclassified" not in text
    model = Model.load(out)
    assert str(model.topology) == "2-3-1"
    assert model.feature_names == ("area", NASTY)
    assert model.target_names == ("price",)
    assert model.output_shift
    problem = read_problem(folder / "house.csv", name="house.csv", test=0.25)
    for part, score in scores(model, problem).items():
        spread = f" ± {score.spread[0]:.2g}" if part == "test" else ""
        assert f"{part} {score.n} {score.rmse[0]:.4g}{spread} {score.r2[0]:.4f}" in text
    score = recorded_scores(model)["left out"]
    assert f"left out 60 {score.rmse[0]:.4g} ± {score.spread[0]:.2g} {score.r2[0]:.4f}" in text
    assert f"{score.rmse[0]:.4g} ± {score.spread[0]:.2g}" in run("inspect", out)


def test_inspect_scores_a_model_on_another_table_and_writes_a_page(folder):
    out, page = folder / "own.json", folder / "page.html"
    run("train", folder / "house.csv", "--target", "price", "-n", 500, "--out", out)
    model = Model.load(out)
    text = run("inspect", out, "--data", folder / "house.csv", "--page", page)
    problem = read_problem(folder / "house.csv", name="house.csv")
    assert f"this table 80 {scores(model, problem)['training'].rmse[0]:.4g} ±" in text
    assert "column explains alone error when shuffled mean price" in text
    (effect,) = [one for one in effects(model, problem) if one.name == "area"]
    low, high = effect.means[:, 0].min(), effect.means[:, 0].max()
    assert re.search(rf"area {effect.share[0]:.0%} x \S+ {low:.4g} at \S+ to {high:.4g} at", text)
    assert "of this table" in page.read_text()
    with pytest.raises(ValueError, match="--page needs a table"):
        run("inspect", out, "--page", page)


def test_rows_without_a_target_are_left_out_of_what_is_inspected(folder, tmp_path):
    """As training does."""
    for name, mark in (("house", ";"), ("kind", ",")):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        lines[-1] = lines[-1][: lines[-1].rindex(mark) + 1]
        (tmp_path / "gaps.csv").write_text("\n".join(lines) + "\n")
        text = run("inspect", folder / f"{name}.json", "--data", tmp_path / "gaps.csv")
        assert "this table 79 " in text
        assert "1 row without a target left out" in text


@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_what_training_had_not_seen_is_said_without_code(tmp_path, command):
    lines = [f"{'uvw'[i % 3]},{i % 5},{i % 3 + i % 5}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["g,b,y", *lines]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join(["g,b,y", *lines, "z,,1"]) + "\n")
    run("train", tmp_path / "a.csv", *SMALL, "--out", tmp_path / "a.json")
    table = ["--data", tmp_path / "b.csv"] if command == "inspect" else [tmp_path / "b.csv"]
    done = symbreak_here(command, tmp_path / "a.json", *table)
    said = [line for line in done.stderr.splitlines() if line != "Ignored: y"]
    starts = ("Warning: Rare, or not seen in training: g z; ", "Warning: Missing values where ")
    assert [line.startswith(start) for line, start in zip(said, starts, strict=True)] == [True] * 2


@pytest.mark.parametrize("kind", [float, bool, str])
def test_classes_are_found_whatever_a_file_makes_of_numbers(tmp_path, kind):
    X, labels = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    known, frame = labels.astype(kind), pd.DataFrame(X, columns=["x1", "x2"])
    problem = Problem.from_arrays(frame, known, task="classification")
    model = train(problem, "DE", max_evaluations=400).model
    model.save(tmp_path / "a.json")
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    frame.assign(k=labels).to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.npz", "a.csv"):
        text = run("inspect", tmp_path / "a.json", "--data", tmp_path / name)
        assert f"this table 40 {model.error(X, known):.1%}" in text


@pytest.mark.filterwarnings("error")
def test_rows_beyond_all_numbers_are_inspected_without_warnings(folder, tmp_path):
    path = tmp_path / "huge.csv"
    path.write_text(f"area,{NASTY},price\n" + "1e300,-2e299,3e299\n-1e300,1e299,1\n" * 5)
    text = run("inspect", folder / "house.json", "--data", path)
    assert "this table 10 inf" in text


def test_a_file_that_cannot_be_written_is_named(folder):
    """Not the draft beside it; nobody may write in /proc, not even root."""
    done = symbreak_here("export", folder / "house.json", "--to", "c", "--out", "/proc/x.c")
    assert done.returncode in (1, 2)
    assert re.fullmatch(r"Error: (--out cannot be written: )?/proc/x\.c\b.*\n", done.stderr)


SMALL = ("--hidden", "2", "-n", 400, "-m", "DE")


@pytest.mark.parametrize(
    ("head", "options", "said"),
    [
        ('a,b,"c,d",y', ("--ignore", "a, b"), "of y from c,d"),
        ('a,b,"c,d",y', ("--ignore", "c,d"), "of y from a, b"),
        ('a,b,"c,d",y', ("--target", "y,b", "--ignore", "a"), "of y, b from c,d"),
        ("a,b,c,y", ("--target", "c", "--target", "b"), "training b 40"),
        (",b,c,y", (), "column 1 has no name; if it only counts rows, use --ignore 'column 1'"),
        ("a,b,c,Gr\u00f6\u00dfe", ("--encoding", "cp1252"), "of Gr\u00f6\u00dfe from a, b, c"),
        ("a,b,c,y", ("--time", "9"), "regression (recognised, --task changes it)"),
        ("a,b,c,y", ("--ignore", "y", "--task", "classification"), "training 40 "),
        ("0.5,0,0,0.5", (), "no header regression (recognised, --task changes it) of x4"),
    ],
)
def test_columns_are_read_as_they_are_named(tmp_path, head, options, said):
    rows = "".join(f"{i},{i % 7},{i % 5},{i}.5\n" for i in range(40))
    path = tmp_path / "table.csv"
    path.write_bytes(f"{head}\n{rows}".encode("cp1252"))
    assert said in run("train", path, *SMALL, *options)


@pytest.mark.parametrize(
    ("content", "options", "lines"),
    [
        ("extra,{b},area\nu,2.5,1\nv,-1,4.5\n", (), ["price,outside", "{y},", "{y},"]),
        ("1,2.5\n4.5,-1\n", (), ["price,outside", "{y},", "{y},"]),  # no names: as they stand
        (
            *("id,area,{b},price\n007,1,2.50,x\n008,4.5,-1,\n", ("--keep", "--digits", 17)),
            ["id,area,{b},price,predicted price,outside", "007,1,2.50,x,{y},", "008,4.5,-1,,{y},"],
        ),
        (
            *("id,area,{b}\n007,1,2.50\n008,4.5,-1\n", ("--key", "id, area", "--digits", 5)),
            ["id,area,price,outside", "007,1,{y},", "008,4.5,{y},"],
        ),
        (
            *("area;{b};note\n1;2,5000000;a b\n4,5;-1;c\n", ("--key", "note")),
            ["note;price;outside", "a b;{y};", "c;{y};"],
        ),
    ],
)
def test_predictions_are_written_as_the_file_is_beside_what_was_asked_for(
    folder, content, options, lines
):
    (folder / "new.csv").write_text(content.replace("{b}", NASTY))
    said = symbreak_here("predict", folder / "house.json", folder / "new.csv", *options)
    assert ("Ignored: extra" in said.stderr) == ("extra" in content)
    expected = ["", *Model.load(folder / "house.json").predict([[1, 2.5], [4.5, -1]])]
    for found, line, y in zip(said.stdout.splitlines(), lines, expected, strict=True):
        digits = options[-1] if "--digits" in options else 8  # far from 0
        cell = f"{y:#.{digits}g}".replace(".", "," if ";" in content else ".") if y else ""
        assert found == line.replace("{b}", NASTY).replace("{y}", cell)
    out = folder / "predictions.csv"
    options = (*options, "--out", out)
    assert "2 predictions in" in run("predict", folder / "house.json", folder / "new.csv", *options)
    assert out.read_text() == said.stdout


def test_predictions_of_targets_far_from_0_have_as_many_digits_of_their_spread(folder):
    near = Model.load(folder / "house.json")
    far = replace(near, targets=Scaling(near.targets.mean + 1e7, near.targets.scale))
    far.save(folder / "far.json")
    (folder / "new.csv").write_text("1,2.5\n")
    said = symbreak_here("predict", folder / "far.json", folder / "new.csv").stdout
    rest = float(said.splitlines()[1].split(",")[0]) - 1e7
    assert rest == pytest.approx(near.predict([[1, 2.5]])[0], abs=1e-5 * near.targets.scale[0])


def test_a_model_of_columns_without_names_takes_them_as_they_stand(folder):
    (folder / "new.csv").write_text("a,b\n1,2.5\n4.5,-1\n")
    result = symbreak_here(
        "predict", folder / "kind.json", folder / "new.csv", "--scores", "--digits", 17
    )
    model, X = Model.load(folder / "kind.json"), [[1, 2.5], [4.5, -1]]
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["class", "probability cheap", "probability dear", "outside"]
    assert [row[0] for row in rows[1:]] == model.predict(X).tolist()
    assert [[float(x) for x in row[1:3]] for row in rows[1:]] == model.outputs(X).tolist()
    expected = [f"{label}," for label in model.predict(X)]
    (folder / "new.csv").write_text("a,x2,x1\n1,2.5,1\n4.5,-1,4.5\n")
    result = symbreak_here("predict", folder / "kind.json", folder / "new.csv")
    assert result.stdout.split() == ["class,outside", *expected], result.stderr
    (folder / "new.csv").write_text("a,x2\n1,2.5\n4.5,-1\n")
    with pytest.raises(ValueError, match="lacks columns that are needed: 'x1'"):
        run("predict", folder / "kind.json", folder / "new.csv")


def test_predictions_say_how_sure_they_are_and_where_training_saw_nothing(folder):
    new, model = folder / "far.csv", Model.load(folder / "house.json")
    new.write_text(f"area,{NASTY}\n1,2.5\n900,-1\n")
    result = symbreak_here(
        "predict", folder / "house.json", new, "--interval", "0.8", "--digits", 17
    )
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["price", "price low", "price high", "outside"]
    assert [row[3] for row in rows[1:]] == ["", "area"]
    ends = np.array([row[:3] for row in rows[1:]], dtype=float)
    X = np.array([[1, 2.5], [900, -1]])
    assert ends.T.tolist() == [
        model.outputs(X)[:, 0].tolist(),
        *map(list, model.predict_interval(X, 0.8)),
    ]
    assert "1 of 2 rows are far outside of what training saw, in area" in result.stderr
    with pytest.raises(
        ValueError, match="no error bars: train gives them to networks of regression"
    ):
        run("predict", folder / "kind.json", new, "--interval", "0.9")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("area,b\n1,2\n", [], r"lacks columns that are needed: '\[bold\]x.* has 'area', 'b'"),
        ("1,2,3\n4,5,6\n", [], "must have the 2 inputs of the model as columns"),
        (f"area,{NASTY}\n1,\n", [], r"missing values in row 2\. .* fill in .* leave the rows out"),
        (f"area,{NASTY}\n1,2\n", ["--scores"], "--scores is for classes"),
        (f"area,{NASTY}\n1,2\n", ["--out", "new.csv"], "must be a file of its own"),
        (f"area,{NASTY}\n1,2\n", ["--out", "no/x.csv"], "in a folder that exists"),
        (f"area,{NASTY}\n1,2\n", ["--out", "x.xlsx"], "--out is written as CSV; name it .csv"),
        (f"area,{NASTY}\n1,2\n", ["--interval", "90"], "--interval must be"),
        (f"area,{NASTY}\n1,2\n", ["--key", "it"], "unknown column of new.csv 'it'. Known: area"),
    ],
)
def test_what_cannot_be_predicted_is_refused(folder, monkeypatch, content, options, message):
    monkeypatch.chdir(folder)
    (folder / "new.csv").write_text(content)
    with pytest.raises(ValueError, match=message) as refused:
        run("predict", "house.json", "new.csv", *options)
    assert "ignore" not in str(refused.value)  # none of the columns can be left out


def test_tables_fit_a_narrow_terminal(folder):
    for columns in (60, 80):
        lines = symbreak_here("inspect", folder / "house.json", columns=columns).stdout.splitlines()
        assert max(map(len, lines)) <= columns
        text = " ".join(" ".join(lines).split())
        for part in ("2-3-1, tanh neurons", "method auto", NASTY):
            assert part in text


def test_inspect_leaves_out_what_is_too_much_for_a_terminal(tmp_path):
    names = ",".join(f"in{i}" for i in range(25))
    rows = np.random.default_rng(0).normal(size=(60, 26))
    rows[:, -1] = 3.5
    np.savetxt(tmp_path / "wide.csv", rows, delimiter=",", header=f"{names},out", comments="")
    said = run("train", tmp_path / "wide.csv", *SMALL, "--out", tmp_path / "wide.json")
    assert "no R2 of a target that is the same in all rows" in said
    assert "nan" not in said
    text = run("inspect", tmp_path / "wide.json")
    assert "and 5 inputs that matter less" in text


def test_exports_are_those_of_the_library(folder):
    path = folder / "house.json"
    model = Model.load(path)
    for kind, suffix, expected in (
        *(("c", ".c", to_c(model)), ("python", ".py", to_python(model))),
        *(("onnx", ".onnx", to_onnx(model)), ("latex", ".tex", to_latex(model))),
    ):
        assert "Saved in" in run("export", path, "--to", kind)
        written = (folder / f"house{suffix}").read_bytes()
        assert written == (expected if isinstance(expected, bytes) else expected.encode())
    out = folder / "other.c"
    run("export", path, "--to", "c", "--name", "net", "--real", "float", "--out", out)
    assert "void net_outputs(const float *x, float *y);" in out.read_text()
    before = path.read_text()
    with pytest.raises(ValueError, match="must be another file than the model"):
        run("export", path, "--to", "c", "--out", path)
    assert path.read_text() == before


def test_charts_of_problem_fit_and_network_are_drawn(folder):
    for name, method, words in (
        ("house", "auto", "error"),  # that of the network on its way
        ("kind", "DE", "with its ridge"),  # that of the search
    ):
        plot = folder / f"{name}.svg"
        options = ("--hidden", "2", "-n", 800, "--test", 0.2, "--plot", plot, "-m", method)
        assert "Drawn in" in run("train", folder / f"{name}.csv", *options)
        assert "convergence" in plot.read_text()
        assert ("with its ridge" in plot.read_text()) == (words == "with its ridge")
    run("inspect", folder / "house.json", "--plot", plot)
    assert "network" in plot.read_text()
    assert "Drawn in" in run("problems", "syn5", "--plot", plot)
    with pytest.raises(ValueError, match="--plot draws one problem; name it"):
        run("problems", "--plot", plot)


def test_a_hostile_model_ends_with_a_reason_and_code_2(folder):
    facts = json.loads((folder / "house.json").read_text())
    path = folder / "evil.json"
    path.write_text(json.dumps({**facts, "net": [2, 10**9, 1]}))
    result = symbreak_here("predict", path, folder / "house.csv")
    assert result.returncode == 2
    assert "is no model file: a topology needs" in " ".join(result.stderr.split())
    names = ["[/red]\x1b[31m", "\ud800"]
    path.write_text(json.dumps({**facts, "feature_names": names, "origin": {"[/x]": "[/y]\x07"}}))
    result = symbreak_here("inspect", path)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert r"[/red]\x1b[31m" in result.stdout


def piped(folder, command):
    """Standard output and error of a command in a shell whose reader has seen enough."""
    options = {"capture_output": True, "text": True, "timeout": 300, "cwd": folder}
    done = subprocess.run(f"{sys.executable} -m symbreak {command}", shell=True, **options)
    return done.stdout, done.stderr


def test_a_reader_that_has_seen_enough_is_no_error_and_the_model_is_saved(folder):
    rows = "".join(f"{i % 9},{i % 7}\n" for i in range(50_000))
    (folder / "long.csv").write_text(f"area,{NASTY}\n{rows}")
    assert piped(folder, "predict house.json long.csv | head -1") == ("price,outside\n", "")
    command = "train house.csv -n 400 --hidden 2 --out piped.json | true"
    assert "Error" not in piped(folder, command)[1]
    assert Model.load(folder / "piped.json").topology.hidden == (2,)


def test_compare_brings_a_saved_model_near_to_another(folder):
    model = Model.load(folder / "house.json")
    hidden = -model.theta.reshape(3, 3)[[2, 0, 1]]
    weights = np.vstack([-model.output_weights[[2, 0, 1]], model.output_weights[3:]])
    moved = replace(model, theta=hidden.ravel(), output_weights=weights)
    moved.save(folder / "moved.json")
    out = folder / "aligned"
    files = (folder / "house.json", folder / "moved.json")
    text = run("compare", *files, "--out", out, "--plot", folder / "matches.svg")
    assert "0 after (the nearest replica to house.json)" in text
    assert "neurons -2 -3 -1 stand for 1 to 3" in text
    assert "Which neuron is which" in (folder / "matches.svg").read_text(encoding="utf-8")
    aligned = Model.load(out / "moved.json")
    assert np.array_equal(aligned.theta, model.theta)
    assert np.array_equal(aligned.output_weights, model.output_weights)
    assert np.array_equal(Model.load(out / "house.json").theta, model.theta)
    for name, one in (("a", model), ("b", moved)):
        (rows,), V = one.topology.layers(one.theta), one.output_weights
        np.savez(folder / f"{name}.npz", rows[:, :-1].T, V[:-1], rows[:, -1], V[-1])
    files = (folder / "a.npz", folder / "b.npz")
    run("compare", *files, "--activation", "tanh", "--out", out)
    with np.load(out / "b.npz") as found, np.load(files[0]) as expected:
        assert all(np.array_equal(found[name], expected[name]) for name in expected.files)
        zeros = {name: -0.0 * abs(expected[name]) for name in expected.files}
    np.savez(folder / "zero.npz", **zeros)
    text = run("compare", files[0], folder / "zero.npz", "--activation", "tanh")
    assert "-> 0 " in text
    assert "-> -0 " not in text
    with pytest.raises(ValueError, match="another folder than that of the networks"):
        run("compare", *files, "--activation", "tanh", "--out", folder)
    np.savez(folder / "house.npz", np.eye(2))
    for others, message in (
        (("kind.json",), "networks must be of the same sizes and symmetries"),
        (("house.npz",), "two networks or more of one kind"),
        ((), "two networks or more of one kind"),
        (("house.json",), "files of the same name cannot be saved in one folder"),
    ):
        with pytest.raises(ValueError, match=message):
            run("compare", *(folder / name for name in ("house.json", *others)), "--out", out)


def test_a_network_is_refitted_to_new_data_and_compared_with_what_it_was(tmp_path):
    rng = np.random.default_rng(1)
    for day, n_new in (("old", 0), ("new", 4)):
        x, grade = rng.uniform(-1, 1, size=100), rng.choice([*"ab"], 100)
        grade[:n_new] = "c"
        y = np.sin(3 * x) + (grade == "b") + 0.01 * rng.normal(size=100)
        rows = zip(range(100), grade, x, y, strict=True)
        lines = ["id,grade,x,y", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{day}.csv").write_text("\n".join(lines))
    old, new, out = (tmp_path / name for name in ("old.json", "new.json", "again.json"))
    usual = ("--ignore", "id", "--hidden", "4", "--out")
    run("train", tmp_path / "old.csv", "-n", "3000", *usual, old)
    text = run("train", tmp_path / "new.csv", "--from", old, "-n", "20", "--out", new)
    assert "3-4-1 network" in text  # as many hidden neurons, without the id, with a level more
    levels = [Model.load(path).encoding.columns[0].levels for path in (old, new)]
    assert set(levels[0]) == {"a", "b"}
    assert levels[1] == (*levels[0], "c")  # in their places
    run("train", tmp_path / "new.csv", "-n", "20", *usual, out)
    Xy = pd.read_csv(tmp_path / "new.csv")
    refitted, cold = (Model.load(path).error(Xy, Xy["y"]) for path in (new, out))
    assert refitted < 0.1 * cold  # after 20 evaluations
    text = run("compare", old, new, "--plot", tmp_path / "changes.svg")
    assert "new.json: " in text
    assert text.count("hidden layer 1, ") == 4
    assert "Which neuron is which" in (tmp_path / "changes.svg").read_text(encoding="utf-8")
    kinds, model = tmp_path / "kinds.csv", tmp_path / "kinds.json"
    kinds.write_text("kind,x,y\n" + "".join(f"{'yno'[i % 3]},{i % 7},{i}\n" for i in range(40)))
    options = ("--target", "kind", "--ignore", "y", "-n", 100, "--hidden", 2)
    run("train", kinds, *options, "--out", model)
    with pytest.raises(ValueError, match="--target must say which column holds the classes: kind"):
        run("train", kinds, "--from", model, "-n", "100")
    assert "classification" in run("train", kinds, "--from", model, "--ignore", "y", "-n", "100")
    (tmp_path / "other.csv").write_text("u,v\n" + "1,2\n3,5\n" * 9)
    with pytest.raises(ValueError, match=r"lacks columns that are needed: .*grade"):
        run("train", tmp_path / "other.csv", "--from", old, "--target", "v")
    for options, message in (
        (("--hidden", "3"), "--from must have the hidden layers of the problem"),
        (("-m", "DE-SB"), "--from begins with a polish, and DE-SB has none"),
    ):
        with pytest.raises(ValueError, match=message):
            run("train", tmp_path / "new.csv", "--from", old, *options)
    options = ("--from", old, "-m", "auto", "-m", "DE-SB", "-n", 100)
    said = symbreak_here("train", tmp_path / "new.csv", *options)
    assert ("DE-SB has none" in said.stderr, "100 %" in said.stdout) == (True, False)


def test_a_ridge_is_a_number_or_auto(tmp_path):
    options = ("--method", "DE", "-n", 400, "--out", tmp_path / "model.json")
    weights = []
    for alpha in (0, 1000):
        run("train", "syn5", *options, "--alpha", alpha)
        weights.append(np.abs(Model.load(tmp_path / "model.json").output_weights).max())
    assert weights[1] < 0.1 * weights[0]
    with pytest.raises(ValueError, match="--alpha must be a number or auto, got 'little'"):
        run("train", "syn5", *options, "--alpha", "little")
