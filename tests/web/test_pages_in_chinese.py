"""No page shows in English what the catalogue has in Chinese: sentences of the domain, too, which are made long before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.test import Client

from memoryhub.domain import accounts, demo, spaces
from memoryhub.models import HUB, Space
from memoryhub.text.catalogue import Catalogue
from tests import walking
from tests.messages import catalogue
from tests.messages.bare import LITERAL, READ_OUT
from tests.messages.prose import prose
from tests.web.test_links import get_with

pytestmark = pytest.mark.django_db
# Texts of the demo, and what people typed or chose, that happen to read like a sentence of the hub.
DATA = {"forge", "counter", "Ledgerline", "owner"}


class Words(HTMLParser):
    """The texts of a page that are read, without what stands in code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LITERAL or tag == "textarea":
            self.inside.append(tag)
        self.found += [value for name, value in attrs if value and (name in READ_OUT or name.startswith("data-say"))]

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.found.append(" ".join(data.split()))


def english_left(html: str, known: Catalogue) -> Iterator[str]:
    for text in Words(html).found:
        if prose(text) and not re.search(r"[\u4e00-\u9fff]", text) and text not in DATA and known.sentence(text):
            yield text


@pytest.fixture(scope="module")
def known() -> Catalogue:
    """Every sentence that is not the same in Chinese."""
    texts = {one.id: one.string for one in catalogue.read("zh_Hans") if isinstance(one.id, str) and one.id}
    found = Catalogue({msgid: "…" for msgid, text in texts.items() if text and text != msgid})
    found.patterns = [one for one in found.patterns if one.letters > 14]  # shorter ones fit what agents wrote
    return found


def pages(client: Client, space: Space) -> list[walking.Found]:
    found = walking.walk(get_with(client), [space.get_absolute_url(), "/?all", "/account/"], each=1)
    return [page for page in found if page.answer.kind == "text/html" and page.answer.status == 200]


def test_pages_of_the_demo_are_chinese(known):
    space = demo.make()
    person = accounts.create_person(HUB, "wei", is_hub_owner=True)
    accounts.set_language(person, "zh-hans")
    spaces.add_member(space, HUB, person, "owner")
    client = Client()
    client.force_login(person)
    left = [(page.path, text) for page in pages(client, space) for text in english_left(page.answer.text, known)]
    assert not left, "\n".join(f"{path}: {text}" for path, text in sorted(set(left)))
