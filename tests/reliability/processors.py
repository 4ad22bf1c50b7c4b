"""Kinds of processors that this one can play, by the environment of a process.

    python -m tests.reliability.processors [arguments of pytest]

runs the suite, or what the arguments name, as each kind, and says which were skipped (``make
test-processors``). A kind has its own kernels of BLAS, instructions of compiled code, and functions
of NumPy and of the C library.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from llvmlite.binding import get_host_cpu_features
from numpy._core._multiarray_umath import __cpu_dispatch__

_NO_AVX2 = r"AVX|FMA|F16C|X86_V[34]"
_NO_LIBM = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
#: The oldest first, by OpenBLAS's names: what each needs, what numba calls it, what NumPy leaves
#: unused, and what the C library does. The first two have no fused multiply-add. Zen is Haswell.
KINDS = {
    "Nehalem": (("sse4.2",), "generic", _NO_AVX2, _NO_LIBM),
    "Sandybridge": (("avx",), "sandybridge", _NO_AVX2, _NO_LIBM),
    "Haswell": (("avx2", "fma"), "haswell", r"AVX512|X86_V4", ""),
    "SkylakeX": (("avx512f", "avx512vl"), "skylake-avx512", r"AVX512_(CLX|CNL|ICL|SPR)", ""),
}


def lacking(kind: str) -> str:
    """What this processor needs to play a kind; nothing if it can."""
    features = get_host_cpu_features()
    return " and ".join(name for name in KINDS[kind][0] if not features.get(name))


def playable() -> list[str]:
    """The kinds that this processor can play."""
    return [kind for kind in KINDS if not lacking(kind)]


def environment(kind: str) -> dict[str, str]:
    """The environment of a process that is to play a kind."""
    _, name, numpy, libm = KINDS[kind]
    return {
        **os.environ,
        "OPENBLAS_CORETYPE": kind,
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": "",  # beyond those of the name
        "NPY_DISABLE_CPU_FEATURES": " ".join(f for f in __cpu_dispatch__ if re.match(numpy, f)),
        "GLIBC_TUNABLES": libm,
    }


def main(arguments: list[str]) -> bool:
    """Run tests as every kind, and say how each went; whether all passed."""
    said = {}
    for kind in KINDS:
        if missing := lacking(kind):
            said[kind] = f"skipped, since this processor has no {missing}"
            continue
        print(f"== as {kind}", flush=True)
        how = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
        command = [sys.executable, "-m", "pytest", *how, *arguments]
        start = time.monotonic()
        code = subprocess.run(command, env=environment(kind)).returncode
        said[kind] = f"{'FAILED' if code else 'passed'} in {time.monotonic() - start:.0f} s"
    print(*(f"{kind}: {words}" for kind, words in said.items()), sep="\n")
    return not any(words.startswith("FAILED") for words in said.values())


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
