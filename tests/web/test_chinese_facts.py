"""Facts of pages in Chinese: units, commas and where a text came from have no English left in them."""

import re
from types import SimpleNamespace

import pytest
from django.utils import timezone
from django.utils.translation import override

from memoryhub.domain import files, prompts
from memoryhub.models import HUB, Delivery, DialectTemplate
from memoryhub.templatetags.agents import fetched_words
from memoryhub.templatetags.prompts import stretch_note
from tests.one_line import one_line

pytestmark = pytest.mark.django_db
CHINESE = {"Accept-Language": "zh-CN"}


@pytest.fixture
def page(house, as_role):
    client = as_role("owner")
    return lambda path: one_line(client.get(f"/s/books/{path}", headers=CHINESE))


def test_details_of_a_file_and_tokens_of_a_list(house, page):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, "/memories/notes.md", b"one\n")
    assert "1 行，</span>" in page("files/memories/notes.md")
    assert '<span data-unit="词元">1</span>' in page("files/memories/")


@pytest.mark.parametrize(("thread", "says"), [("t-7", "刚刚，t-7获取"), ("", "刚刚获取")])
def test_when_and_on_which_thread_a_prompt_was_fetched(thread, says):
    with override("zh-hans"):
        words = str(fetched_words(Delivery(thread_id=thread, last_at=timezone.now())))
    assert re.sub("<[^>]*>", "", words) == says


def test_where_a_template_came_from(house):
    part, forge = SimpleNamespace(kind="template", count=0), prompts.create_agent(house.space, HUB, "forge")
    template = DialectTemplate(version="0.7.32", came_from="installed library")
    with override("zh-hans"):
        assert stretch_note(part, forge, template) == "属于 deepagents 0.7.32，来自 已安装的库"
