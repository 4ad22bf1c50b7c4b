"""Every benchmark runs, for a moment: what it imports, calls and prints is still there."""

import contextlib
import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.pages.blocks import ROOT, load_module

SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
ONE = "the first of several"
LITTLE = "problems = ['syn5']\nmethods = ['DE']\nrepetitions = {repetitions}\nbudgets.syn5 = 200"


def in_this_process(code, _):
    """Seconds and output of what a benchmark does in a new process, on less data."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code.replace("0_000", "0"), {})
    return 1.0, output.getvalue()


def a_table():
    X = np.random.default_rng(0).normal(size=(40, 2))
    return SimpleNamespace(X=X, y=X[:, 0])


#: What is made smaller in each, and the words of its command line.
MOMENTS = {
    "agreement": (
        {"BUDGET": 4_000, "PAPER": ("sinc",), "WITHOUT_RIDGE": (), "TABLES": ()},
        "--repeats 1",
    ),
    "aligned": ({"BUDGET": 40, "PROBLEMS": {"acrobot": (2,)}, "NETS": ONE}, "--repeats 2"),
    "alignment": (
        {"EVALUATIONS": 200, "STEPS": 2, "LARGE": "6-4-1", "MANY": 20}
        | {"problem_names": lambda: ["syn5", "sinc2d"]},
        "--repeats 1",
    ),
    "cluster": ({"STUDY": LITTLE, "SECONDS": 0.1}, "--workers 1 --seconds 0.01"),
    "control": ({"BUDGET": 150}, "--repeats 1"),
    "ensembles": ({"STARTS": 2, "FEW": 2}, "--repeats 2"),
    "error_bars": ({"SIZES": (8,), "TABLES_OF_NOISE": 1}, "run --only noise"),
    "fitness": ({"SIZE": 4, "SIZES": (4,)}, "--repeats 1"),
    "generalisation": ({"FOLDS": 2, "NETS": ((2,),), "MLPS": ()}, "run --data iris --repeats 1"),
    "generation": ({"GENERATIONS": 2}, "--repeats 1"),
    "kernel": ({"CASES": ONE, "process": in_this_process}, "--repeats 1"),
    "peers": ({"BUDGET": 1_200, "process": in_this_process}, "--repeats 1"),
    "polish": ({"CASES": {"sinc": 8}}, "--repeats 1"),
    "posteriors": ({}, "{folder} {folder}"),
    "ridge_groups": ({"REPORTED": 1, "TABLES": {"a": a_table}}, "run"),
    "rule": ({"PAPER": ("syn5",), "TABLES": (), "LARGEST": (), "REPLAYS": 2}, "--seconds 0"),
    "size": (
        {"TASKS": ONE, "ROWS": ONE, "NEURONS": ONE, "TORCH": (), "LIMITS": {500: 0.05}},
        "",
    ),
    "sizes": ({"FOLDS": 2, "METHODS": ("linear",)}, "run --data ethanol --methods linear"),
    "spread": ({"BUDGET": 200, "PROBLEMS": ("acrobot",)}, "--repeats 1"),
    "tables": ({"FOLDS": 2, "NET": (2,), "METHODS": ("symbreak",)}, "run --data tips --repeats 1"),
    "time_to_target": (
        {"WARM_UP": 0.01, "PATIENCE": 0.1},
        "--problems syn5 --scout 0.01 --tries 1 --limit 0.01 --stops 1",
    ),
    "workers": (
        {"STUDY": LITTLE.format(repetitions=1), "REPEATS": 1, "find_spec": lambda name: None},
        "",
    ),
}


def draw_a_posterior(folder):
    """A table, how it is split, and draws of two networks."""
    rng = np.random.default_rng(0)
    np.savetxt(folder / "toy.data", rng.normal(size=(12, 2)))
    (folder / "splits.json").write_text('{"toy": {"train": [0, 1, 2, 3], "test": [4, 5]}}')
    shapes = {"w1": (1, 2), "b1": (2,), "w2": (2, 1), "b2": (1,)}
    np.savez(folder / "toy.npz", **{k: rng.normal(size=(4, 20, *s)) for k, s in shapes.items()})


def test_every_script_is_tried():
    assert list(MOMENTS) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_runs_to_its_end(name, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    paths = (str(ROOT / "benchmarks"), str(ROOT), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))  # of the workers of a cluster
    smaller, words = MOMENTS[name]
    timing = load_module("benchmarks", "_timing")
    monkeypatch.setattr(timing, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(timing, "use_one_thread", lambda: None)  # for good, and of pytest too
    script = load_module("benchmarks", name)
    for constant, value in smaller.items():
        value = getattr(script, constant)[:1] if value is ONE else value
        monkeypatch.setattr(script, constant, value)
    if name == "posteriors":
        draw_a_posterior(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *words.format(folder=tmp_path).split()])
    if hasattr(script, "RESULTS"):
        monkeypatch.setattr(script, "RESULTS", tmp_path / "results.json")
    if name == "posteriors":
        monkeypatch.setattr(script, "PAGE", tmp_path / "page.md")
        (tmp_path / "page.md").write_text("".join(script.MARKS))
    if hasattr(script, "main"):
        script.main()
    else:
        measure = script.measure if name == "ensembles" else script.benchmark
        timing.run(measure, script.__doc__, repeats=1)
    assert capsys.readouterr().out
