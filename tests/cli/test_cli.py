"""The command line in real processes."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from symbreak import load_problem, problem_names, train
from symbreak.models import Model
from tests.cli.shell import symbreak, symbreak_here


def test_train_prints_the_error_of_the_run():
    options = ("--method", "CMA-ES-SB", "--evaluations", 960, "--seed", 3)
    result = symbreak_here("train", "syn5", *options)
    assert result.returncode == 0, result.stderr
    record = train(load_problem("syn5"), "CMA-ES-SB", max_evaluations=960, seed=3)
    assert f"{record.error:.4g}" in result.stdout
    assert "960" in result.stdout
    result = symbreak_here("train", "two-circles", "--evaluations", 800, "-m", "DE-SB")
    record = train(load_problem("two-circles"), "DE-SB", max_evaluations=800)
    assert "misclassified" in result.stdout
    assert f"{record.rates[-1, 3]:.1%}" in result.stdout


def test_train_says_at_once_what_takes_minutes(monkeypatch, tmp_path):
    rows = "".join(f"{i},{i % 7},{i % 5}\n" for i in range(40))
    (tmp_path / "wide.csv").write_text(f"a,b,y\n{rows}")
    said = "40 samples with 2 inputs may take minutes; --time 60 ends after one"
    words = ("train", tmp_path / "wide.csv", "--hidden", 1)
    assert said not in symbreak_here(*words).stdout
    monkeypatch.setattr("symbreak.training._size.MANY", 80)
    assert said in symbreak_here(*words).stdout
    assert said not in symbreak_here(*words, "--evaluations", 500).stdout


def test_train_compares_methods_and_saves_the_best_model(tmp_path):
    out = tmp_path / "model.json"
    result = symbreak_here("train", "syn5", "-m", "DE", "-m", "DE-SB", "-n", 800, "--out", out)
    assert result.returncode == 0, result.stderr
    assert len(re.findall(r" \d+\.\d to \d+\.\d ", result.stdout)) == 2  # conventions
    problem, model = load_problem("syn5"), Model.load(out)
    records = [train(problem, method, max_evaluations=800) for method in ("DE", "DE-SB")]
    best = min(records, key=lambda record: record.error)
    assert np.array_equal(model.theta, best.theta)
    assert np.array_equal(model.output_weights, best.output_weights)
    assert model.origin["method"] == best.method


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "sinc", "-m", "DE_SB"], "Did you mean 'DE-SB'"),
        (["train", "sinc", "-m", "DE", "-m", "nope"], "unknown method 'nope'"),
        (["train", "sinc", "-m", "DE", "-n", "10"], "at least 120 (one generation), got 10"),
        (
            ["train", "sinc", "-n", "0"],
            "--evaluations must be an integer of at least 4 (one generation)",
        ),
        (["train", "sinc", "--population-size", "3"], "--population-size must be an integer"),
        (["train", "sinc", "--seed", "-1"], "--seed must be an integer"),
        (["train", "sinc", "--threads", "-1"], "--threads must be an integer"),
        (["train", "sinc", "--alpha", "-1"], '--alpha (or "auto") must be a finite number'),
        (["train", "sinc", "--seed", "x"], "--seed"),
        (
            ["train", "sinc", "--out", "no/such/folder/x.json"],
            "--out must be a file in a folder that exists",
        ),
        (["train", "sinc", "--out", "x.txt"], "--out must end with .json, got x.txt"),
        (["train", "sinc", "--plot", "x.gif"], "--plot must end with .svg or .png"),
        (["train", "sinc", "--target", "y"], "--target is for data files"),
        (["train", "sinc", "--hidden", "5;3"], "--hidden must be sizes of layers, each 1 to"),
        (["train", "sinc", "--hidden", "auto"], "--hidden auto is for data files"),
        (["train", "sinc", "--networks", "3"], "--networks is for networks of your own data"),
        (["train", "sinc", "--hidden", "0"], "10,000,000, got '0'"),
        (["train", "sinc", "--activation", "gelu"], "unknown activation 'gelu'"),
        (["train", "sinc", "--time", "0"], "'--time': Input should be greater"),
        (["train", "none.csv"], "no data file 'none.csv'"),
        (["train", "."], "no data file '.'; it is a folder, name a file in it"),
        (["predict", "none.json", "none.csv"], "there is no model file 'none.json'"),
        (["inspect", "none.json"], "there is no model file"),
        (["export", "none.json", "--to", "c"], "there is no model file"),
        (["export", "none.json", "--to", "java"], "unknown format 'java'"),
        (["train"], "Missing argument"),
        (["trian"], "No such command"),
    ],
)
def test_bad_input_ends_with_a_message_and_code_2(arguments, message):
    result = symbreak_here(*arguments)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_a_process_with_bad_input_ends_with_a_message_and_code_2():
    result = symbreak("train", "snic")
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert "Did you mean 'sinc'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.stdout


def test_a_missing_extra_is_named(tmp_path):
    (tmp_path / "altair.py").write_text("raise ModuleNotFoundError('no', name='altair')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = symbreak("problems", "sinc", "--plot", tmp_path / "x.svg", env=environment)
    assert result.returncode == 1
    assert "pip install 'symbreak[report]'" in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.array([object()], dtype=object)}, "is not an .npz file of plain arrays"),
        ({"a": np.zeros((2, 3, 4))}, "must have a matrix for each of at least two layers"),
        ({"a": np.eye(3), "b": np.eye(3)}, "can be read in two ways"),
        ({}, "got arrays of shapes none"),
    ],
)
def test_compare_refuses_what_is_no_network(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    for name, words in (("a.npz", message), ("a.pt", "save plain arrays with numpy.savez")):
        result = symbreak_here("compare", *[tmp_path / name] * 2, "--activation", "tanh")
        assert result.returncode == 2
        assert words in " ".join(result.stderr.split())


def test_ctrl_c_ends_with_the_best_so_far():
    """In a terminal, since that is where people press it: the bar shows when it has begun."""
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "symbreak", "train", "sinc", "-m", "DE-SB", "-n", "500000000"]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    deadline = time.monotonic() + 300
    try:
        while b"error 0." not in shown and time.monotonic() < deadline:
            shown += os.read(main, 4096)
        process.send_signal(signal.SIGINT)
        while time.monotonic() < deadline:
            try:
                shown += os.read(main, 4096)
            except OSError:  # the terminal is closed
                break
        assert process.wait(timeout=300) == 130
    finally:
        process.kill()
        os.close(main)
    assert b"this is the best so far" in shown
    assert b"Traceback" not in shown


def test_ctrl_c_in_the_last_generation_of_a_method_stops_before_the_next(tmp_path):
    script = """
