"""Everything that a report shows of some results, computed once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from symbreak._support.checks import shown
from symbreak.analysis import _statistics
from symbreak.analysis._lineup import Lineup, Style, distinct_styles, drawn, styles_of
from symbreak.analysis._paper import agreement, paper_problems
from symbreak.experiments import Archive, Store, StoreError, StudySpec
from symbreak.experiments._frames import TABLE_OF, joined
from symbreak.experiments._run import own_names
from symbreak.experiments._spec import RunSpec, differences
from symbreak.experiments._study import built_in_text
from symbreak.models import Model
from symbreak.problems import Problem, load_problem, problem_names

TRACE_POINTS = 300  # per run; charts show fewer


class Fit(NamedTuple):
    """The best network of a problem with its data, and the run that found it."""

    problem: Problem
    model: Model
    method: str
    repetition: int


@dataclass(frozen=True, eq=False)
class Results:
    """Frames of stores and archives, and what the statistics make of them.

    Problems come in the paper's order, then others by name; methods family by family. What is
    not printable in their names is spelt out.
    """

    runs: pd.DataFrame
    curves: pd.DataFrame
    part_errors: pd.DataFrame
    traces: pd.DataFrame
    spread: pd.DataFrame
    failures: pd.DataFrame
    facts: dict[str, dict[str, Any]]
    lineup: Lineup
    studies: list[tuple[str, str, Path]] = field(default_factory=list)  # with a data folder
    fits: dict[str, Fit] = field(default_factory=dict)

    @classmethod
    def of(cls, *sources: Store | Archive) -> Results:
        """Read stores, finished or not, and archives, as if they were one.

        Raises:
            ValueError: if runs of the same names could not be compared.
        """
        for source in sources:
            if not isinstance(source, Store | Archive):
                raise ValueError(f"a source must be what open_results gives, got {shown(source)}.")
        found = [source.frames(max_points=TRACE_POINTS) for source in sources]
        done = [run for frames in found for run in frames.conditions()]
        if different := differences(done, done):
            raise ValueError(
                "these results cannot be compared with each other: there is "
                f"{'; '.join(different)}. Report them one by one."
            )
        frames: dict[str, Any] = {}
        for name in (*TABLE_OF, "failures"):
            frame = joined([getattr(each, name) for each in found])
            printed = {column: frame[column].map(printable) for column in ("problem", "method")}
            frames[name] = frame.assign(**printed)
        runs = frames["runs"] = _in_order(frames["runs"])
        facts = {printable(n): fact for each in found for n, fact in each.facts().items()}
        pairs = zip(sources, found, strict=True)
        studies = [(*study, source.path.parent) for source, each in pairs for study in each.studies]
        results = cls(**frames, facts=facts, lineup=Lineup.of(runs), studies=studies)
        results.fits.update(_best_fits(sources, results))
        return results

    @cached_property
    def problems(self) -> list[str]:
        """Problems with finished runs."""
        return list(dict.fromkeys(self.runs["problem"]))

    def methods(self, family: str, problem: str | None = None) -> list[str]:
        """Methods of a family with finished runs, the compared ones first."""
        runs = self.runs if problem is None else self.runs[self.runs["problem"] == problem]
        there = set(runs["method"])
        return [method for method in self.lineup.methods(family) if method in there]

    def styles(self, family: str, problem: str | None = None) -> dict[str, Style]:
        """How the methods of a family are drawn, for charts."""
        return drawn(styles_of(self.lineup), self.methods(family, problem))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """``statistics.summary`` of the runs."""
        return _statistics.summary(self.runs)

    @cached_property
    def best(self) -> pd.DataFrame:
        """The row of ``summary`` with the smallest mean of all methods, one per problem."""
        finite = self.summary[np.isfinite(self.summary["mean"].astype(float))]
        rows = finite.groupby("problem", sort=False)["mean"].idxmin()
        return finite.loc[rows].reset_index(drop=True)

    @property
    def lead(self) -> tuple[str, dict[str, Style]]:
        """The problem that a report shows first, and which methods of it.

        Where the study has methods of its own, these and the best of every other family; or else
        the family and problem where breaking gains the median of what it gains elsewhere.
        """
        names = [name for _, name in own_names(self.runs["method"].unique(), ())]
        own = self.runs[self.runs["method"].isin(names)]
        if len(own):
            problem = own["problem"].iloc[0]
            here = self.summary[self.summary["problem"] == problem].sort_values("mean")
            others = here[~here["family"].isin(own["family"])].drop_duplicates("family")["method"]
            return problem, distinct_styles([*own["method"].unique(), *others])
        roles = {member.method: member.role for member in self.lineup.members}
        means = self.summary.assign(role=self.summary["method"].map(roles)).pivot_table(
            index=["problem", "family"], columns="role", values="mean", aggfunc="first"
        )
        means = means.reindex(columns=["plain", "proximity"])
        gains = (means["plain"] / means["proximity"]).replace(np.inf, np.nan).dropna()
        problem, family = self.runs.iloc[0][["problem", "family"]]
        if len(gains):
            problem, family = gains.sort_values(kind="stable").index[(len(gains) - 1) // 2]
        return problem, self.styles(family, problem)

    @cached_property
    def kruskal_wallis(self) -> pd.DataFrame:
        """``statistics.kruskal_wallis`` among the compared of each family, as in the paper."""
        return _statistics.kruskal_wallis(self.runs)

    @cached_property
    def pairwise(self) -> pd.DataFrame:
        """``statistics.pairwise`` among the compared of each family, as in the paper."""
        return _statistics.pairwise(self.runs)

    @cached_property
    def family_tests(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both tests among all methods of each family."""
        return self._tests("family")

    @cached_property
    def all_tests(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both tests among all methods of each problem."""
        return self._tests("all")

    def _tests(self, among: _statistics.Among) -> tuple[pd.DataFrame, pd.DataFrame]:
        first, second = _statistics.kruskal_wallis, _statistics.pairwise
        return first(self.runs, among=among), second(self.runs, among=among)

    @cached_property
    def ranks(self) -> _statistics.Ranks | None:
        """Methods over all problems; None if they cannot be compared there."""
        return _statistics.overall_ranks(self.summary)

    @cached_property
    def paper_problems(self) -> dict[str, str]:
        """The paper's names of those problems that are the paper's, by name and network."""
        return paper_problems(self.facts)

    @cached_property
    def shorter(self) -> dict[str, tuple[int, int]]:
        """Problems of the paper whose runs are shorter than in the study ``paper``, and both."""
        usual = tomllib.loads(built_in_text("paper"))["budgets"]
        budgets = self.runs.groupby("problem")["max_evaluations"].min()
        known = self.paper_problems
        pairs = {n: (int(budgets[n]), usual[known[n]]) for n in self.problems if n in known}
        return {name: pair for name, pair in pairs.items() if pair[0] < pair[1]}

    @cached_property
    def agreement(self) -> list[dict[str, Any]]:
        """Where families of the paper that were run here, and for as long, agree with it."""
        names = {n: of for n, of in self.paper_problems.items() if n not in self.shorter}
        return agreement(self.summary, self.pairwise, names)

    @cached_property
    def hits(self) -> pd.DataFrame:
        """When each run reached each target."""
        targets = _statistics.target_table(self.runs)
        return _statistics.evaluations_to_targets(self.runs, self.curves, targets)

    @cached_property
    def running_times(self) -> pd.DataFrame:
        """``targets.running_times`` of the runs."""
        return _statistics.running_times(self.hits, self.lineup)

    @cached_property
    def missing(self) -> pd.DataFrame:
        """Planned runs that are not finished: problem, method, missing, planned."""
        columns, done = ["problem", "method", "missing"], set(self.runs["key"])
        rows = [(printable(r.problem), r.method, k not in done) for k, r in self.planned.items()]
        by = pd.DataFrame(rows, columns=columns).groupby(columns[:2], sort=False)["missing"]
        return by.agg(missing="sum", planned="size").query("missing > 0").reset_index()

    @cached_property
    def planned(self) -> dict[str, RunSpec]:
        """Every run of the studies, by its key, as far as their files can still be read."""
        found: dict[str, RunSpec] = {}
        for name, text, folder in self.studies:
            with suppress(ValueError):  # such as a data file that lies elsewhere
                spec = StudySpec.parse(text, name=name, folder=folder, try_runs=False)
                found |= {run.key: run for run in spec.runs()}
        return found

    @cached_property
    def versions(self) -> list[dict[str, str]]:
        """Versions that made the runs, each once."""
        return [json.loads(text) for text in dict.fromkeys(self.runs["versions"])]


def printable(text: str) -> str:
    """A name with what cannot be printed spelt out: no terminal and no chart stumbles on it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _in_order(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with the paper's problems first."""
    known, found = problem_names(), list(dict.fromkeys(runs["problem"]))
    ordered = [p for p in known if p in found] + [p for p in found if p not in known]
    runs = runs.sort_values("problem", key=lambda names: names.map(ordered.index), kind="stable")
    return runs.reset_index(drop=True)


def _best_fits(sources: Sequence[Store | Archive], results: Results) -> dict[str, Fit]:
    """The best network of each problem, where its data can be loaded again."""
    fits = {}
    for name, runs in results.runs.groupby("problem", sort=False):
        # by the error on validation data, or else by that of training; never by that of the test
        by = "validation_error" if runs["validation_error"].notna().any() else "error"
        run = runs.iloc[int(runs[by].astype(float).fillna(np.inf).argmin())]
        problem, model = None, None
        with suppress(ValueError, OSError):  # such as a data file that was moved
            problem = _problem_of(run, results)
            for source in sources if problem else ():
                with suppress(StoreError):  # another has it, or nobody has
                    model = model or source.model(str(run["key"]))
        if problem is not None and model is not None and model.topology == problem.topology:
            fits[str(name)] = Fit(problem, model, str(run["method"]), int(run["repetition"]))
    return fits


def _problem_of(run: pd.Series[Any], results: Results) -> Problem | None:
    """The problem of a run: as its study says, or else the built-in one with that network."""
    if (planned := results.planned.get(str(run["key"]))) is not None:
        loaded = planned.load_problem()
        return loaded if isinstance(loaded, Problem) else None  # control has no data
    facts = results.facts[run["problem"]]
    if facts["name"] not in problem_names():
        return None
    problem = load_problem(facts["name"], int(run["data_seed"]))
    return problem if str(problem.topology) == facts["net"] else None
