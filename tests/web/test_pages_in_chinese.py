"""No page shows in English what the catalogue has in Chinese: sentences of the domain, too, which are made long before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import translation

from memoryhub.domain import accounts, demo, retrieval, spaces
from memoryhub.models import HUB, Space
from memoryhub.templatetags.activity import ending
from memoryhub.templatetags.search import hit_title, hit_words
from memoryhub.text.catalogue import Catalogue
from tests import walking
from tests.messages import catalogue
from tests.messages.bare import LITERAL, READ_OUT
from tests.messages.prose import prose
from tests.owners import create_hub_owner
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


def english_left(html: str, translated_sentences: Catalogue) -> Iterator[str]:
    for text in Words(html).found:
        if (
            prose(text)
            and not re.search(r"[\u4e00-\u9fff]", text)
            and text not in DATA
            and translated_sentences.sentence(text)
        ):
            yield text


@pytest.fixture(scope="module")
def translated_sentences() -> Catalogue:
    """Every sentence that is not the same in Chinese."""
    texts = {one.id: one.string for one in catalogue.read("zh_Hans") if isinstance(one.id, str) and one.id}
    found = Catalogue({msgid: "…" for msgid, text in texts.items() if text and text != msgid})
    found.patterns = [one for one in found.patterns if one.letters > 14]  # shorter ones fit what agents wrote
    return found


def pages(client: Client, space: Space) -> list[walking.Found]:
    found = walking.walk(get_with(client), [space.get_absolute_url(), "/?all", "/account/"], each=1)
    return [page for page in found if page.answer.kind == "text/html" and page.answer.status == 200]


@pytest.mark.parametrize(
    ("adds", "shown"),
    [
        ("; the gate held it: injection", "；入口过滤暂存了它：注入"), (": “Injection”", "：“注入”"),
        (": “spoken by nobody”", "：“spoken by nobody”"), ("in the hub, policy review", " 在 hub 中，策略：审阅"),
        ("(review for every agent)", " （审阅，适用于所有智能体）"), ("(asked by forge)", " （由 forge 提出）"),
        (": Reviewers for each proposal: 2, Gate: set", "：每个提案的审阅者数：2、入口过滤：已设置"),
    ],
)  # fmt: skip
def test_what_follows_the_thing_of_a_line_is_chinese(adds, shown):
    whole = adds if adds[0] in ":;" else f" {adds}"
    with translation.override("zh-hans"):
        assert ending(SimpleNamespace(adds=adds, ending=whole)) == shown


@pytest.mark.parametrize(
    ("layer", "title", "author", "shown"),
    [
        ("activity", "wei deleted", "wei", "wei 已删除"), ("working", "An entry", "forge", "条目"),
        ("proposals", "#4 /memories/a, b.md, pending", "forge", "#4 /memories/a, b.md，待决定"),
        ("proposals", "#4 a promotion, approved", "forge", "#4 一次晋升，已批准"),
        ("activity", "disk deleted", "disk", "磁盘 已删除"),
        ("quarantine", "agent in t-1", "forge", "t-1 中的智能体"), ("files", "/memories/deleted", "", "/memories/deleted"),
    ],
)  # fmt: skip
def test_titles_of_hits_are_chinese(layer, title, author, shown):
    hit = retrieval.Hit(layer, "1", title, "url", "text", author=author)
    assert hit_title(hit) == title
    with translation.override("zh-hans"):
        assert hit_title(hit) == shown


@pytest.mark.parametrize(
    ("text", "adds", "shown"),
    [
        ("scout: the base prompt, the persona", ": the base prompt, the persona", "scout：基础<mark>提示</mark>词、人设"),
        ("/memories/a.md in proposal 4", " in proposal 4", "/memories/a.md （提案 4）"),
        ("181 files below /memories/", "", "/memories/ 下的 181 个文件"), ("reviewer as owner", " as owner", "reviewer 为所有者"),
    ],
)  # fmt: skip
def test_lines_of_activity_that_are_found_are_chinese(text, adds, shown):
    hit = retrieval.Hit("activity", "1", "wei changed", "url", text, author="wei", adds=adds)
    assert hit_words(hit, "提示") == text
    with translation.override("zh-hans"):
        assert hit_words(hit, "提示") == shown


def test_pages_of_the_demo_are_chinese(translated_sentences):
    space = demo.make()
    person = create_hub_owner("wei")
    accounts.set_language(person, "zh-hans")
    spaces.add_member(space, HUB, person, "owner")
    client = Client()
    client.force_login(person)
    left = [
        (page.path, text)
        for page in pages(client, space)
        for text in english_left(page.answer.text, translated_sentences)
    ]
    assert not left, "\n".join(f"{path}: {text}" for path, text in sorted(set(left)))
