"""Which runs are comparable: what a problem is beyond its name, and how a method was set."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from symbreak.experiments._spec import DIVISION_VERSION, RunSpec
from symbreak.objectives import Fitness
from symbreak.problems import Problem
from symbreak.topology import Topology

Facts = dict[str, Any]

#: Facts that make runs incomparable, and their values in stores that do not have them.
_DISTINGUISHING = {
    "net": "",
    "task": "",
    "samples": [],
    "rescale": "unit",
    "output_error": "linear",
    "output_shift": False,
    "alpha": 0.0,
    "data": "",
    "max_evaluations": 0,
    "numerics": 2,
}
#: Data count as equal if they agree to so many decimals; machines differ in the last bits.
_DECIMALS = 5


def facts_of(run: RunSpec, problem: Problem | Fitness | None = None) -> Facts:
    """What a report says about the problem of a run, and what tells it from others."""
    problem = run.load_problem() if problem is None else problem
    facts = dict(_problem_facts(problem))
    if run.data == "redrawn":
        facts["data"] = "redrawn"
        if run.data_file:
            source = run.data_file.digest[:8]
            facts["data"] += f" from {source} by division {DIVISION_VERSION}"
    return facts


@lru_cache(maxsize=16)
def _problem_facts(problem: Problem | Fitness) -> Facts:
    topology = problem.topology
    common = {
        "name": problem.name,
        "net": str(topology),
        "dim": topology.dim,
        "n_replicas": _digits(topology),
    }
    if isinstance(problem, Fitness):
        digest = hashlib.sha256(f"{problem.digest} {problem.target}".encode()).hexdigest()[:8]
        told = {"description": problem.description, "goal": problem.target, "data": digest}
        return {**common, "task": "control", "samples": [], **told}
    return {
        **common,
        "task": problem.task,
        "samples": [len(part) for part in problem.parts.values()],
        "rescale": problem.rescale,
        "output_error": problem.output_error,
        "output_shift": problem.output_shift,
        "alpha": problem.alpha,
        "description": problem.description,
        "data": _data_digest(problem),
    }


def _digits(topology: Topology) -> str:
    """The number of replicas as text, beyond what JSON numbers hold everywhere."""
    few = topology.log_replicas < 1000 * math.log(10)  # Python refuses to print the largest
    return str(topology.n_replicas) if few else topology.replicas_in_words


def _data_digest(problem: Problem) -> str:
    digest = hashlib.sha256()
    for part in problem.parts.values():
        for values in (part.X, part.y, part.weights):
            rounded = np.zeros(0) if values is None else np.round(values, _DECIMALS) + 0.0
            digest.update(repr(rounded.shape).encode() + rounded.astype("<f8").tobytes())
    return digest.hexdigest()[:8]


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
    told = [name for name in _DISTINGUISHING if name in old.facts and name in new.facts]
    words = [
        f"{name.replace('_', ' ')} {_said(new.facts[name])} instead of {_said(old.facts[name])}"
        for name in told
        if old.facts[name] != new.facts[name]
    ]
    if "data" not in told and old.data_seed != new.data_seed:
        words.append("other data")
    return ", ".join(words)


def _said(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)
