"""What happens on the way to a trained network, one after the other, and the clock it goes by."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from symbreak._error_bars import NoErrorBarsError, Optimum, error_bars_of
from symbreak._support.checks import Array, check_real
from symbreak.inspection import with_scores
from symbreak.objectives import LeastSquares, Objective
from symbreak.objectives._least_squares import check_threads
from symbreak.problems import Problem
from symbreak.training._basis import Basis
from symbreak.training._committee import with_committee
from symbreak.training._last_step import (
    POLISH_SAMPLES,
    apply_last_step,
    has_probabilities,
    is_worthwhile,
    n_effective_parameters,
    part_of,
    what_is_last,
    work_of,
)
from symbreak.training._recipe import OF_STARTS, polish_of, usual_evaluations
from symbreak.training._record import Progress, RunRecord
from symbreak.training._run import UNLIMITED, Run
from symbreak.training._size import Comparison, sized

#: Samples that a search needs, in all or per parameter and output: it looks for a basin, which few
#: show as well as many.
SEARCH_SAMPLES = (2_000, 20)
#: Where a part of the samples is searched first, its share of the budget; and of the time where
#: cross-entropy or larger ridges follow.
SEARCH_SHARE = 0.5
#: Multiply-adds of an iteration with which a search for classes does not set its own ridge.
MUCH_WORK = 1e9
#: Seconds of a long max_time that are left for what cannot be cut short; 10 % of a short one.
RESERVE = 1.0
#: Optima that error bars are of, at most.
MAX_MEMBERS = 10
#: The largest limit in seconds.
MAX_TIME = 1e9

Callback = Callable[[Progress], object]


class Clock:
    """When to stop: after some seconds, or when it is asked to."""

    def __init__(self, max_time: float | None, *, reserve: bool) -> None:
        seconds = math.inf if max_time is None else check_real("max_time", max_time, 0, MAX_TIME)
        self.has_limit, self.has_none = max_time is not None, seconds == 0
        self._deadline = (
            time.monotonic() + seconds - (min(0.1 * seconds, RESERVE) if reserve else 0)
        )
        self._asked = threading.Event()

    def stop(self) -> None:
        """Ask to stop."""
        self._asked.set()

    @property
    def stopped(self) -> bool:
        """Whether somebody has asked."""
        return self._asked.is_set()

    @property
    def left(self) -> float:
        """Seconds."""
        return max(self._deadline - time.monotonic(), 0.0)

    def may_go_on(self) -> bool:
        """Whether there is time, and nobody has asked to stop."""
        return self.left > 0 and not self.stopped


@dataclass(frozen=True)
class Trainer:
    """What all runs of a training have in common."""

    method: str
    polish: str | None
    options: dict[str, Any]
    clock: Clock
    callback: Callback | None
    n_starts: int  # that a budget has room for at least, if none is given

    def of_best_size(
        self,
        problem: Problem,
        budget: int | None,
        n_networks: int,
        max_neurons: int | None,
        sizes: tuple[tuple[int, ...], ...],
        basis: Basis | None,
    ) -> RunRecord:
        """The training with the hidden layers that predict best, from what they were tried with."""
        started = time.perf_counter()
        comparison = Comparison(
            problem if basis is None else basis.problem(problem),
            seed=self.options["seed"],
            max_evaluations=budget,
            n_networks=n_networks,
            max_neurons=max_neurons,
            seconds=self.clock.left,
            may_go_on=self.clock.may_go_on,
            sizes=sizes,
            may_scale=basis is None and problem.ridge.sets_itself,
            threads=check_threads(self.options["threads"]),
            executor=self.options["executor"],
        )
        chosen = comparison.choose(self._say)
        seconds, before = time.perf_counter() - started, comparison.n_evaluations
        hidden, n = chosen.hidden, comparison.n_members(chosen.hidden)
        starts = max(n, OF_STARTS)
        left = None if budget is None else budget - before
        limit = {"max_starts": starts} if n > 1 else {}
        trainer = replace(self, options=self.options | limit, n_starts=starts if n > 1 else 1)
        initial = None if chosen.thetas is None else chosen.thetas[:starts]
        if chosen.scales is not None:
            basis = Basis.scaled(chosen.scales)
        record = trainer.own(
            *(sized(problem, hidden, chosen.alpha), left, initial, n, basis),
            search_ridge=problem.alpha,
            loss=next((one.loss for one in comparison.tried if one.hidden == hidden), None),
        )
        tried = comparison.tried if len(sizes) > 1 else []
        rows = [one._asdict() | {"hidden": list(one.hidden)} for one in tried]
        origin = {"size_path": rows} if tried else {}
        record = _after(before, before, seconds, record, origin)
        return replace(record, size_path=tuple(tried))

    def _say(self, doing: str, n_evaluations: int, most: int = UNLIMITED) -> None:
        told = Progress(n_evaluations, most, math.nan, 0, 0, doing=doing)
        if self.callback is not None and _is_true(self.callback(told)):
            self.clock.stop()

    def own(
        self,
        problem: Problem,
        budget: int | None,
        initial: ArrayLike | None,
        n_networks: int,
        basis: Basis | None = None,
        *,
        search_ridge: float | Literal["auto"] | None = None,
        loss: float | None = None,
    ) -> RunRecord:
        """The training on somebody's own data: search, last step, committee and error bars.

        Args:
            problem: In ordinary inputs.
            budget: Evaluations.
            initial: Where to begin, in the basis.
            n_networks: In the committee, at most.
            basis: Of the inputs.
            search_ridge: That of a search whose squares say little of the ridge of probabilities;
                in very large networks one that sets itself would take minutes.
            loss: Of the network's size on samples that were not shown, if it is known.
        """
        inner = searched = problem if basis is None else basis.problem(problem)
        if search_ridge is not None and has_probabilities(inner) and work_of(inner) <= MUCH_WORK:
            searched = replace(inner, alpha=search_ridge)
        records, may_go_on = self.stages(searched, budget, initial), self.clock.may_go_on
        record, found, n_stages = _joined(records), records[0].model, len(records)
        doing = "" if self.clock.stopped else what_is_last(inner, record)
        if doing:
            self._say(doing, record.n_evaluations, record.max_evaluations)
        if found is not None:
            record = apply_last_step(inner, record, may_go_on, n_stages=n_stages)
            last = n_networks, may_go_on
            record = with_committee(inner, record, found.theta, *last, n_stages=n_stages)
        if basis is not None:
            if record.model is not None:
                record = replace(record, n_effective=n_effective_parameters(inner, record))
            record = basis.record(record, problem)
        return with_error_bars(problem, record, loss, None if basis is None else basis.costs)

    def stages(
        self, problem: Problem, budget: int | None, initial: ArrayLike | None
    ) -> list[RunRecord]:
        """One run; or one on a part of many samples, and a polish of its network on more.

        Classes are polished by cross-entropy afterwards.
        """
        restarts = polish_of(self.method, self.polish) == "restarts"
        part = part_of(problem, SEARCH_SAMPLES) if restarts else problem
        if has_probabilities(problem):
            return [self.run(LeastSquares(part), budget, initial, share=SEARCH_SHARE)]
        if part is problem:  # larger ridges need time, too
            competes = problem.ridge.sets_itself and is_worthwhile(problem)
            share = SEARCH_SHARE if competes else 1.0
            return [self.run(LeastSquares(problem), budget, initial, share=share)]
        half = None if budget is None else round(SEARCH_SHARE * budget)
        search = self.run(LeastSquares(part), half, initial, share=SEARCH_SHARE)
        if search.model is None or self.clock.stopped:
            return [search]
        left = None if budget is None else budget - search.n_evaluations
        larger = LeastSquares(part_of(problem, POLISH_SAMPLES))
        return [search, replace(self, polish="final").run(larger, left, search.model.theta)]

    def run(
        self,
        objective: Objective,
        budget: int | None,
        initial: ArrayLike | None = None,
        *,
        share: float = 1.0,
    ) -> RunRecord:
        """One run, which may take a share of the time that is left."""
        if budget is None and self.clock.has_limit:
            budget = UNLIMITED
        elif budget is None:
            budget = usual_evaluations(objective, self.n_starts)
        run = Run(
            objective,
            self.method,
            max_evaluations=budget,
            polish=self.polish,
            initial=initial,
            **self.options,
        )
        return run_to_its_end(run, self.clock, share * self.clock.left, self.callback)


def run_to_its_end(run: Run, clock: Clock, seconds: float, callback: Callback | None) -> RunRecord:
    """Step until there is nothing left to do, or no time; once at least, if there is nothing."""
    deadline = time.monotonic() + seconds
    step = 0.0  # seconds of the last one; the next one begins if half of it has its place
    while not run.finished:
        has_time = (started := time.monotonic()) + step / 2 < deadline
        if (clock.stopped or not has_time) and (step or run.error < np.inf or clock.has_none):
            break
        run.step(deadline - started)
        step = time.monotonic() - started
        if callback is not None and _is_true(callback(run.progress)):
            clock.stop()  # nor is there time for what would follow
    return run.record(time_is_up=time.monotonic() + step / 2 >= deadline)


def _is_true(answer: object) -> bool:
    """Whether a callback asks to stop; what it returns by chance does not."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _after(
    n_before: int, budget: int, seconds: float, record: RunRecord, origin: dict[str, Any]
) -> RunRecord:
    """A record of what followed evaluations with a budget of their own."""
    model, n_evaluations = record.model, n_before + record.n_evaluations
    if model is not None:
        origin = {**model.origin, "n_evaluations": n_evaluations, **origin}
        model = replace(model, origin=origin)
    return replace(
        record,
        model=model,
        evaluations=n_before + record.evaluations,
        n_evaluations=n_evaluations,
        max_evaluations=budget + record.max_evaluations,
        seconds=seconds + record.seconds,
    )


