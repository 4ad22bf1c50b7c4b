"""The README tells the truth: its numbers are the committed ones, its examples run."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def script(name):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_numbers_are_those_of_the_committed_results():
    updated = script("update_readme").updated(README)
    assert updated == README, "run: python scripts/update_readme.py"


def test_the_page_beyond_the_paper_says_what_its_results_say():
    beyond = script("beyond")
    page = beyond.PAGE.read_text(encoding="utf-8")
    assert beyond.filled(page) == page, "run: python scripts/beyond.py write"
    runs = pd.read_csv(beyond.RESULTS)
    assert len(runs) >= 600
    assert not runs.duplicated(["problem", "method", "settings", "repetition"]).any()


def test_its_examples_run(capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    population = np.random.default_rng(1).normal(size=(5, 19))
    names = {"X": X, "y": X.sum(axis=1), "population": population}
    names |= {"theta": population[0], "anchor": population[1]}
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    for block in blocks:
        short = block.replace("100_000", "1_000")
        exec(short.replace("train(problem)", "train(problem, max_evaluations=500)"), names)
    assert capsys.readouterr().out.count("\n") >= 2


def test_the_files_it_names_exist():
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
