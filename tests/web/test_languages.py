"""The language of pages: the account's, else the browser's cookie, else what the browser asks for, else the hub's."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone, translation

from memoryhub import languages, settings
from memoryhub.domain import accounts, files, longterm, prompts, proposals
from memoryhub.management import terminal
from memoryhub.models import HUB, ActivityLine, RecordState
from memoryhub.stores.survey import Group, Survey
from memoryhub.templatetags.activity import ending
from memoryhub.templatetags.files import listed_left_out
from memoryhub.templatetags.findings import without_kind
from memoryhub.templatetags.hidden_characters import drawn_html
from memoryhub.templatetags.layers import record_state_words
from memoryhub.text import catalogue, markdown

CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}


def language_of(response) -> str:
    return re.search(r'<html lang="([^"]*)"', response.content.decode())[1]


@pytest.mark.django_db
def test_the_sign_in_page_is_in_the_language_of_the_browser():
    page = Client().get("/login/", headers=CHINESE)
    assert language_of(page) == "zh-hans"
    assert "语言" in page.content.decode()
    assert {"Accept-Language", "Cookie"} <= set(re.split(r",\s*", page["Vary"]))
    assert language_of(Client().get("/login/")) == "en"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("zh", "zh-hans"),
        ("zh-TW", "zh-hans"),
        ("de, zh;q=0.5", "zh-hans"),
        ("en-GB, zh", "en"),
        ("de", "en"),
        ("*", "en"),
        ("\x00;;", "en"),
    ],
)
def test_of_what_a_browser_asks_for_the_first_that_the_hub_has(asked, shown):
    assert language_of(Client().get("/login/", headers={"Accept-Language": asked})) == shown


@pytest.mark.django_db
def test_a_hub_has_a_language_for_who_asks_for_none(settings):
    settings.HUB_LANGUAGE = "zh-hans"
    assert language_of(Client().get("/login/")) == "zh-hans"
    assert language_of(Client().get("/login/", headers={"Accept-Language": "en"})) == "en"


@pytest.mark.django_db
def test_a_stranger_chooses_on_the_sign_in_page():
    browser = Client()
    answer = browser.post("/account/language/", {"language": "zh-hans", "next": "/login/?next=/s/x/"})
    assert answer["Location"] == "/login/?next=/s/x/"
    assert language_of(browser.get("/login/")) == "zh-hans"
    browser.post("/account/language/", {"language": ""})
    assert language_of(browser.get("/login/")) == "en"
    assert browser.post("/account/language/", {"language": "xx"}).status_code == 422


def test_the_account_decides_wherever_it_signs_in(as_role, house):
    as_role("viewer").post("/account/language/", {"language": "zh-hans"})
    elsewhere = as_role("viewer")
    assert language_of(elsewhere.get("/s/books/", headers={"Accept-Language": "en"})) == "zh-hans"
    elsewhere.post("/account/language/", {"language": "en"})
    assert language_of(elsewhere.get("/s/books/", headers=CHINESE)) == "en"
    elsewhere.post("/account/language/", {"language": ""})
    assert language_of(elsewhere.get("/s/books/", headers=CHINESE)) == "zh-hans"


def test_refusals_and_parts_are_in_the_language_too(as_role, house):
    page = as_role("viewer").get("/s/books/nothing-here/", headers=CHINESE)
    assert (page.status_code, language_of(page)) == (404, "zh-hans")


@pytest.mark.django_db
def test_no_request_leaves_its_language_behind():
    Client().get("/login/", headers=CHINESE)
    assert translation.get_language() == "en"


def test_programs_get_english(as_role, house):
    as_role("viewer").post("/account/language/", {"language": "zh-hans"})
    secret = accounts.create_token(house.space, house.viewer, person=house.viewer.person)[1]
    answer = Client().get("/api/v1/files/none.md", headers={"Authorization": f"Bearer {secret}", **CHINESE})
    assert answer.json()["error"]["message"].isascii()
    assert "Accept-Language" not in answer.get("Vary", "")
    assert "Accept-Language" not in Client().get("/healthz", headers=CHINESE).get("Vary", "")


def test_a_page_asks_for_no_statement_more(as_role, house, statements):
    browser = as_role("viewer")
    browser.get("/s/books/activity/")
    with statements() as english:
        browser.get("/s/books/activity/")
    with statements() as chinese:
        browser.get("/s/books/activity/", headers=CHINESE)
    assert len(chinese) == len(english)


# ---- without a request ----


@pytest.mark.parametrize(
    ("given", "spoken"),
    [
        ({}, "en"), ({"LANG": "C.UTF-8"}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh-hans"), ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_SG"}, "zh-hans"), ({"MEMORYHUB_LANGUAGE": "en", "LANG": "zh_CN"}, "en"),
        ({"LANG": "de_DE"}, "en"),
    ],
)  # fmt: skip
def test_commands_speak_the_language_of_the_terminal(given, spoken):
    assert terminal.language(given) == spoken


@pytest.mark.parametrize(
    ("given", "kept"), [("en", "en"), ("zh-hans", "zh-hans"), ("zh_CN.UTF-8", "zh-hans"), ("en-GB", "en")]
)
def test_the_setting_takes_what_terminals_say(given, kept):
    assert settings.language(given) == kept


def test_the_setting_refuses_what_the_hub_has_not():
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_LANGUAGE is 'tlh'; allowed is one of: en, zh-hans"):
        settings.language("tlh")


@pytest.mark.django_db
def test_mail_is_in_the_language_of_its_receiver(settings):
    person = accounts.create_person(HUB, "rk")
    settings.HUB_LANGUAGE = "zh-hans"
    assert languages.of_person(person) == "zh-hans"
    accounts.set_language(person, "en")
    assert languages.of_person(person) == "en"


# ---- sentences that exist already ----


@pytest.fixture
def sentences(monkeypatch):
    """A small catalogue in place of the whole one."""
    known = {
        "There is no person '%(username)s'.": "没有名为“%(username)s”的人员。", "There is no person.": "没有人员。",
        "%(count)s of %(total)s, 5 %% left.": "%(total)s 中的 %(count)s，剩余 5%%。", "Look again.": "请重新查看。",
        "The path “%(path)s” %(reason)s.": "路径“%(path)s”%(reason)s。", "has a backslash": "含有反斜杠",
        "%(names)s and %(n)d more": "%(names)s 等另外 %(n)d 个", "A budget of 10%%": "预算的 10%%",
    }  # fmt: skip
    small = catalogue.Catalogue(known)
    monkeypatch.setattr(catalogue, "load", lambda _: small)
    with translation.override("zh-hans"):
        yield


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("There is no person.", "没有人员。"),
        ("There is no person 'rk'.", "没有名为“rk”的人员。"),
        ("There is no person 'r\nk 100% (a+)'.", "没有名为“r\nk 100% (a+)”的人员。"),
        ("3 of 4, 5 % left.", "4 中的 3，剩余 5%。"),
        ("There is no person 'rk'. Look again.", "没有名为“rk”的人员。请重新查看。"),
        ("The path “a b” has a backslash.", "路径“a b”含有反斜杠。"),
        ("What an agent wrote.", "What an agent wrote."),
        ("There is no person 'rk'. What an agent wrote.", "There is no person 'rk'. What an agent wrote."),
        ("a.md and 3 more", "a.md 等另外 3 个"),
        ("%(n)d and 100%% more", "%(n)d 等另外 100%% 个"),
        ("A budget of 10%", "预算的 10%"),
        ("", ""),
    ],
)
def test_a_sentence_is_found_by_its_pattern(sentences, english, chinese):
    assert languages.translated(english) == chinese


@pytest.mark.parametrize(
    ("adds", "shown"),
    [("; the gate admitted it", "；入口过滤放行了它"), ("; what an agent wrote", "；what an agent wrote")],
)
def test_what_a_line_of_activity_adds_follows_in_the_language(adds, shown):
    with translation.override("zh-hans"):
        assert ending(ActivityLine(adds=adds)) == shown
    assert ending(ActivityLine(adds=adds)) == adds


def test_a_reason_that_the_page_offers_is_translated():
    with translation.override("zh-hans"):
        assert record_state_words(RecordState(actor_kind="person", actor_name="rk", reason="Injection")).endswith(
            "注入"
        )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Hidden: zero-width space. Readers do not see this, models do.", "零宽空格。读者看不见，模型能看见。"),
        ("Needs attention: it sends money to an account.", "它向某个账户转账。"),
        ("Injection: it asks the model to hide something from people.", "它要求模型向人隐瞒某事。"),
        ("Transient: “until: Friday” will pass, memory stays. Working memory forgets by itself after 24 hours.",
         "“until: Friday”会过去，而记忆会留下。工作记忆会在 24 小时后自动遗忘。"),
    ],
)  # fmt: skip
def test_a_finding_without_its_kind_is_translated(message, shown):
    with translation.override("zh-hans"):
        assert without_kind(message) == shown
    assert without_kind(message)[1:] == message.partition(": ")[2][1:]


def test_what_a_mount_leaves_out_is_translated():
    found = Survey(
        groups=[Group(".git", "", "version_control", True, 31), Group("other files", "", "no_document", False, 2)]
    )
    assert listed_left_out(found) == ".git 31, other files 2"
    with translation.override("zh-hans"):
        assert listed_left_out(found) == ".git 31, 其他文件 2"


@pytest.mark.parametrize("words", ["Two things", "Asked by support", "3 files", "Approved by rk"])
def test_the_words_of_people_and_agents_stay_as_they_wrote_them(house, as_role, words):
    path = "/memories/AGENTS.md"
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, house.owner, path, b"one\n", reason=words)
    forge = prompts.create_agent(house.space, HUB, "forge")
    proposals.propose(house.space, forge, kind="write", path=path, content=b"two\n", reason=words)
    client = as_role("owner")
    for page in ("files/memories/", f"files{path}?view=history", f"files{path}?view=blame", f"files{path}?view=diff",
                 f"files{path}", "proposals/", "proposals/1/"):  # fmt: skip
        assert words in client.get(f"/s/books/{page}", headers=CHINESE).content.decode(), page


@pytest.mark.parametrize("words", ["The export writes amounts in cents.", "It must be answered within 7 days."])
def test_no_words_of_an_entry_a_comment_or_a_reason_are_taken_for_those_of_the_hub(house, as_role, words):
    """They read like lines that the hub writes of itself, “forge writes a.md” for one."""
    path = "/memories/AGENTS.md"
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    forge = prompts.create_agent(house.space, HUB, "forge")
    longterm.store(house.space, house.owner, words)
    for number in (1, 2):
        proposals.propose(house.space, forge, kind="write", path=path, content=b"%d\n" % number, reason="x")
    proposals.comment(house.space, house.owner, 1, words)
    proposals.reject(house.space, house.owner, 1, note=words)
    proposals.reject(house.space, house.owner, 2, note="transient")
    client = as_role("owner")
    for page, times in (("activity/", 2), ("proposals/1/", 3)):
        shown = client.get(f"/s/books/{page}", headers=CHINESE).content.decode()
        assert shown.count(words) >= times, page
    assert "transient" not in client.get("/s/books/proposals/2/", headers=CHINESE).content.decode()


@pytest.mark.parametrize(
    ("reason", "kind", "shown"),
    [
        ("Restored revision 3", "person", "恢复了修订版本 3"),
        ("Found on disk", "disk", "在磁盘上发现"),
        ("Found on disk", "agent", "Found on disk"),
        ("Undone: proposal 4", "person", "已撤销：提案 4"),
        ("Moved from home", "person", "Moved from home"),
    ],
)
def test_reasons_of_the_hub_are_translated(reason, kind, shown):
    with translation.override("zh-hans"):
        assert languages.shown_reason(reason, kind) == shown
    assert languages.shown_reason(reason, kind) == reason


def test_english_stays_as_it_is():
    assert languages.translated("There is no person 'rk'.") == "There is no person 'rk'."


def test_markdown_is_rendered_once_for_readers_of_every_language():
    html = markdown.render("Text <!-- kept short --> here.").html
    assert "Comment, people only: " in drawn_html(html)
    with translation.override("zh-hans"):
        assert "注释，仅人员可见" in drawn_html(html) and "people only" not in drawn_html(html)
    assert "Comment, people only: " in drawn_html(html)


@pytest.mark.parametrize("words", ["of ", "by ", "Only ", "words ", "in ", "x today "])
def test_words_of_an_agent_that_look_like_a_sentence_in_a_sentence(words):
    """As deep as they go the page would break, and a line of them would take seconds."""
    began = time.process_time()
    said = catalogue.load("zh_Hans").translated((words * 1000)[:1990] + "end")
    assert "end" in said and time.process_time() - began < 2


def test_what_one_thread_speaks_is_not_heard_in_another():
    with translation.override("zh-hans"), timezone.override("Asia/Tokyo"), ThreadPoolExecutor(1) as other:
        heard = other.submit(lambda: (translation.get_language(), timezone.get_current_timezone_name())).result()
    assert heard == ("en", "UTC")
