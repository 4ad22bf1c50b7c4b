import subprocess
import sys

PROGRAM = """
from threadpoolctl import threadpool_info

from symbreak import load_problem
from symbreak._support.blas import one_blas_thread
from symbreak.training import Training

with one_blas_thread():
    training = Training(load_problem("digits"), "CMA-ES", max_evaluations=12, population_size=6)
    while not training.finished:
        training.step()
    print(*(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"))
"""


def test_a_blas_that_compiled_code_loads_later_has_one_thread_too():
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == {"1"}, result.stdout
