"""The command line's way in, as ``symbreak`` or ``python -m symbreak``."""

from __future__ import annotations

from symbreak._support.signals import leave_at_interrupt


def main() -> None:
    """Run the command line; Ctrl-C ends it in words even while it is loaded."""
    leave_at_interrupt()
    from symbreak import cli

    cli.main()


if __name__ == "__main__":
    main()
