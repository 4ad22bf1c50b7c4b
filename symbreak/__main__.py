"""``python -m symbreak`` is the command line."""

from symbreak.cli import main

main()
