"""Where a Chromium is for the browser tests, or how to get one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# Nothing that asks the network by itself: tests must see what a page does, not what a browser does.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Two pages behind the address bar, which nobody sees, take two thirds of the processor time of each new window.
    # The last list counts, so the second line repeats what Playwright leaves out by itself.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,"
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch",
]
ADVICE = "No Chromium found for the browser tests: `apt install chromium` (or set CHROMIUM=/path/to/it)."


def find() -> str | None:
    """CHROMIUM, else one that the system has, else one that Playwright downloaded."""
    if chosen := os.environ.get("CHROMIUM"):
        return chosen if Path(chosen).is_file() else None
    downloaded = sorted(Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    candidates = [*filter(None, map(shutil.which, NAMES)), *APPLICATIONS, *map(str, downloaded)]
    return next((path for path in candidates if Path(path).is_file()), None)


def path() -> str:
    """The browser's path; without one the test run ends here, in one line."""
    if found := find():
        return found
    sys.exit(ADVICE)


if __name__ == "__main__":
    path()
