"""Which runs are comparable: what a problem is, beyond its name, and what to call it.

Runs on different problems, with other budgets or settings, may share a store and even a name. The
frames give them different labels, so that whoever groups by them keeps them apart.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from symbreak.experiments._columns import OLD_NUMERICS, Row
from symbreak.experiments._spec import DIVISION_VERSION, NUMERICS_VERSION, RunSpec
from symbreak.problems import Problem
from symbreak.topology import Topology

Facts = dict[str, Any]

#: Facts that make runs incomparable, with how a label says them and the value where a store does
#: not have them yet.
_DISTINGUISHING = {
    "net": ("{}", ""),
    "task": ("{}", ""),
    "samples": ("{} samples", []),
    "rescale": ("rescale {}", "unit"),
    "output_error": ("{} output error", "linear"),
    "output_shift": ("output shift {}", False),
    "alpha": ("alpha {}", 0.0),
    "data": ("data {}", ""),
    "max_evaluations": ("{} evaluations", 0),
    "numerics": ("numerics {}", OLD_NUMERICS),
}
#: Data count as equal if they agree to so many decimals; machines differ in the last bits.
_DECIMALS = 5


def facts_of(run: RunSpec, problem: Problem | None = None) -> Facts:
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
def _problem_facts(problem: Problem) -> Facts:
    topology = problem.topology
    return {
        "name": problem.name,
        "net": str(topology),
        "dim": topology.dim,
        "n_replicas": _digits(topology),
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


def facts_of_row(row: Row, problems: Mapping[int, Facts]) -> Facts:
    """Facts about the problem of a stored run, with what the run was allowed."""
    allowed = {name: row[name] for name in ("max_evaluations", "numerics")}
    return problems[row["problem_id"]] | allowed


def identity_of(facts: Facts) -> str:
    """A short hash: equal if runs on the problem are comparable."""
    told = [facts["name"], *_told(facts).values()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]


def agree(old: Facts, new: Facts) -> bool:
    """Whether all that an older store knows of a problem holds for a new one."""
    names = ["name", *(name for name in _DISTINGUISHING if name in old)]
    return all(old[name] == new.get(name) for name in names)


def _told(facts: Facts) -> Facts:
    return {name: facts.get(name, unsaid) for name, (_, unsaid) in _DISTINGUISHING.items()}


class Label(NamedTuple):
    """What the frames call a run."""

    problem: str
    method: str
    role: str
    repetition: int
    identity: str


def label_problems(problems: Iterable[Facts]) -> dict[str, str]:
    """A label for each identity: the name of the problem, if that says enough."""
    by_name: dict[str, dict[str, Facts]] = defaultdict(dict)
    for facts in problems:
        by_name[facts["name"]][identity_of(facts)] = _told(facts)
    labels = {}
    for name, told in by_name.items():
        differing = [
            fact for fact in _DISTINGUISHING if len({str(t[fact]) for t in told.values()}) > 1
        ]
        for identity, facts in told.items():
            words = ", ".join(_say(fact, facts[fact]) for fact in differing)
            labels[identity] = f"{name} ({words})" if words else name
    return labels


def _say(fact: str, value: Any) -> str:
    if isinstance(value, list):
        value = " + ".join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:,}"
    return _DISTINGUISHING[fact][0].format("unknown" if value == "" else value)


def label_runs(runs: Sequence[Row], problems: Mapping[int, Facts]) -> dict[str, Label]:
    """The label of every run, by key; different settings of a method are different methods."""
    alike = {(r["problem_id"], r["max_evaluations"], r["numerics"]): r for r in runs}
    facts = {place: facts_of_row(run, problems) for place, run in alike.items()}
    known = {place: identity_of(each) for place, each in facts.items()}
    names = label_problems(facts.values())
    identities = [known[r["problem_id"], r["max_evaluations"], r["numerics"]] for r in runs]
    where = [names[identity] for identity in identities]
    methods = _label_methods(runs, where)
    repetitions = _number_repetitions(runs, list(zip(where, methods, strict=True)))
    roles = _roles(runs, where, methods)
    rows = zip(where, methods, roles, repetitions, identities, strict=True)
    return {run["key"]: Label(*row) for run, row in zip(runs, rows, strict=True)}


def _label_methods(runs: Sequence[Row], where: Sequence[str]) -> list[str]:
    """Names of methods, with settings where a store has several."""
    settings: dict[str, set[str]] = defaultdict(set)
    sizes: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for run, problem in zip(runs, where, strict=True):
        settings[run["method"]].add(run["settings"])
        sizes[problem, run["method"], run["settings"]].add(run["population_size"])
    labels = []
    for run, problem in zip(runs, where, strict=True):
        words = []
        if len(settings[run["method"]]) > 1:
            words = [f"{name}={value}" for name, value in json.loads(run["settings"]).items()]
        if len(sizes[problem, run["method"], run["settings"]]) > 1:
            words.append(f"population_size={run['population_size']}")
        labels.append(f"{run['method']} ({', '.join(words)})" if words else run["method"])
    return labels


def _roles(runs: Sequence[Row], where: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Of several settings of a method the plainest has its role, the others are variants."""
    counts = Counter(zip(where, methods, strict=True))
    plainest: dict[tuple[str, str], tuple[int, int, str]] = {}
    for run, problem, label in zip(runs, where, methods, strict=True):
        place, rank = (problem, run["method"]), (len(run["settings"]), -counts[problem, label])
        plainest[place] = min(plainest.get(place, (*rank, label)), (*rank, label))
    return [
        run["role"] if plainest[problem, run["method"]][2] == label else "variant"
        for run, problem, label in zip(runs, where, methods, strict=True)
    ]


def _number_repetitions(runs: Sequence[Row], groups: Sequence[tuple[str, str]]) -> list[int]:
    """Repetitions, numbered anew where studies with different seeds have the same ones."""
    order = sorted(
        range(len(runs)), key=lambda i: (runs[i]["repetition"], runs[i]["seed"], runs[i]["key"])
    )
    seen: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in order:
        seen[groups[i]].append(i)
    numbers = [run["repetition"] for run in runs]
    for members in seen.values():
        if len({numbers[i] for i in members}) < len(members):
            for number, i in enumerate(members):
                numbers[i] = number
    return numbers


def describe_differences(
    new: Iterable[RunSpec], runs: Sequence[Row], problems: Mapping[int, Facts]
) -> list[str]:
    """Which runs of a study share a name with runs that they are not comparable with."""
    distinct = {(row["problem_id"], row["max_evaluations"], row["numerics"]): row for row in runs}
    here = [facts_of_row(row, problems) for row in distinct.values()]
    settings_here: dict[str, set[str]] = defaultdict(set)
    for row in runs:
        settings_here[row["method"]].add(row["settings"])
    sentences = []
    for run in new:
        allowed = {"max_evaluations": run.max_evaluations, "numerics": NUMERICS_VERSION}
        facts = facts_of(run) | allowed
        there = [old for old in here if old["name"] == run.problem]
        if there and not any(agree(old, facts) for old in there):
            labels = label_problems([*there, facts])
            others = " and ".join(sorted({labels[identity_of(old)] for old in there}))
            sentences.append(
                f"the store has runs of {others}; this is {labels[identity_of(facts)]}"
            )
        settings = json.dumps(dict(run.method_settings), sort_keys=True)
        if (known := settings_here.get(run.method)) and settings not in known:
            sentences.append(f"the store has runs of {run.method} with other settings")
    return list(dict.fromkeys(sentences))
