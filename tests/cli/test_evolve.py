"""``symbreak evolve``."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from symbreak.models import Model
from tests.cli.shell import symbreak, symbreak_here
from tests.experiments.processes import DEADLINE, wait_for
from tests.reference_control import pole_episode

MODULE = """
import time
import numpy as np

def distance(network):
    return float(np.sum(network.theta**2))

def gain(networks, seed):
    rng = np.random.default_rng(seed)
    return rng.normal() - np.sum(networks.theta**2, axis=1)

def slow(network):
    with open("calls", "a") as calls:
        calls.write(".")
    time.sleep(0.005)
    return distance(network)

def bad(network):
    raise ZeroDivisionError("no pole")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


def test_a_problem_by_name_is_solved_saved_and_drawn(tmp_path):
    out, plot = tmp_path / "policy.json", tmp_path / "plot.svg"
    result = symbreak_here(
        *("evolve", "double-pole", "--hidden", 6, "--no-biases"), "--out", out, "--plot", plot
    )
    assert result.returncode == 0, result.stderr
    assert "fitness 1 (lower is better)" in result.stdout
    assert "ended by target" in result.stdout
    model = Model.load(out)
    _, cost = pole_episode(lambda state: model.predict(state[None]).item(), (0.5, 0.05), 300)
    assert cost == 1.0
    assert "angle 2 [°]" in plot.read_text(encoding="utf-8")


def test_a_function_of_mine_gives_the_same_with_any_number_of_workers(folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = ("evolve", "mine:distance", "--inputs", 2, "--hidden", 3, "-n", 200, "--seed", 2)
    for shell, n in ((symbreak_here, 1), (symbreak, 2)):
        result = shell(*command, "--out", f"{n}.json", "--workers", n)
        assert result.returncode == 0, result.stderr
    first, second = (Model.load(folder / f"{n}.json") for n in (1, 2))
    assert np.array_equal(first.theta, second.theta)


def test_a_noisy_vectorised_gain_is_maximised(folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ("--maximize", "--noisy", "--vectorized", "-n", 600)
    result = symbreak_here("evolve", "mine:gain", "--inputs", 1, *options)
    assert result.returncode == 0, result.stderr
    assert "\u00b1 " in result.stdout
    assert "higher is better" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("double-poles",), "double-pole"),
        (("double-pole", "--inputs", 3), "says what goes in and out"),
        (("mine:distance",), "--inputs"),
        (("mine:nothing", "--inputs", 2), "no function 'nothing'"),
        (("nothing:distance", "--inputs", 2), "cannot be imported"),
        (("double-pole", "--method", "CMAES"), "CMA-ES"),
        (("double-pole", "-n", 3), "--evaluations"),
        (("double-pole", "--hidden", "auto"), "--hidden must be sizes of layers"),
        (("mine:distance", "--inputs", 0), "--inputs"),
        (("mine:gain", "--inputs", 2, "--timeout", -1), "--timeout must be a finite number"),
        (("double-pole", "--out", "none/policy.json"), "--out"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(folder, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    result = symbreak_here("evolve", *arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_function_that_always_fails_is_said_with_its_first_error(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = symbreak_here("evolve", "mine:bad", "--inputs", 1, "-n", 60)
    assert result.returncode == 2
    assert "ZeroDivisionError: no pole" in result.stderr
    assert "Warning: " in result.stderr
    assert "on_error" not in result.stderr
    assert ".py" not in result.stderr  # where in the code it was noticed helps nobody
    assert "no network had a fitness" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="sends a signal of Unix")
def test_ctrl_c_keeps_the_best_so_far(folder):
    command = [sys.executable, "-m", "symbreak", "evolve", "mine:slow", "--inputs", "1"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, "--out", "p.json"], cwd=folder, **options)
    calls = folder / "calls"
    wait_for(lambda: calls.exists() and calls.stat().st_size > 100)  # some generations
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    assert "Stopped early" in out
    assert Model.load(folder / "p.json").origin["fitness"] > 0
