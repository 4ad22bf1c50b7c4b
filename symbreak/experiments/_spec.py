"""One run of a study: all that determines its result, and a hash of that as its key."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from symbreak._support.checks import (
    check_count,
    check_path,
    check_text,
    shown,
    unknown,
)
from symbreak.control import CONTROL, control_fitness
from symbreak.objectives import Fitness
from symbreak.problems import Problem, load_problem, read_problem
from symbreak.topology import Topology
from symbreak.training import Run

#: Part of every run's key. Raise it when results change for the same spec.
NUMERICS_VERSION = 2
#: Part of the key of runs on data files, too. Raise it when their rows are divided otherwise, or
#: the defaults of their networks change.
DIVISION_VERSION = 3

#: Fields of a problem that its data say, or another table of the file.
_OF_DATA = (
    *("name", "topology", "task", "train", "validation", "test", "inputs", "targets", "classes"),
    *("feature_names", "target_names", "max_evaluations", "description", "encoding"),
)
#: What a study may set of a problem.
PROBLEM_KEYS = (
    *("of", "hidden", "activation", "biases"),
    *(field.name for field in dataclasses.fields(Problem) if field.name not in _OF_DATA),
)

#: Larger numbers do not fit a store.
MAX_SEED, MAX_BUDGET = 2**63 - 1, 10**15

#: Whether repetitions share their data.
DATA = ("fixed", "redrawn")


class DataFileError(ValueError):
    """A data file is not what it was when the study was read."""


@dataclass(frozen=True)
class DataFile:
    """A user's data file and how to read it; the digest makes sure that it stays the same."""

    path: str
    digest: str
    settings: str  # JSON of the arguments of ``read_problem``

    @classmethod
    def from_table(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """Read a ``[data_file.NAME]`` table of a study file."""
        settings = dict(table)
        path = folder / check_path("file", settings.pop("file", None))
        if not path.is_file():
            raise ValueError(
                f"there is no data file {str(path)!r}; paths are relative to the study file."
            )
        targets = settings.get("targets", [])
        if not isinstance(targets, list) or not all(isinstance(name, str) for name in targets):
            raise ValueError(f'targets must be a list of columns, such as ["y"], got {targets!r}.')
        if settings.get("task") == "classification" and len(targets) > 1:
            raise ValueError(f"classification has one target, the class, got {targets!r}.")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return cls(str(path.resolve()), digest, json.dumps(settings, sort_keys=True))

    def load(self, name: str, seed: int) -> Problem:
        """The problem; refused if the file is not what it was when the study was read."""
        path = Path(self.path)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != self.digest:
            raise DataFileError(f"the data file {path.name} was changed or removed; start again.")
        return read_problem(path, name=name, seed=seed, **json.loads(self.settings))


@dataclass(frozen=True)
class RunSpec:
    """One run of a study: all that determines its result, as JSON-able values.

    ``StudySpec.run`` makes it of what was checked when the study was read.
    """

    problem: str
    method: str
    repetition: int
    max_evaluations: int
    seed: int
    data_seed: int
    problem_settings: Mapping[str, Any] = field(default_factory=dict)
    method_settings: Mapping[str, Any] = field(default_factory=dict)
    data_file: DataFile | None = None
    data: str = "fixed"  # or "redrawn": whether other repetitions have other data

    @cached_property
    def key(self) -> str:
        """A hash of what determines the result; runs with the same key are the same run."""
        facts = {**dataclasses.asdict(self), "numerics": NUMERICS_VERSION}
        del facts["data"]  # the data seed says it
        if self.data_file is not None:
            del facts["data_file"]["path"]  # what it says matters, not where it lies
            facts["data_file"]["division"] = DIVISION_VERSION
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def load_problem(self) -> Problem | Fitness:
        """The problem of the run, with its data."""
        settings = json.dumps(dict(self.problem_settings), sort_keys=True)
        return problem_of(self.problem, self.data_seed, settings, self.data_file)

    def start(self) -> Run:
        """The run, before its first generation."""
        return Run(
            self.load_problem(),
            self.method,
            max_evaluations=self.max_evaluations,
            seed=self.seed,
            **self.method_settings,
        )


@lru_cache(maxsize=16)  # repetitions share their data
def problem_of(
    name: str, seed: int, settings: str, data_file: DataFile | None
) -> Problem | Fitness:
    """The problem of a name, with data from a seed or a file, and settings (JSON) of a study.

    It may be a variant ``of`` another one, or a problem of control.
    """
    changes = json.loads(settings)
    check_keys(f"settings of {name}", changes, PROBLEM_KEYS)
    of = check_text("of", changes.pop("of", name))
    if not isinstance(hidden := changes.get("hidden", []), list):
        raise ValueError(f"hidden must be a list of layer sizes, such as [5], got {hidden!r}.")
    if of in CONTROL and data_file is None:
        check_keys(f"settings of {name}", changes, ("hidden", "activation", "biases"))
        return control_fitness(of, name=name, **changes)
    if "biases" in changes:
        raise ValueError(f"biases is for problems of control, and {of} is none.")
    problem = data_file.load(of, seed) if data_file else load_problem(of, seed)
    if of != name:
        changes["name"] = name
    if (hidden := changes.pop("hidden", None)) is not None:
        sizes = (problem.topology.n_inputs, *hidden, problem.topology.n_outputs)
        changes["topology"] = Topology(sizes, problem.topology.activation)
    if (activation := changes.pop("activation", None)) is not None:
        sizes = changes.get("topology", problem.topology).sizes
        changes["topology"] = Topology(sizes, activation)
    if "population_size" in changes:
        changes["population_size"] = {**problem.population_size, **changes["population_size"]}
    return dataclasses.replace(problem, **changes)


def check_seed(name: str, value: object) -> int:
    """Return ``value`` if it is an integer that fits a store."""
    if (seed := check_count(name, value, 0)) > MAX_SEED:
        raise ValueError(f"{name} must be below 2^63, got {shown(value)}.")
    return seed


def check_keys(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise unless all keys of a table are known; ``where`` names the table."""
    known = list(known)
    for key in table:
        if key not in known:
            raise ValueError(f"{where}: {unknown('key', key, known)}")


def seconds_per_evaluation(run: RunSpec, at_least: float = 0.1) -> float:
    """What an evaluation takes, measured for at least so many seconds at the start of a run."""
    training = run.start()
    for _ in range(2):  # loads compiled code: that of the first population, that of its successors
        if not training.finished:
            training.step()
    before, started = training.progress.n_evaluations, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < at_least and not training.finished:
        training.step()
    done = training.progress.n_evaluations - before
    return elapsed / max(done, 1)