def _joined(records: list[RunRecord]) -> RunRecord:
    """One record of a search on some samples and a polish on more."""
    first, last = records[0], records[-1]
    if first is last:
        return first
    last = _after(first.n_evaluations, first.max_evaluations, first.seconds, last, {})
    return replace(
        last,
        evaluations=np.concatenate([first.evaluations, last.evaluations]),
        errors=np.concatenate([first.errors, last.errors]),
        founds=first.founds,
        restarts=first.restarts,
        role=first.role,
        stopped=first.stopped if first.agreement.is_too_few else last.stopped,
    )


def with_error_bars(
    problem: Problem, record: RunRecord, loss: float | None = None, costs: Array | None = None
) -> RunRecord:
    """The record with a model that knows its error, its scores and, in regression, how sure it is.

    A committee's error bars are those of its members. A single network's are those of all distinct
    optima that starts ended in: where these disagree, it is less sure. ``loss`` is the mean squared
    error on folds of networks that were not trained on them, if it is known; ``costs`` (d,) is what
    a weight of each input costs of the ridge, if that is not 1.
    """
    model, n = record.model, len(record.members)
    if model is None:
        return record
    error = LeastSquares(problem).network_error(model, with_ridge=False)
    model = replace(model, origin={**model.origin, "error": error})
    if problem.task == "regression":
        part = part_of(problem, POLISH_SAMPLES)
        optima = optima_of(record, others=part is problem)  # else others had all samples
        shares = np.full(n, 1 / n) if n > 1 else None
        try:
            total = problem.train.total_weight
            bars = error_bars_of(part, optima, shares, total_weight=total, costs=costs)
            model = replace(model, error_bars=bars if loss is None else bars.no_less_than(loss))
        except NoErrorBarsError as reason:
            model = replace(model, origin={**model.origin, "no_error_bars": str(reason)})
    model = with_scores(model, problem)
    return record.with_model(model) if n < 2 else replace(record, model=model)


def optima_of(record: RunRecord, *, others: bool = True) -> list[Optimum]:
    """Networks that speak for a model: its members, or itself and, if asked for, the others.

    Where the last step has chosen a larger ridge, the network that it began with is another one.
    """
    optima = [Optimum(one.theta, one.output_weights, record.alpha) for one in record.members]
    if others and len(optima) == 1:
        own = optima[0].theta
        ends = [end for end in record.ends() if not np.array_equal(end.theta, own)]
        optima += [Optimum(end.theta, end.output_weights, end.alpha) for end in ends]
        return optima[:MAX_MEMBERS]
    return optima
