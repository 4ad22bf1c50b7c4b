"""The worker's side of a study on a cluster: a run in slices, and what a worker is.

A slice goes on with a run for a while and hands back its record or its checkpoint. So there is
nothing on a worker that could be lost but the slice under way.
"""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # numba's

from symbreak._support.blas import blas_in_words
from symbreak.experiments._identity import Facts, facts_of
from symbreak.experiments._imports import import_modules
from symbreak.experiments._run import CheckpointError, execute
from symbreak.experiments._spec import NUMERICS_VERSION, RunSpec
from symbreak.optimizers import State
from symbreak.training import Progress, RunRecord, versions

#: What must be the same everywhere, since results depend on it.
NEEDED = ("symbreak", "numerics", "python", "numpy", "scipy", "numba")

#: Studies that were asked to stop.
_stopped: set[str] = set()

#: Seconds between checkpoints inside a slice: there are none, only one at its end.
NEVER = 1e9


class Outcome(NamedTuple):
    """How a slice ended.

    ``status`` is finished, with a record; running or stopped, with a state unless nothing was
    begun; failed, with the traceback; restarted, since the checkpoint was no good; or refused,
    since this worker is not what the driver needs.
    """

    key: str
    status: str
    record: RunRecord | None = None
    facts: Facts | None = None
    state: State | None = None
    text: str = ""
    progress: tuple[int, float] = (0, float("inf"))
    cpu: str = ""


@cache
def describe_here() -> dict[str, str]:
    """What results depend on in this process: versions, and the CPU."""
    python = ".".join(platform.python_version_tuple()[:2])
    known = {**versions(), "numerics": str(NUMERICS_VERSION), "python": python}
    return {**{name: known[name] for name in NEEDED}, "cpu": _cpu()}


def describe_after(imports: Sequence[str]) -> dict[str, str]:
    """``describe_here``, where the modules of a study can be imported; what cannot is a fault."""
    try:
        import_modules(imports)
    except ValueError as error:
        return {**describe_here(), "fault": str(error)}
    return describe_here()


def _cpu() -> str:
    """Kind of the CPU, a hash of the instructions that it has, and the BLAS that goes with it."""
    features = llvm.get_host_cpu_features().flatten()
    digest = hashlib.sha256(features.encode()).hexdigest()[:6]
    return f"{platform.machine()} {llvm.get_host_cpu_name()} {digest} with {blas_in_words()}"


def differences(theirs: Mapping[str, str], needed: Mapping[str, str]) -> str:
    """What of a worker is not as it must be, in words; nothing if all is well."""
    others = ", ".join(
        f"{name} {theirs.get(name, 'unknown')} instead of {needed[name]}"
        for name in NEEDED
        if theirs.get(name) != needed[name]
    )
    return f"it has {others}" if others else theirs.get("fault", "")


def stop_slices(study: str) -> None:
    """Let the slices of a study on this worker end with their checkpoints."""
    _stopped.add(study)


def run_slice(
    run: RunSpec,
    state: State | None,
    file: bytes | None,
    seconds: float,
    study: str,
    needed: Mapping[str, str],
    imports: Sequence[str] = (),
) -> Outcome:
    """Go on with a run for some seconds.

    Args:
        run: What to do.
        state: Its checkpoint, if it was begun.
        file: What its data file says, if it has one.
        seconds: When to stop, with a checkpoint.
        study: What ``stop_slices`` will call the study.
        needed: What ``describe_here`` must say.
        imports: Modules that add methods and problems.
    """
    here = describe_after(imports)
    if text := differences(here, needed):
        return Outcome(run.key, "refused", text=text)
    if study in _stopped:
        return Outcome(run.key, "stopped")
    states: list[State] = []
    told: list[Progress] = []
    end = time.monotonic() + seconds
    try:
        run = run if file is None else _with_file(run, file)
        record = execute(
            run,
            checkpoint=state,
            checkpoint_every=NEVER,
            on_checkpoint=states.append,
            on_progress=lambda progress: told.__setitem__(slice(None), [progress]),
            should_stop=lambda: study in _stopped or time.monotonic() >= end,
        )
        if record is None:
            status = "stopped" if study in _stopped else "running"
            progress = (told[0].n_evaluations, told[0].error) if told else (0, float("inf"))
            return Outcome(run.key, status, state=states[-1], progress=progress, cpu=here["cpu"])
        record = replace(record, versions={**record.versions, "cpu": here["cpu"]})
        progress = record.n_evaluations, record.error
        return Outcome(run.key, "finished", record, facts_of(run), progress=progress)
    except CheckpointError:
        return Outcome(run.key, "restarted")
    except Exception:  # whatever a run does, it must not stop the others
        return Outcome(run.key, "failed", text=traceback.format_exc())


def _with_file(run: RunSpec, content: bytes) -> RunSpec:
    """A run whose data file lies on this machine; its digest is checked when it is read."""
    assert run.data_file is not None
    path = _folder() / (run.data_file.digest + Path(run.data_file.path).suffix)
    if not path.exists():
        part = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
        part.write_bytes(content)
        os.replace(part, path)  # whole, or not there
    return replace(run, data_file=replace(run.data_file, path=str(path)))


@cache
def _folder() -> Path:
    """A folder of this process alone; the worker removes it when it ends."""
    from distributed import get_worker

    return Path(tempfile.mkdtemp(prefix="symbreak-", dir=get_worker().local_directory))
