"""The report as files, and as a page in a real browser."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from symbreak import load_problem
from symbreak.analysis import problem_chart, write_report
from symbreak.analysis._report import Figures
from symbreak.analysis._words import summary_sentences, warning_sentences
from symbreak.experiments import Store, StudySpec, execute, run_study
from symbreak.experiments._archive import write_archive
from tests.cli.shell import symbreak_here

EVIL = "<script>alert(1)</script>\\u001b[31m\\u2028[/x]"  # as TOML spells it
TEXT = f"""
problems = ["syn5", "two-circles", "{EVIL}"]
methods = ["DE", "DE-INV-SB", "DE-SB", "DE-SB-BF", "CMA-ES", "CMA-ES-INV-SB", "CMA-ES-SB"]
repetitions = 5
[budgets]
syn5 = 1_600
two-circles = 1_600
"{EVIL}" = 1_600
[method.DE-SB-BF]
problems = ["syn5"]
[data_file."{EVIL}"]
file = "evil.csv"
hidden = [3]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    x = np.linspace(-1, 1, 40)
    lines = [f"{a:.4f},{b:.4f}" for a, b in zip(x, np.sin(3 * x), strict=True)]
    (folder / "evil.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    run_study(StudySpec.parse(TEXT, name="small", folder=folder), folder / "a.db", workers=2)
    return folder / "a.db"


@pytest.fixture(scope="module")
def written(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    written = write_report(store, folder, formats=("svg",))
    assert written.page == folder / "index.html"
    return written


@pytest.fixture
def report(written):
    return written.page.parent


def test_all_files_are_there(report):
    for name in ("index.html", "table.md", "table.tex", "table.csv", "results.csv"):
        assert (report / name).stat().st_size > 100, name
    figures = sorted((report / "figures").iterdir())
    stems = {figure.stem for figure in figures}
    assert {"targets-0", "lead-ranks", "lead-relative"} <= stems
    assert {f"problem-{i}-family-{f}-convergence" for i in range(3) for f in (0, 1)} <= stems
    assert {f"problem-{i}-fit" for i in range(3)} <= stems
    assert len(figures) == len(stems)
    assert all(file.read_bytes().startswith(b"<svg") for file in figures)
    assert sum(file.stat().st_size for file in report.rglob("*")) < 15e6


def test_the_tables_hold_the_numbers_of_the_store(store, report):
    with Store(store) as opened:
        runs = opened.runs()
    back = pd.read_csv(report / "results.csv", dtype={"error": str})  # older pandas rounds numbers
    errors = back["error"].map(float)
    assert np.array_equal(errors, runs.set_index("key").loc[back["key"], "error"])
    syn5 = runs[(runs.problem == "syn5") & (runs.family == "DE") & (runs.method != "DE-SB-BF")]
    means = syn5.groupby("method").error.mean()
    stds = syn5.groupby("method").error.std()
    best = f"**{means.min() / means.max():.3f} ± {stds[means.idxmin()] / means.max():.3f}**"
    line = next(s for s in (report / "table.md").read_text().splitlines() if "syn5" in s)
    assert best in line
    assert (report / "table.tex").read_text().count(r"\textbf") == 6


def test_names_from_users_stay_text(report):
    text = (report / "index.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u001b[31m\\u2028[/x]</h2>" in text
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "\u2028" not in text.split('<script id="specs"')[0]
    assert "alert(1)</script" not in (report / "table.md").read_text()


def test_the_page_leads_with_pictures_and_says_what_the_numbers_say(report):
    text = (report / "index.html").read_text()
    assert "95 finished runs: 3 problems, 7 methods, 5 repetitions each." in text
    assert "DE-SB has a smaller mean error than DE and DE-INV-SB on" in text
    assert "The smallest mean error has" in text
    assert "runs were shorter than those of the study paper: syn5 (1,600 of 150,000" in text
    assert "winner is confirmed" not in text
    places = [text.index(f'id="{name}"') for name in ("figure-lead-convergence", "idea", "table")]
    assert places == sorted(places)
    assert text.index("figure-lead-relative") < text.index("DE-SB has a smaller")


def test_a_study_under_way_gives_a_page_that_says_what_is_missing(tmp_path):
    spec = StudySpec.load("smoke")
    with Store(tmp_path / "a.db") as store:
        store.add_study(spec)
        write_report(tmp_path / "a.db", tmp_path / "none", formats=())
        run = next(iter(spec.runs()))
        store.add(run, execute(run))
        store.add_failure(list(spec.runs())[1], "Traceback\nValueError: oh <b>no</b>")
    write_report(tmp_path / "a.db", tmp_path / "one", formats=())
    assert "no finished run yet" in (tmp_path / "none" / "index.html").read_text()
    text = (tmp_path / "one" / "index.html").read_text()
    assert "1 finished run: 1 problem, 1 method, 1 repetition each." in text
    assert "15 planned runs of 16" in text
    assert "1 run failed; --retry-failed tries it again." in text
    assert "ValueError: oh &lt;b&gt;no&lt;/b&gt;" in text


@pytest.mark.parametrize("failed", [True, False])
def test_a_page_leaves_out_what_has_nothing_to_say(tmp_path, failed):
    text = 'problems = ["syn5"]\nmethods = ["DE"]\nrepetitions = 2\nbudgets = { syn5 = 400 }'
    with Store(tmp_path / "a.db") as opened:
        for run in StudySpec.parse(text).runs():
            opened.add_failure(run, "Traceback\nValueError: no") if failed else opened.add(
                run, execute(run)
            )
    report = write_report(tmp_path / "a.db", tmp_path / "r", formats=())
    page, said = report.page.read_text(), "2 runs failed; --retry-failed tries them again."
    if failed:
        assert summary_sentences(report.results) == ["The store holds no finished run yet.", said]
    assert (said in page) == failed
    assert ("figure-lead-convergence" in page) == (not failed)
    for words in ("What the numbers say", "breaking gains", "figure-lead-relative"):
        assert words not in page


def test_several_stores_and_archives_are_reported_as_one(tmp_path):
    runs = list(StudySpec.load("smoke").runs())
    longer = replace(runs[0], max_evaluations=2 * runs[0].max_evaluations)
    parts = {"a": runs[::2], "b": runs[1::2] + runs[:1], "c": [longer]}  # one run is in both
    for name, part in parts.items():
        with Store(tmp_path / f"{name}.db") as opened:
            for run in part:
                opened.add(run, execute(run))
    with Store(tmp_path / "b.db") as opened:
        write_archive(opened, tmp_path / "b")
    paths = [tmp_path / "a.db", tmp_path / "b"]
    report = write_report(paths, tmp_path / "r", formats=())
    assert sorted(report.results.runs["key"]) == sorted(run.key for run in runs)
    assert f"{len(runs)} finished runs" in report.page.read_text()
    ends = report.results.curves.groupby(["problem", "method", "repetition"]).size()
    assert len(ends) == len(runs)
    with pytest.raises(ValueError, match=r"cannot be compared .* max evaluations \d+ instead of"):
        write_report([*paths, tmp_path / "c.db"], tmp_path / "no", formats=())
    assert not (tmp_path / "no").exists()


def test_a_warning_of_few_repetitions_is_about_methods_that_were_run(written):
    results, runs = written.results, written.results.runs
    assert warning_sentences(results) == []
    some = (runs["problem"] == "syn5") & (runs["method"] == "DE-SB")
    without = replace(results, runs=runs[~some])
    assert "fewer than 5" not in " ".join(warning_sentences(without))
    said = warning_sentences(replace(results, runs=runs.drop(index=runs[some].index[0])))
    assert said[0] == "With fewer than 5 repetitions a test can hardly show a difference."
    assert said[1] == "1 planned run of 5 on 1 problem is still missing."


def test_a_mixture_of_machines_is_said_where_it_is(written):
    results = written.results
    runs = results.runs.copy()
    other = json.dumps(json.loads(runs["versions"][0]) | {"blas": "another"})
    runs.loc[runs["problem"] == "two-circles", "versions"] = other  # each problem by one machine
    assert warning_sentences(replace(results, runs=runs)) == []
    runs.loc[(runs["problem"] == "syn5") & (runs["method"] == "DE"), "versions"] = other
    (said,) = warning_sentences(replace(results, runs=runs))
    assert said.startswith("Runs on syn5 are mixed: they differ in blas, and so may")


def test_the_command_writes_a_report_and_refuses_bad_input(store, tmp_path):
    result = symbreak_here("report", store, "--out", tmp_path / "r", "--figures", "none")
    assert result.returncode == 0, result.stderr
    assert str(tmp_path / "r" / "index.html") in result.stdout.replace("\n", "")
    assert not (tmp_path / "r" / "figures").exists()
    words = " ".join(result.stdout.split())
    assert "95 finished runs: 3 problems" in words
    assert "The smallest mean error has" in words
    assert "\\u001b[31m\\u2028[/x]" in words
    assert "DE-SB has a smaller mean error than DE and DE-INV-SB on" in words
    assert f"Open it in a browser: {(tmp_path / 'r' / 'index.html').resolve().as_uri()}" in words
    for arguments, code, message in (
        ((tmp_path / "no.db",), 1, "no store at"),
        ((store, "--figures", "gif"), 2, "figures are saved as svg, png, pdf, got"),
    ):
        result = symbreak_here("report", *arguments, "--out", tmp_path / "x")
        assert result.returncode == code
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr


def test_links_in_the_folder_are_not_followed(tmp_path):
    precious, folder = tmp_path / "precious.txt", tmp_path / "report"
    precious.write_text("mine")
    (folder / "figures").mkdir(parents=True)
    names = ["index.tmp", "index.html", "table.md", "table.tex", "table.csv", "results.csv"]
    names.append("figures/fit.svg")
    for name in names:
        (folder / name).symlink_to(precious)
    with Store(tmp_path / "a.db"):
        pass
    write_report(tmp_path / "a.db", folder, formats=())
    formats = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    Figures(folder / "figures", [*formats]).add("fit", problem_chart(load_problem("syn5")))
    assert precious.read_text() == "mine"
    assert (folder / "index.html").read_text().startswith("<!doctype html>")
    for ending, start in formats.items():
        assert (folder / "figures" / f"fit.{ending}").read_bytes().startswith(start)
    with pytest.raises(TypeError, match="must be a sequence"):
        write_report(tmp_path / "a.db", folder, formats="svg")


def test_tables_are_in_plain_words(report):
    text = (report / "index.html").read_text()
    words = text[text.index("<body>") : text.index("<script>(function")]
    for code in ("p_holm", "a12", "ert<", ">inf<", "inf ", "nan", "q1", "n_a"):
        assert code not in words, code
    for heading in ("p-value after Holm", "runs that reach it", "expected evaluations"):
        assert f"<th>{heading}</th>" in words


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (375, True)])
def test_the_page_opens_without_complaints_and_draws_all_charts(page, report, width, dark):
    page.open(report / "index.html", width=width, dark=dark)
    assert page.states().count("drawn") == len(page.states()) > 20
    assert page.complaints() == []
    assert page.requests() == []
    empty = page.run(
        "return [...document.querySelectorAll('.chart')]"
        ".filter(e => e.querySelectorAll('svg path').length < 3).map(e => e.dataset.chart)"
    )
    assert empty == []
    # nothing makes the page itself scroll sideways; wide tables scroll in their frames
    assert page.run("return document.documentElement.scrollWidth - window.innerWidth") <= 0
    colour = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(255, 255, 255)") != dark


CHART = "problem-1-family-0-convergence"
LINES = (
    f"return [...document.querySelectorAll('#figure-{CHART} svg path')]"
    ".map(e => e.getAttribute('d') + e.getAttribute('opacity') + e.getAttribute('stroke-opacity'))"
)


def test_a_chart_can_be_played_with(page, report):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    page.open(report / "index.html")
    figure = page.driver.find_element(By.ID, f"figure-{CHART}")
    page.run("arguments[0].scrollIntoView({block: 'center'})", figure)
    chart = figure.find_element(By.CSS_SELECTOR, "svg")
    mouse = ActionChains(page.driver).move_to_element_with_offset(chart, -40, 20)
    mouse.move_by_offset(5, 0).perform()
    page.run("return new Promise(done => setTimeout(() => done(true), 300))")
    tooltip = page.run("return document.querySelector('#vg-tooltip-element')?.textContent || ''")
    assert "evaluations" in tooltip
    for play in (
        "arguments[0].querySelector('input').click()",  # from logarithmic to linear
        "const label = [...arguments[0].querySelectorAll('svg text')]"
        ".find(e => e.textContent === 'DE-SB');"
        "for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'])"
        "  label.dispatchEvent(new MouseEvent(type, {bubbles: true}));",
    ):
        before = page.run(LINES)
        page.run(play, figure)
        page.run(f"return window.views['{CHART}'].runAsync().then(() => true)")
        assert page.run(LINES) != before, play
    assert page.complaints() == []
