"""Settings for all tests: the same examples of hypothesis in every run, and Ctrl-C that works."""

import os
import shutil
import signal
import tempfile

import pytest
from filelock import FileLock
from hypothesis import settings

from symbreak import load_problem, train
from tests.analysis.browser import SWITCHES, Page

settings.register_profile("symbreak", derandomize=True, deadline=None, max_examples=50)
settings.register_profile(
    "long", deadline=None, max_examples=5_000
)  # pytest --hypothesis-profile=long
# Where each example takes long, without the compiler: make coverage.
settings.register_profile("short", derandomize=True, deadline=None, max_examples=3)
settings.load_profile("symbreak")

# Processes that tests start read our modules compiled, which takes a sixth of their start away.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests of Ctrl-C start processes, which inherit this: a shell's background jobs ignore the signal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def kernels(tmp_path_factory, worker_id):
    """One process compiles what most tests need; the others wait instead of doing the same."""
    if worker_id != "master":
        with FileLock(tmp_path_factory.getbasetemp().parent / "kernels.lock"):
            for method in ("auto", "DE-SB", "CMA-ES-SB"):
                train(load_problem("syn5"), method, max_evaluations=2_000)


@pytest.fixture(scope="module")
def page():
    """A headless Chromium from Debian's packages; without one the page tests are skipped."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for switch in (*SWITCHES, f"--user-data-dir={profile}"):
            options.add_argument(switch)
        driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
        try:
            yield Page(driver)
        finally:
            driver.quit()
