"""Why auto's rule is as it is: polishes are recorded, and replayed under other rules.

On data that the comparison of trainers does not use: the paper's problems drawn anew, and half of
the tables that are kept for the rule. Polishes begin at the best of some random candidates, of
different sizes, and go on to their ends. A rule then says which of them would have been given up
when, and how long it takes to come within 1.1 and 1.3 of the best that any of them found: the mean
of many replays, in which polishes are drawn at random. One thing at a time differs from the rule.
Searches of more than one generation are not replayed. On digits, whose polishes are the longest,
only those that begin as the rule says are recorded.

    python benchmarks/rule.py --json benchmarks/results/rule.json       # three quarters of an hour
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _tasks import floor, load_task, loadable
from _timing import Array, Row, as_table, environment, use_one_thread
from rich.console import Console
from rich.progress import track

from symbreak import LeastSquares, Problem, Topology, load_problem, problem_names
from symbreak._polish._polisher import Polisher
from symbreak.objectives._least_squares import prepare_polish
from symbreak.training._recipe import ITERATIONS_LARGE, Patience, make_plan, patience
from symbreak.training._run import UNLIMITED

PAPER = ("sinc", "inc-sinc", "sinc2d", "sinc3d", "autoenc-circle")
TABLES = (
    *("boston/3", "boston/5", "boston/5-3", "glass/5", "glass/5-3"),
    *("cpus/5", "airquality/3", "pima/3"),
)
LARGEST = ("digits",)
OTHER_DATA = 7  # seed of the paper's problems here
REPLAYS, FACTORS = 100, (1.1, 1.3)
#: Seconds of a replay at most, and on the largest.
LONGEST, LONGEST_LARGEST = 10.0, 300.0


class Beginning(NamedTuple):
    """How polishes begin: with the best of so many, whose weights are so large.

    ``size`` multiplies what the rule draws from; None is its own.
    """

    candidates: int | None = None
    size: float = 1.0
    curved: bool = True


class Variant(NamedTuple):
    """The rule with something changed: in the patience with polishes, or in how they begin."""

    changes: dict[str, Any] | None = None
    beginning: Beginning = Beginning()

    def patience(self, topology: Topology) -> Patience:
        """That with a network."""
        return patience(topology.dim)._replace(**self.changes or {})


NEVER = (-1.0, 1)
#: Alternatives by what a table calls them; the rule itself is the first.
VARIANTS: dict[str, Variant] = {
    "the rule": Variant(),
    "1 candidate": Variant(beginning=Beginning(candidates=1)),
    "4 candidates": Variant(beginning=Beginning(candidates=4)),
    "12 candidates": Variant(beginning=Beginning(candidates=12)),
    "40 candidates": Variant(beginning=Beginning(candidates=40)),
    "weights half as large": Variant(beginning=Beginning(size=0.5)),
    "weights twice as large": Variant(beginning=Beginning(size=2.0)),
    "without learnt curvature": Variant(beginning=Beginning(curved=False)),
    "never give up": Variant({"stalled": NEVER, "slow": NEVER}),
    "stalled: 2 % in 5": Variant({"stalled": (0.02, 5)}),
    "stalled: 3 % in 3": Variant({"stalled": (0.03, 3)}),
    "promising: 1.1": Variant({"promising": 1.1}),
    "promising: 1.2": Variant({"promising": 1.2}),
    "promising: 1.5": Variant({"promising": 1.5}),
    "slow: 1 % in 20": Variant({"slow": (0.01, 20)}),
    "slow: 0.1 % in 20": Variant({"slow": (0.001, 20)}),
    "200 iterations": Variant({"iterations": 200}),
}


class Trace(NamedTuple):
    """Errors after each iteration of a polish, and the seconds until then, from its search on."""

    errors: Array
    seconds: Array


def problem_of(name: str) -> Problem:
    """The paper's with other data, or a table."""
    return load_problem(name, seed=OTHER_DATA) if name in problem_names() else load_task(name)


