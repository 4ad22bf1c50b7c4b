"""What a study is: problems, methods, repetitions; read from a TOML file and checked whole."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from symbreak._support.checks import (
    check_choice,
    check_count,
    check_path,
    check_text,
    shown,
    unknown,
)
from symbreak._support.random import stream
from symbreak.control import CONTROL
from symbreak.experiments._spec import (
    DATA,
    MAX_BUDGET,
    MAX_SEED,
    PROBLEM_KEYS,
    DataFile,
    RunSpec,
    check_keys,
    problem_of,
    sorted_json,
)
from symbreak.methods import METHODS, find_method
from symbreak.problems import problem_names

#: More runs than this are a mistake in the file.
MAX_RUNS = 10_000_000

BUILT_IN = ("smoke", "quick", "paper", "beyond")

STUDY_KEYS = ("name", "problems", "methods", "repetitions", "seed", "data_seed", "data")
TABLES = ("budgets", "problem", "method", "data_file")
FILE_KEYS = (
    *("file", "targets", "ignore", "header", "encoding", "hidden", "task", "validation", "test"),
    "max_evaluations",
)

#: What follows the error for an unknown method or problem.
OWN = (
    " If it is your own, name the module that adds it: run_study(..., imports=[...]), "
    "or symbreak study --import."
)
#: Evaluations of a run on a problem that names no budget.
OWN_BUDGET = 100_000


@dataclass(frozen=True)
class StudySpec:
    """A whole study. Make one with ``StudySpec.load``, which checks everything."""

    name: str  # of the file, unless it gives another
    problems: tuple[str, ...]  # as the methods, in the order of the file
    methods: tuple[str, ...]
    repetitions: int  # of each method on each problem
    seed: int = 0  # every run has its own stream, from (seed, problem, method, repetition)
    data_seed: int = 0
    data: str = "fixed"  # one data set per problem, or "redrawn" for every repetition
    budgets: Mapping[str, int] = field(default_factory=dict)  # where not the problem's own
    problem_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    method_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data_files: Mapping[str, DataFile] = field(default_factory=dict)  # by problem
    text: str = field(default="", compare=False)  # of the file

    @classmethod
    def load(
        cls, source: str | Path, *, problems: Sequence[str] = (), methods: Sequence[str] = ()
    ) -> StudySpec:
        """Read a study file, or one of the built-in studies by name.

        Args:
            source: The file or the name.
            problems: Leave out all others, with the seeds and budgets that the study has.
            methods: The same for methods.

        Raises:
            ValueError: naming table, key and nearest valid name, before anything starts.
        """
        if isinstance(source, str) and source in BUILT_IN:
            return cls.parse(_part(built_in_text(source), problems, methods), name=source)
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
        return cls.parse(_part(text, problems, methods), name=path.stem, folder=path.parent)

    @classmethod
    def parse(
        cls, text: str, *, name: str = "study", folder: Path | None = None, try_runs: bool = True
    ) -> StudySpec:
        """Read the text of a study file; data files are looked for in ``folder``.

        Without ``try_runs`` only names and keys are checked, not whether every run can start.
        """
        check_text("name", name)
        if folder is not None:
            folder = check_path("folder", folder)
        raw = _read(check_text("the text of a study", text))
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

    def runs(self, shard: tuple[int, int] = (1, 1)) -> Iterator[RunSpec]:
        """Every run, repetition by repetition, so that a study cut short is balanced.

        Args:
            shard: ``(i, n)`` gives the i-th of n parts. The runs of each repetition are dealt out
                in an order of its own, the same for all studies of that size, so that no shard
                has all runs of a slow method. Further repetitions leave every run in its shard.
        """
        i, n = check_shard(shard)
        pairs = self.pairs()
        for repetition in range(self.repetitions):
            order = stream(0, "shards", repetition).permutation(len(pairs))
            for (problem, method), place in zip(pairs, order.tolist(), strict=True):
                if (repetition * len(pairs) + place) % n == i - 1:
                    yield self.run(problem, method, repetition)

    def first_runs(self) -> Iterator[RunSpec]:
        """The first repetition of every method on every problem."""
        return (self.run(problem, method, 0) for problem, method in self.pairs())

    def pairs(self) -> list[tuple[str, str]]:
        """Problems with the methods that run on them."""
        return [
            (problem, method)
            for problem in self.problems
            for method in self.methods
            if problem in self.method_settings.get(method, {}).get("problems", self.problems)
        ]

    def run(self, problem: str, method: str, repetition: int) -> RunSpec:
        """One run."""
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
        budget = self.budgets.get(problem)
        if budget is None:
            settings = sorted_json(self.problem_settings.get(problem, {}))
            data = problem_of(problem, self.data_seed, settings, self.data_files.get(problem))
            budget = data.max_evaluations or OWN_BUDGET
        if budget > MAX_BUDGET:
            raise ValueError(f"at most {MAX_BUDGET:g} evaluations can be done, got {budget:g}.")
        return budget


def check_shard(shard: tuple[int, int]) -> tuple[int, int]:
    """Return ``(i, n)`` if they are integers with 1 <= i <= n."""
    with suppress(TypeError, ValueError):
        i, n = shard
        if 1 <= check_count("i", i, 1) <= check_count("n", n, 1):
            return int(i), int(n)
    raise ValueError(f"shard must be (i, n), integers with 1 <= i <= n, got {shown(shard)}.")


def built_in_text(name: str) -> str:
    """The file of a built-in study."""
    folder = resources.files("symbreak.experiments")
    return folder.joinpath(f"studies/{name}.toml").read_text(encoding="utf-8")


def derived_seed(seed: int, *key: str | int) -> int:
    """An integer below 2^53 for ``(seed, *key)``; other keys give independent streams."""
    digest = hashlib.sha256(json.dumps([seed, *key]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the study is not valid TOML, or nested too deeply: {error}.") from None


def _part(text: str, problems: Sequence[str], methods: Sequence[str]) -> str:
    """The text of a study with some of its problems and methods only."""
    if not problems and not methods:
        return text
    raw = _read(text)
    for key, kind, wanted in (("problems", "problem", problems), ("methods", "method", methods)):
        known = _names(raw, key, kind, raw.get(key, ()))
        _names({key: wanted or known}, key, kind, known, " It must be one of the study's.")
        raw[key] = [name for name in known if name in wanted] if wanted else list(known)
    for table in ("budgets", "method", "problem", "data_file"):  # stores keep that order
        left = raw["methods" if table == "method" else "problems"]
        raw[table] = {n: value for n, value in _table(raw, table).items() if n in left}
    for name, settings in _subtables(raw, "method").items():
        if "problems" in settings:
            left = [each for each in settings["problems"] if each in raw["problems"]]
            raw["method"][name] = settings | {"problems": left}
            if not left:
                raw["methods"].remove(name)
                del raw["method"][name]
    if not raw["methods"]:
        raise ValueError("none of these methods runs on any of these problems in the study.")
    return "".join(f"{key} = {_toml(value)}\n" for key, value in raw.items())


def _toml(value: Any) -> str:
    """A value of a study file; but for tables JSON has the same words."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())} }}"
    return json.dumps(value)


