"""What all commands share: the console, and errors without tracebacks."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape

from symbreak.experiments import ClusterError, StoreError

console = Console(highlight=False)

#: Which extra brings a module.
EXTRAS = {
    **dict.fromkeys(("altair", "vl_convert", "jinja2", "markupsafe"), "report"),
    **dict.fromkeys(("dask", "distributed"), "cluster"),
}


def fail(message: object, code: int = 2) -> None:
    """End with a message on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"[red]Error:[/red] {escape(str(message))}"
    )
    sys.exit(code)


def run_kindly(app: Callable[[], object]) -> None:
    """Run a command line; what goes wrong ends with a message and an exit code.

    2 for bad input, 1 for a store, a disk or a cluster that fails, 130 for Ctrl-C.
    """
    try:
        app()
    except ValueError as error:
        fail(error)
    except (StoreError, ClusterError, OSError) as error:
        fail(error, code=1)
    except MemoryError:
        fail("this is too large for the memory of the machine; use smaller sizes.")
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        fail(f"{error.name} is missing; install it with: pip install 'symbreak[{extra}]'", code=1)
    except KeyboardInterrupt:
        fail("stopped before there was a result.", code=130)
