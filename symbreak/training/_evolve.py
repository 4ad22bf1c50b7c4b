"""Networks evolved against any fitness: the door beside ``train`` to the same loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, check_callable, check_kind, check_path, unknown
from symbreak._support.signals import deferred_interrupts
from symbreak._support.state import load_state, save_state
from symbreak.control import CONTROL, control_fitness
from symbreak.environments import Environment, environment_fitness
from symbreak.methods import check_settings
from symbreak.objectives import Fitness
from symbreak.topology import Topology
from symbreak.training._record import Progress, RunRecord
from symbreak.training._run import UNLIMITED, Run
from symbreak.training._trainer import Callback, Clock, run_to_its_end

#: What ``"auto"`` is here: small populations with restarts (docs/evolve.md).
AUTO = "CMA-ES-IPOP"
#: Seconds between two checkpoints.
CHECKPOINT_EVERY = 5.0


@dataclass(frozen=True, eq=False, repr=False)
class EvolutionRecord(RunRecord):
    """A ``RunRecord`` that knows the sign of its fitness; ``errors`` are what was minimised.

    Attributes:
        maximize: Whether higher is better.
        fitness: The champion's, in its own sign; of a noisy one its mean over fresh seeds.
        standard_error: Of that mean; 0 without noise.
    """

    maximize: bool = False
    fitness: float = np.nan
    standard_error: float = 0.0

    @property
    def in_words(self) -> str:
        """What was found, in a line."""
        error = f" ± {self.standard_error:.2g} on fresh seeds" if self.standard_error else ""
        better = "higher" if self.maximize else "lower"
        bad = f"; {self.n_nonfinite:,} networks without a fitness" if self.n_nonfinite else ""
        return (
            f"fitness {self.fitness:.6g}{error} ({better} is better) after "
            f"{self.n_evaluations:,} evaluations in {self.seconds:.2f} s, "
            f"ended by {self.stopped}{bad}"
        )

    def __repr__(self) -> str:
        head = f"EvolutionRecord({self.problem}, {self.method}, seed {self.seed})"
        return f"{head}\n  {self.in_words}"


def evolve(
    fitness: Callable[..., Any] | Fitness | str,
    topology: Topology | None = None,
    method: str = "auto",
    *,
    hidden: Sequence[int] | None = None,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    target: float | None = None,
    maximize: bool = False,
    vectorized: bool = False,
    noisy: bool = False,
    on_error: str = "count",
    timeout: float | None = None,
    seed: int = 0,
    population_size: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> EvolutionRecord:
    """Evolve networks against a fitness, and record the run.

    Lower is better, unless ``maximize``.

    Args:
        fitness: A function of one network, ``network(observation) -> action``, to a number; of a
            whole population if ``vectorized``; or a ``Fitness``, which brings all that
            belongs to it; or the name of a problem of control or of an environment of
            Gymnasium, which brings its target.
        topology: Of the networks, output weights included.
        method: A registered name; ``"auto"`` is CMA-ES with a small population and restarts.
        hidden: Of a problem by name: sizes of hidden layers, instead of a topology.
        max_evaluations: Networks to judge, at most; 100,000 by default, without limit if there is a
            ``max_time``.
        max_time: Seconds after which to stop.
        target: Fitness at which to stop.
        maximize: Whether higher is better.
        vectorized: See ``Fitness``; so ``noisy``, ``on_error``, ``timeout`` and ``executor``.
        noisy: Whether the fitness takes a seed as its second argument; the record then has the
            network that is best on fresh seeds, not the luckiest one.
        on_error: ``"count"`` or ``"raise"``.
        timeout: Seconds for a network.
        seed: Same seed, same result, with any executor.
        population_size: Candidates per generation; by default the method's own.
        executor: Judges networks in other processes or on other machines.
        checkpoint: A file to write the state of the run to, every few seconds. Where it exists the
            run goes on from it: one that was killed gives the same in the end, bit by bit. It is
            removed when the run has ended by itself.
        callback: Called after each generation with a ``Progress`` whose ``error`` is the best
            fitness in its own sign; the run stops early if it returns True.
        **settings: Other arguments of the optimizer, such as ``sigma``.

    Ctrl-C ends the run after the generation under way, with the best so far.
    """
    check_callable("callback", callback)
    options = {
        "topology": topology,
        "hidden": hidden,
        "target": target,
        "executor": executor,
        "vectorized": vectorized,
        "maximize": maximize,
        "noisy": noisy,
        "on_error": on_error,
        "timeout": timeout,
    }
    fitness = _fitness_of(fitness, options)
    method = AUTO if method == "auto" else method
    check_settings(method, settings, evolve.__kwdefaults__ or ())
    if max_evaluations is None and max_time is not None:
        max_evaluations = UNLIMITED
    run = Run(
        fitness,
        method,
        max_evaluations=max_evaluations,
        seed=seed,
        population_size=population_size,
        **settings,
    )
    file = None if checkpoint is None else check_path("checkpoint", checkpoint)
    if file is not None:
        run = _resumed(run, file) if file.exists() else run
        save_state(file, run.state())  # now, if it cannot be written
    search = run.search
    clock = Clock(max_time, reserve=False)
    with deferred_interrupts(clock.stop), one_blas_thread():
        record = run_to_its_end(run, clock, clock.left, _told(fitness, callback, run, file))
        if file is not None and not run.finished:
            save_state(file, run.state())
        evolved = _finished(fitness, record, search.finalists)
        if file is not None and run.finished:  # not before all is judged
            file.unlink(missing_ok=True)
        return evolved


def _fitness_of(fitness: Callable[..., Any] | Fitness | str, options: dict[str, Any]) -> Fitness:
    """What is given, with options of ``evolve``; none of them is left out in silence."""
    usual = {"topology": None, **(evolve.__kwdefaults__ or {})}
    given = {name: value for name, value in options.items() if value != usual[name]}
    takes, why = options.keys() - {"hidden"}, "a function needs a topology"
    if isinstance(fitness, str):
        takes = {"topology", "hidden", "target", "executor"}
        why = "a problem by name brings its own"
    elif isinstance(fitness, Fitness):
        takes, why = set(), "a Fitness brings its own, give it there"
    for name in given:
        if name not in takes:
            raise ValueError(f"{name} cannot be given here: {why}.")
    if isinstance(fitness, Fitness):
        return fitness
    if isinstance(fitness, str):
        return named_fitness(fitness, **given)
    net = check_kind("topology", given.pop("topology", None), Topology, "as Topology((4, 6, 1))")
    return Fitness(fitness, net, **given)


def named_fitness(name: str, /, hidden: Sequence[int] | None = None, **options: Any) -> Fitness:
    """The fitness of a problem of control, or of an environment of Gymnasium."""
    if name in CONTROL:
        return control_fitness(name, hidden, **options)
    try:
        environment = Environment(name)
    except ValueError as none:
        raise ValueError(
            f"{unknown('problem of control', name, CONTROL)} Nor is it an environment ({none}) A "
            "function of yours is given as it is, in the shell as module:function."
        ) from None
    return environment_fitness(environment, hidden, **options)


def _resumed(run: Run, file: Path) -> Run:
    """The run of a checkpoint, which must be the one that was asked for."""
    resumed = Run.from_state(run.objective, load_state(file))
    asked, found = ((r.method, r.seed, r.max_evaluations, r.plan) for r in (run, resumed))
    if asked != found:
        raise ValueError(
            f"checkpoint {str(file)!r} is of another run: method, seed, evaluations or settings "
            "differ. Give them as they were, or remove the file."
        )
    return resumed


def _told(
    fitness: Fitness, callback: Callback | None, run: Run, file: Path | None
) -> Callback | None:
    """Write checkpoints, and tell the callback the fitness instead of what is minimised."""
    if callback is None and file is None:
        return None
    sign, saved_at = -1.0 if fitness.maximize else 1.0, time.monotonic()

    def told(progress: Progress) -> object:
        nonlocal saved_at
        is_due = time.monotonic() - saved_at >= CHECKPOINT_EVERY
        if file is not None and is_due and not run.finished:  # of a finished one nothing goes on
            save_state(file, run.state())
            saved_at = time.monotonic()
        best = sign * progress.error
        told = progress._replace(error=best, fit_error=best, word="fitness")
        return None if callback is None else callback(told)

    return told


def _finished(fitness: Fitness, record: RunRecord, finalists: Array) -> EvolutionRecord:
    """The record with what its champion is worth, on fresh seeds if there is noise."""
    value = -record.error if fitness.maximize else record.error
    model, theta, error, changes = record.model, record.theta, 0.0, {}
    if model is not None and fitness.noisy:
        theta, value, error = fitness.champion(np.concatenate([theta[None], finalists]))
        model = replace(fitness.model(theta), origin=model.origin)
    if model is not None:
        facts = {"fitness": value, "standard_error": error}
        facts = {name: fact for name, fact in facts.items() if np.isfinite(fact)}  # for a file
        model = replace(model, origin={**model.origin, **facts})
        changes = {"model": model, "members": (model,), "output_weights": model.output_weights}
    return EvolutionRecord(
        **{**vars(record), **changes, "theta": theta},
        maximize=fitness.maximize,
        fitness=value,
        standard_error=error,
    )
