"""A headless Chromium for the page tests, from Debian's packages; without one they are skipped."""

from __future__ import annotations

import shutil
import tempfile
import time

import pytest

SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DEADLINE = 60


class Page:
    """An open page, with what it asked for and complained about."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1200, height=900, dark=False):
        command = self.driver.execute_cdp_cmd
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.resolve().as_uri())
        deadline = time.monotonic() + DEADLINE
        while set(self.states()) - {"drawn", "failed"}:
            assert time.monotonic() < deadline, self.states()
            time.sleep(0.1)
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def states(self):
        """Of every chart: drawn, failed, drawing or nothing yet."""
        return self.run(
            "return [...document.querySelectorAll('.chart')].map(e => e.dataset.state || '')"
        )

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that the page asked for, but for itself and data in it."""
        log = [entry["message"] for entry in self.driver.get_log("performance")]
        sent = [entry for entry in log if '"Network.requestWillBeSent"' in entry]
        return [entry for entry in sent if '"url":"http' in entry or '"url":"ws' in entry]


@pytest.fixture(scope="module")
def page():
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
