"""The command line in a process of its own, or in this one, which takes a second less."""

import contextlib
import io
import os
import subprocess
import sys
from unittest.mock import patch

from symbreak import cli
from symbreak.cli._console import console


def symbreak(*arguments, **options):
    """What a command did, in its own process."""
    command = [sys.executable, "-m", "symbreak", *map(str, arguments)]
    options = {"capture_output": True, "text": True, "timeout": 300} | options
    return subprocess.run(command, **options)


def symbreak_here(*arguments, columns=300):
    """The same in this process, with lines of so many columns."""
    command, out, err, code = ["symbreak", *map(str, arguments)], io.StringIO(), io.StringIO(), 0
    with (
        patch.object(sys, "argv", command),
        patch.dict(os.environ, COLUMNS=str(columns)),
        patch.object(console, "_width", None),  # else it is that of the first import
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())