def _checked(raw: dict[str, Any], text: str, name: str, folder: Path) -> StudySpec:
    """A spec whose names and keys are all known."""
    check_keys("the study", raw, (*STUDY_KEYS, *TABLES))
    files, of_problems = _subtables(raw, "data_file"), _subtables(raw, "problem")
    of_methods, given = _subtables(raw, "method"), (*problem_names(), *CONTROL)
    for table in files:
        if table in given:
            raise ValueError(f"[data_file.{table}]: the paper has a problem of that name already.")
    variants = {name: table["of"] for name, table in of_problems.items() if "of" in table}
    for variant, of in variants.items():
        _names({"of": [of]}, "of", "problem", given, f" [problem.{variant}] needs it.")
    problems = _names(raw, "problems", "problem", (*given, *files, *variants), OWN)
    methods = _names(raw, "methods", "method", METHODS, OWN)
    for table in TABLES:
        check_keys(f"[{table}]", _table(raw, table), methods if table == "method" else problems)
    families = {row.family: None for row in METHODS.values()}
    for problem, settings in of_problems.items():
        check_keys(f"[problem.{problem}]", settings, PROBLEM_KEYS)
        sizes = _table(settings, "population_size", f"[problem.{problem}] ")
        check_keys(f"[problem.{problem}] population_size", sizes, families)
    for method, settings in of_methods.items():
        known = ("problems", "population_size", "polish", *find_method(method).setting_names)
        check_keys(f"[method.{method}]", settings, known)
        with _error_context(f"[method.{method}]"):
            _names({"problems": problems, **settings}, "problems", "problem", problems)
    with _error_context("[budgets]"):
        budgets = {key: check_count(key, n, 1) for key, n in _table(raw, "budgets").items()}
    data = check_choice("data", raw.get("data", "fixed"), DATA)
    if (data_seed := check_count("data_seed", raw.get("data_seed", 0), 0)) > MAX_SEED:
        raise ValueError(f"data_seed must be below 2^63, got {shown(data_seed)}.")
    return StudySpec(
        name=str(raw.get("name", name)),
        problems=problems,
        methods=methods,
        repetitions=check_count("repetitions", raw.get("repetitions", 1), 1),
        seed=check_count("seed", raw.get("seed", 0), 0),
        data_seed=data_seed,
        data=data,
        budgets=budgets,
        problem_settings=of_problems,
        method_settings=of_methods,
        data_files={name: _data_file(name, table, data, folder) for name, table in files.items()},
        text=text,
    )


def _data_file(name: str, table: Mapping[str, Any], data: str, folder: Path) -> DataFile:
    check_keys(f"[data_file.{name}]", table, FILE_KEYS)
    with _error_context(f"[data_file.{name}]"):
        if data == "redrawn" and not table.get("validation") and not table.get("test"):
            raise ValueError(
                'data = "redrawn" divides the rows anew for each repetition, but they are all for '
                'training; give validation or test, or data = "fixed".'
            )
        return DataFile.from_table(table, folder)


def _names(
    raw: Mapping[str, Any], key: str, kind: str, known: Iterable[str], hint: str = ""
) -> tuple[str, ...]:
    """A list of known names, without repetition; ``hint`` ends the error for others."""
    names = raw.get(key)
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"{key} must be a list of names, got {shown(names)}.")
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"{unknown(kind, name, known)}{hint}")
    return tuple(dict.fromkeys(names))


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
