"""Everything that a report shows of a store, computed once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from symbreak._support.checks import shown
from symbreak.analysis import _statistics, _targets
from symbreak.analysis._agreement import Agreement, agreement
from symbreak.analysis._fits import Fit, best_fits
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._paper import paper_problems
from symbreak.analysis._style import Look, drawn, looks_of
from symbreak.experiments import Archive, RunSpec, Store, StudySpec
from symbreak.problems import problem_names

TRACE_POINTS = 300  # per run; charts show fewer


@dataclass(frozen=True, eq=False)
class Results:
    """Frames of a store, and what the statistics make of them.

    Problems come in the paper's order, then others by name; methods family by family. What is
    not printable in their names is spelt out.
    """

    runs: pd.DataFrame
    curves: pd.DataFrame
    rates: pd.DataFrame
    traces: pd.DataFrame
    spread: pd.DataFrame
    failures: pd.DataFrame
    facts: dict[str, dict[str, Any]]
    studies: list[tuple[str, str]]
    lineup: Lineup
    folder: Path = Path()  # where data files are looked for
    fits: dict[str, Fit] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store | Archive) -> Results:
        """Read a store, finished or not."""
        if not all(hasattr(store, frame) for frame in ("frame", "curves", "traces", "spread")):
            raise ValueError(f"store must be what open_results(path) gives, got {shown(store)}.")
        runs = _printable_names(store.frame())
        known = problem_names()
        found = list(dict.fromkeys(runs["problem"]))
        ordered = [p for p in known if p in found] + [p for p in found if p not in known]
        runs = runs.sort_values(
            "problem", key=lambda names: names.map(ordered.index), kind="stable"
        )
        results = cls(
            runs.reset_index(drop=True),
            _printable_names(store.curves()),
            _printable_names(store.rates()),
            _printable_names(store.traces(max_points=TRACE_POINTS)),
            _printable_names(store.spread()),
            _printable_names(store.failures()),
            {printable(name): facts for name, facts in store.problems().items()},
            store.studies(),
            Lineup.of(runs),
            store.path.parent,
        )
        return replace(results, fits=best_fits(store, results))

    def by_problem(self) -> Iterator[Results]:
        """The results of each problem alone, one after the other."""
        frames = (self.runs, self.curves, self.rates, self.traces, self.spread)
        parts = [dict(list(f.groupby("problem"))) if len(f) else {} for f in frames]
        for name in self.problems:
            runs, curves, rates, traces, spread = (
                part.get(name, frame.iloc[:0]) for part, frame in zip(parts, frames, strict=True)
            )
            yield replace(
                self,
                runs=runs,
                curves=curves,
                rates=rates,
                traces=traces,
                spread=spread,
                failures=self.failures.iloc[:0],
                facts={name: self.facts[name]},
                studies=[],
                fits={},  # they do not travel between processes
            )

    @cached_property
    def problems(self) -> list[str]:
        """Problems with finished runs."""
        return list(dict.fromkeys(self.runs["problem"]))

    def methods(self, family: str, problem: str | None = None) -> list[str]:
        """Methods of a family with finished runs, the compared ones first."""
        runs = self.runs if problem is None else self.runs[self.runs["problem"] == problem]
        there = set(runs["method"])
        return [method for method in self.lineup.methods(family) if method in there]

    def methods_that_break(self, family: str, problem: str) -> list[str]:
        """Methods of a family that break symmetries, with finished runs."""
        plain = self.lineup.methods(family, "plain")
        return [method for method in self.methods(family, problem) if method not in plain]

    def looks(self, family: str, problem: str | None = None) -> dict[str, Look]:
        """How the methods of a family are drawn, for charts."""
        return drawn(self._all_looks, self.methods(family, problem))

    @cached_property
    def _all_looks(self) -> dict[str, Look]:
        return looks_of(self.lineup)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """``statistics.summary`` of the runs."""
        return _statistics.summary(self.runs, lineup=self.lineup)

    @cached_property
    def best(self) -> pd.DataFrame:
        """The row of ``summary`` with the smallest mean of all methods, one per problem."""
        finite = self.summary[np.isfinite(self.summary["mean"].astype(float))]
        rows = finite.groupby("problem", sort=False)["mean"].idxmin()
        return finite.loc[rows].reset_index(drop=True)

    @cached_property
    def gains(self) -> list[tuple[float, str, str]]:
        """What breaking gains, rising: the plain mean over its own, the problem and the family."""
        means = self.summary.set_index(["problem", "method"])["mean"]
        gains = []
        for problem in self.problems:
            for family in self.lineup.families:
                pair = [self.lineup.first(family, role) for role in ("plain", "proximity")]
                plain, breaking = (means.get((problem, method), np.nan) for method in pair)
                if breaking > 0 and np.isfinite(plain):
                    gains.append((plain / breaking, problem, family))
        return sorted(gains)

    @property
    def typical(self) -> tuple[str, str]:
        """The problem and family where breaking gains the median of what it gains elsewhere."""
        if not self.gains:
            return tuple(self.runs.iloc[0][["problem", "family"]])
        return self.gains[(len(self.gains) - 1) // 2][1:]

    @cached_property
    def kruskal_wallis(self) -> pd.DataFrame:
        """``statistics.kruskal_wallis`` of the runs."""
        return _statistics.kruskal_wallis(self.runs, lineup=self.lineup)

    @cached_property
    def pairwise(self) -> pd.DataFrame:
        """``statistics.pairwise`` of the runs."""
        return _statistics.pairwise(self.runs, lineup=self.lineup)

    @cached_property
    def ideal(self) -> pd.DataFrame:
        """``statistics.ideal_against_approximate`` of the runs."""
        return _statistics.ideal_against_approximate(self.runs, lineup=self.lineup)

    @cached_property
    def agreement(self) -> Agreement:
        """How far what is the paper's agrees with the paper."""
        return agreement(self.summary, self.pairwise, self.paper_problems)

    @cached_property
    def paper_problems(self) -> dict[str, str]:
        """The paper's names of those problems that are the paper's, by name and network."""
        return paper_problems(self.facts)

    @cached_property
    def hits(self) -> pd.DataFrame:
        """When each run reached each target."""
        targets = _targets.target_table(self.runs)
        return _targets.evaluations_to_targets(self.runs, self.curves, targets)

    @cached_property
    def running_times(self) -> pd.DataFrame:
        """``targets.expected_running_time`` of the runs."""
        return _targets.expected_running_time(self.hits)

    @cached_property
    def speed_ups(self) -> pd.DataFrame:
        """``targets.speed_up`` of the runs."""
        return _targets.speed_up(self.hits, self.lineup)

    @cached_property
    def missing(self) -> pd.DataFrame:
        """Planned runs that are not finished: problem, method, missing, planned."""
        planned = Counter((run.problem, run.method) for run in self.planned.values())
        missing = Counter((run.problem, run.method) for run in self._unfinished)
        rows = [
            {"problem": printable(p), "method": m, "missing": n, "planned": planned[p, m]}
            for (p, m), n in missing.items()
        ]
        return pd.DataFrame(rows, columns=["problem", "method", "missing", "planned"])

    @cached_property
    def planned(self) -> dict[str, RunSpec]:
        """Every run of the studies, by its key."""
        return {run.key: run for spec in self.specs for run in spec.runs()}

    @property
    def complete(self) -> bool:
        """Whether every planned run has finished or failed."""
        failed = set(self.failures["key"])
        return bool(self.planned) and all(run.key in failed for run in self._unfinished)

    @cached_property
    def _unfinished(self) -> list[RunSpec]:
        """Planned runs without a result; those of earlier versions are known by their seeds."""
        done, facts = set(self.runs["key"]), ["method", "seed", "data_seed", "max_evaluations"]
        older = self.runs[~self.runs["key"].isin(list(self.planned))][facts]
        found = set(older.itertuples(index=False, name=None))
        return [
            run
            for key, run in self.planned.items()
            if key not in done
            and (run.method, run.seed, run.data_seed, run.max_evaluations) not in found
        ]

    @cached_property
    def specs(self) -> list[StudySpec]:
        """The studies, as far as their files can still be read."""
        found = []
        for name, text in self.studies:
            try:
                found.append(StudySpec.parse(text, name=name, folder=self.folder, try_runs=False))
            except ValueError:  # such as a data file that lies elsewhere
                continue
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


def _printable_names(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose problems and methods can be printed."""
    names = {}
    for column in ("problem", "method"):
        found = frame[column].unique() if column in frame else ()
        if not all(name.isprintable() for name in found):
            names[column] = frame[column].map({name: printable(name) for name in found})
    return frame.assign(**names)
