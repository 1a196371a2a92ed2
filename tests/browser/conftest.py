"""Browser tests: Playwright on the system's Chromium, against the hub that pytest-django serves from this process.

`page` is a fresh browser window, `space` an empty space named Ledgerline, `sign_in_as("reviewer")` signs `page` in as
a member of it. A test fails when a page it saw broke the content security policy or threw in a script.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import chromium
from tests.browser import hub as hubs
from tests.browser.windows import PATIENCE, Windows, listen
from tests.running import copied

# Playwright's event loop runs in the thread of the tests, where Django would refuse to touch the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
expect.set_options(timeout=PATIENCE)


# Of the package, not the session: tests of other rooms on the same worker want the thread's event loop to themselves.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        yield browser
        browser.close()
        # Django keeps connections of code inside an event loop apart; nobody else would close these.
        connections.close_all()


@pytest.fixture(scope="module")
def hub(started_once: Path) -> Iterator[hubs.Hub]:
    """A hub of its own with the demo in it; what tests of one file do to it meets the later ones of that file."""
    with copied(started_once) as data_dir, hubs.in_a_process(data_dir) as running:
        yield running


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the browser says about the pages of this test; at its end there must be nothing."""
    heard: list[str] = []
    yield heard
    assert heard == []


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture
def new_page(windows: Windows, live_server: Any, complaints: list[str]) -> Iterator[Callable[..., Page]]:
    """Another window: `new_page(viewport=PHONE, color_scheme="dark", java_script_enabled=False)`. With `own=True` no later test
    gets it: for those that leave in it what nobody takes back, as scripts, listeners, a clock, a device."""
    closing = contextlib.ExitStack()

    def open_window(*, own: bool = False, **options: Any) -> Page:
        options = {"base_url": live_server.url, "viewport": WIDE, "reduced_motion": "reduce", **options}
        window = windows.open(**options) if own else windows.take(**options)
        closing.callback(window.context.close) if own else closing.callback(windows.give_back, window, **options)
        closing.callback(listen(window, complaints))
        return window

    with closing:
        yield open_window


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()


@pytest.fixture
def space(transactional_db: None) -> Any:
    from memoryhub.domain import spaces
    from memoryhub.models import HUB

    return spaces.create(HUB, "ledger", "Ledgerline")


@pytest.fixture
def member(space: Any) -> Callable[[str], Any]:
    """The person who is `role` in `space`, made when first asked for; their name is their role."""

    def find(role: str) -> Any:
        from memoryhub.domain import accounts, spaces
        from memoryhub.models import HUB

        found = spaces.members(space).filter(role=role).first()
        if found:
            return found.person
        person = accounts.create_person(HUB, role)
        spaces.add_member(space, HUB, person, role)
        return person

    return find


def use_link(window: Page, secret: str) -> None:
    """Opens a one-time link and clicks its button."""
    window.goto(f"/login/once/{secret}/")
    with window.expect_navigation():
        window.locator("main form button").click()


@pytest.fixture
def sign_in_as(
    request: pytest.FixtureRequest, live_server: Any, space: Any, member: Callable[[str], Any]
) -> Callable[..., Page]:
    """Signs a window in (by default `page`) and leads it to the space, or to an address in it; gives the window."""

    def sign_in(role: str, window: Page | None = None, at: str = "") -> Page:
        window = window or request.getfixturevalue("page")
        window.context.add_cookies(
            [{"name": name, "value": value, "url": live_server.url} for name, value in signed_in(member(role))]
        )
        window.goto(at or space.get_absolute_url())
        return window

    return sign_in


def signed_in(person: Any) -> list[tuple[str, str]]:
    """The cookie of somebody who has signed in. What a browser does with a one-time link is clicked through in test_sign_in.py."""
    client = Client()
    client.force_login(person)
    return [(name, cookie.value) for name, cookie in client.cookies.items()]
