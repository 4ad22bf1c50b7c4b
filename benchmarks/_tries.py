"""Results of the comparison of trainers: tries, the best errors known, and what follows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _tasks import WITHOUT_BALL
from _timing import Row, Tables, environment

#: Targets, as multiples of the best known error.
FACTORS = (1.1, 2.0)
#: The column that claims are about: seconds to the stricter target over those of ``auto``.
RATIO = f"x auto {FACTORS[0]:g}"
#: These are compared with others, and are no rivals of each other.
OURS = ("auto", "auto without breaking")
#: After so many tries without one that came within the larger factor, there are no more.
HOPELESS = 10
#: A try ends at this multiple: when a better network becomes known, it still has met the target.
GOAL = 1.05


@dataclass(frozen=True)
class Try:
    """What a contestant found with one seed.

    Attributes:
        seconds: How long it took.
        reached: Whether it ended since it had reached its goal.
        curve: Seconds and errors of improvements.
        outside: Whether its best network is outside the ball that the problem has.
    """

    problem: str
    contestant: str
    seed: int
    seconds: float
    reached: bool
    curve: list[list[float]]
    outside: bool = False

    def time_to(self, target: float) -> float | None:
        """Seconds after which an error was reached, if it was."""
        return next((seconds for seconds, error in self.curve if error <= target), None)


@dataclass
class Results:
    """All of a file of results; ``save`` writes it anew, with the tables.

    Attributes:
        facts: By problem: group, net, D, K, limit, floor, digest.
        best: By problem, the least error known, by networks in the ball where there is one.
        tries: Those of the comparison.
        stops: Runs of ``auto`` until it stopped by itself.
    """

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    best: dict[str, dict[str, Any]] = field(default_factory=dict)
    tries: list[Try] = field(default_factory=list)
    stops: list[Row] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Results:
        """What ``save`` has written."""
        data = json.loads(path.read_text())
        tries = [Try(**row) for row in data["tries"]]
        return cls(data["facts"], data["best"], tries, data["stops"])

    def save(self, path: Path) -> None:
        """Write all, a line for each try."""
        whole = {**environment(), "tables": self.tables(), "facts": self.facts, "best": self.best}
        parts = [f"{json.dumps(k)}: {json.dumps(v, indent=1)}" for k, v in whole.items()]
        for name, rows in (("stops", self.stops), ("tries", [asdict(t) for t in self.tries])):
            lines = ",\n".join(json.dumps(row) for row in rows)
            parts.append(f'"{name}": [\n{lines}\n]')
        text = "{\n" + ",\n".join(parts) + "\n}\n"
        unfinished = path.with_suffix(".part")
        unfinished.write_text(text)
        unfinished.replace(path)

    def merge(self, other: Results) -> None:
        """Add what another file holds, of other seeds or problems."""
        for name, facts in other.facts.items():
            self.describe(name, facts)
        for name, best in other.best.items():
            self.learn(name, best["error"], best["who"])
        have = {(t.problem, t.contestant, t.seed) for t in self.tries}
        self.tries += [t for t in other.tries if (t.problem, t.contestant, t.seed) not in have]
        runs = {(row["problem"], row["seed"]) for row in self.stops}
        self.stops += [row for row in other.stops if (row["problem"], row["seed"]) not in runs]

    def forget(self, contestants: Collection[str], problems: Collection[str]) -> None:
        """Drop the tries of contestants that have changed, and how ``auto`` stopped if it has."""
        self.tries = [
            one
            for one in self.tries
            if one.contestant not in contestants or one.problem not in problems
        ]
        if "auto" in contestants:
            self.stops = [row for row in self.stops if row["problem"] not in problems]

    def describe(self, name: str, facts: Mapping[str, Any]) -> None:
        """Note the facts of a problem; it must be the one that earlier tries were made on."""
        if self.facts.get(name, facts)["digest"] != facts["digest"]:
            raise ValueError(
                f"the results hold tries on other data of {name}, or another net; begin a new file."
            )
        self.facts[name] = dict(facts)

    def learn(self, name: str, error: float, who: str) -> None:
        """Note an error that somebody reached."""
        if error < self.best.get(name, {"error": np.inf})["error"]:
            self.best[name] = {"error": error, "who": who}

    def target(self, name: str, factor: float) -> float:
        """The error to reach: a multiple of the best known, or of the floor."""
        best = self.best[name]["error"] if name in self.best else 0.0
        return factor * max(best, self.facts[name]["floor"])

    def add(self, one: Try) -> None:
        """Add a try in place of what was made with its seed."""
        key = (one.problem, one.contestant, one.seed)
        self.tries = [t for t in self.tries if (t.problem, t.contestant, t.seed) != key]
        self.tries.append(one)

    def valid(self, name: str, contestant: str) -> Iterator[Try]:
        """Tries, but those that ended at a goal which is above the target now."""
        target = self.target(name, FACTORS[0])
        for one in self.tries:
            if (one.problem, one.contestant) == (name, contestant):
                if one.reached and one.time_to(target) is None:
                    continue
                yield one

    def is_hopeless(self, name: str, contestant: str) -> bool:
        """Whether a contestant was tried often and never came near."""
        tries, target = list(self.valid(name, contestant)), self.target(name, FACTORS[-1])
        return len(tries) >= HOPELESS and all(one.time_to(target) is None for one in tries)

    def tables(self) -> Tables:
        """What is printed, and what docs/trainer-measurements.md is made of."""
        times = [row for name in self.facts for row in self._times(name)]
        return {
            "Time to target": times,
            "Stops": [row for name in self.facts for row in self._stops(name)],
            "Targets": claims(times),
        }

    def _times(self, name: str) -> list[Row]:
        contestants = dict.fromkeys(t.contestant for t in self.tries if t.problem == name)
        rows = []
        for contestant in contestants:
            tries = list(self.valid(name, contestant))
            if tries:
                row: Row = {"problem": name, "contestant": contestant, "tries": len(tries)}
                row["outside"] = sum(one.outside for one in tries)
                for factor in FACTORS:
                    row |= times_to(tries, self.target(name, factor), factor)
                rows.append(row)
        return with_ratios(rows)

    def _stops(self, name: str) -> list[Row]:
        runs = [row for row in self.stops if row["problem"] == name]
        if not runs:
            return []
        stopped = [row for row in runs if row["stopped"] == "agreement"]
        right = [row for row in stopped if row["error"] <= self.target(name, FACTORS[0])]
        row: Row = {"problem": name, "runs": len(runs), "stopped": len(stopped)}
        row["at the best"] = len(right)
        for column in ("seconds", "starts", "optima"):
            row[column] = float(np.median([run[column] for run in runs]))
        return [row]


def times_to(tries: list[Try], target: float, factor: float) -> Row:
    """Expected running time to an error: all seconds of all tries over the number of successes.

    Without a success it is only known to be greater than all seconds.
    """
    times = [one.time_to(target) for one in tries]
    hits = [t for t in times if t is not None]
    spent = sum(hits) + sum(o.seconds for o, t in zip(tries, times, strict=True) if t is None)
    median = float(np.median([np.inf if t is None else t for t in times]))
    return {
        f"hits {factor:g}": len(hits),
        f"seconds {factor:g}": spent / max(len(hits), 1),
        f"median {factor:g}": median if np.isfinite(median) else None,
    }


def with_ratios(rows: list[Row]) -> list[Row]:
    """The same with columns that compare with ``auto``; None where neither reached anything."""
    auto = next((row for row in rows if row["contestant"] == "auto"), None)
    if auto is not None:
        for row in rows:
            for f in FACTORS:
                known = row[f"hits {f:g}"] or auto[f"hits {f:g}"]
                ratio = row[f"seconds {f:g}"] / auto[f"seconds {f:g}"]
                row[f"x auto {f:g}"] = ratio if known else None
    return rows


def claims(rows: list[Row]) -> list[Row]:
    """What the trainer was built to reach, as measured, at the stricter target.

    The fastest is sought among those that solve the same problem: whose networks are mostly in
    the ball, where there is one. Medians are of all problems, each once: with the ball.
    """
    ratios: dict[str, dict[str, float]] = {}
    inside: dict[str, list[Row]] = {}
    for row in rows:
        ratio = row.get(RATIO)
        if ratio is not None and "/" not in row["problem"]:
            ratios.setdefault(row["problem"], {})[row["contestant"]] = ratio
            if 2 * row["outside"] <= row["tries"] and row["contestant"] not in OURS:
                inside.setdefault(row["problem"], []).append(row)
    return [*over_the_fastest(inside), *over_auto(ratios)]


def over_the_fastest(others: Mapping[str, list[Row]]) -> Iterator[Row]:
    """Among those who arrived; where nobody did, bounds have to do."""
    for name, rows in others.items():
        arrived = [row for row in rows if row[f"hits {FACTORS[0]:g}"]]
        fastest = min(arrived or rows, key=lambda row: row[RATIO])
        what = f"{name}: auto over the fastest other, {fastest['contestant']}"
        bound = "" if name.endswith(WITHOUT_BALL) else "at most 1.2"
        yield {"what": what, "measured": 1 / fastest[RATIO], "bound": bound}


def over_auto(ratios: Mapping[str, Mapping[str, float]]) -> Iterator[Row]:
    starts = "random starts, our polish"
    for name in ("sinc2d", "sinc3d"):
        if starts in ratios.get(name, {}):
            what = f"{name}: {starts}, over auto"
            yield {"what": what, "measured": ratios[name][starts], "bound": "at least 5"}
    once = {name: each for name, each in ratios.items() if not name.endswith(WITHOUT_BALL)}
    for who, bound in (("scikit-learn", "at least 10"), ("auto without breaking", "")):
        found = [each[who] for each in once.values() if who in each]
        if found:
            what = f"median of all: {who}, over auto"
            yield {"what": what, "measured": float(np.median(found)), "bound": bound}
