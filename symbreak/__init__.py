"""Train small neural networks by global search, without searching the same network twice."""

from __future__ import annotations

from importlib import import_module

from symbreak._version import __version__

TYPE_CHECKING = False  # as in typing, which takes longer to load than everything here
if TYPE_CHECKING:
    from typing import Any

    from symbreak import symmetry
    from symbreak.methods import METHODS, make_optimizer, register_method
    from symbreak.models import Model
    from symbreak.objectives import LeastSquares
    from symbreak.optimizers import CMAES, DE
    from symbreak.problems import Problem, load_problem, problem_names
    from symbreak.topology import Topology
    from symbreak.training import Run, RunRecord, evolve, polish, train

__all__ = [
    "CMAES",
    "DE",
    "METHODS",
    "LeastSquares",
    "Model",
    "Problem",
    "Run",
    "RunRecord",
    "Topology",
    "__version__",
    "evolve",
    "load_problem",
    "make_optimizer",
    "polish",
    "problem_names",
    "register_method",
    "symmetry",
    "train",
]

#: Where the public names live. They are imported when they are first used: NumPy, SciPy and numba
#: take longer to load than a help text may.
_HOMES = {
    "CMAES": "symbreak.optimizers",
    "DE": "symbreak.optimizers",
    "METHODS": "symbreak.methods",
    "LeastSquares": "symbreak.objectives",
    "Model": "symbreak.models",
    "Problem": "symbreak.problems",
    "Run": "symbreak.training",
    "RunRecord": "symbreak.training",
    "Topology": "symbreak.topology",
    "evolve": "symbreak.training",
    "load_problem": "symbreak.problems",
    "make_optimizer": "symbreak.methods",
    "polish": "symbreak.training",
    "problem_names": "symbreak.problems",
    "register_method": "symbreak.methods",
    "train": "symbreak.training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name == "symmetry":
        return import_module("symbreak.symmetry")
    raise AttributeError(f"module 'symbreak' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
