"""Every page, found by following links: axe finds no violation, nothing is cut off, the browser has no complaint.

The pages come from a hub of its own with the demo in it, as its owner sees them, in light and
dark, on a wide window and a phone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests import walking
from tests.browser import crawl
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
# Colours take most of it: of each other page those of the light, of the rest those of the dark.
BY_TURNS: tuple[Looks, ...] = (
    ((WIDE, "light", EVERYTHING), (PHONE, "dark", SIZES)),
    ((WIDE, "light", MARKUP), (PHONE, "dark", NARROW)),
)


def look_at(
    context: BrowserContext, hub: hubs.Hub, paths: list[str], first: tuple[Looks, ...] = (LOOKS,)
) -> Iterator[str]:
    """Visits each page once, looks at it wide and as a phone, in light and dark, and tells what is wrong with it. `first` is how
    to look at pages of a kind that was not there before, by turns."""
    context.add_init_script(AXE)
    window: Page = context.new_page()
    known: set[str] = set()
    heard: list[str] = []
    window.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
    window.on("pageerror", lambda error: heard.append(str(error)))
    for path in paths:
        window.set_viewport_size(WIDE)
        window.emulate_media(color_scheme="light")
        window.goto(hub.url + path, wait_until="load")
        if (shift := window.evaluate(SHIFT)) > 0.02:
            yield f"{path} shifts its layout by {shift:.3f} while it loads"
        kind = walking.kind_of(path).partition("?")[0]
        for size, scheme, rules in LOOKS_AGAIN if kind in known else first[len(known) % len(first)]:
            window.set_viewport_size(size)
            window.emulate_media(color_scheme=scheme)
            yield from (f"{path} at {size['width']}, {scheme}: {one}" for one in window.evaluate(RUN % rules))
            if wide := window.evaluate(OVERFLOWS):
                yield f"{path} is wider than {size['width']}: {wide}"
        known.add(kind)
        yield from (f"{path}: {one}" for one in heard if not one.startswith("Failed to load resource"))
        heard.clear()


# All pages in all ways belong to `make attack`; `make test` looks at one page of each kind, and at some in Chinese.
EVERY_PAGE = (
    pytest.param("en", (LOOKS,), 0, marks=pytest.mark.attack),
    pytest.param("zh-CN", (LOOKS_AGAIN,), 0, marks=pytest.mark.attack),
)


@pytest.mark.parametrize(
    ("language", "first", "each"), [("en", BY_TURNS, 1), ("zh-CN", (LOOKS_AGAIN[1:],), 6), *EVERY_PAGE]
)
def test_no_page_has_a_fault_that_a_machine_can_find(
    browser: Browser, hub: hubs.Hub, language: str, first: tuple[Looks, ...], each: int
):
    pages = crawl.pages(hub)
    pages = crawl.of_each_kind(pages, each) if each else pages
    assert len(pages) >= 8, pages
    context = browser.new_context(reduced_motion="reduce", locale=language)
    context.add_cookies([hub.cookie("owner")])
    faults = list(look_at(context, hub, pages, first))
    context.close()
    assert not faults, "\n".join(faults)


REFUSED = ["/s/demo/settings/people/", "/s/demo/rules/"]  # to a viewer


def test_what_strangers_and_viewers_see_has_no_fault_either(browser: Browser, hub: hubs.Hub):
    faults = []
    for role, paths in (("", ["/login/", "/login/once/spent-long-ago/"]), ("viewer", REFUSED)):
        context = browser.new_context(reduced_motion="reduce")
        if role:
            context.add_cookies([hub.cookie(role)])
        faults += look_at(context, hub, paths)
        context.close()
    assert not faults, "\n".join(faults)


def test_of_choices_that_are_only_combined_each_is_looked_at_once():
    plain, one, other = "/s/demo/longterm/", "/s/demo/longterm/?due=1", "/s/demo/longterm/?map=all"
    both, third = "/s/demo/longterm/?due=1&map=all", "/s/demo/longterm/?due=1&map=due"
    assert walking.telling([plain, one, other, both, third, "/s/demo/rules/"]) == [
        plain,
        one,
        other,
        third,
        "/s/demo/rules/",
    ]
