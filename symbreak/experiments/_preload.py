"""What the fork server of worker processes loads, once: all that runs and trainings need."""

import symbreak.experiments._run  # noqa: F401
from symbreak._support.compile import load_compiler

load_compiler()
