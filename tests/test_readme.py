"""The README tells the truth: its numbers are the committed ones, its examples and commands run."""

import importlib.util
import re

import pandas as pd

from tests.pages import ROOT, blocks, commands, prepare, run_command, run_python

README = (ROOT / "README.md").read_text(encoding="utf-8")


def script(name):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_numbers_are_those_of_the_committed_results():
    update = script("update_readme")
    assert update.updated(README) == README, "run: python scripts/update_readme.py"
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert update.updated_performance(page) == page, "run: python scripts/update_readme.py"


def test_its_figure_has_every_run_of_the_reference_study():
    figure = script("readme_figure")
    curves = figure.curves()
    assert set(curves["family"]) == {"DE", "CMA-ES"}
    last = curves.groupby(["family", "breaking"])["median"].last().unstack()
    assert (last[figure.WITH] < last[figure.WITHOUT]).all()
    assert "with symmetry breaking" in figure.FIGURE.read_text(encoding="utf-8")


def test_the_page_beyond_the_paper_says_what_its_results_say():
    beyond = script("beyond")
    page = beyond.PAGE.read_text(encoding="utf-8")
    assert beyond.filled(page) == page, "run: python scripts/beyond.py write"
    runs = pd.read_csv(beyond.RESULTS)
    assert len(runs) >= 600
    assert not runs.duplicated(["problem", "method", "settings", "repetition"]).any()


def test_it_is_short():
    assert len(README.splitlines()) < 150


def test_its_python_runs_as_printed(capsys, tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(blocks(README, "python")) == 2
    run_python(README)
    assert "starts ended in the best network" in capsys.readouterr().out
    assert (tmp_path / "model.json").exists()


def test_its_commands_run_as_printed(tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["symbreak"])
    (tmp_path / "study.db").touch()  # its report is only read
    assert len(commands(README)) == 7
    for arguments in commands(README):
        run_command(arguments)
    assert {"model.json", "predictions.csv", "model.c"} <= {p.name for p in tmp_path.iterdir()}


def test_what_it_makes_can_be_made():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake ([a-z][a-z-]*)", "\n".join(re.findall(r"`{1,3}[^`]+`", README)))
    assert {"quickstart", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_files_it_names_exist():
    names = re.findall(r"\]\(([\w./-]+)\)", README)
    assert len(names) > 10
    for name in names:
        assert (ROOT / name).exists(), name
