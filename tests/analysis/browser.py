"""A page in a headless Chromium, for the page tests."""

from __future__ import annotations

import time

SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DEADLINE = 300


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
