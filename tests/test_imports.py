"""The architecture: imports point one way, and the public names are these."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import symbreak

PACKAGE = Path(symbreak.__file__).parent

# Each layer may import from layers before it, and within itself.
LAYERS = [
    {"_checks", "_compile", "_version", "_blas", "_interrupts", "_processes", "_writing"},
    {"_random", "activations"},
    {"topology"},
    {"network", "symmetry", "problems"},
    {"_kernels", "_model_file", "models", "_folds", "_cross_entropy"},
    {"evaluation", "optimizers", "export", "inspection"},
    {"_polish_kernels", "_step_kernels", "_linearisation", "_curvature"},
    {"methods", "history", "polish", "optima"},
    {"evidence"},
    {"plans", "records", "probabilities"},
    {"starts"},
    {"ledger"},
    {"training"},
    {"_estimation"},
    {"_ridge"},
    {"_fitting"},
    {"estimators"},
    {"experiments"},
    {"analysis"},
    {"cli", "__init__", "__main__"},
]


def level(module):
    found = [i for i, layer in enumerate(LAYERS) if module in layer]
    assert found, f"say in LAYERS where {module} belongs"
    return found[0]


def imported_modules(path):
    """Top-level modules of symbreak that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("symbreak"):
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from names


def test_imports_point_one_way():
    checked = 0
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for name in imported_modules(path):
            if module in ("cli", "__init__", "__main__"):
                continue
            checked += 1
            assert level(name) <= level(module), f"{module} imports {name}"
            same = level(name) == level(module)
            assert not same or name == module or name.startswith("_"), f"{module} imports {name}"
    assert checked > 20


def test_the_page_on_how_it_is_built_names_every_module():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert not [name for name in files | folders if f"`{name}`" not in page]


def test_problems_need_only_the_topology():
    names = {n for path in (PACKAGE / "problems").glob("*.py") for n in imported_modules(path)}
    assert names <= {"problems", "topology", "activations", "_checks", "_random"}


def test_the_analysis_never_imports_an_optimiser():
    names = {n for path in (PACKAGE / "analysis").rglob("*.py") for n in imported_modules(path)}
    assert not names & {"optimizers", "methods", "training", "evaluation"}


def test_the_public_names_are_these():
    assert set(symbreak.__all__) == {
        *("Topology", "Problem", "load_problem", "problem_names", "Evaluator", "METHODS"),
        *("make_optimizer", "train", "RunRecord", "DE", "CMAES", "symmetry", "__version__"),
        "Model",
    }
    for name in symbreak.__all__:
        assert getattr(symbreak, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trane'"):
        symbreak.trane  # noqa: B018


def test_nothing_heavy_is_loaded_before_it_is_needed():
    heavy = ("numpy", "numba", "scipy", "pandas")
    script = f"import sys, symbreak; print([m for m in {heavy} if m in sys.modules])"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
