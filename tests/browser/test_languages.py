"""Somebody whose browser asks for Chinese: from the sign-in page to an approval, without a word of English on the way."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from memoryhub.domain import accounts, files, prompts, proposals
from memoryhub.models import HUB
from tests.browser.conftest import use_link

PATH = "/memories/AGENTS.md"
TEXT = "# 规则\n\n- 用 `pytest -q` 运行测试。\n"
# Words of the interface that stand on each of these pages in English.
ENGLISH = re.compile(
    r"\b(Overview|Activity|Settings|Approve|Reject|Save|Edit|Quarantine|Proposals|Sign in|Search|Cancel)\b"
)


@pytest.fixture
def forge(space):
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.write(space, HUB, PATH, TEXT.encode())
    prompts.add_source(space, HUB, PATH)
    return prompts.create_agent(space, HUB, "forge")


def is_chinese(page: Page) -> None:
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    assert not (left := ENGLISH.findall(page.locator("body").inner_text())), f"{page.url}: {left}"


@pytest.mark.django_db(transaction=True)
def test_the_sign_in_page_speaks_chinese_before_anybody_signs_in(new_page):
    page = new_page(locale="zh-CN")
    page.goto("/login/")
    is_chinese(page)
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_role("button", name="简体中文").click()
    is_chinese(page)


def test_a_chinese_account_edits_a_file_and_approves(new_page, space, member, forge):
    person = member("reviewer")
    accounts.set_language(person, "zh-hans")
    edit = {"old_string": "pytest -q", "new_string": "make test"}
    proposals.propose(space, forge, kind="edit", path=PATH, change=edit, reason="更快")
    page = new_page(locale="en-GB")  # the account counts, not the browser
    use_link(page, accounts.make_sign_in_link(HUB, person, leads_to=space.get_absolute_url()))
    is_chinese(page)

    page.goto(f"/s/{space.slug}/files{PATH}?view=edit")
    is_chinese(page)
    page.locator("textarea").first.fill(TEXT + "- 一行新规则。\n")
    page.locator("main form button.main-act").first.click()
    page.wait_for_url(f"**/s/{space.slug}/files{PATH}*")
    is_chinese(page)
    assert "一行新规则" in files.read(space, PATH).content.decode()

    page.goto(f"/s/{space.slug}/proposals/1/")
    is_chinese(page)
    page.get_by_role("button", name=re.compile("^批准")).first.click()
    page.wait_for_url(f"**/s/{space.slug}/proposals/**")
    is_chinese(page)
    assert "make test" in files.read(space, PATH).content.decode()


def test_the_language_of_the_account_is_chosen_on_its_page(sign_in_as):
    page = sign_in_as("viewer", at="/account/")
    page.get_by_label("Language of pages and mails").select_option("zh-hans")
    page.get_by_role("region", name="Language").get_by_role("button", name="Save").click()
    is_chinese(page)