import os, signal, sys
from symbreak.cli import main
from symbreak.training import Run
step = Run.step
def interrupted(self, *seconds):
    step(self, *seconds)
    if self.finished:
        os.kill(os.getpid(), signal.SIGINT)
Run.step = interrupted
sys.argv = ["symbreak", "train", "syn5", "-m", "DE", "-m", "DE-SB", "-n", "800", "--out", "a.json"]
main()
"""
    options = {"capture_output": True, "text": True, "timeout": 300, "cwd": tmp_path}
    result = subprocess.run([sys.executable, "-c", script], **options)
    assert result.returncode == 130
    assert "this is the best so far" in result.stdout
    assert Model.load(tmp_path / "a.json").origin["method"] == "DE"


def test_a_command_that_ctrl_c_ends_says_so(monkeypatch, tmp_path):
    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("symbreak.analysis.write_report", interrupted)
    result = symbreak_here("report", tmp_path / "a.db", "--out", tmp_path)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "Error: stopped before there was a result.\n"


def test_problems_fit_a_terminal():
    said = symbreak_here("problems", columns=80).stdout
    assert max(map(len, said.splitlines())) <= 80
    assert all(name in said.split() for name in problem_names())


def test_shells_complete_commands():
    program = Path(sys.executable).with_name("symbreak")
    words = {"COMP_WORDS": "symbreak tr", "COMP_CWORD": "1", "_SYMBREAK_COMPLETE": "complete_bash"}
    result = subprocess.run(
        [program], capture_output=True, text=True, timeout=300, env={**os.environ, **words}
    )
    assert result.stdout.split() == ["train"]
