"""Why auto's rule is as it is: polishes are recorded, and replayed under other rules.

On data that the comparison of trainers does not use: the paper's problems drawn anew, and half of
the tables that are kept for the rule. Polishes begin at the best of some random candidates, of
different sizes, and go on to their ends. A rule then says which of them would have been given up
when, and how long it takes to come within 1.1 and 1.3 of the best that any of them found: the mean
of many replays, in which polishes are drawn at random. One thing at a time differs from the rule.
Searches of more than one generation are not replayed.

    python benchmarks/rule.py --json benchmarks/results/rule.json       # a quarter of an hour
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _tasks import floor, load_task
from _timing import Array, Row, as_table, environment, use_one_thread
from rich.console import Console
from rich.progress import track

from symbreak import Evaluator, Problem, load_problem, problem_names
from symbreak.plans import make_plan
from symbreak.polish import Polisher
from symbreak.starts import STALLS
from symbreak.training import PROMISING, UNLIMITED

PAPER = ("sinc", "inc-sinc", "sinc2d", "sinc3d", "autoenc-circle")
TABLES = (
    *("boston/3", "boston/5", "boston/5-3", "glass/5", "glass/5-3"),
    *("cpus/5", "airquality/3", "pima/3"),
)
OTHER_DATA = 7  # seed of the paper's problems here
REPLAYS, PATIENCE, FACTORS = 100, 10.0, (1.1, 1.3)
MAX_ITERATIONS = 300


class Beginning(NamedTuple):
    """How polishes begin: with the best of so many, whose weights are so large.

    ``size`` multiplies what the rule draws from; None is its own.
    """

    candidates: int | None = None
    size: float = 1.0
    curved: bool = True


class Rule(NamedTuple):
    """When polishes are given up."""

    stalled: tuple[float, int] = STALLS["stalled"]
    promising: float = PROMISING
    slow: tuple[float, int] = STALLS["slow"]
    beginning: Beginning = Beginning()


NEVER = (-1.0, 1)
#: Alternatives by what a table calls them; the rule itself is the first.
VARIANTS: dict[str, Rule] = {
    "the rule": Rule(),
    "1 candidate": Rule(beginning=Beginning(candidates=1)),
    "4 candidates": Rule(beginning=Beginning(candidates=4)),
    "12 candidates": Rule(beginning=Beginning(candidates=12)),
    "40 candidates": Rule(beginning=Beginning(candidates=40)),
    "weights half as large": Rule(beginning=Beginning(size=0.5)),
    "weights twice as large": Rule(beginning=Beginning(size=2.0)),
    "without learnt curvature": Rule(beginning=Beginning(curved=False)),
    "never give up": Rule(stalled=NEVER, slow=NEVER),
    "stalled: 2 % in 5": Rule(stalled=(0.02, 5)),
    "stalled: 3 % in 3": Rule(stalled=(0.03, 3)),
    "promising: 1.1": Rule(promising=1.1),
    "promising: 1.5": Rule(promising=1.5),
    "slow: 1 % in 20": Rule(slow=(0.01, 20)),
    "slow: 0.1 % in 20": Rule(slow=(0.001, 20)),
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
    plan, evaluate = make_plan(problem, "auto", UNLIMITED), Evaluator(problem)
    units = plan.units(problem)
    shape = (beginning.candidates or plan.population_size, problem.topology.dim)
    traces: list[Trace] = []
    began = time.process_time()
    while time.process_time() < began + seconds or len(traces) < 5:
        start = time.process_time()
        candidates = np.random.default_rng([len(traces), *shape]).uniform(-1, 1, size=shape)
        candidates *= beginning.size * (1.0 if units is None else units)
        theta = candidates[evaluate(candidates).argmin()]
        polisher = Polisher(problem, theta, max_iterations=MAX_ITERATIONS, evaluate=evaluate)
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


def expected_seconds(traces: list[Trace], rule: Rule, target: float) -> float:
    """Mean seconds to the target; without a success within the patience, what was spent."""
    ends = [end_of(trace.errors, rule.stalled) for trace in traces]
    slow = [end_of(t.errors, rule.slow, end) for t, end in zip(traces, ends, strict=True)]
    rng, spent, hits = np.random.default_rng(0), 0.0, 0
    for _ in range(REPLAYS):
        seconds, best = 0.0, np.inf
        while seconds < PATIENCE:
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
    problem = problem_of(name)
    beginnings = dict.fromkeys(rule.beginning for rule in VARIANTS.values())
    Polisher(problem, np.zeros(problem.topology.dim), max_iterations=1).step()  # compiles
    traces = {b: record(problem, b, seconds) for b in beginnings}
    best = min(trace.errors[-1] for one in traces.values() for trace in one)
    best = max(best, floor(problem))
    return {
        variant: [expected_seconds(traces[rule.beginning], rule, f * best) for f in FACTORS]
        for variant, rule in VARIANTS.items()
    }


def over_the_rule(
    found: dict[str, dict[str, list[float]]], names: Iterable[str]
) -> dict[str, float]:
    """Times of each variant over those of the rule: geometric means over problems and targets."""
    rule = np.array([found[name]["the rule"] for name in names])
    return {
        variant: float(np.exp(np.mean(np.log([found[name][variant] for name in names] / rule))))
        for variant in VARIANTS
    }


def table(found: dict[str, dict[str, list[float]]]) -> list[Row]:
    """A row for each variant: the paper's problems, and tables."""
    paper, tables = over_the_rule(found, PAPER), over_the_rule(found, TABLES)
    return [
        {"variant": v, "paper's problems": round(paper[v], 3), "tables": round(tables[v], 3)}
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
    found = {name: times(name, options.seconds) for name in track([*PAPER, *TABLES])}
    rows = table(found)
    Console().print(as_table("Expected time over that of the rule", rows), highlight=False)
    if options.json:
        results = {**environment(), "problems": found, "table": rows}
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
