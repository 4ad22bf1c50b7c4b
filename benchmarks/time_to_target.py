"""How long trainers take to come near the best network known: expected running times.

Everybody minimises the mean squared error on the training set of the same network, with an output
shift or without as the problem has it, from normalised data; classes are targets 0 and 1. The
expected running time to a target is all seconds of all tries over the number of those that
reached it; targets are 1.1 and 2 times the best error known. Tries have a limit; contestants that
stop by themselves begin again with another seed. Seconds are those of one thread, and contestants
take turns, try by try. What is compiled is compiled before.

Others are treated generously: the clock stands still while their networks are measured, whatever
output layer they have is replaced by the best one, and they may leave the ball that the paper's
problems have, inside which ours must stay and which the best error known is from. Three of these
problems, those on which that makes somebody faster than ``auto``, are there without the ball too.

``torch-levenberg-marquardt`` takes part where it is installed, with PyTorch and pytorch-lightning.
neurolab does not load with NumPy 2. pyrenn does, but steps from sample to sample in Python: an
iteration takes 80 ms on sinc, so it is left out.

    python benchmarks/time_to_target.py --json results.json --scout 20      # what is possible?
    python benchmarks/time_to_target.py --json results.json --resume --tries 20 --minutes 30
    python benchmarks/time_to_target.py --json results.json --resume --problems rule --tries 5
    python benchmarks/time_to_target.py --json results.json --resume --stops 10
    python benchmarks/time_to_target.py --json results.json --resume        # only prints
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from _contestants import Contestant, contestants
from _tasks import GROUPS, floor, group_of, limit, load_task, loadable
from _timing import as_table, use_one_thread
from _tries import GOAL, Results, Try
from _watch import Enough, Watch
from rich.console import Console

from symbreak._support.blas import one_blas_thread
from symbreak.training import Run
from symbreak.training._run import UNLIMITED

#: On tables for the rule, these only.
RULE = ("auto", "random starts, our polish", "scikit-learn")
SCOUTS = ("auto", "random starts, our polish")
#: Seconds of a contestant on a problem before it is measured: compiles, fills caches. If it took
#: much longer, something was compiled, and it is done again.
WARM_UP, LONG, MOST = 0.3, 1.0, 5
#: And before each try, for the caches that the contestant before it has filled otherwise.
BRIEF = 0.01
#: Seconds after which ``auto`` is no longer expected to stop by itself.
PATIENCE = 30.0
#: Errors above this multiple of the best known are not kept.
KEPT = 8.0
SAVE_EVERY = 10.0  # seconds
#: A seed that no try has.
UNUSED = 999_999


class Measurement:
    """Tries under way, with the results so far.

    Args:
        options: Of the command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.path = options, options.json
        self.results = Results.load(self.path) if options.resume else Results()
        for other in options.merge:
            self.results.merge(Results.load(other))
        named = [n for word in options.problems for n in GROUPS.get(word, [word])]
        self.problems = loadable(named, load_task)
        self.results.forget(options.again, self.problems)
        self.contestants = {c.name: c for c in contestants()}
        self._warm: set[tuple[str, str]] = set()
        self._saved = time.monotonic()
        self._until = time.monotonic() + 60 * options.minutes
        for name in self.problems:
            self._describe(name)

    @property
    def in_time(self) -> bool:
        """Whether there is time for another try."""
        return time.monotonic() < self._until

    def run(self) -> None:
        """Everything that was asked for, saved piece by piece."""
        for name in self.problems if self.options.scout else ():
            for who in SCOUTS:
                if self.in_time:
                    self._try(name, who, 1_000_000, self.options.scout, self._floor(name))
                    self._save_now_and_then()
        while jobs := list(self._pending()):
            for seed, name, who in jobs:
                if not self.in_time:
                    return
                if self.results.is_hopeless(name, who):
                    continue
                self.results.add(self._try(name, who, seed, self._limit(name), self._goal(name)))
                self._save_now_and_then()
        for seed in range(self.options.stops):
            for name in self.problems:
                self._stop(name, seed)

    def _pending(self) -> Iterator[tuple[int, str, str]]:
        """Tries that are missing: seed, problem, contestant; the contestants take turns."""
        for seed in range(self.options.tries):
            for name in self.problems:
                for who in self._who(name):
                    if self.results.is_hopeless(name, who):
                        continue
                    if all(one.seed != seed for one in self.results.valid(name, who)):
                        yield seed, name, who

    def _who(self, name: str) -> list[str]:
        asked = self.options.contestants or list(self.contestants)
        in_rule = group_of(name) == "rule"
        return [who for who in asked if who in self.contestants and (who in RULE or not in_rule)]

    def _try(self, name: str, who: str, seed: int, seconds: float, goal: float) -> Try:
        contestant = self.contestants[who]
        if (name, who) not in self._warm:
            warm_up(contestant, name)
            self._warm.add((name, who))
        attempt(contestant, name, UNUSED, BRIEF, 0.0)
        watch = attempt(contestant, name, seed, seconds, goal)
        if contestant.in_ball or load_task(name).rescale == "none":
            self.results.learn(name, watch.error, who)
        most = self.results.target(name, KEPT)
        curve = [[round(t, 5), float(f"{error:.5g}")] for t, error in watch.curve if error <= most]
        reached = bool(watch.error <= goal)
        return Try(name, who, seed, round(watch.seconds, 4), reached, curve, watch.outside)

    def _stop(self, name: str, seed: int) -> None:
        """Let ``auto`` stop by itself."""
        made = any((row["problem"], row["seed"]) == (name, seed) for row in self.results.stops)
        if made or not self.in_time:
            return
        attempt(self.contestants["auto"], name, UNUSED, BRIEF, 0.0)
        watch = Watch(load_task(name), PATIENCE, -1.0)
        run = Run(load_task(name), "auto", max_evaluations=UNLIMITED, seed=seed)
        try:
            while not run.finished:
                run.step()
                watch.see(run.progress.error)
        except Enough:
            pass
        self.results.learn(name, run.progress.error, "auto")
        says = run.record().agreement
        self.results.stops.append(
            {
                "problem": name,
                "seed": seed,
                "seconds": round(watch.seconds, 3),
                "error": run.progress.error,
                "stopped": run.stopped or "time",
                "starts": says.n_starts,
                "agree": says.n_best,
                "optima": says.n_optima,
            }
        )
        self._save_now_and_then()

    def _describe(self, name: str) -> None:
        problem = load_task(name)
        self.results.describe(
            name,
            {
                "group": group_of(name),
                "net": str(problem.topology),
                "D": problem.topology.dim,
                "K": len(problem.train),
                "limit": self._limit(name),
                "floor": self._floor(name),
                "digest": problem.digest,
            },
        )

    def _limit(self, name: str) -> float:
        return self.options.limit or limit(name)

    def _floor(self, name: str) -> float:
        return floor(load_task(name))

    def _goal(self, name: str) -> float:
        return self.results.target(name, GOAL)

    def save(self) -> None:
        """Write the results, if there is a file for them."""
        if self.path:
            self.results.save(self.path)
            self._saved = time.monotonic()

    def _save_now_and_then(self) -> None:
        if time.monotonic() > self._saved + SAVE_EVERY:
            self.save()


