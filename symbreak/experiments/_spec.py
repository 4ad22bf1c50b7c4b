"""What a study is: problems, methods, repetitions; read from a TOML file and checked whole."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

from symbreak._checks import (
    check_choice,
    check_count,
    check_kind,
    check_path,
    check_text,
    shown,
    unknown,
)
from symbreak.methods import METHODS, find_method
from symbreak.problems import Problem, load_problem, problem_names, read_problem
from symbreak.topology import Topology
from symbreak.training import Training

#: Part of every run's key. Raise it when results change for the same spec.
NUMERICS_VERSION = 2

#: More runs than this are a mistake in the file.
MAX_RUNS = 10_000_000

BUILT_IN = ("smoke", "quick", "paper", "beyond")

STUDY_KEYS = ("name", "problems", "methods", "repetitions", "seed", "data_seed", "data")
TABLES = ("budgets", "problem", "method", "data_file")
#: Fields of a problem that its data say, or another table of the file.
_OF_DATA = (
    *("name", "topology", "task", "train", "validation", "test", "inputs", "targets", "classes"),
    *("feature_names", "target_names", "max_evaluations", "description"),
)
PROBLEM_KEYS = (
    *("hidden", "activation"),
    *(field.name for field in dataclasses.fields(Problem) if field.name not in _OF_DATA),
)
FILE_KEYS = (
    *("file", "targets", "ignore", "header", "hidden", "task", "validation", "test"),
    "max_evaluations",
)

#: Larger numbers do not fit a store.
MAX_SEED, MAX_BUDGET = 2**63 - 1, 10**15

#: Whether repetitions share their data.
DATA = ("fixed", "redrawn")


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
            raise ValueError(f"there is no data file {str(path)!r}; file names a .csv or .npz.")
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
            raise ValueError(f"the data file {path.name} was changed or removed; start again.")
        return read_problem(path, name=name, seed=seed, **json.loads(self.settings))


@dataclass(frozen=True)
class RunSpec:
    """One run of a study: all that determines its result, as JSON-able values."""

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

    def __post_init__(self) -> None:
        for name in ("problem", "method"):
            check_text(name, getattr(self, name))
        for name in ("repetition", "seed", "data_seed"):
            n = _checked_seed(name, getattr(self, name))
            object.__setattr__(self, name, n)
        budget = check_count("max_evaluations", self.max_evaluations, 1)
        object.__setattr__(self, "max_evaluations", budget)
        if budget > MAX_BUDGET:
            raise ValueError(
                f"at most {MAX_BUDGET:g} evaluations can be done, got {shown(budget)}."
            )
        for name in ("problem_settings", "method_settings"):
            _check_table(name, getattr(self, name))
        if self.data_file is not None:
            check_kind("data_file", self.data_file, DataFile, "DataFile.from_table(...)")
        check_choice("data", self.data, DATA)

    @property
    def key(self) -> str:
        """A hash of what determines the result; runs with the same key are the same run."""
        facts = {**dataclasses.asdict(self), "numerics": NUMERICS_VERSION}
        del facts["data"]  # the data seed says it
        if self.data_file is not None:
            del facts["data_file"]["path"]  # what it says matters, not where it lies
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    def load_problem(self) -> Problem:
        """The problem of the run, with its data."""
        settings = json.dumps(dict(self.problem_settings), sort_keys=True)
        return _load_problem(self.problem, self.data_seed, settings, self.data_file)

    def start(self) -> Training:
        """The run, before its first generation."""
        return Training(
            self.load_problem(),
            self.method,
            max_evaluations=self.max_evaluations,
            seed=self.seed,
            **self.method_settings,
        )


@lru_cache(maxsize=16)  # repetitions share their data
def _load_problem(name: str, seed: int, settings: str, data_file: DataFile | None) -> Problem:
    problem = data_file.load(name, seed) if data_file else load_problem(name, seed)
    changes = json.loads(settings)
    _check_keys(f"settings of {name}", changes, PROBLEM_KEYS)
    if (hidden := changes.pop("hidden", None)) is not None:
        if not isinstance(hidden, list):
            raise ValueError(f"hidden must be a list of layer sizes, such as [5], got {hidden!r}.")
        sizes = (problem.topology.n_inputs, *hidden, problem.topology.n_outputs)
        changes["topology"] = Topology(sizes, problem.topology.activation)
    if (activation := changes.pop("activation", None)) is not None:
        sizes = changes.get("topology", problem.topology).sizes
        changes["topology"] = Topology(sizes, activation)
    if "population_size" in changes:
        changes["population_size"] = {**problem.population_size, **changes["population_size"]}
    return dataclasses.replace(problem, **changes)


@dataclass(frozen=True)
class StudySpec:
    """A whole study. Make one with ``StudySpec.load``, which checks everything.

    Attributes:
        name: The file's name, unless it gives another.
        problems: Names, in the order of the file.
        methods: Names, in the order of the file.
        repetitions: Runs of each method on each problem.
        seed: Every run has its own stream, from (seed, problem, method, repetition).
        data_seed: Seed of the data.
        data: ``"fixed"``, one data set per problem, or ``"redrawn"`` for every repetition.
        budgets: Evaluations per problem, where not the problem's own.
        problem_settings: Overrides per problem.
        method_settings: Overrides per method; ``problems`` there restricts a method to some.
        data_files: The user's data files, by problem.
        text: The study file.
    """

    name: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    repetitions: int
    seed: int = 0
    data_seed: int = 0
    data: str = "fixed"
    budgets: Mapping[str, int] = field(default_factory=dict)
    problem_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    method_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data_files: Mapping[str, DataFile] = field(default_factory=dict)
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_text("name", self.name)
        check_text("text", self.text)
        for name in ("problems", "methods"):
            names = check_kind(name, getattr(self, name), tuple, "of names")
            if not names or not all(isinstance(each, str) for each in names):
                raise ValueError(f"{name} must be names, at least one, got {shown(names)}.")
        repetitions = check_count("repetitions", self.repetitions, 1)
        object.__setattr__(self, "repetitions", repetitions)
        for name in ("seed", "data_seed"):
            check_count(name, getattr(self, name), 0)
        check_choice("data", self.data, DATA)
        for name in ("budgets", "problem_settings", "method_settings", "data_files"):
            _check_table(name, getattr(self, name))

    @classmethod
    def load(cls, source: str | Path) -> StudySpec:
        """Read a study file, or one of the built-in studies by name.

        Raises:
            ValueError: naming table, key and nearest valid name, before anything starts.
        """
        if isinstance(source, str) and source in BUILT_IN:
            file = resources.files("symbreak.experiments").joinpath(f"studies/{source}.toml")
            return cls.parse(file.read_text(encoding="utf-8"), name=str(source))
        path = check_path("a study", source)
        if not path.is_file():
            raise ValueError(
                f"no study file {str(source)!r}; give a TOML file or one of the built-in studies "
                f"{', '.join(BUILT_IN)}."
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"the study file {str(source)!r} is not UTF-8 text.") from None
        return cls.parse(text, name=path.stem, folder=path.parent)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        name: str = "study",
        folder: Path | None = None,
        try_runs: bool = True,
    ) -> StudySpec:
        """Read the text of a study file; data files are looked for in ``folder``.

        Without ``try_runs`` only names and keys are checked, not whether every run can start.
        """
        check_text("name", name)
        if folder is not None:
            folder = check_path("folder", folder)
        try:
            raw = tomllib.loads(check_text("the text of a study", text))
        except ValueError as error:
            raise ValueError(f"the study is not valid TOML: {error}.") from None
        except RecursionError:
            raise ValueError("the study is not valid: it is nested too deeply.") from None
        spec = _checked(raw, text, name, folder or Path())
        if spec.n_runs > MAX_RUNS:
            raise ValueError(f"a study has at most {MAX_RUNS:,} runs, got {spec.n_runs:,}.")
        # numbers and shapes are checked by what uses them
        for run in spec.first_runs() if try_runs else ():
            with _error_context(f"problem {run.problem} with method {run.method}"):
                run.start()
        return spec

    @property
    def n_runs(self) -> int:
        """Number of runs of the whole study."""
        return self.repetitions * len(self.pairs())

    def runs(self) -> Iterator[RunSpec]:
        """Every run, repetition by repetition, so that a study cut short is balanced."""
        for repetition in range(self.repetitions):
            for problem, method in self.pairs():
                yield self._run(problem, method, repetition)

    def first_runs(self) -> Iterator[RunSpec]:
        """The first repetition of every method on every problem."""
        return (self._run(problem, method, 0) for problem, method in self.pairs())

    def pairs(self) -> list[tuple[str, str]]:
        """Problems with the methods that run on them."""
        return [
            (problem, method)
            for problem in self.problems
            for method in self.methods
            if problem in self.method_settings.get(method, {}).get("problems", self.problems)
        ]

    def _run(self, problem: str, method: str, repetition: int) -> RunSpec:
        settings = dict(self.method_settings.get(method, {}))
        settings.pop("problems", None)
        redrawn = self.data == "redrawn"
        return RunSpec(
            problem=problem,
            method=method,
            repetition=repetition,
            max_evaluations=self._budget(problem),
            seed=derived_seed(self.seed, problem, method, repetition),
            data_seed=derived_seed(self.data_seed, repetition) if redrawn else self.data_seed,
            problem_settings=self.problem_settings.get(problem, {}),
            method_settings=settings,
            data_file=self.data_files.get(problem),
            data=self.data,
        )

    def _budget(self, problem: str) -> int:
        if problem in self.budgets:
            return self.budgets[problem]
        data = _load_problem(problem, self.data_seed, "{}", self.data_files.get(problem))
        return data.max_evaluations


def derived_seed(seed: int, *key: str | int) -> int:
    """A whole number below 2^53 for ``(seed, *key)``; other keys give independent streams."""
    digest = hashlib.sha256(json.dumps([seed, *key]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def _checked(raw: dict[str, Any], text: str, name: str, folder: Path) -> StudySpec:
    """A spec whose names and keys are all known."""
    _check_keys("the study", raw, (*STUDY_KEYS, *TABLES))
    files = _subtables(raw, "data_file")
    for table in files:
        if table in problem_names():
            raise ValueError(f"[data_file.{table}]: the paper has a problem of that name already.")
    problems = _names(raw, "problems", "problem", (*problem_names(), *files))
    methods = _names(raw, "methods", "method", METHODS)
    budgets = _table(raw, "budgets")
    _check_keys("[budgets]", budgets, problems)
    _check_keys("[problem]", _subtables(raw, "problem"), problems)
    _check_keys("[method]", _subtables(raw, "method"), methods)
    for problem, settings in _subtables(raw, "problem").items():
        _check_keys(f"[problem.{problem}]", settings, PROBLEM_KEYS)
        sizes = _table(settings, "population_size", f"[problem.{problem}] ")
        families = {row.family: None for row in METHODS.values()}
        _check_keys(f"[problem.{problem}] population_size", sizes, families)
    for method, settings in _subtables(raw, "method").items():
        known = ("problems", "population_size", "polish", *find_method(method).setting_names)
        _check_keys(f"[method.{method}]", settings, known)
        with _error_context(f"[method.{method}]"):
            _names({"problems": problems, **settings}, "problems", "problem", problems)
    for table, settings in files.items():
        _check_keys(f"[data_file.{table}]", settings, FILE_KEYS)
    with _error_context("[budgets]"):
        budgets = {key: check_count(key, value, 1) for key, value in budgets.items()}
    return StudySpec(
        name=str(raw.get("name", name)),
        problems=problems,
        methods=methods,
        repetitions=check_count("repetitions", raw.get("repetitions", 1), 1),
        seed=check_count("seed", raw.get("seed", 0), 0),
        data_seed=_checked_seed("data_seed", raw.get("data_seed", 0)),
        data=check_choice("data", raw.get("data", "fixed"), DATA),
        budgets=budgets,
        problem_settings=_subtables(raw, "problem"),
        method_settings=_subtables(raw, "method"),
        data_files={
            table: _data_file(table, settings, folder) for table, settings in files.items()
        },
        text=text,
    )


def _checked_seed(name: str, value: object) -> int:
    if (seed := check_count(name, value, 0)) > MAX_SEED:
        raise ValueError(f"{name} must be below 2^63, got {shown(value)}.")
    return seed


def _check_table(name: str, value: object) -> None:
    kind = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    if not kind:
        raise ValueError(f"{name} must be a dictionary with names as keys, got {shown(value)}.")


def _data_file(table: str, settings: Mapping[str, Any], folder: Path) -> DataFile:
    with _error_context(f"[data_file.{table}]"):
        return DataFile.from_table(settings, folder)


def _names(raw: Mapping[str, Any], key: str, kind: str, known: Iterable[str]) -> tuple[str, ...]:
    """A list of known names, without repetition."""
    names = raw.get(key)
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"{key} must be a list of names, got {shown(names)}.")
    known = list(known)
    for name in names:
        if name not in known:
            raise unknown(kind, name, known)
    return tuple(dict.fromkeys(names))


def _check_keys(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            raise ValueError(f"{where}: {unknown('key', key, known)}")


def _table(raw: Mapping[str, Any], key: str, where: str = "") -> dict[str, Any]:
    table = raw.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{where}{key} must be a table, got {table!r}.")
    return table


def _subtables(raw: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """A table of tables, such as ``[method.DE]``."""
    return {name: _table(_table(raw, key), name, f"[{key}] ") for name in _table(raw, key)}


@contextmanager
def _error_context(where: str) -> Iterator[None]:
    """Say in which part of the study file an error was."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None
