"""The README tells the truth: its numbers are the committed ones, its examples and commands run."""

import re

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import symbreak
from symbreak.analysis import Results, save_chart
from symbreak.cli import app
from symbreak.experiments import Archive, Store
from tests.pages.blocks import ROOT, commands, fenced, load_module, prepare, run_page

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_numbers_are_those_of_the_committed_results():
    update = load_module("scripts", "update_readme")
    assert update.updated(README) == README, "run: python scripts/update_readme.py"
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert update.updated_performance(page) == page, "run: python scripts/update_readme.py"


def test_its_figure_has_every_run_of_the_reference_study():
    figures = load_module("scripts", "study_figures")
    curves = figures.curves()
    assert set(curves["family"]) == {"DE", "CMA-ES"}
    last = curves.groupby(["family", "breaking"])["median"].last().unstack()
    assert (last[figures.WITH] < last[figures.WITHOUT]).all()
    assert "with symmetry breaking" in figures.FIGURE.read_text(encoding="utf-8")


def test_the_words_and_numbers_of_drawn_results_are_those_of_the_reference_study(tmp_path):
    figures = load_module("scripts", "study_figures")
    results = Results.of(Archive(figures.STUDY))
    drawn = dict(figures.convergence(results))
    assert set(drawn) == set(figures.CURVES.iterdir())
    chosen = (figures.CURVES / "sinc-DE.svg", figures.CURVES / "digits-CMA-ES.svg")
    for path, chart in {
        figures.TABLE: figures.table(results),
        **{p: drawn[p] for p in chosen},
    }.items():
        save_chart(chart, tmp_path / path.name)
        fresh, kept = (texts_of(file) for file in (tmp_path / path.name, path))
        assert fresh == kept, "run: python scripts/study_figures.py"
    for path, chart in drawn.items():
        assert chart.title.subtitle in texts_of(path), "run: python scripts/study_figures.py"


def texts_of(path):
    return re.findall(">([^<>]+)</text>", path.read_text(encoding="utf-8"))


def test_the_page_beyond_the_paper_says_what_its_results_say():
    beyond = load_module("scripts", "beyond")
    page = beyond.PAGE.read_text(encoding="utf-8")
    assert beyond.filled(page, beyond.parts()) == page, "run: python scripts/beyond.py write"
    runs = pd.read_csv(beyond.RESULTS)
    assert len(runs) >= 600
    assert not runs.duplicated(["problem", "method", "settings", "repetition"]).any()


def test_problems_that_were_not_run_again_keep_their_rows():
    beyond = load_module("scripts", "beyond")
    old = pd.DataFrame({"problem": ["syn5", "sinc", "digits"], "error": [1.0, 2.0, 3.0]})
    new = pd.DataFrame({"problem": pd.Categorical(["sinc", "sinc"]), "error": [4.0, 5.0]})
    rows = beyond.merged(old, new)
    assert list(rows["problem"]) == ["syn5", "sinc", "sinc", "digits"]
    assert list(rows["error"]) == [1.0, 4.0, 5.0, 3.0]


def test_it_is_short():
    assert len(README.splitlines()) < 150


def test_its_code_and_commands_run_as_printed(capsys, tmp_path, monkeypatch):
    prepare(tmp_path, README)
    monkeypatch.chdir(tmp_path)
    names = run_page(README)
    assert "starts ended in the best network" in capsys.readouterr().out
    assert names["network"].score(names["X"], names["y"]) > 0.99  # .9996 over 12 seeds
    made = {"model.json", "predictions.csv", "model.c", "report", "poles.html", "ship.json"}
    assert made <= {p.name for p in tmp_path.iterdir()}
    kinds = [language for language, _ in fenced(README)]
    assert kinds.count("python") == 2
    assert names["result"].distance == 0
    assert sum(len(commands(content)) for kind, content in fenced(README) if not kind) == 9


@pytest.mark.slow
def test_its_study_and_report_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line for kind, content in fenced(README) if not kind for line in commands(content)]
    for name in ("study", "report"):
        (arguments,) = (line for line in lines if line[0] == name)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    with Store(tmp_path / "study.db", read_only=True) as store:
        assert f"{len(store.runs())} runs; stop it" in README
    assert (tmp_path / "report" / "index.html").exists()


def test_what_it_makes_can_be_made():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", README, re.M)
    assert {"quickstart", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_files_it_names_exist():
    names = re.findall(r"\]\(([\w./-]+)\)", README)
    assert len(names) > 10
    for name in names:
        assert (ROOT / name).exists(), name


def test_the_versions_agree():
    version = symbreak.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert citation["preferred-citation"]["year"] == 2011
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changelog, re.M).group(1) == version


def test_what_contributors_are_told_to_touch_is_there():
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", table):
        found = [ROOT / name, ROOT / "symbreak" / name, ROOT / "symbreak" / "export" / name]
        assert any(path.exists() for path in found), name


def test_files_that_pages_name_are_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = r"`((?:symbreak|tests|scripts|benchmarks|studies|examples)/[\w./-]+)`"
    missing = {
        (page.name, name)
        for page in pages
        for name in re.findall(named, page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert missing == set()
