"""Words that messages share; this imports nothing heavy, so that a start stays quick."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

#: What a chart can be saved as.
CHART_FORMATS = (".svg", ".png", ".pdf", ".html")


def how_to_install(extra: str) -> str:
    """The command that brings an extra, from an index or from the folder of the source."""
    here = f"in the folder of its source: pip install '.[{extra}]'"
    return f"pip install 'symbreak[{extra}]' ({here})"


def needed(module: str, extra: str, what: str) -> Any:
    """A module of an extra; where it is missing, a ValueError says how to install it."""
    package = module.partition(".")[0]
    try:
        import_module(package)  # of which a module may be there although it is gone
        return import_module(module)
    except ModuleNotFoundError:
        raise ValueError(
            f"{what} the package {package}; install it with: {how_to_install(extra)}"
        ) from None


def counted(n: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def few(items: Sequence[Any], limit: int = 8, by: str = ", ") -> str:
    """``a, b and 7 more``: the first of many names."""
    more = f" and {len(items) - limit:,} more" if len(items) > limit else ""
    return by.join(map(str, items[:limit])) + more
