"""Takes pictures of pages, phone and wide, light and dark, on a hub of its own with the demo:

    python -m tests.browser.screens OUTDIR [path …] [--as ROLE] [--width 390 1440] [--scheme light dark] [--no-js]

A path may leave the space out: `files/` means `/s/demo/files/`. Says what the browser complained about.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests import chromium
from tests.browser import hub as hubs

HEIGHTS = {390: 844}


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    complaints = 0
    with hubs.running(debug=options.debug) as hub, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        paths = [path if path.startswith("/") else f"/s/{hub.space}/{path}" for path in options.paths or [""]]
        for width in options.width:
            for scheme in options.scheme:
                complaints += shoot(browser, hub, paths, options, width, scheme)
        browser.close()
    return 1 if complaints else 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.browser.screens", description=__doc__.splitlines()[0])
    made.add_argument("out", type=Path, metavar="OUTDIR")
    made.add_argument("paths", nargs="*", metavar="path")
    made.add_argument("--as", dest="role", default="owner", choices=[*hubs.ROLES, "stranger"])
    made.add_argument("--width", nargs="+", type=int, default=[390, 1440])
    made.add_argument("--scheme", nargs="+", default=["light", "dark"], choices=["light", "dark"])
    made.add_argument("--no-js", action="store_true", help="with JavaScript switched off")
    made.add_argument("--debug", action="store_true", help="with DEBUG")
    made.add_argument("--fold", action="store_true", help="only what the window shows, not the whole page")
    return made


def shoot(
    browser: Browser, hub: hubs.Hub, paths: list[str], options: argparse.Namespace, width: int, scheme: str
) -> int:
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHTS.get(width, 900)},
        color_scheme=scheme,  # type: ignore[arg-type]
        java_script_enabled=not options.no_js,
        reduced_motion="reduce",
    )
    page = context.new_page()
    found = 0
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    if options.role != "stranger":
        page.goto(hub.sign_in_link(options.role))
        page.locator("main form button").click()
    complaints.clear()
    for path in paths:
        answer = page.goto(hub.url + path, wait_until="networkidle")
        file = options.out / f"{name_of(path)}-{width}-{scheme}{'-nojs' if options.no_js else ''}.png"
        page.screenshot(path=str(file), full_page=not options.fold)
        if too_wide(page, width) and not options.no_js:
            complaints.append(f"wider than the window: {page.evaluate('document.documentElement.scrollWidth')} px")
        print(answer.status if answer else "?", path, "->", file, *(f"\n    {line}" for line in complaints))
        found += len(complaints)
        complaints.clear()
    context.close()
    return found


def too_wide(page: Page, width: int) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") > width


def name_of(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "front"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
