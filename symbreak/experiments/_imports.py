"""Modules of the user that add methods and problems, in the driver and in every worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from symbreak._support.checks import shown
from symbreak.experiments._study import StudySpec
from symbreak.methods import is_built_in_method
from symbreak.problems._registry import is_built_in_problem


def import_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Import modules by name, as ``import`` does; those that are loaded stay as they are.

    Raises:
        ValueError: if ``names`` are no names, or one of them cannot be imported.
    """
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
    return own + [("problem", name) for name in problems if not is_built_in_problem(name)]


def check_workers_know(spec: StudySpec) -> None:
    """Refuse methods and problems that are only in this process; workers are fresh ones."""
    problems = [name for name in spec.problems if name not in spec.data_files]
    for kind, name in own_names(spec.methods, problems)[:1]:
        raise ValueError(
            f"the {kind} {shown(name)} is not symbreak's own, and workers do not run your script, "
            "so they would not know it; put it into a module and name that: "
            'imports=["my_module"], or --import my_module in the shell.'
        )
