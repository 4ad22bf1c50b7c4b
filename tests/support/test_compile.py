"""Compiled functions without a folder to keep them in, and with damaged files in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import symbreak

COUNT = """
from symbreak._support.compile import _SturdyCache, compiled

@compiled()
def twice(x):
    return 2 * x

print(twice(21), len(twice.stats.cache_hits), isinstance(twice._cache, _SturdyCache))
"""


def run(command, folder, timeout=300, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def unwritable(tmp_path):
    """A copy of the package, and the home folder, where nobody can write, not even root."""
    package = tmp_path / "symbreak"
    source = Path(symbreak.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [path for path in package.rglob("*") if path.is_dir()]
    for folder in (tmp_path, package, *folders):
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    nowhere = str(tmp_path / "home" / "below")
    return tmp_path, {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere}


def test_all_loads_and_a_function_works_where_no_folder_can_be_written(unwritable):
    folder, variables = unwritable
    (folder / "count.py").write_text(COUNT)
    load = "import symbreak.estimators, symbreak.control, count; print(symbreak.__file__)"
    *said, where = run(["-c", load], folder, **variables)
    assert said == ["42", "0", "False"]
    assert where.startswith(str(folder))


def test_damaged_files_of_compiled_code_are_made_anew(tmp_path):
    (tmp_path / "count.py").write_text(COUNT)
    cache = tmp_path / "cache"
    variables = {"NUMBA_CACHE_DIR": str(cache)}

    def again():
        return run(["-c", "import count"], tmp_path, **variables)

    assert again() == ["42", "0", "True"]
    for ending, damage in (("nbi", b"\x80\x04nonsense"), ("nbc", b"nonsense")):
        files = list(cache.rglob(f"count*.{ending}"))
        assert files
        for path in files:
            path.write_bytes(damage)
        assert again() == ["42", "0", "True"]
    assert again() == ["42", "1", "True"]