def record(problem: Problem, beginning: Beginning, seconds: float) -> list[Trace]:
    """Polishes for some seconds."""
    evaluate = LeastSquares(problem)
    plan, units = make_plan(evaluate, "auto", UNLIMITED), evaluate.units
    shape = (beginning.candidates or plan.search_evaluations, problem.topology.dim)
    traces: list[Trace] = []
    began = time.process_time()
    while time.process_time() < began + seconds or len(traces) < 5:
        start = time.process_time()
        candidates = np.random.default_rng([len(traces), *shape]).uniform(-1, 1, size=shape)
        candidates *= beginning.size * (1.0 if units is None else units)
        theta = candidates[evaluate(candidates).argmin()]
        polisher = Polisher(evaluate, theta, max_iterations=ITERATIONS_LARGE)
        if not beginning.curved:
            polisher._curvature = None
        rows = [(polisher.error, time.process_time() - start)]
        while not polisher.finished:
            polisher.step()
            rows.append((polisher.error, time.process_time() - start))
        traces.append(Trace(*np.array(rows).T))
    return traces


def end_of(errors: Array, stall: tuple[float, int], after: int = 0) -> int:
    """The iteration at which a polish is given up, or its last one."""
    share, n = stall
    falls = errors[n:] > (1 - share) * errors[:-n] if len(errors) > n else np.zeros(0, bool)
    given_up = np.flatnonzero(falls) + n
    given_up = given_up[given_up >= after]
    return int(given_up[0]) if len(given_up) else len(errors) - 1


def expected_seconds(traces: list[Trace], rule: Patience, target: float, most: float) -> float:
    """Mean seconds to the target; without a success within the most of them, what was spent."""
    traces = [Trace(*(column[: rule.iterations + 1] for column in trace)) for trace in traces]
    ends = [end_of(trace.errors, rule.stalled) for trace in traces]
    slow = [end_of(t.errors, rule.slow, end) for t, end in zip(traces, ends, strict=True)]
    rng, spent, hits = np.random.default_rng(0), 0.0, 0
    for _ in range(REPLAYS):
        seconds, best = 0.0, np.inf
        while seconds < most:
            i = rng.integers(len(traces))
            errors, until = traces[i]
            end = slow[i] if errors[ends[i]] <= rule.promising * best else ends[i]
            reached = np.flatnonzero(errors[: end + 1] <= target)
            if len(reached):
                seconds += until[reached[0]]
                hits += 1
                break
            seconds, best = seconds + until[end], min(best, errors[end])
        spent += seconds
    return spent / max(hits, 1)


def times(name: str, seconds: float) -> dict[str, list[float]]:
    """Expected seconds on a problem by variant and target."""
    problem, most = problem_of(name), LONGEST_LARGEST if name in LARGEST else LONGEST
    variants = VARIANTS
    if name in LARGEST:
        variants = {v: one for v, one in VARIANTS.items() if one.beginning == Beginning()}
    beginnings = dict.fromkeys(one.beginning for one in variants.values())
    prepare_polish()
    traces = {b: record(problem, b, seconds) for b in beginnings}
    best = min(trace.errors[-1] for one in traces.values() for trace in one)
    best = max(best, floor(problem))
    rules = {v: (one.patience(problem.topology), one.beginning) for v, one in variants.items()}
    return {
        variant: [expected_seconds(traces[beginning], rule, f * best, most) for f in FACTORS]
        for variant, (rule, beginning) in rules.items()
    }


def over_the_rule(
    found: dict[str, dict[str, list[float]]], names: Iterable[str]
) -> dict[str, float]:
    """Times of each variant over those of the rule: geometric means over problems and targets."""
    rule = np.array([found[name]["the rule"] for name in names])
    return {
        variant: float(np.exp(np.mean(np.log([found[name][variant] for name in names] / rule))))
        for variant in VARIANTS
        if all(variant in found[name] for name in names)
    }


def table(found: dict[str, dict[str, list[float]]]) -> list[Row]:
    """A row for each variant: the paper's problems, tables, and the largest problem."""
    groups = {"paper's problems": PAPER, "tables": TABLES, "digits": LARGEST}
    known = {title: [name for name in names if name in found] for title, names in groups.items()}
    columns = {title: over_the_rule(found, names) for title, names in known.items() if names}
    return [
        {"variant": v, **{t: round(c[v], 3) if v in c else None for t, c in columns.items()}}
        for v in VARIANTS
    ]


def main() -> None:
    """Record, replay, print and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of polishes (default 8)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the results here")
    options = parser.parse_args()
    use_one_thread()
    seconds = dict.fromkeys([*PAPER, *TABLES], options.seconds)
    seconds |= dict.fromkeys(LARGEST, 100 * options.seconds)
    found = {name: times(name, seconds[name]) for name in track(loadable(seconds, problem_of))}
    rows = table(found)
    Console().print(as_table("Expected time over that of the rule", rows), highlight=False)
    if options.json:
        results = {**environment(), "problems": found, "table": rows}
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
