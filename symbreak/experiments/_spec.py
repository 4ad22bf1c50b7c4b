"""One run of a study: all that determines its result, a hash of that, and what it compares with."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from symbreak._support.checks import (
    check_path,
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

Facts: TypeAlias = dict[str, Any]

#: Facts that make runs incomparable, and their values in stores that do not have them.
_DISTINGUISHING = {
    **{"net": "", "task": "", "samples": [], "rescale": "unit", "output_error": "linear"},
    **{"output_shift": False, "alpha": 0.0, "data": "", "max_evaluations": 0, "numerics": 2},
}
#: Data count as equal if they agree to so many decimals; machines differ in the last bits.
_DECIMALS = 5


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
            raise ValueError(
                f"the data file {path} was changed or removed, or is not on this machine; bring it "
                "back and start again."
            )
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
        settings = sorted_json(self.problem_settings)
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

    def facts(self) -> Facts:
        """What a report says about its problem, and what tells that from others."""
        facts = dict(problem_facts(self.load_problem()))
        if self.data == "redrawn":
            facts["data"] = "redrawn"
            if self.data_file:
                source = self.data_file.digest[:8]
                facts["data"] += f" from {source} by division {DIVISION_VERSION}"
        return facts

    def condition(self) -> Condition:
        """Under what it is to be done."""
        facts = {"max_evaluations": self.max_evaluations, "numerics": NUMERICS_VERSION}
        names = self.problem, self.method, self.repetition
        settings = sorted_json(self.method_settings)
        return Condition(*names, self.key, settings, self.data_seed, facts | self.facts())


@lru_cache(maxsize=16)  # repetitions share their data
def problem_of(
    name: str, seed: int, settings: str, data_file: DataFile | None
) -> Problem | Fitness:
    """The problem of a name, with data from a seed or a file, and settings (JSON) of a study.

    It may be a variant ``of`` another one, or a problem of control.
    """
    changes = json.loads(settings)
    of = changes.pop("of", name)
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
    net = problem.topology
    sizes = net.n_inputs, *changes.pop("hidden", net.hidden), net.n_outputs
    changes["topology"] = Topology(sizes, changes.pop("activation", net.activation))
    if "population_size" in changes:
        changes["population_size"] = {**problem.population_size, **changes["population_size"]}
    return dataclasses.replace(problem, **changes)


@lru_cache(maxsize=16)
def problem_facts(problem: Problem | Fitness) -> Facts:
    """What is told of a problem, without where its data come from."""
    net = problem.topology
    few = net.log_replicas < 1000 * math.log(10)  # Python refuses to print the largest
    n_replicas = str(net.n_replicas) if few else net.replicas_in_words
    facts = {"name": problem.name, "net": str(net), "dim": net.dim, "n_replicas": n_replicas}
    facts["description"] = problem.description
    if isinstance(problem, Fitness):
        digest = hashlib.sha256(f"{problem.digest} {problem.target}".encode())
        facts |= {"task": "control", "samples": [], "goal": problem.target}
        return facts | {"data": digest.hexdigest()[:8]}
    digest, parts = hashlib.sha256(), problem.parts.values()
    for values in (each for part in parts for each in (part.X, part.y, part.weights)):
        rounded = np.zeros(0) if values is None else np.round(values, _DECIMALS) + 0.0
        digest.update(repr(rounded.shape).encode() + rounded.astype("<f8").tobytes())
    facts |= {"samples": [len(part) for part in parts], "data": digest.hexdigest()[:8]}
    told = ("task", "rescale", "output_error", "output_shift", "alpha")
    return facts | {name: getattr(problem, name) for name in told}


def identity_of(facts: Facts) -> str:
    """A short hash: equal if runs on the problem are comparable."""
    told = [facts["name"], *(facts.get(name, unsaid) for name, unsaid in _DISTINGUISHING.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]


class Condition(NamedTuple):
    """Under what a run was done, or is to be done."""

    problem: str
    method: str
    repetition: int
    key: str
    settings: str  # of the method, JSON
    data_seed: int
    facts: Facts


def differences(here: Iterable[Condition], new: Iterable[Condition]) -> list[str]:
    """Why runs that share a name may not be compared, in words; nothing if they may."""
    known: dict[tuple[object, ...], Condition] = {}
    for run in here:
        for n in (1, 2, 3):
            known.setdefault(run[:n], run)
    found: dict[str, None] = {}
    for run in new:
        if (other := known.get(run[:1])) and (words := _other_facts(other, run)):
            found[f"{run.problem} with {words}"] = None
        elif (other := known.get(run[:2])) and other.settings != run.settings:
            words = f"{run.settings} instead of {other.settings}"
            found[f"{run.method} on {run.problem} with the settings {words}"] = None
        elif (other := known.get(run[:3])) and other.key != run.key:
            words = "with another seed or population size"
            found[f"{run.method} on {run.problem} {words}"] = None
    return list(found)


def _other_facts(old: Condition, new: Condition) -> str:
    """In what two problems of one name differ, as far as both are known."""

    def said(value: object) -> str:
        return " + ".join(map(str, value)) if isinstance(value, list) else str(value)

    words = []
    known = old.facts.keys() & new.facts.keys()
    for name in (each for each in _DISTINGUISHING if each in known):
        before, now = old.facts[name], new.facts[name]
        if before != now:
            words.append(f"{name.replace('_', ' ')} {said(now)} instead of {said(before)}")
    if "data" not in known and old.data_seed != new.data_seed:
        words.append("other data")
    return ", ".join(words)


def sorted_json(facts: Mapping[str, Any]) -> str:
    """Facts as a store writes them."""
    return json.dumps(dict(facts), sort_keys=True)


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