def attempt(contestant: Contestant, name: str, seed: int, seconds: float, goal: float) -> Watch:
    """A try: starts of a contestant until the time is up or the goal is reached."""
    problem = load_task(name)
    watch = Watch(problem, seconds, goal)
    try:
        with one_blas_thread():  # as in train
            for start in count():
                contestant.train(problem, 1_000 * seed + start, watch)
    except Enough:
        return watch


def warm_up(contestant: Contestant, name: str) -> None:
    for _ in range(MOST):
        began = time.process_time()
        attempt(contestant, name, 0, WARM_UP, 0.0)
        if time.process_time() - began < LONG:
            return


def show(results: Results) -> None:
    console = Console()
    console.width = max(console.width, 140)
    for title, rows in results.tables().items():
        if rows:
            console.print(as_table(title, rows), highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--problems",
        nargs="+",
        default=["paper", "no ball", "tables"],
        help="names, or some of: " + ", ".join(GROUPS),
    )
    add("--contestants", nargs="+", help="names (default: all that are installed)")
    add("--tries", type=int, default=0, help="so many in all (default %(default)s)")
    add("--limit", type=float, help="seconds of a try (default: the problem's own)")
    add("--minutes", type=float, default=1e6, help="begin no try after that")
    add("--scout", type=float, default=0.0, help="seconds to find out what is possible, first")
    add("--stops", type=int, default=0, help="runs of auto until it stops by itself, in the end")
    add("--json", type=Path, metavar="FILE", help="save the results here")
    add("--resume", action="store_true", help="add to what the file holds")
    add("--again", nargs="+", default=[], metavar="NAME", help="tries of these anew")
    add("--merge", type=Path, nargs="+", default=[], metavar="FILE", help="add these results")
    options = parser.parse_args()
    if options.json and options.json.exists() and not options.resume:
        parser.error(f"{options.json} exists; --resume adds to it.")
    use_one_thread()
    measurement = Measurement(options)
    measurement.run()
    measurement.save()
    show(measurement.results)


if __name__ == "__main__":
    main()
