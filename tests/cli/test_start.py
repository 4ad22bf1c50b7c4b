"""The first second of the command line: it loads little, and ends quietly."""

import inspect
import re
import signal
import subprocess
import sys
import time

import pytest

from symbreak.cli import COMMANDS, load_command

HEAVY = ("numpy", "numba", "scipy", "pandas")
DEADLINE = 300


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--help"], " train "), (["--version"], "symbreak 0.")]
)
def test_help_and_version_load_nothing_heavy(arguments, said):
    script = f"""
import sys
from symbreak.__main__ import main
sys.argv = ["symbreak", *{arguments}]
try:
    main()
finally:
    print("loaded:", [name for name in {HEAVY} if name in sys.modules])
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert said in done.stdout
    assert "loaded: []" in done.stdout, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name):
    own = load_command(name).help
    assert " ".join(inspect.cleandoc(own).split("\n\n")[0].split()) == COMMANDS[name]


@pytest.mark.parametrize("module", ["typer", "scipy.linalg"])
def test_ctrl_c_while_modules_are_loaded_prints_no_traceback(module, tmp_path):
    """The list of imports says when to press it."""
    errors = tmp_path / "errors"
    command = [sys.executable, "-X", "importtime", "-m", "symbreak", "train", "sinc"]
    command += ["-m", "DE", "-n", "1000000000"]
    with errors.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
    loaded, deadline = re.compile(rf"\| *{re.escape(module)}\n"), time.monotonic() + DEADLINE
    while not loaded.search(errors.read_text()):
        assert process.poll() is None, errors.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE)
    said = [line for line in errors.read_text().splitlines() if not line.startswith("import time")]
    assert process.returncode == 130
    assert len(said) == 1
    assert said[0].startswith("Error: stopped before ")  # a slow signal finds it done with loading
