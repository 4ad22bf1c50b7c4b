"""What can go wrong with a store or an executor; the messages say why and what to do."""

from __future__ import annotations

from pathlib import Path


class StoreError(RuntimeError):
    """A store cannot be read or written.

    Attributes:
        path: The store; None if the message does not begin with it.
    """

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message if path is None else f"store {path}: {message}")
        self.path = path


class ExecutorError(RuntimeError):
    """An executor or a cluster cannot be used, or was lost."""


class CheckpointError(ValueError):
    """A checkpoint is damaged or does not fit the run, which can only start again."""
