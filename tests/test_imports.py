"""The architecture: imports point one way, and the public names are these."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import symbreak

PACKAGE = Path(symbreak.__file__).parent

# Each layer may import from layers before it, and within itself. Packages whose files are not named
# one by one are a layer as a whole.
LAYERS = [
    {"_support", "_version"},
    {"_activations"},
    {"topology"},
    {"network"},
    {"symmetry", "problems"},
    {"_error_bars"},
    {"_model_file"},
    {"_kernels", "models"},
    {"optimizers", "export", "inspection"},
    {"methods", "_polish"},
    {"objectives"},
    {"control", "environments"},
    {"training"},
    {"estimators", "experiments"},
    {"analysis"},
    {"cli", "__init__", "__main__"},
]


def level(module):
    """Of a dotted name below symbreak: that of the file if LAYERS has it, else of the package."""
    names = (module, module.split(".")[0])
    found = [i for name in names for i, layer in enumerate(LAYERS) if name in layer]
    assert found, f"say in LAYERS where {module} belongs"
    return found[0]


def imported_modules(path):
    """Modules and packages of symbreak that a file imports, as dotted names below it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("symbreak"):
            names = [alias.name for alias in node.names]
            parts = node.module.split(".")[1:]
            inside = [name for name in names if (PACKAGE.joinpath(*parts, f"{name}.py")).exists()]
            yield from (".".join([*parts, name]) for name in (inside if parts else names))
            if parts and len(inside) < len(names):
                yield ".".join(parts)


def packages(names):
    return {name.split(".")[0] for name in names}


def test_imports_point_one_way():
    checked = 0
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__") or "__init__"
        if parts[0] in ("cli", "__init__", "__main__"):
            continue
        for name in imported_modules(path):
            checked += 1
            assert level(name) <= level(module), f"{module} imports {name}"
            same_layer = level(name) == level(module)
            same_package = name.split(".")[0] == parts[0]
            private = name.split(".")[0].startswith("_")
            assert not same_layer or same_package or private, f"{module} imports {name}"
    assert checked > 20


def test_the_page_on_how_it_is_built_names_every_module():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert not [name for name in files | folders if f"`{name}`" not in page]


def test_problems_need_only_the_topology():
    names = {n for path in (PACKAGE / "problems").glob("*.py") for n in imported_modules(path)}
    assert packages(names) <= {"problems", "topology", "_activations", "_support"}


def test_the_analysis_never_imports_an_optimizer():
    names = {n for path in (PACKAGE / "analysis").rglob("*.py") for n in imported_modules(path)}
    assert not packages(names) & {"optimizers", "methods", "training", "objectives"}


def test_the_public_names_are_these():
    assert set(symbreak.__all__) == {
        *("Topology", "Problem", "load_problem", "problem_names", "LeastSquares", "METHODS"),
        *("make_optimizer", "train", "RunRecord", "DE", "CMAES", "symmetry", "__version__"),
        *("Model", "Run", "evolve", "polish", "register_method"),
    }
    for name in symbreak.__all__:
        assert getattr(symbreak, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trane'"):
        symbreak.trane  # noqa: B018


def test_the_public_names_fit_a_page():
    found = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    found |= {path.parent.name for path in PACKAGE.glob("[a-z]*/__init__.py")}
    modules = [importlib.import_module(f"symbreak.{name}") for name in found - {"cli"}]
    names = {name for module in modules for name in module.__all__} | {*symbreak.__all__}
    assert len(names) <= 85
    page = (PACKAGE.parent / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: symbreak\.([\w.]+)$", page, flags=re.MULTILINE)
    last = [name.split(".")[-1] for name in listed]
    assert len({*last}) == len(last)
    whole = [module.__all__ for module in modules if module.__name__.split(".")[1] in listed]
    assert names - {"__version__"} <= {*last}.union(*whole)


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("symbreak", ("numpy", "numba", "scipy", "pandas")),
        # whatever a worker process begins with
        ("symbreak.training, symbreak.experiments", ("pandas", "scipy.stats", "scipy.optimize")),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(modules, heavy):
    script = f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr
