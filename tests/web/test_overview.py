"""The overview: what it says of a full space, an empty one, and how it renews itself."""

import importlib
import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone, translation
from django.utils.formats import date_format

from memoryhub.domain import activity, prompts, spaces
from memoryhub.domain.activity import counts_of_space, counts_of_waiting
from memoryhub.models import (
    HUB,
    Delivery,
    File,
    Mount,
    Proposal,
    Record,
    RecordState,
    Revision,
    Source,
    Webhook,
    WebhookNotice,
    WorkingEntry,
)
from tests.one_line import one_line

search_module = importlib.import_module("memoryhub.domain.retrieval.search")


@pytest.fixture
def full(house):
    space, now = house.space, timezone.now()
    forge = prompts.create_agent(space, HUB, "forge")
    file = File.objects.create(space=space, path="/memories/AGENTS.md", revision=1)
    Revision.objects.create(
        space=space, file=file, number=1, path=file.path, sha256="", actor_kind="disk", actor_name="disk"
    )
    Source.objects.create(space=space, path="/memories/gone.md")
    Mount.objects.create(space=space, prefix="/away/", problem="The directory is not there")
    for url, tries in (("https://a.example", 3), ("https://b.example", 0)):
        hook = Webhook.objects.create(space=space, url=url)
        WebhookNotice.objects.create(space=space, webhook=hook, event="proposal.created", tries=tries)
    Proposal.objects.create(
        space=space, number=1, kind="edit", path="/memories/AGENTS.md", same_as="x", agent=forge, agent_name="forge", risk=2,
        reason="rk asked twice", findings=[{"code": "hidden", "severity": "high"}],
    )  # fmt: skip
    with transaction.atomic():
        record = Record.objects.create(
            space_id=space.pk,
            agent_name="forge",
            session_id="s",
            node_id="n",
            node_kind="agent",
            content="x",
            sha256="y",
        )
        RecordState.objects.create(
            space_id=space.pk, record_id=record.pk, state="held", reason="injection", actor_kind="hub", actor_name="hub"
        )
    WorkingEntry.objects.create(
        space_id=space.pk, content="The gateway answers 503", expires_at=now + timedelta(minutes=12)
    )
    Delivery.objects.create(space_id=space.pk, agent_id=forge.pk, thread_id="t-1190", sha256="z", count=4)
    return house


def test_it_says_what_flowed_what_waits_and_what_leaves(as_role, full):
    page = one_line(as_role("reviewer").get("/s/books/"))
    for said in ("1 revision today", "1 held, 0 admitted", "forge edits AGENTS.md", "hidden",
                 "1 record held in quarantine", "1 injection", "1 source is missing", "is left out of prompts",
                 "1 mounted directory cannot be read",
                 "The gateway answers 503", "thread served today", "1 new text", "fetched", "t-1190", "Review 1 proposal"):  # fmt: skip
        assert said in page, said
    assert "(1) Books" in page and "webhook" not in page
    assert "1 webhook does not answer" in one_line(as_role("owner").get("/s/books/"))
    with transaction.atomic():
        activity.record(full.space, HUB, "files.create", "created", "/memories/new.md")
        for _ in range(9):
            activity.record(full.space, HUB, "quarantine.log", "logged", "an answer")
    page = one_line(as_role("reviewer").get("/s/books/"))
    assert "/memories/new.md" in page and "an answer" not in page, "what agents log pushes out no change"
    log = one_line(as_role("reviewer").get("/s/books/activity/?who=forge&until=2026-01-31"))
    assert 'value="forge" checked' in log and 'name="until" value="2026-01-31"' in log


def test_it_renews_itself_and_sends_nothing_when_nothing_changed(as_role, full):
    viewer = as_role("viewer")
    address = re.search(r'hx-get="([^"]+)"', one_line(viewer.get("/s/books/"))).group(1)
    assert viewer.get(address, headers={"HX-Request": "true"}).status_code == 204
    prompts.create_agent(full.space, HUB, "counter")
    renewed = viewer.get(address, headers={"HX-Request": "true"})
    assert renewed.status_code == 200
    assert one_line(renewed).lstrip().startswith('<div class="stack" id="live"')


@pytest.mark.parametrize("rows", [1, 3])
def test_it_costs_the_same_queries_for_any_number_of_rows(as_role, full, rows, statements):
    for number in range(rows):
        prompts.create_agent(full.space, HUB, f"agent {number}")
        WorkingEntry.objects.create(
            space_id=full.space.pk, content="x", expires_at=timezone.now() + timedelta(minutes=9)
        )
    client = as_role("viewer")
    client.get("/s/books/")
    with statements() as sent:
        client.get("/s/books/")
    assert len(sent) == QUERIES


QUERIES = 16  # the last: what agents are called


@pytest.mark.parametrize(("language", "form"), [("en", "l j F"), ("zh-hans", "n月j日 l")])
def test_it_begins_with_the_day(as_role, full, language, form):
    page = one_line(as_role("viewer").get("/s/books/", headers={"Accept-Language": language}))
    with translation.override(language):
        day = date_format(timezone.localdate(), form)
    assert f"{day}. " in page or f"{day}。" in page


def test_another_space_does_not_shine_through(as_role, full):
    other = spaces.create(HUB, "other")
    spaces.add_member(other, HUB, full.viewer.person, "viewer")
    assert "gateway" not in as_role("viewer").get("/s/other/").content.decode()


def test_times_stand_in_the_zone_of_the_readers_browser(as_role, full):
    viewer = as_role("viewer")
    viewer.cookies["memoryhub_zone"] = "Asia%2FTokyo"
    assert "JST" in viewer.get("/s/books/activity/").content.decode()
    for wrong in ("../../etc/passwd", "Nowhere/Land", "", "\x00"):
        viewer.cookies["memoryhub_zone"] = wrong
        assert "UTC" in viewer.get("/s/books/activity/").content.decode()


def test_a_long_log_is_searched_further_back(as_role, house, monkeypatch):
    from memoryhub.domain import activity
    from memoryhub.domain.activity import log

    viewer = as_role("viewer")
    monkeypatch.setattr(log, "MAX_SEARCHED", 5)
    monkeypatch.setattr(search_module, "MAX_LINES", 5)
    with transaction.atomic():
        for n in range(20):
            activity.record(house.space, house.owner, "files.sync", "changed", f"needle {n}" if n == 2 else "hay")
    page = viewer.get("/s/books/activity/?q=needle").content.decode()
    links = 0
    while "needle 2" not in page:
        assert "No matches so far" in page
        page = viewer.get(
            re.search(r'href="([^"]+)"\s*>\s*Search further back', page)[1].replace("&amp;", "&")
        ).content.decode()
        links += 1
    assert links == 3 and "These are all since" in page
    hits = viewer.get("/s/books/search/?q=needle").content.decode()
    assert 'href="/s/books/activity/?q=needle">Search older activity' in hits
    assert "further back" not in viewer.get("/s/books/search/?q=needle&layer=files").content.decode()


def test_the_agents_that_called_last_come_first(as_role, full):
    for number in range(8):
        prompts.create_agent(full.space, HUB, f"aa-{number}")
    late = prompts.create_agent(full.space, HUB, "zz-late")
    type(late).objects.filter(pk=late.pk).update(seen_at=timezone.now())
    shown = [row.agent.slug for row in prompts.agents_called_last(full.space, 3)]
    assert shown == ["zz-late", "aa-0", "aa-1"]


def test_a_large_memory_is_not_counted_to_the_end(as_role, full):
    """Else the number beside its name costs more with each entry; what is beyond the limit is a plus."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memoryhub_longtermentry (space_id, number, content, scope, revision, state, session_id, reason, metadata, "
            "checked_by, actor_kind, actor_name, created_at, modified_at) SELECT %s, n, 'x', 'group', 1, 'active', '', '', '{}', '', "
            "'hub', 'hub', now(), now() FROM generate_series(1, 10003) n",
            [full.space.pk],
        )
    assert counts_of_space(full.space).longterm == 10_000
    assert activity.figures(full.space).promoted == 10_000
    assert "10,000+" in one_line(as_role("reviewer").get("/s/books/"))


def test_the_numbers_of_the_navigation_are_those_of_the_overview(full):
    all_of_it, waiting = counts_of_space(full.space), counts_of_waiting(full.space)
    assert waiting == (all_of_it.held, all_of_it.proposals)


@pytest.mark.parametrize("name", ["q", "who", "kind"])
def test_filters_of_the_log_are_read_without_nul(as_role, name):
    viewer = as_role("viewer")
    assert viewer.get("/s/books/activity/", {name: "a\x00"}).status_code == 200
    assert viewer.get("/s/books/activity/export.csv", {name: "a\x00"}).getvalue().startswith(b"id,at,")
