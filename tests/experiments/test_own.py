"""Methods and problems of the user's own in fresh processes, which know the package alone."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from symbreak import METHODS, methods
from symbreak.experiments import ExecutorError, StudySpec, run_study
from symbreak.problems import _registry
from tests.cli.shell import symbreak_here
from tests.experiments.processes import DEADLINE, finish, is_begun, results, start_study, wait_for

MODULE = """
import numpy as np
from symbreak import register_method
from symbreak.optimizers import Optimizer
from symbreak.problems import register_problem
from symbreak.symmetry import NoBreaking


class RandomSteps(Optimizer):
    default_population_size = 40

    def _propose(self):
        centre = np.zeros(self.dim) if self.best.theta is None else self.best.theta
        return centre + self._rng.normal(size=(self.population_size, self.dim))

    def _update(self, candidates, errors):
        self.modified = np.zeros(len(candidates), dtype=bool)


register_method("RS", RandomSteps, NoBreaking, family="RS", role="plain")


@register_problem("bump", "1-4-1", population_size={}, max_evaluations=80_000, description="a bump")
def bump(rng):
    x = rng.uniform(-2, 2, size=(100, 1))
    return x, np.exp(-(x**2))
"""

STUDY = 'problems = ["bump"]\nmethods = ["RS", "DE-SB"]\nrepetitions = 2\nbudgets.bump = 20_000\n'

SCRIPT = """
from symbreak.experiments import run_study
print(*run_study("own.toml", "script.db", workers=2, imports=["own"]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("own")
    (path / "own.py").write_text(MODULE)
    (path / "own.toml").write_text(STUDY)
    (path / "script.py").write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def whole(folder):
    """Results of the study, started by a script beside the module."""
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE)
    assert done.stdout.split() == ["4", "0", "False"], done.stderr
    return results(folder / "script.db")


def start(folder, store, *options):
    usual = ["--checkpoint-every", "0.05"]
    environment = os.environ | {"PYTHONSAFEPATH": "1"}  # the folder is not there by itself
    return start_study("own.toml", store, *usual, *options, environment=environment, folder=folder)


@pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals")
def test_the_shell_imports_modules_of_the_folder_and_a_killed_study_goes_on(folder, whole):
    store = folder / "shell.db"
    process = start(folder, store, "--import", "own")
    wait_for(lambda: is_begun(store)() or process.poll() is not None)
    with contextlib.suppress(ProcessLookupError):  # if all was done by then
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=DEADLINE)
    finish(start(folder, store, "--import", "own"))
    assert results(store) == whole


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ([], ("unknown problem 'bump'.", "symbreak study --import")),
        (["--import", "my.py"], ("the module 'my.py' cannot be imported (ModuleNotFoundError",)),
        (["--import", ""], ("the module '' cannot be imported",)),
    ],
)
def test_what_the_shell_cannot_find_is_said_before_anything_starts(
    folder, monkeypatch, options, messages
):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    done = symbreak_here("study", "own.toml", "--store", "none.db", *options)
    assert done.returncode == 2
    assert all(message in " ".join(done.stderr.split()) for message in messages)
    assert not (folder / "none.db").exists()


def test_train_and_problems_import_modules_of_the_folder(folder):
    def symbreak(*words):
        command = [sys.executable, "-m", "symbreak", *words, "--import", "own"]
        environment = os.environ | {"PYTHONSAFEPATH": "1"}
        options = {"capture_output": True, "text": True, "timeout": DEADLINE}
        done = subprocess.run(command, cwd=folder, env=environment, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    trained = symbreak("train", "bump", "-m", "RS", "-n", "400")
    assert "1-4-1 network" in trained
    assert "RS" in trained
    listed = symbreak("problems")
    assert "bump" in listed
    assert "80k" in listed


def test_train_says_how_to_name_a_problem_of_ones_own():
    done = symbreak_here("train", "bump")
    assert done.returncode == 2
    assert "If it is your own, --import the module that adds it." in done.stderr


@pytest.mark.parametrize(
    ("imports", "text", "message"),
    [
        (["failing"], "1 / 0", r"'failing' cannot be imported \(ZeroDivision"),
        (["failing"], "raise SystemExit(0)", r"'failing' cannot be imported \(SystemExit"),
        ("own", "", "imports must be a list of names of modules, got 'own'"),
    ],
)
def test_a_module_that_fails_is_refused(tmp_path, monkeypatch, imports, text, message):
    (tmp_path / "failing.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=message):
        run_study("smoke", tmp_path / "a.db", imports=imports)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("method", "mine"), ("method", "DE-SB"), ("problem", "mine"), ("problem", "syn5")],
)
def test_what_workers_would_not_know_is_refused(tmp_path, monkeypatch, kind, name):
    """Also where it stands for one of symbreak's."""
    if kind == "method":
        monkeypatch.setitem(methods._METHODS, name, METHODS["DE"])
    else:
        monkeypatch.setitem(_registry._MAKERS, name, lambda rng: None)
    names = {"problem": "sinc", "method": "DE", kind: name}
    text = f'problems = ["{names["problem"]}"]\nmethods = ["{names["method"]}"]\n'
    spec = StudySpec.parse(text + f"budgets.{names['problem']} = 400", try_runs=False)
    with pytest.raises(ValueError, match=f"the {kind} '{name}' is not symbreak's own.*--import"):
        run_study(spec, tmp_path / "a.db", workers=1)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_cannot_import_a_module_is_refused(tmp_path, monkeypatch):
    (tmp_path / "here_only.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    spec = StudySpec.parse('problems = ["syn5"]\nmethods = ["DE"]\nbudgets.syn5 = 400')
    import here_only  # noqa: F401

    (tmp_path / "here_only.py").unlink()
    with pytest.raises(
        ExecutorError, match=r"the module 'here_only' cannot be imported .* nothing"
    ):
        run_study(spec, tmp_path / "a.db", workers=1, imports=["here_only"])
