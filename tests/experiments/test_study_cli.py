"""What ``symbreak study`` and ``symbreak store`` print."""

import shlex
import sys
from collections import Counter

import pytest
from rich.console import Console
from typer.testing import CliRunner

from symbreak.cli import _study, app
from symbreak.cli._study import StudyView
from symbreak.experiments import Store, StudySpec
from symbreak.experiments._driver import StudyResult, Update
from tests.cli.shell import symbreak_here
from tests.experiments.processes import store_of

TEXT = """
problems = ["syn5", "sinc2d"]
methods = ["DE-SB"]
repetitions = 10
[budgets]
syn5 = 1000
sinc2d = 1000
"""


SINGLE = 'problems = ["syn5"]\nmethods = ["DE-SB"]\nbudgets.syn5 = 1000\n'


@pytest.fixture(scope="module")
def spec():
    return StudySpec.parse(TEXT)


def runs_of(spec, problem):
    return [run for run in spec.runs() if run.problem == problem]


def view_of(spec):
    return StudyView(Counter((run.problem, run.method) for run in spec.runs()))


def test_a_piped_study_prints_a_line_now_and_then_with_the_time_left(spec, monkeypatch, capsys):
    monkeypatch.setattr(_study, "console", Console(file=sys.stdout, width=60))
    times = iter([0.0, 1.0, 11.0, 12.0, 22.0])
    monkeypatch.setattr(_study.time, "monotonic", lambda: next(times))
    with view_of(spec) as view:
        for run in runs_of(spec, "sinc2d")[:4]:
            view.hear(Update(run, "finished", 1000, 0.5))
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2/20 runs, 11 runs a minute, about 2 min left"
    assert second == "4/20 runs, 11 runs a minute, about 88 s left"


@pytest.mark.parametrize("width", [60, 120])
def test_the_bars_fit_the_terminal(spec, monkeypatch, width):
    console = Console(width=width, force_terminal=True, record=True)
    monkeypatch.setattr(_study, "console", console)
    view = view_of(spec)
    for run in runs_of(spec, "sinc2d"):
        view.hear(Update(run, "finished", 1000, 0.00123456))
    first = runs_of(spec, "syn5")[0]
    view.hear(Update(first, "running", 500, 1.0))
    assert [task.completed for task in view.tasks] == [0.5, 10, 10.5]
    lines = console.render_lines(view.get_renderable(), pad=False)
    texts = ["".join(segment.text for segment in line) for line in lines]
    assert len(texts) == 3  # nothing is wrapped
    assert all(len(text) <= width and "…" not in text for text in texts)
    assert "0.00123" in texts[1]


def test_names_that_look_like_markup_are_printed_as_they_are(tmp_path):
    study, store = tmp_path / "a[/x].toml", tmp_path / "[" / "red].db"
    store.parent.mkdir()
    study.parent.mkdir()
    study.write_text('name = "[/y]"\n' + TEXT.replace("10\n", "1\n").replace("sinc2d", "sinc"))
    run = CliRunner().invoke
    done = run(app, ["study", str(study), "--store", str(store), "--workers", "1"])
    assert (done.exit_code, done.exception) == (0, None)
    assert "[/y]: 2 runs to do of 2" in done.output
    assert f"2 runs added to {store}" in done.output
    again = run(app, ["study", str(study), "--store", str(store), "--shard", "1/2"])
    assert "the only run of shard 1/2 is there" in again.output
    checked = run(app, ["store", "check", str(store)])
    assert f"{store} is sound: 2 finished runs" in checked.output
    with Store(store) as opened:
        assert opened.frames().studies[0][0] == "[/y]"


@pytest.fixture
def single(tmp_path):
    """A store with one run."""
    return store_of(tmp_path / "a.db", SINGLE, study=False)


def said_of(*command):
    """Exit code of a command and all that it printed, on one line, but that it compiles."""
    done = symbreak_here(*command)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "compiling" not in line]
    return done.returncode, " ".join(" ".join(lines).split())


