"""Run what a page of documentation shows, and load the scripts that write pages."""

import importlib.util
import re
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from typer.testing import CliRunner

from symbreak._support.blas import one_blas_thread
from symbreak.cli import app, load_command
from symbreak.experiments import StudySpec, run_study
from symbreak.methods import _METHODS
from symbreak.optimizers._base import OPTIMIZERS
from symbreak.problems import _registry
from symbreak.symmetry import BREAKINGS

ROOT = Path(__file__).parents[2]


def load_module(folder, name):
    """A file of a folder that is no package, as a module; it sees its neighbours."""
    sys.path.insert(0, str(ROOT / folder))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look there
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / folder))


def fenced(page):
    """Language and content of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.S | re.M)


#: A report has the more to draw, the more problems and methods there are.
STUDY = """
problems = ["syn5"]
methods = ["DE", "DE-SB"]
repetitions = 3
budgets.syn5 = 400
"""


def prepare(folder, page=""):
    """The files that pages speak of: a table of a sensor, new rows of it, a study that is done."""
    for name in ("sensor.csv", "new.csv", "simulator.py"):
        shutil.copy(ROOT / "examples" / name, folder)
    if "study.db" in page:
        with ThreadPoolExecutor(1) as executor:
            run_study(StudySpec.parse(STUDY), folder / "study.db", executor=executor)


def run_page(page):
    """Run Python and commands in the order of the page, all Python in one namespace.

    Blocks marked ``py`` need other machines: they are compiled only, or run by tests that have
    such machines. Threads of BLAS would wait for each other where others compute as well.
    """
    names = {"__name__": "page"}
    with registries_restored(), one_blas_thread():
        _run_blocks(page, names)
    return names


@contextmanager
def registries_restored():
    """What a page adds to the methods, problems and so on is gone afterwards."""
    registries = (_METHODS, BREAKINGS, OPTIMIZERS, _registry._MAKERS)
    before = [dict(registry) for registry in registries]
    try:
        yield
    finally:
        for registry, rows in zip(registries, before, strict=True):
            registry.clear()
            registry.update(rows)


def _run_blocks(page, names):
    for language, content in fenced(page):
        if language == "py":
            compile(content, "a block of the page", "exec")
        if language == "python":
            exec(compile(content, "a block of the page", "exec"), names)
        elif language in ("", "sh"):
            for arguments in commands(content):
                run_command(arguments)


def commands(text):
    """Arguments of the lines that begin with the program's name."""
    lines = [s for s in text.replace("\\\n", " ").splitlines() if s.startswith("symbreak ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def is_too_much(arguments):
    """Whether a command does a study that the page did not write, or waits for somebody."""
    name, *rest = arguments
    if name == "study":
        return not Path(rest[0]).exists()
    return "--open" in rest


def run_command(arguments):
    """Run a command here, or read its arguments only if it is too much or needs a shell."""
    for_a_shell = any(set("*$") & set(argument) for argument in arguments)
    for option, name in pairwise(arguments):
        if option == "--import":  # what it adds is here already: the page's own Python has run
            Path(f"{name}.py").touch()
    if not (is_too_much(arguments) or for_a_shell):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{arguments}\n{result.output}"
        return
    load_command(arguments[0]).make_context(arguments[0], list(arguments[1:]))
