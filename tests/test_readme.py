"""The README tells the truth: its numbers are the committed ones, its examples run."""

import importlib.util
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_its_numbers_are_those_of_the_committed_results():
    path = ROOT / "scripts" / "update_readme.py"
    spec = importlib.util.spec_from_file_location("update_readme", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.updated(README) == README, "run: python scripts/update_readme.py"


def test_its_examples_run(capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    names = {"X": X, "y": X.sum(axis=1)}
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    for block in blocks:
        short = block.replace("100_000", "1_000")
        exec(short.replace("train(problem)", "train(problem, max_evaluations=500)"), names)
    assert capsys.readouterr().out.count("\n") >= 2


def test_the_files_it_names_exist():
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