def test_a_check_says_what_is_wrong_and_not_to_check(single):
    code, said = said_of("store", "check", single)
    assert (code, said.endswith("is sound: 1 finished run, 0 failed, 0 under way")) == (0, True)
    content = single.read_bytes()
    newer = bytearray(content)
    newer[63] = 99  # the format
    for damaged, words in (
        (content[: len(content) // 2], "it is damaged. Restore a copy"),
        (b"", "the file is empty"),
        (newer, "has format 99, of a newer version"),
    ):
        single.write_bytes(damaged)
        code, said = said_of("store", "check", single)
        assert (code, words in said) == (1, True)
        assert "store check" not in said
        assert single.read_bytes() == damaged


def test_files_are_not_taken_for_folders(single, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    for command in (["export", single, "--ioh"], ["archive", single]):
        code, said = said_of("store", *command, file)
        assert (code, f"this needs a folder, and {file} is a file" in said) == (2, True)
    assert file.read_text() == "mine"


def test_a_dry_run_says_that_there_is_nothing_to_do_or_that_it_cannot_be(single, tmp_path):
    study = tmp_path / "a.toml"
    study.write_text(SINGLE)
    dry_run = ("study", study, "--store", single, "--dry-run")
    assert said_of(*dry_run) == (0, "a: nothing to do, the only run is there")
    study.write_text(SINGLE + "[problem.syn5]\nhidden = [2]\n")
    code, said = said_of(*dry_run)
    assert (code, "syn5 with net 1-2-1 instead of 1-3-1. Use another --store" in said) == (2, True)


@pytest.mark.parametrize("retry", [[], ["--retry-failed"]])
def test_how_to_go_on_repeats_what_was_given(tmp_path, monkeypatch, retry):
    study, store = tmp_path / "my study.toml", tmp_path / "a.db"
    study.write_text(TEXT)
    monkeypatch.setattr(_study, "run_study", lambda *_, **__: StudyResult(0, 1, True))
    given = ["study", str(study), "--store", str(store), "--workers", "3", "--shard", "2/4", *retry]
    stopped = symbreak_here(*given)
    assert stopped.returncode == 130
    (retrying,) = (line for line in stopped.stdout.splitlines() if "Try again" in line)
    (going_on,) = (line for line in stopped.stdout.splitlines() if "Go on" in line)
    assert shlex.split(going_on.split(" with: ")[1]) == ["symbreak", *given]
    words = shlex.split(retrying.split(" with: ")[1])
    assert sorted(words) == sorted({"symbreak", *given, "--retry-failed"})


@pytest.mark.parametrize("n_failed", [1, 2])
def test_a_study_with_runs_that_failed_before_ends_with_1_and_says_how_to_go_on(tmp_path, n_failed):
    study, store = tmp_path / "a.toml", tmp_path / "a.db"
    study.write_text(TEXT.replace("10\n", "1\n"))
    with Store(store) as opened:
        for run in list(StudySpec.load(study).runs())[:n_failed]:
            opened.add_failure(run, "Traceback")
    given = ["study", str(study), "--store", str(store), "--workers", "1"]
    done = symbreak_here(*given)
    assert done.returncode == 1
    failed = f"{n_failed} run{'s' * (n_failed > 1)} failed; why is in the store. Try again with: "
    assert f"\n{failed}symbreak {shlex.join(given)} --retry-failed\n" in done.stdout
    if n_failed == 2:
        assert "a: nothing new to do of 2 runs\n" in done.stdout
        assert "are there" not in done.stdout
    else:
        assert "1 run to do of 2" in done.stdout
        assert "; 1 failed before" in done.stdout
        assert "1 run added" in done.stdout
    retried = symbreak_here(*given, "--retry-failed", "--dry-run")
    assert (retried.returncode, f"{n_failed} run" in retried.stdout) == (0, True)
