"""Without any extra, everything but what needs one loads; that says which."""

import os
import subprocess
import sys

import pytest

from symbreak import load_problem, train
from symbreak._support.words import how_to_install
from symbreak.export import to_excel, to_onnx
from symbreak.problems import read_problem
from tests.pages.blocks import ROOT, load_module

SCRIPT = """
import importlib, pkgutil, sys
OTHERS = ("sklearn", "onnx", "pyarrow", "distributed", "gymnasium")
for name in ("altair", "vl_convert", "jinja2", *OTHERS):
    sys.modules[name] = None
import symbreak
for name in symbreak.__all__:
    getattr(symbreak, name)
for module in pkgutil.iter_modules(symbreak.__path__, "symbreak."):
    if "._" not in module.name:
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error)
try:
    symbreak.analysis.write_report
except ImportError as error:
    print(error)
try:
    symbreak.experiments.run_study("smoke", "smoke.db", executor="tcp://host:8786")
except ImportError as error:
    print(error)
"""


def test_without_extras_everything_else_loads_and_what_is_missing_says_what_to_install(
    tmp_path,
):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", SCRIPT]
    options = {"capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run(command, env=environment, cwd=tmp_path, **options)
    assert done.returncode == 0, done.stderr
    estimators, analysis, cluster = done.stdout.splitlines()
    assert analysis == (
        "charts and reports need altair: pip install 'symbreak[report]' "
        "(in the folder of its source: pip install '.[report]')"
    )
    assert estimators.startswith("symbreak.estimators the estimators need scikit-learn 1.6")
    assert estimators.endswith(how_to_install("sklearn"))
    assert cluster == f"clusters need distributed: {how_to_install('cluster')}"


def test_an_export_without_its_package_says_what_to_install(monkeypatch):
    model = train(load_problem("syn5"), method="DE", max_evaluations=200).model
    for package, extra, export in (("onnx", "onnx", to_onnx), ("openpyxl", "excel", to_excel)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(
            ValueError, match=rf"needs the package {package}; .* '\.\[{extra}\]'\)$"
        ):
            export(model)


@pytest.mark.parametrize(
    ("suffix", "package", "extra"),
    [("parquet", "pyarrow", "parquet"), ("xlsx", "openpyxl", "excel")],
)
def test_a_data_file_that_needs_an_extra_says_what_to_install(
    monkeypatch, tmp_path, suffix, package, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / f"table.{suffix}"
    path.touch()
    with pytest.raises(ValueError, match=rf"need the package {package}; .* '\.\[{extra}\]'\)$"):
        read_problem(path, name="table")


def test_what_is_tested_with_the_lowest_versions_is_there():
    minimum = load_module("scripts", "try_minimum")
    files = {*minimum.TESTS, *(name.split("::")[0] for name in minimum.LEFT_OUT)}
    assert not [name for name in files if not (ROOT / name).is_file()]
    assert len(files) > 30
