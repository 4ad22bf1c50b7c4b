"""Install the lowest versions that pyproject.toml allows into an empty environment; test there.

python scripts/try_minimum.py [options of pytest]
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
#: Where other packages are called. What is about pages, processes or pure Python is not here.
FILES = {
    "analysis": "charts claims fits report statistics tables",
    "cli": "cli models",
    "experiments": "formats golden spec store",
    "optimizers": "cmaes de protocol",
    "polish": "polish",
    "problems": "files problem tables",
    "support": "blas compile",
    "symmetry": "alignment assignment breaking networks operators",
    "training": "training probabilities",
    ".": "estimators objectives export inspection kernels models network topology",
}
TESTS = [f"tests/{folder}/test_{name}.py" for folder in FILES for name in FILES[folder].split()]
#: Old packages call each other in ways that are deprecated by now.
OPTIONS = ["-W", "ignore::DeprecationWarning", "-p", "no:cacheprovider"]
OPTIONS += ["-n", "2", "--dist", "loadfile"]
# Between two infinities older quantiles are NaN: "no interval" in place of "rough". And SciPy's own
# search takes its generator by another name since 1.15, scikit-learn 1.6 had no such checks, and
# asks frames for their names in a way that polars gave up.
LEFT_OUT = (
    "tests/analysis/test_statistics.py::test_what_prevents_an_interval_is_said",
    "tests/optimizers/test_de.py::test_evaluations_to_a_target_are_of_the_order_of_scipys",
    "tests/test_estimators.py::test_frames_of_polars_give_their_names_too",
    "tests/test_estimators.py::test_levels_booleans_dates_and_gaps_of_frames_are_inputs[polars]",
    "tests/test_estimators.py::test_their_checks_of_other_array_libraries_pass_too",
)
OPTIONS += [f"--deselect={name}" for name in LEFT_OUT]


def minima() -> list[str]:
    """``name==version`` for every stated minimum of what users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    lines = project["dependencies"] + [line for name in everything.extras for line in extras[name]]
    return sorted(
        f"{required.name}=={bound.version}"
        for required in map(Requirement, lines)
        for bound in required.specifier
        if bound.operator == ">="
    )


def main(options: list[str]) -> None:
    """Install and test."""
    with tempfile.TemporaryDirectory() as place:
        constraints = Path(place) / "minima.txt"
        constraints.write_text("\n".join(minima()))
        venv.create(place, with_pip=True)
        python = Path(place) / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-c", constraints, f"{ROOT}[all,test]"], check=True)
        environment = {**os.environ, "NUMBA_CACHE_DIR": f"{place}/compiled"}  # of another numba
        command = [python, "-m", "pytest", *TESTS, *OPTIONS, *options]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    print(f"works with {', '.join(minima())}.")


if __name__ == "__main__":
    main(sys.argv[1:])
