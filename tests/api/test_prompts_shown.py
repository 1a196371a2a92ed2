"""What every page says of an agent's prompt is what its calls get: dialect, thread, base prompt, query and task included."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memoryhub.domain import accounts, files, longterm, prompts, proposals, spaces
from memoryhub.domain.activity import metrics
from memoryhub.domain.prompts import agents_behind, deliveries, framework_templates
from memoryhub.models import HUB, Actor, Agent, Delivery, DialectTemplate, PromptText, Space
from tests.api.calling import Caller
from tests.one_line import one_line
from tests.outputs import admit

pytestmark = pytest.mark.django_db
PATH, NOTES = "/memories/AGENTS.md", "/thread/notes.md"
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def desk(client, tmp_path):
    """A space with a file on disk and one per thread, an agent of dialect `auto`, and an owner who looks."""
    space = spaces.create(HUB, "main")
    (tmp_path / "AGENTS.md").write_text("- one <!-- for people -->\n")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    prompts.add_source(space, HUB, PATH)
    framework_templates.import_installed_template()
    rk = accounts.create_person(HUB, "rk")
    spaces.add_member(space, HUB, rk, "owner")
    scout = prompts.create_agent(space, HUB, "scout", system_prompt="You look.")
    browser = Client()
    browser.force_login(rk)
    return SimpleNamespace(
        space=space, scout=scout, folder=tmp_path, rk=Actor.of_person(rk, "owner"), browser=browser,
        call=Caller(client, accounts.create_token(space, HUB, agent=scout)[1]),
        look=Caller(client, accounts.create_token(space, HUB, person=rk)[1]),
    )  # fmt: skip


def get(desk, **asked) -> bytes:
    answer = desk.call("POST", "prompt", asked, Accept="text/plain")
    assert answer.status_code == 200, answer.content
    return answer.content


def shown(desk, page: str = "") -> str:
    return one_line(desk.browser.get(f"/s/main/{page or 'prompt/scout/'}"))


def raw(desk) -> bytes:
    return desk.browser.get("/s/main/prompt/scout/raw/").content


def printed(*more: str) -> bytes:
    out = StringIO()
    call_command("prompt", "--agent", "scout", *more, stdout=out)
    return out.getvalue().encode()


def row(desk) -> agents_behind.AgentRow:
    return prompts.agent_row(Space.objects.get(pk=desk.space.pk), Agent.objects.get(pk=desk.scout.pk))


# Which dialect


def test_before_the_first_call_it_is_shown_as_hub_and_pages_say_so(desk):
    for page in ("prompt/scout/", "agents/", "agents/scout/"):
        assert "no call yet; shown as hub" in shown(desk, page), page
    assert raw(desk) == printed() == get(desk)
    assert "no call yet" not in shown(desk)


CALLS = {
    "none named": {},
    "auto": {"dialect": "auto"},
    "the library": {"dialect": "deepagents/0.7.1"},
    "on a thread": {"dialect": "deepagents/0.7.1", "thread": "t-1"},
    "memory first": {"dialect": "deepagents/0.3.5", "system_prompt": "Mine."},
    "its own base": {"dialect": "plain", "system_prompt": "Mine — ü."},
    "no base": {"dialect": "deepagents", "system_prompt": ""},
    "query and task": {"query": "the gateway", "task": "Say why."},
    "all of it": {
        "dialect": "hub",
        "thread": "t-2",
        "query": "the gateway",
        "task": "Say\nwhy.",
        "system_prompt": "Mine.",
    },
    "synaptic": {"dialect": "synaptic/0.2", "thread": "t-3"},
}


@pytest.mark.parametrize("asked", CALLS.values(), ids=CALLS)
def test_the_page_shows_what_the_last_call_got(desk, asked):
    admit(desk.space, "The gateway is slow today.")
    longterm.store(desk.space, HUB, "The gateway needs a minute.")
    got = get(desk, **asked)
    assert raw(desk) == got
    assert "same as delivered" in shown(desk)
    assert row(desk).is_current
    (desk.folder / "AGENTS.md").write_text("- two\n")
    assert "differs from its last delivery" in shown(desk) and "same as delivered" not in shown(desk)
    assert (row(desk).behind, row(desk).is_current) == (1, False)
    assert get(desk, **asked) == raw(desk) != got
    assert row(desk).is_current


def test_a_call_that_names_none_gets_the_same_whatever_was_asked_before(desk):
    plain = get(desk)
    assert get(desk, dialect="deepagents/0.7.1") != plain
    assert get(desk) == get(desk, dialect="auto") == plain == raw(desk)


def test_what_the_client_reported_counts_for_calls_that_name_none(desk):
    text = framework_templates.chosen_template(desk.space.pk, "deepagents/0.6.3").text
    desk.call("POST", "templates", {"library": "deepagents", "version": "0.7.1", "text": text})
    assert "no call yet; shown as deepagents/0.7.1, which its client reported" in shown(desk)
    assert raw(desk) == printed() == get(desk) == get(desk, dialect="deepagents/0.7.1") == raw(desk)


def test_people_are_shown_what_an_auto_agent_asks_for(desk):
    got = get(desk, dialect="deepagents/0.7.1")
    assert printed() == got == desk.look("GET", "prompt?agent=scout", Accept="text/plain").content
    then = timezone.now()
    assert get(desk) != got
    assert printed("--at", then.isoformat()) == got
    assert printed("--dialect", "deepagents/0.7.1") == got


def test_two_dialects_in_turn_show_the_one_of_the_last_call(desk):
    first, second = {"dialect": "plain", "thread": "a"}, {"dialect": "deepagents/0.7.1", "thread": "b"}
    for asked in (first, second, first, second, first):
        assert get(desk, **asked) == raw(desk)
    assert [one.count for one in Delivery.objects.all()] == [1, 1]


def test_a_past_moment_that_an_agent_asks_for_is_no_present_call(desk):
    then = timezone.now()
    got = get(desk, dialect="plain")
    (desk.folder / "AGENTS.md").write_text("- two\n")
    get(desk, dialect="hub", at=then.isoformat())
    assert Agent.objects.get().asked_dialect == "plain"
    assert raw(desk) != got and "plain" in shown(desk, "agents/")


# A fixed dialect


def test_a_fixed_dialect_that_differs_is_said_in_red_and_one_button_mends_it(desk):
    prompts.change_agent(desk.scout, HUB, dialect="hub")
    got = get(desk, dialect="deepagents/0.7.1")
    desk.call("POST", "edits", {"path": PATH, "old_string": "- one", "new_string": "- two"})
    pages = ("prompt/scout/", "agents/scout/", "proposals/1/")
    for page in pages:
        assert "scout is set to hub but asks for deepagents/0.7.1." in shown(desk, page), page
    assert "set to hub" in shown(desk, "agents/")
    assert raw(desk) == got
    answer = desk.browser.post("/s/main/agents/scout/auto/", {"next": "/s/main/proposals/1/"})
    assert (answer.status_code, answer["Location"]) == (303, "/s/main/proposals/1/")
    assert (
        desk.browser.post("/s/main/agents/scout/auto/", {"next": "//elsewhere/"})["Location"] == "/s/main/agents/scout/"
    )
    for page in (*pages, "agents/"):
        assert "set to hub" not in shown(desk, page), page
    assert raw(desk) == printed() == got


def test_a_fixed_dialect_that_makes_the_same_bytes_is_no_fault(desk):
    prompts.change_agent(desk.scout, HUB, dialect="deepagents")
    get(desk, dialect="deepagents/0.7.1")
    assert "is set to" not in shown(desk)
    prompts.change_agent(desk.scout, HUB, dialect="deepagents/0.3.4")
    get(desk, dialect="deepagents/0.3.8")
    assert "is set to deepagents/0.3.4 but asks for deepagents/0.3.8" in shown(desk)


# Reviewing


@pytest.mark.parametrize("asked", CALLS.values(), ids=CALLS)
def test_the_review_shows_the_effect_on_what_the_agent_fetches(desk, asked):
    got = get(desk, **asked)
    number = proposals.propose(
        desk.space, desk.scout, kind="edit", path=PATH, change={"old_string": "one", "new_string": "uno"}
    ).number
    waiting = proposals.get(desk.space, number)
    (change,) = proposals.review(waiting).changes
    assert (change.before.data, change.is_same) == (got, False)
    assert proposals.plan(desk.space, [number], desk.rk).changes[0].after.data == change.after.data
    proposals.approve(desk.space, desk.rk, number, seen=proposals.result(waiting).seen)
    assert get(desk, **asked) == change.after.data == raw(desk)


# Up to date


OTHER = "Rules:\n{agent_memory}\n"
LATER = {
    "file": lambda desk: files.write(desk.space, HUB, PATH, b"- two\n"),
    "disk": lambda desk: (desk.folder / "AGENTS.md").write_text("- three\n"),
    "source": lambda desk: prompts.add_source(desk.space, HUB, PATH),
    "base prompt": lambda desk: prompts.change_agent(desk.scout, HUB, system_prompt="You see."),
    "memory off": lambda desk: prompts.change_agent(desk.scout, HUB, memory_is_on=False),
    "template": lambda desk: prompts.change_agent(desk.scout, HUB, template=OTHER),
}


@pytest.mark.parametrize("thread", ["", "t-1"], ids=["no thread", "thread"])
@pytest.mark.parametrize("change", LATER.values(), ids=LATER)
def test_up_to_date_means_the_same_bytes_now(desk, django_capture_on_commit_callbacks, change, thread):
    asked = {"dialect": "deepagents/0.7.1", "thread": thread}
    get(desk, **asked)
    assert says(desk) == (True, 0, True)
    with django_capture_on_commit_callbacks(execute=True):
        change(desk)
    assert says(desk) == (False, 1, False)
    get(desk, **asked)
    assert says(desk) == (True, 0, True)


def says(desk) -> tuple[bool, int, bool]:
    """Whether all pages say that the agent is up to date, how many threads metrics say are not, and what the API says."""
    pages = [shown(desk), shown(desk, "agents/"), shown(desk, "agents/scout/"), shown(desk, "")]
    said = [">up to date" in one or "same as delivered" in one for one in pages]
    assert len(set(said)) == 1, said
    line = next(
        one for one in metrics.prometheus_text().decode().splitlines() if one.startswith("memoryhub_threads_behind{")
    )
    (item,) = json.loads(desk.look("GET", "agents").content)["items"]
    assert item["threads_behind"] == row(desk).behind
    return said[0], int(float(line.split()[-1])), item["up_to_date"]


def test_a_change_that_does_not_reach_the_bytes_leaves_it_up_to_date(desk):
    get(desk, dialect="deepagents/0.7.1", thread="t-1")
    files.write(desk.space, HUB, PATH, b"- one <!-- for other people -->\n")
    prompts.change_agent(desk.scout, HUB, persona="Calm.")
    assert says(desk) == (True, 0, True)


def test_only_the_threads_that_would_get_other_bytes_count(desk):
    get(desk, thread="old")
    files.write(desk.space, HUB, PATH, b"- two\n")
    get(desk, thread="new")
    assert {one.thread_id: one.behind is not None for one in prompts.threads_of(desk.space, desk.scout)} == {
        "new": False, "old": True,
    }  # fmt: skip
    assert "1 thread on older memory" in shown(desk, "agents/")


def test_short_term_files_are_those_of_the_thread(desk):
    files.add_mount(desk.space, HUB, "/thread/", store="thread")
    prompts.add_source(desk.space, HUB, NOTES)
    for thread in ("a", "b"):
        files.write(desk.space, HUB, NOTES, thread.encode(), thread_id=thread)
        got = get(desk, dialect="plain", thread=thread)
        assert raw(desk) == got and got.endswith(thread.encode())
    files.write(desk.space, HUB, NOTES, b"changed", thread_id="a")
    assert [one.thread_id for one in prompts.threads_of(desk.space, desk.scout) if one.behind] == ["a"]


def test_retrieved_memory_that_changed_makes_it_old(desk):
    get(desk, query="the gateway")
    get(desk, query="the bank", thread="t")
    admit(desk.space, "The gateway is slow today.")
    assert row(desk).behind == 2  # working memory is shown whatever the query is
    get(desk, query="the gateway")
    assert row(desk).behind == 1


def test_a_past_moment_is_never_old(desk):
    then = timezone.now()
    get(desk, at=then.isoformat(), thread="looks back")
    files.write(desk.space, HUB, PATH, b"- two\n")
    assert row(desk).behind == 0


def test_a_delivery_of_an_older_version_is_old_only_where_a_file_is(desk):
    get(desk, query="the gateway", task="Say why.")
    Delivery.objects.update(asked={})
    assert (row(desk).behind, row(desk).is_current) == (0, False)
    assert "not compared" in shown(desk, "agents/")
    files.write(desk.space, HUB, PATH, b"- two\n")
    assert row(desk).behind == 1


# Verified


@pytest.mark.parametrize(
    ("dialect", "template", "verified"),
    [("deepagents/0.7.1", "published", True), ("deepagents/0.7.1", "own", False), ("deepagents/0.7.1", "none", False),
     ("deepagents/0.7.1", "wheel", False), ("deepagents/99.1.0", "published", False), ("hub", "none", True)],
)  # fmt: skip
def test_verified_means_a_published_template(desk, dialect, template, verified):
    if template == "own":
        prompts.change_agent(desk.scout, HUB, template=OTHER)
    elif template != "published":
        DialectTemplate.objects.all().delete()
    if template == "wheel":  # by an owner: it is used, and no published text
        framework_templates.keep_template(desk.space.pk, HUB, "0.7.9", OTHER, "wheel x")
    spaces.mark_setup(desk.space)
    told = json.loads(desk.call("POST", "prompt", {"dialect": dialect}, Accept="application/json").content)
    assert told["verified"] is verified
    assert ("unverified" in shown(desk)) is not verified
    (item,) = json.loads(desk.call("GET", "agents").content)["items"]
    assert (item["verified"], item["shown_as"]) == (verified, dialect)


# What is stored


def test_a_secret_in_a_call_is_not_stored_and_the_call_is_compared_all_the_same(desk):
    asked = {"dialect": "hub", "query": f"why {KEY}", "task": f"use {KEY}", "system_prompt": f"Key {KEY}."}
    assert KEY.encode() in get(desk, **asked)
    stored = [json.dumps(one.asked) for one in Delivery.objects.all()] + [
        bytes(one.text).decode() for one in PromptText.objects.all()
    ]
    assert stored and not any(KEY in one for one in stored)
    assert row(desk).is_current
    files.write(desk.space, HUB, PATH, b"- two\n")
    assert row(desk).behind == 1


def test_what_is_stored_of_a_call_is_small(desk):
    asked = {"query": "why " * 4000, "task": "so " * 6000, "system_prompt": "x" * 300_000, "thread": "t" * 200}
    get(desk, **asked)
    kept = Delivery.objects.get()
    assert len(json.dumps(kept.asked)) < 3_000
    assert not row(desk).is_current and row(desk).behind == 0  # the query was too long to be kept
    assert "not compared" in shown(desk)


def test_many_different_calls_are_compared_up_to_a_limit(desk):
    for number in range(agents_behind.MAX_REQUESTS + 5):
        get(desk, task=f"Count to {number}.", thread=f"t-{number}")
    for _ in "first", "again":  # what is remembered makes no difference
        thread_statuses = prompts.thread_statuses(Space.objects.get(pk=desk.space.pk), [desk.scout])
        assert [one.is_current for one in thread_statuses] == [True] * agents_behind.MAX_REQUESTS + [False] * 5
        assert not any(one.is_behind for one in thread_statuses)


def test_a_list_says_of_alike_threads_what_each_of_them_says(desk):
    for number in range(30):
        get(desk, dialect=("plain", "hub")[number % 2], thread=f"t-{number:02}")
    get(desk, dialect="plain", thread="t-00")  # the last call is of an old thread
    files.write(desk.space, HUB, PATH, b"- two\n")
    get(desk, dialect="hub", thread="t-29")
    space = Space.objects.get(pk=desk.space.pk)
    each = [one for one in prompts.thread_statuses(space, [desk.scout]) if one.is_behind]
    listed = row(desk)
    assert (
        (listed.behind, listed.is_current, listed.delivery.thread_id) == (len(each), True, "t-29") == (29, True, "t-29")
    )
    assert {one.thread_id for one in listed.behind_threads} == {one.delivery.thread_id for one in each}
    newest = prompts.threads_behind([listed])
    assert [one.thread_id for one in newest] == [one.delivery.thread_id for one in each]
    assert prompts.count_live_threads(space, [desk.scout]) == 30


def test_repeats_need_no_statement_more(desk, statements):
    get(desk, dialect="plain")
    with statements() as sent:
        get(desk, dialect="plain")
    assert len([sql for sql in sent if "delivery" in sql]) == 0


def test_a_last_call_of_long_ago_still_says_whether_it_is_old(desk):
    get(desk, dialect="plain")
    Delivery.objects.update(last_at=timezone.now() - timedelta(days=30))
    assert row(desk).is_current
    files.write(desk.space, HUB, PATH, b"- two\n")
    assert row(desk).behind == 1
    assert deliveries.expire_deliveries(desk.space) == 0


# Before it was made


def test_before_the_agent_was_made_it_got_no_prompt(desk):
    before = (desk.scout.created_at - timedelta(seconds=1)).isoformat()
    for answer in (
        desk.call("POST", "prompt", {"at": before}),
        desk.look("POST", "prompt", {"agent": "scout", "at": before}),
    ):
        error = json.loads(answer.content)["error"]
        assert (answer.status_code, error["code"]) == (404, "before_agent")
        assert "scout got no prompt then" in error["message"]
    page = desk.browser.get("/s/main/prompt/scout/", {"at": before})
    assert page.status_code == 200
    assert "scout got no prompt then" in page.content.decode() and "The exact text" not in page.content.decode()
    assert desk.browser.get("/s/main/prompt/scout/raw/", {"at": before}).status_code == 404
