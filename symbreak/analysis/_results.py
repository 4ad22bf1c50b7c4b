"""Everything that a report shows of a store, computed once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from symbreak.analysis import _paper, _statistics, _targets
from symbreak.experiments import Store, StudySpec
from symbreak.problems import problem_names

FAMILIES = ("DE", "CMA-ES")
TRACE_POINTS = 300  # per run; charts show fewer


@dataclass(frozen=True, eq=False)
class Results:
    """Frames of a store, and what the statistics make of them.

    Problems come in the paper's order, then others by name; methods family by family.
    """

    runs: pd.DataFrame
    curves: pd.DataFrame
    rates: pd.DataFrame
    traces: pd.DataFrame
    spread: pd.DataFrame
    failures: pd.DataFrame
    facts: dict[str, dict[str, Any]]
    studies: list[tuple[str, str]]

    @classmethod
    def of(cls, store: Store) -> Results:
        """Read a store, finished or not."""
        runs = store.frame()  # by problem, method and repetition
        known = problem_names()
        found = list(dict.fromkeys(runs["problem"]))
        ordered = [p for p in known if p in found] + [p for p in found if p not in known]
        runs = runs.sort_values(
            "problem", key=lambda names: names.map(ordered.index), kind="stable"
        )
        return cls(
            runs.reset_index(drop=True),
            store.curves(),
            store.rates(),
            store.traces(max_points=TRACE_POINTS),
            store.spread(),
            store.failures(),
            store.problems(),
            store.studies(),
        )

    def by_problem(self) -> Iterator[Results]:
        """The same of one problem after the other."""
        frames = (self.runs, self.curves, self.rates, self.traces, self.spread)
        parts = [dict(list(f.groupby("problem"))) if len(f) else {} for f in frames]
        for name in self.problems:
            runs, curves, rates, traces, spread = (
                part.get(name, frame.iloc[:0]) for part, frame in zip(parts, frames, strict=True)
            )
            facts, failures = {name: self.facts[name]}, self.failures.iloc[:0]
            yield Results(runs, curves, rates, traces, spread, failures, facts, [])

    @cached_property
    def problems(self) -> list[str]:
        """Problems with finished runs."""
        return list(dict.fromkeys(self.runs["problem"]))

    def methods(self, family: str, problem: str | None = None) -> list[str]:
        """Methods of a family with finished runs, the paper's three first."""
        there = self.runs[self.runs["family"] == family]
        if problem is not None:
            there = there[there["problem"] == problem]
        known = [*_statistics.compared_methods(family), f"{family}-SB-BF"]
        found = sorted(set(there["method"]))
        return [m for m in known if m in found] + [m for m in found if m not in known]

    @cached_property
    def summary(self) -> pd.DataFrame:
        """``statistics.summary`` of the runs."""
        return _statistics.summary(self.runs)

    @cached_property
    def kruskal_wallis(self) -> pd.DataFrame:
        """``statistics.kruskal_wallis`` of the runs."""
        return _statistics.kruskal_wallis(self.runs)

    @cached_property
    def pairwise(self) -> pd.DataFrame:
        """``statistics.pairwise`` of the runs."""
        return _statistics.pairwise(self.runs)

    @cached_property
    def ideal(self) -> pd.DataFrame:
        """``statistics.ideal_against_approximate`` of the runs."""
        return _statistics.ideal_against_approximate(self.runs)

    @cached_property
    def agreement(self) -> _paper.Agreement:
        """``paper.agreement`` with the paper."""
        return _paper.agreement(self.summary, self.pairwise)

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
        return _targets.speed_up(self.hits)

    @cached_property
    def missing(self) -> pd.DataFrame:
        """Planned runs that are not finished: problem, method, missing, planned."""
        planned: dict[tuple[str, str], int] = {}
        for spec in self.specs:
            for pair in spec.pairs():
                planned[pair] = max(planned.get(pair, 0), spec.repetitions)
        done = Counter(zip(self.runs["problem"], self.runs["method"], strict=True))
        rows = [
            {"problem": p, "method": m, "missing": n - done[p, m], "planned": n}
            for (p, m), n in planned.items()
        ]
        frame = pd.DataFrame(rows, columns=["problem", "method", "missing", "planned"])
        return frame[frame["missing"] > 0].reset_index(drop=True)

    @cached_property
    def specs(self) -> list[StudySpec]:
        """The studies, as far as their files can still be read."""
        found = []
        for name, text in self.studies:
            try:
                found.append(StudySpec.parse(text, name=name, try_runs=False))
            except ValueError:  # such as a data file that lies elsewhere
                continue
        return found

    @cached_property
    def versions(self) -> list[dict[str, str]]:
        """Versions that made the runs, each once."""
        return [json.loads(text) for text in dict.fromkeys(self.runs["versions"])]
