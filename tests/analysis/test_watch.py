"""``report --watch``: it follows a study, and ends with it or with Ctrl-C."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from symbreak.experiments import Store, StudySpec, run_study

TEXT = 'problems = ["syn5"]\nmethods = ["DE", "DE-SB"]\nrepetitions = 2\nbudgets = { syn5 = 800 }'
DEADLINE = 300


@pytest.fixture
def spec():
    return StudySpec.parse(TEXT, name="tiny")


@contextlib.contextmanager
def watching(store, out):
    """The command at work, once it has written its first page."""
    command = [sys.executable, "-u", "-m", "symbreak", "report", str(store), "--out", str(out)]
    command += ["--watch", "--figures", "none"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            lines = [process.stdout.readline() for _ in range(2)]  # after the first page
            yield process, "".join(lines)
        finally:
            process.kill()


def start(spec, path):
    """A store that knows its study and has one of its runs."""
    with Store(path) as store:
        store.add_study(spec)
    run_study(spec, path, workers=1, shard=(1, spec.n_runs))


def test_watching_ends_when_the_study_is_complete(spec, tmp_path):
    start(spec, tmp_path / "a.db")
    with watching(tmp_path / "a.db", tmp_path / "r") as (process, said):
        page = tmp_path / "r" / "index.html"
        assert "Ctrl-C: write a last report and end" in said
        assert "1 finished run" in page.read_text()
        assert 'http-equiv="refresh"' in page.read_text()
        run_study(spec, tmp_path / "a.db", workers=1)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert "The study is complete." in out
    assert "4 finished runs: 1 problem, 2 methods, 2 repetitions each." in out
    assert "4 finished runs" in page.read_text()
    assert 'http-equiv="refresh"' not in page.read_text()


def test_ctrl_c_ends_watching_with_a_last_report(spec, tmp_path):
    start(spec, tmp_path / "a.db")
    with watching(tmp_path / "a.db", tmp_path / "r") as (process, _):
        time.sleep(0.5)  # it waits for news
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert "Stopped watching; a study that runs goes on." in out
    assert "Writing the last report.\n" in out  # without figures
    assert "3 planned runs of 4 on 1 problem are still missing." in out
    assert "Traceback" not in err
    assert 'http-equiv="refresh"' not in (tmp_path / "r" / "index.html").read_text()
