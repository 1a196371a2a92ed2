"""Windows of a browser that tests take and give back: another page in one takes a third of what a new window does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Error, Page

PATIENCE = 30_000  # ms; a machine that others use as well is slow, not broken
# A refusal that a test provokes (422, 409, …) is told by the browser like this; it is no fault of the page.
EXPECTED = ("Failed to load resource", "Response Status Error Code")
# Between two tests the page is emptied where it stands, which ends its listeners and requests: to load another one there would
# take half of what a page takes, and about:blank, as every other site, a new process at the next page.
EMPTY = "() => { history.replaceState(null, '', '/static/img/mark.svg'); document.open(); document.close(); }"


class Windows:
    """Each with a context of its own, which holds one window; its size and colours are set for who takes it."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.free: dict[str, list[Page]] = defaultdict(list)  # by their options

    def take(self, **options: Any) -> Page:
        """One that was given back by another test with these options, else a new one."""
        free = self.free[kind_of(options)]
        return dressed(free.pop(), options) if free else self.open(**options)

    def open(self, **options: Any) -> Page:
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    def give_back(self, window: Page, **options: Any) -> None:
        """Closed, where what the test left in it cannot be taken back."""
        try:
            empty(window, options["base_url"])
        except Error:
            window.context.close()
        else:
            self.free[kind_of(options)].append(window)


def kind_of(options: dict[str, Any]) -> str:
    return repr(sorted((name, value) for name, value in options.items() if name not in ("viewport", "color_scheme")))


def dressed(window: Page, options: dict[str, Any]) -> Page:
    """As large and as light as these options say."""
    window.set_viewport_size(options["viewport"])
    window.emulate_media(
        media="null", color_scheme=options.get("color_scheme", "light"), reduced_motion=options["reduced_motion"]
    )
    return window


def empty(window: Page, origin: str) -> None:
    """Shows nothing and remembers nobody."""
    context = window.context
    for other in context.pages:
        if other != window:
            other.close()
    window.evaluate(EMPTY)
    window.mouse.move(0, 0)
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(window)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"})
    session.detach()


def listen(window: Page, complaints: list[str]) -> Callable[[], None]:
    """Notes what the browser says about the pages of this window, until the function that comes out is called."""

    def said(message: Any) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(EXPECTED):
            complaints.append(f"{window.url}: {message.text}")

    def failed(error: Any) -> None:
        complaints.append(f"{window.url}: {error}")

    def stop() -> None:
        window.remove_listener("console", said)
        window.remove_listener("pageerror", failed)

    window.on("console", said)
    window.on("pageerror", failed)
    return stop
