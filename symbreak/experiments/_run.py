"""What a worker does: runs of a study from their specs to their records; it knows no store.

A slice goes on with runs for a while and hands back their records, or a checkpoint. So there is
nothing in a worker that could be lost but the slice under way.
"""

from __future__ import annotations

import hashlib
import platform
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Literal, NamedTuple

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # numba's

from symbreak._support.blas import blas_in_words, one_blas_thread
from symbreak._support.checks import check_kind, check_real, shown
from symbreak._support.state import State
from symbreak.control import CONTROL
from symbreak.experiments._spec import NUMERICS_VERSION, Facts, RunSpec
from symbreak.methods import is_built_in_method
from symbreak.problems._registry import is_built_in_problem
from symbreak.training import Run, RunRecord
from symbreak.training._record import versions

#: What must be the same everywhere, since results depend on it.
NEEDED = ("symbreak", "numerics", "python", "numpy", "scipy", "numba")


class ExecutorError(RuntimeError):
    """An executor or a cluster cannot be used, or was lost; the message says what to do."""


class CheckpointError(ValueError):
    """A checkpoint is damaged or does not fit the run, which can only start again."""


def execute(
    run: RunSpec, *, checkpoint: State | None = None, max_time: float = 1e9
) -> RunRecord | State:
    """Do a run, in any process and on any machine.

    Args:
        run: What to do.
        checkpoint: A state to go on from, as an earlier call returned it.
        max_time: Seconds after which to stop.

    Returns:
        The record, the same with any number of stops in between; or the state, a dictionary, if
        the run was stopped.

    Raises:
        CheckpointError: if the run cannot go on from the checkpoint.
    """
    check_kind("run", run, RunSpec, "as StudySpec.runs gives")
    check_real("max_time", max_time, 0, 1e9)
    training = _advanced(run, checkpoint, time.monotonic() + max_time)
    return training.record() if training.finished else training.state()


def _advanced(run: RunSpec, checkpoint: State | None, end: float) -> Run:
    """A run after at least one step, until it is finished or a point in time."""
    if checkpoint is None:
        training = run.start()
    else:
        problem = run.load_problem()
        try:
            training = Run.from_state(problem, checkpoint)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise CheckpointError(f"the checkpoint does not fit the run: {error}") from error
        theirs = (training.method, training.seed, training.max_evaluations)
        if theirs != (run.method, run.seed, run.max_evaluations):
            raise CheckpointError("the checkpoint does not fit the run: it is another run's.")
    with one_blas_thread():
        while not training.finished:
            training.step()
            if time.monotonic() >= end:
                break
    return training


class Outcome(NamedTuple):
    """What a slice brought of a run.

    ``status`` is finished, with a record; running, with a state; failed, with the traceback;
    restarted, since the checkpoint was no good; or refused, since this worker is not what the
    driver needs.
    """

    status: Literal["finished", "running", "failed", "restarted", "refused"]
    record: RunRecord | None = None
    facts: Facts | None = None
    state: State | None = None
    text: str = ""
    n_evaluations: int = 0
    error: float = float("inf")
    seconds: float = 0.0
    cpu: str = ""


def run_slice(
    jobs: Sequence[tuple[RunSpec, State | None]],
    seconds: float,
    needed: Mapping[str, str],
    imports: Sequence[str] = (),
) -> list[Outcome]:
    """Go on with runs, one after the other, for some seconds together, each from its checkpoint.

    There is an outcome for each run that was begun, in order: the first, and perhaps others; or
    one that says why this worker is refused, which must be as ``describe_here`` of the driver.
    """
    end = time.monotonic() + seconds
    if text := _differences(needed, imports):
        return [Outcome("refused", text=text)]
    outcomes: list[Outcome] = []
    for run, state in jobs:
        started = time.monotonic()
        if outcomes and started >= end:
            break
        outcome = _go_on(run, state, end)
        outcomes.append(outcome._replace(seconds=time.monotonic() - started))
    return outcomes


def _go_on(run: RunSpec, state: State | None, end: float) -> Outcome:
    cpu = describe_here()["cpu"]
    try:
        training = _advanced(run, state, end)
        told = training.record() if training.finished else training.progress
        outcome = Outcome("running", n_evaluations=told.n_evaluations, error=told.error, cpu=cpu)
        if not isinstance(told, RunRecord):
            return outcome._replace(state=training.state())
        record = replace(told, versions={**told.versions, "cpu": cpu})
        return outcome._replace(status="finished", record=record, facts=run.facts())
    except CheckpointError:
        return Outcome("restarted")
    except (Exception, SystemExit):  # whatever a run does, it must not stop the others
        return Outcome("failed", text=traceback.format_exc())


@cache
def describe_here() -> dict[str, str]:
    """What results depend on in this process: versions, and the CPU."""
    python = ".".join(platform.python_version_tuple()[:2])
    known = {**versions(), "numerics": str(NUMERICS_VERSION), "python": python}
    return {**{name: known[name] for name in NEEDED}, "cpu": _cpu()}


def _cpu() -> str:
    """Kind of the CPU, a hash of the instructions that it has, and the BLAS that goes with it."""
    features = llvm.get_host_cpu_features().flatten()
    digest = hashlib.sha256(features.encode()).hexdigest()[:6]
    return f"{platform.machine()} {llvm.get_host_cpu_name()} {digest} with {blas_in_words()}"


def _differences(needed: Mapping[str, str], imports: Sequence[str]) -> str:
    """What of this worker is not as it must be, in words; nothing if all is well."""
    here = describe_here()
    others = [f"{n} {here[n]} instead of {needed[n]}" for n in NEEDED if here[n] != needed[n]]
    if others:
        return f"it has {', '.join(others)}"
    try:
        import_modules(imports)
    except ValueError as error:
        return str(error)
    return ""


def import_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Import modules by name, as ``import`` does; those that are loaded stay as they are."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"imports must be a list of names of modules, got {shown(names)}.")
    for name in names:
        try:
            import_module(name)
        except (Exception, SystemExit) as error:  # whatever the module does
            raise ValueError(
                f"the module {shown(name)} cannot be imported ({type(error).__name__}: {error}); "
                "give its name as in an import statement, without .py, of a module that is "
                "installed, in the current folder or on PYTHONPATH."
            ) from error
    return tuple(names)


def own_names(methods: Iterable[str], problems: Iterable[str]) -> list[tuple[str, str]]:
    """What is not of symbreak itself: ``("method", name)`` and ``("problem", name)``."""
    own = [("method", name) for name in methods if not is_built_in_method(name)]
    own += [("problem", name) for name in problems if not is_built_in_problem(name)]
    return [pair for pair in own if pair[1] not in CONTROL]
