"""Run what a page of documentation shows: its Python in one namespace, its commands in a folder."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from typer.testing import CliRunner

from symbreak.cli import app

ROOT = Path(__file__).parent.parent
#: Commands whose arguments are checked but which are not run: they take long, or wait.
ONLY_READ = ("study", "report")


def blocks(page, language):
    """Contents of the fenced blocks of a language; ``""`` for those without."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.S | re.M)  # in order, or ends would begin
    return [content for name, content in found if name == language]


def prepare(folder):
    """The files that pages speak of: a table of a sensor, and new rows of it."""
    rng = np.random.default_rng(0)
    voltage, humidity = rng.uniform(0.5, 4.5, 60), rng.uniform(20, 90, 60)
    temperature = 25 * np.log(voltage / 2) + 0.05 * (humidity - 50) * voltage + 22
    table = pd.DataFrame({"voltage": voltage, "humidity": humidity})
    table.round(3).head(5).to_csv(folder / "new.csv", index=False)
    table["temperature"] = temperature + rng.normal(0, 0.3, 60)
    table.round(3).to_csv(folder / "sensor.csv", index=False)


def run_python(page, names=None, replace=()):
    """Execute the Python blocks in order; ``replace`` makes budgets small."""
    names = {} if names is None else names
    for block in blocks(page, "python"):
        for old, new in replace:
            block = block.replace(old, new)
        exec(compile(block, "a block of the page", "exec"), names)
    return names


def commands(page):
    """The lines of blocks without a language that begin with the program's name."""
    lines = "\n".join(blocks(page, "") + blocks(page, "sh")).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("symbreak ")]


def run_command(arguments):
    """Run a command here, or read its arguments only if it is one of those that take long."""
    if arguments[0] not in ONLY_READ:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{arguments}\n{result.output}"
        return
    command = typer.main.get_command(app).commands[arguments[0]]
    command.make_context(arguments[0], list(arguments[1:]))
