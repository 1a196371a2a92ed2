"""Where a Chromium is for the browser tests; `python -m tests.chromium` gets one where there is none."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import apt

# The shell has no windows, tabs and menus behind its pages: a third less processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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
    "--js-flags=--no-opt --no-maglev",  # a page of a test is gone before what is compiled for speed pays: axe takes a fifth less
    "--in-process-gpu",  # with the next line a tenth less for each page
    "--renderer-process-limit=1",
    "--disable-component-update",
    "--disable-sync",
    # Two pages behind the address bar, which nobody sees, take two thirds of the processor time of each new window; a
    # process kept ready for another site takes a sixth.
    # The last list counts, so the second line repeats what Playwright leaves out by itself.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,"
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch",
]
ADVICE = (
    "No Chromium for the browser tests: there is none, Playwright's build could not be downloaded, and apt-get could not "
    "be used. Install one (Debian: `apt install chromium-headless-shell`) or set CHROMIUM=/path/to/it."
)
PLAYWRIGHT = [sys.executable, "-m", "playwright"]
LONGEST_SILENCE = {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}  # milliseconds; it tries five times
LONGEST_DOWNLOAD = 600  # seconds


def candidates() -> Iterator[str]:
    """What the system has, then what Playwright downloaded, the newest first."""
    yield from filter(None, map(shutil.which, NAMES))
    yield from APPLICATIONS
    for folder in sorted(downloads().glob("chromium-*"), reverse=True):
        yield from map(str, [*folder.glob("chrome-linux*/chrome"), *folder.glob("chrome-mac*/*.app/Contents/MacOS/*")])


def downloads() -> Path:
    cache = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or cache / "ms-playwright")


def starts(program: str) -> bool:
    """Ubuntu's `chromium-browser` may be a mere hint at a snap, and what was downloaded may lack libraries."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find() -> str | None:
    """CHROMIUM, else the first candidate that starts."""
    chosen = os.environ.get("CHROMIUM")
    return next(filter(starts, [chosen] if chosen else candidates()), None)


def path() -> str:
    """The browser's path; without one the test run ends here, in one line."""
    chosen = os.environ.get("CHROMIUM")
    return find() or sys.exit(f"CHROMIUM={chosen} does not start." if chosen else ADVICE)


def download() -> None:
    print("No Chromium found for the browser tests: downloading Playwright's build into the user's cache …", flush=True)
    _playwright("install", "--no-shell", "chromium")


def add_libraries() -> None:
    """A new machine lacks some that the downloaded browser is linked with."""
    if any(downloads().glob("chromium-*")) and apt.as_root(os.geteuid()) is not None:
        print("Installing the libraries of Playwright's Chromium with apt-get …", flush=True)
        _playwright("install-deps", "chromium")


def install() -> None:
    apt.install("chromium-headless-shell", "for the browser tests", instead="chromium")


def _playwright(*arguments: str) -> None:
    """Runs it quietly, with its children, for a bounded time; whether it worked is what `find` says then."""
    with (
        contextlib.suppress(subprocess.TimeoutExpired),
        subprocess.Popen(
            [*PLAYWRIGHT, *arguments], env={**os.environ, **LONGEST_SILENCE}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as running,
    ):  # fmt: skip
        try:
            running.wait(LONGEST_DOWNLOAD)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def ensure() -> str:
    """Gets a browser where none starts, from the nearest place that has one."""
    for get in () if os.environ.get("CHROMIUM") else (download, add_libraries, install):
        if found := find():
            return found
        get()
    return path()


if __name__ == "__main__":
    ensure()
