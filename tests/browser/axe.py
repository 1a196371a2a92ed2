"""What a machine can find wrong with a page: axe, widths, shifts, complaints of the browser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import BrowserContext, Page

from tests import walking
from tests.browser import hub as hubs
from tests.browser.conftest import PHONE, WIDE

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# Rules of good practice count as well; what an engine cannot decide by itself ("incomplete") does not.
RUN = """() => axe.run(document, {resultTypes: ['violations'], runOnly: %s}).then(
  (found) => found.violations.map((one) => one.id + ' (' + one.help + '): '
    + one.nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + node.html.slice(0, 120)).join(' | ')))"""
COLOURS = "{type: 'rule', values: ['color-contrast', 'link-in-text-block']}"
# What a narrow window can break; the rest reads the same markup at every width.
NARROW = "{type: 'rule', values: ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable', 'bypass']}"
SIZES = "{type: 'rule', values: ['target-size', 'scrollable-region-focusable', 'bypass']}"
EVERYTHING = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
MARKUP = EVERYTHING + ", rules: {'color-contrast': {enabled: false}, 'link-in-text-block': {enabled: false}}"
OVERFLOWS = """() => {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide <= 0) return '';
  const cut = [...document.body.querySelectorAll('*')].filter((el) => el.getBoundingClientRect().right > window.innerWidth + 1
    && !el.closest('[data-scroll], .scroll, pre, svg'));
  return wide + ' px, by ' + cut.slice(-3).map((el) => el.tagName + '.' + el.className).join(', ');
}"""
LOOK = f"""async () => {{
  const found = await ({RUN})(), wide = ({OVERFLOWS})();
  return wide ? [...found, 'is wider: ' + wide] : found;
}}"""
SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value; })
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 50);
})"""

# A kind of page is looked at in all four ways, in the order with the fewest turns; another choice on it in the two
# that differ most: it has the same frame, and the same colours at both widths.
Looks = tuple[tuple[dict[str, int], str, str], ...]
LOOKS: Looks = (
    (WIDE, "light", EVERYTHING),
    (WIDE, "dark", COLOURS),
    (PHONE, "dark", COLOURS),
    (PHONE, "light", NARROW),
)
LOOKS_AGAIN: Looks = ((WIDE, "light", EVERYTHING), (PHONE, "dark", NARROW))
# Colours take three quarters of it: of each fourth page those of the light, of each fourth those of the dark; in all four ways
# every page is looked at by `make attack`. Each begins as wide as the one before it ended.
BY_TURNS: tuple[Looks, ...] = (
    ((WIDE, "light", EVERYTHING), (PHONE, "light", SIZES)),
    ((PHONE, "light", SIZES), (WIDE, "light", MARKUP)),
    ((WIDE, "light", MARKUP), (PHONE, "dark", NARROW)),
    ((PHONE, "dark", SIZES), (WIDE, "light", MARKUP)),
)
in_turns = pytest.mark.parametrize(
    "turns", [BY_TURNS, pytest.param((LOOKS,), marks=pytest.mark.attack)], ids=["two", "four"]
)


class Looking:
    """A window that is turned only where the next look differs: each turn draws the whole page anew."""

    def __init__(self, window: Page) -> None:
        self.window, self.scheme = window, ""

    def turn(self, size: dict[str, int], scheme: str) -> None:
        if self.window.viewport_size != size:
            self.window.set_viewport_size(size)
        if self.scheme != scheme:
            self.window.emulate_media(color_scheme=scheme)
        self.scheme = scheme

    def faults(self, address: str, looks: Looks) -> Iterator[str]:
        """What is wrong with the page there; the window has axe as an init script."""
        self.turn(*looks[0][:2])
        self.window.goto(address, wait_until="load")
        if (shift := self.window.evaluate(SHIFT)) > 0.02:
            yield f"shifts its layout by {shift:.3f} while it loads"
        for size, scheme, rules in looks:
            self.turn(size, scheme)
            yield from (f"at {size['width']}, {scheme}: {one}" for one in self.window.evaluate(LOOK % rules))


def faults_of(window: Page, addresses: Iterable[str], turns: tuple[Looks, ...]) -> list[str]:
    """Of the pages at these addresses, looked at by turns; in a window that no later test gets."""
    window.add_init_script(AXE)
    looking = Looking(window)
    pages = enumerate(addresses)
    return [f"{at} {one}" for number, at in pages for one in looking.faults(at, turns[number % len(turns)])]


def look_at(
    context: BrowserContext, hub: hubs.Hub, paths: list[str], first: tuple[Looks, ...] = (LOOKS,)
) -> Iterator[str]:
    """Visits each page once, looks at it wide and as a phone, in light and dark, and tells what is wrong with it. `first` is how
    to look at pages of a kind that was not there before, by turns."""
    context.add_init_script(AXE)
    window: Page = context.new_page()
    looking, known = Looking(window), set[str]()
    heard: list[str] = []
    window.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
    window.on("pageerror", lambda error: heard.append(str(error)))
    for path in paths:
        kind = walking.kind_of(path).partition("?")[0]
        looks = LOOKS_AGAIN if kind in known else first[len(known) % len(first)]
        known.add(kind)
        yield from (f"{path} {one}" for one in looking.faults(hub.url + path, looks))
        yield from (f"{path}: {one}" for one in heard if not one.startswith("Failed to load resource"))
        heard.clear()
