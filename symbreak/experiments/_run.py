"""One run of a study, from its spec to its record; it knows no store."""

from __future__ import annotations

import time
from collections.abc import Callable

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import check_callable, check_kind, check_real
from symbreak.experiments._spec import RunSpec
from symbreak.optimizers import State
from symbreak.training import Progress, RunRecord, Training

CHECKPOINT_EVERY = 60.0  # seconds
PROGRESS_EVERY = 0.25  # seconds between calls of on_progress


class CheckpointError(ValueError):
    """A checkpoint is damaged or does not fit the run, which can only start again."""


def execute(
    run: RunSpec,
    *,
    checkpoint: State | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
    on_checkpoint: Callable[[State], object] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RunRecord | None:
    """Do a run, in any process and on any machine.

    Args:
        run: What to do.
        checkpoint: A state to go on from, as it was given to ``on_checkpoint``.
        checkpoint_every: Seconds between checkpoints.
        on_checkpoint: Called with the state now and then, and when the run is stopped.
        on_progress: Called now and then.
        should_stop: Asked after each generation; if it says so, the run stops.

    Returns:
        The record, the same with any number of stops in between; None if the run was stopped.

    Raises:
        CheckpointError: if the run cannot go on from the checkpoint.
    """
    check_kind("run", run, RunSpec, "as StudySpec.runs gives")
    check_real("checkpoint_every", checkpoint_every, 0, 1e9)
    check_callable("on_checkpoint", on_checkpoint)
    check_callable("on_progress", on_progress)
    check_callable("should_stop", should_stop)
    training = run.start() if checkpoint is None else _resumed(run, checkpoint)
    written = told = time.monotonic()
    with one_blas_thread():
        while not training.finished:
            training.step()
            now = time.monotonic()
            stopping = should_stop is not None and should_stop()
            if on_checkpoint is not None and (stopping or now - written >= checkpoint_every):
                on_checkpoint(training.state())
                written = now
            if stopping:
                return None
            if on_progress is not None and now - told >= PROGRESS_EVERY:
                on_progress(training.progress)
                told = now
        return training.record()


def _resumed(run: RunSpec, checkpoint: State) -> Training:
    problem = run.load_problem()
    try:
        training = Training.from_state(problem, checkpoint)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CheckpointError(f"the checkpoint does not fit the run: {error}") from error
    theirs = (training.method, training.seed, training.max_evaluations)
    if theirs != (run.method, run.seed, run.max_evaluations):
        raise CheckpointError("the checkpoint does not fit the run: it is another run's.")
    return training
