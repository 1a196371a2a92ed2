"""Every page, found by following links, of a hub of its own with the demo in it: no machine finds a fault with it, and with
JavaScript switched off everything that can be done there is a link or a form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import walking
from tests.browser import crawl
from tests.browser import hub as hubs
from tests.browser.axe import BY_TURNS, LOOKS, LOOKS_AGAIN, Looks, look_at
from tests.browser.conftest import PATIENCE, PHONE, WIDE

# All pages in all ways belong to `make attack`; `make test` looks at every second kind of page, and at some in Chinese.
EVERY_PAGE = (
    pytest.param("en", (LOOKS,), 0, marks=pytest.mark.attack),
    pytest.param("zh-CN", (LOOKS_AGAIN,), 0, marks=pytest.mark.attack),
)


@pytest.mark.parametrize(
    ("language", "first", "each"),
    [("en", BY_TURNS, 2), ("zh-CN", (LOOKS_AGAIN[1:],), 12), *EVERY_PAGE],
)
def test_no_page_has_a_fault_that_a_machine_can_find(
    browser: Browser, hub: hubs.Hub, language: str, first: tuple[Looks, ...], each: int
):
    pages = crawl.pages(hub)
    pages = crawl.of_each_kind(pages, each) if each else pages
    assert len(pages) >= 5, pages
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
        faults += look_at(context, hub, paths, BY_TURNS)
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


# ---- without JavaScript

# Things that only a script makes work must not be there, or must say so by `hidden`, until a script shows them.
USELESS = """() => {
  const shown = (el) => el.checkVisibility({visibilityProperty: true});
  const found = [];
  for (const el of document.querySelectorAll('button, input[type=submit], input[type=button]')) {
    const sends = el.form && el.type === 'submit';
    if (shown(el) && !sends && !el.hasAttribute('popovertarget') && el.type !== 'reset' && !el.closest('dialog'))
      found.push('a button that does nothing: ' + el.outerHTML.slice(0, 120));
  }
  for (const form of document.querySelectorAll('form')) {
    const buttons = [...form.elements].filter((el) => el.type === 'submit' && el.checkVisibility());
    if (shown(form) && !buttons.length) found.push('a form that cannot be sent: ' + form.outerHTML.slice(0, 160));
  }
  for (const el of document.querySelectorAll('[hx-get], [hx-post], [hx-put], [hx-delete]')) {
    const link = el.matches('a[href]'), form = el.closest('form'), renews = el.matches('[data-renew]');
    if (!link && !form && !renews && shown(el)) found.push('only a script follows: ' + el.outerHTML.slice(0, 120));
    if (el.matches('form[hx-post]') && el.method !== 'post') found.push('a form that posts by script alone: ' + el.outerHTML.slice(0, 120));
  }
  for (const el of document.querySelectorAll('a:not([href]), a[href=""], a[href="#"]'))
    if (shown(el)) found.push('a link that leads nowhere: ' + el.outerHTML.slice(0, 120));
  return found;
}"""


@pytest.fixture
def plain(browser: Browser, hub: hubs.Hub) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False, base_url=hub.url, viewport=WIDE)
    context.add_cookies([hub.cookie("owner")])
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


# Of every fourth kind of page; all pages belong to `make attack`.
@pytest.mark.parametrize("each", [4, pytest.param(0, marks=pytest.mark.attack)])
def test_nothing_on_any_page_needs_a_script(hub, plain, each):
    faults = []
    pages = crawl.pages(hub)
    for path in crawl.of_each_kind(pages, each) if each else pages:
        if path == "/styleguide/":  # shows parts by themselves, which do nothing
            continue
        plain.goto(path)
        faults += [f"{path}: {one}" for one in plain.evaluate(USELESS)]
    assert not faults, "\n".join(faults)


@pytest.mark.attack  # `make test` follows all links of all pages in tests/web/test_links.py
def test_the_navigation_leads_everywhere(hub, plain):
    """From one place to the next: it is on each of them."""
    plain.goto(f"/s/{hub.space}/")
    places = plain.get_by_role("navigation", name="Main").get_by_role("link")
    names = [name.strip() for name in places.all_inner_texts()]
    assert len(names) >= 10
    for number, name in enumerate(names):
        assert places.nth(number).inner_text().strip() == name, plain.url
        places.nth(number).click()
        expect(plain.get_by_role("heading", level=1)).to_be_visible()


def test_on_a_phone_the_menu_opens_and_leads_on(hub, plain):
    plain.set_viewport_size(PHONE)
    plain.goto(f"/s/{hub.space}/")
    menu = plain.get_by_role("navigation", name="Main")
    expect(menu).not_to_be_visible()
    plain.locator("[popovertarget=nav]").click()
    menu.get_by_role("link", name="Activity").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text("Activity")


def test_a_space_is_renamed_and_the_theme_turned_by_plain_forms(hub, plain):
    plain.goto(f"/s/{hub.space}/settings/")
    name = plain.locator("form[action$='/settings/rename/'] [name=name]")
    before = name.input_value()
    name.fill("Ledgerline and sons")
    name.press("Enter")
    expect(plain.get_by_role("navigation", name="Main").locator("summary")).to_have_text("Ledgerline and sons")
    name.fill(before)
    name.press("Enter")
    plain.get_by_role("button", name="Light or dark").click()
    expect(plain.locator("html")).to_have_attribute("data-theme", "dark")
