"""One primary action a page: what is folded away, or waits in a dialog or a menu, does not count."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from memoryhub.domain import demo
from memoryhub.models import Space
from tests import walking
from tests.web.test_links import pages_of, signed_in

pytestmark = pytest.mark.django_db
ALWAYS_EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@pytest.fixture
def busy() -> Space:
    return demo.make()


class Primary(HTMLParser):
    """The primary actions that are shown when a page opens, by their words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.folded: list[str] = []  # the elements around, from the outermost that is not shown on
        self.is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ALWAYS_EMPTY:
            return
        is_away = tag in ("dialog", "noscript") or "popover" in given or "hidden" in given
        if self.folded or is_away or (tag == "details" and "open" not in given):
            self.folded.append(tag)
        elif "main-act" in (given.get("class") or "").split():
            self.found.append("")
            self.is_inside = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Shapes of drawings hold nothing."""

    def handle_endtag(self, tag: str) -> None:
        if tag in self.folded:
            while self.folded.pop() != tag:
                pass
        if tag in ("button", "a"):
            self.is_inside = False

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.found[-1] += data.strip()


@pytest.mark.parametrize("role", ["owner", "reviewer"])
def test_a_page_has_one_primary_action(busy, role):
    faults: dict[str, str] = {}
    for page in pages_of(signed_in(busy, role), busy):
        found = Primary(page.answer.text).found
        if len(found) > 1:
            faults.setdefault(walking.kind_of(page.path), f"{page.path}: {found}")
    assert not faults, "\n".join(faults.values())
