import subprocess
import sys

import pytest

from symbreak._support.blas import blas_in_words
from tests.reliability.processors import KINDS, environment, lacking

PROGRAM = """
from threadpoolctl import threadpool_info

from symbreak import load_problem
from symbreak._support.blas import one_blas_thread
from symbreak.training import Run

with one_blas_thread():
    training = Run(load_problem("digits"), "CMA-ES", max_evaluations=12, population_size=6)
    while not training.finished:
        training.step()
    print(*(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"))
"""


def test_a_blas_that_compiled_code_loads_later_has_one_thread_too():
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == {"1"}, result.stdout


@pytest.mark.skipif("openblas" not in blas_in_words(), reason="other libraries name no kernel")
@pytest.mark.parametrize("kind", KINDS)
def test_the_words_for_a_blas_name_the_kernel_that_it_chose(kind):
    if missing := lacking(kind):
        pytest.skip(f"needs a processor with {missing}")
    program = "from symbreak._support.blas import blas_in_words; print(blas_in_words())"
    options = {"capture_output": True, "text": True, "timeout": 300, "env": environment(kind)}
    result = subprocess.run([sys.executable, "-c", program], **options)
    assert result.returncode == 0, result.stderr
    assert all(name.endswith(f" {kind}") for name in result.stdout.strip().split(", "))
