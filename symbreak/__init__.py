"""Train small neural networks by global search, without searching the same network twice."""

from symbreak import symmetry
from symbreak._version import __version__
from symbreak.evaluation import Evaluator
from symbreak.methods import METHODS, make_optimizer
from symbreak.optimizers import CMAES, DE
from symbreak.problems import Problem, load_problem, problem_names
from symbreak.records import RunRecord
from symbreak.topology import Topology
from symbreak.training import train

__all__ = [
    "CMAES",
    "DE",
    "METHODS",
    "Evaluator",
    "Problem",
    "RunRecord",
    "Topology",
    "__version__",
    "load_problem",
    "make_optimizer",
    "problem_names",
    "symmetry",
    "train",
]
