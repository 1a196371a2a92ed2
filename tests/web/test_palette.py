"""The palette: what it offers for what is typed, to whom, and how much it asks the database."""

import re
import time
from html import unescape

import pytest
from django.db import connection

from memoryhub.domain import files, longterm, prompts, proposals, spaces
from memoryhub.models import HUB, Actor
from tests.outputs import admit

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    for path in ("docs/gateway-errors.md", "web/tailgate.md", "AGENTS.md", "g_a.md"):
        files.write(house.space, house.owner, f"/memories/{path}", b"One.\n", reason="made")
    return house.space


@pytest.fixture
def forge(space):
    return prompts.create_agent(space, HUB, "Forge of gates")


@pytest.fixture
def pending(space, forge):
    request = files.ChangeRequest("write", "/memories/pay.md", content=b"x\n", reason="Payment gateway: retry once")
    return proposals.submit(space, Actor.of_agent(forge), request).proposal


def rows(client, q, language="en", **more):
    """Each row as (kind, name and note, address), and the one that Enter opens."""
    answer = client.get("/s/books/palette/", {"q": q, "part": "1", **more}, HTTP_ACCEPT_LANGUAGE=language)
    assert answer.status_code == 200
    found, chosen = [], None
    for whole, inner in re.findall(r'(<a\s[^>]*role="option"[^>]*>)(.*?)</a>', answer.content.decode(), re.DOTALL):
        parts = [
            " ".join(unescape(re.sub(r"<[^>]+>", "", part)).split()) for part in inner.split('<span class="what">')
        ]
        row = (parts[1], parts[0], unescape(re.search(r'href="([^"]*)"', whole)[1]))
        found.append(row)
        if 'aria-selected="true"' in whole:
            chosen = row
    return found, chosen


def test_it_finds_files_agents_proposals_entries_pages_and_actions(as_role, space, forge, pending):
    admit(space, "The payment gateway answers slowly today.")
    longterm.store(space, HUB, "Gateway sandbox is reset every Sunday.")
    found, chosen = rows(as_role("owner"), "gate")
    kinds = [kind for kind, _, _ in found]
    assert kinds == ["File", "File", "Agent", "Proposal", "Long-term", "Working", "Page", "Action", "Action", "Search"]
    names = [name for _, name, _ in found]
    assert names[0] == "gateway-errors.md /memories/docs" and names[1] == "tailgate.md /memories/web"
    assert f"Approve proposal {pending.number}… Payment gateway: retry once" in names
    assert "New file “gate.md” in /memories" in names
    assert found[-1][2] == "/s/books/search/?q=gate"
    assert chosen == found[0]


@pytest.mark.parametrize("typed", ["invoices", "/invoices", "/memories/invoices.md", "invoices.md", "/recall/invoices"])
def test_a_new_file_is_offered_where_it_can_be_written(as_role, space, typed):
    files.add_mount(space, HUB, "/a/", store="views")
    client = as_role("owner")
    found, _ = rows(client, typed)
    (option,) = [row for row in found if row[1].startswith("New file")]
    assert client.get(option[2], follow=True).status_code == 200, option


def test_no_new_file_is_offered_where_nothing_is_mounted(as_role, space):
    for mount in files.mounts_of_space(space):
        files.remove_mount(space, HUB, mount)
    assert not [row for row in rows(as_role("owner"), "invoices")[0] if row[1].startswith("New file")]


def test_no_new_file_is_offered_at_the_path_of_a_file(as_role, space):
    files.write(space, HUB, "/memories/invoices.md", b"x\n")
    for typed in ("invoices", "/memories/invoices.md"):
        assert not [row for row in rows(as_role("owner"), typed)[0] if row[1].startswith("New file")]


@pytest.mark.parametrize("words", ["refund policy of last year", "what is slow today", "退款需要多久"])
def test_enter_on_plain_words_searches(as_role, space, words):
    admit(space, "What is slow today: the refund policy of last year.")
    found, chosen = rows(as_role("viewer"), words)
    assert chosen == found[-1] and chosen[0] == "Search"


def test_copies_of_one_text_are_one_row(as_role, space):
    for session in ("a", "b"):
        admit(space, "The gateway answers slowly today.", metadata={"from": session})
    longterm.store(space, HUB, "The gateway answers slowly today!")
    memory = [row for row in rows(as_role("viewer"), "slowly")[0] if row[0] in ("Working", "Long-term")]
    assert [name for _, name, _ in memory] == ["The gateway answers slowly today! L-1, 3 copies"]


def test_nobody_is_offered_what_they_may_not_do(as_role, space, pending):
    viewer = rows(as_role("viewer"), "")[0] + rows(as_role("viewer"), "approve")[0] + rows(as_role("viewer"), "new")[0]
    names = " ".join(name for _, name, _ in viewer)
    assert "Approve" not in names and "New " not in names and "Members" not in names and "Erasure" not in names
    owner = " ".join(name for _, name, _ in rows(as_role("owner"), "")[0])
    assert "Members" in owner and "New file" in owner
    for role in ("viewer", "editor", "reviewer", "owner"):
        client = as_role(role)
        for _, name, url in rows(client, "")[0] + rows(client, ">")[0]:
            assert client.get(url, follow=True).status_code == 200, (role, name, url)


def test_approve_by_number_leads_to_the_decision(as_role, house, space, pending):
    for typed in (f"approve {pending.number}", f"approve #{pending.number}", f">approve {pending.number}"):
        _, chosen = rows(as_role("reviewer"), typed)
        assert chosen[0] == "Action" and chosen[2] == f"/s/books/proposals/{pending.number}/#decide"
    proposals.reject(space, house.reviewer, pending.number, note="no")
    assert rows(as_role("reviewer"), f"approve {pending.number}")[1][0] == "Proposal"
    assert rows(as_role("editor"), f"approve {pending.number}")[1][0] == "Proposal"
    found, chosen = rows(as_role("reviewer"), "approve 999")
    assert chosen[0] == "Search" and not [one for one in found if one[0] == "Action"]


def test_the_first_sign_narrows(as_role, space, forge, pending):
    owner = as_role("owner")
    assert {kind for kind, _, _ in rows(owner, "@")[0]} == {"Agent"}
    assert {kind for kind, _, _ in rows(owner, "#")[0]} == {"Proposal"}
    assert {kind for kind, _, _ in rows(owner, "#gate")[0]} == {"Proposal", "Search"}
    assert {kind for kind, _, _ in rows(owner, ">")[0]} == {"Action"}


def test_other_spaces_are_switched_to_by_their_members_alone(as_role, house, space):
    other = spaces.create(HUB, "shop", "Bakery shop")
    spaces.create(HUB, "secret", "Bakery secrets")
    spaces.add_member(other, HUB, house.viewer.person, "viewer")
    for typed in ("switch", "switch space", "bakery"):
        found = [row for row in rows(as_role("viewer"), typed)[0] if row[0] == "Space"]
        assert found == [("Space", "Switch to Bakery shop shop", "/s/shop/")]
        assert not [row for row in rows(as_role("editor"), typed)[0] if row[0] == "Space"]


def test_recent_ones_come_first_as_far_as_they_are_there(as_role, space, forge, pending):
    other = spaces.create(HUB, "shop", "Shop")
    files.add_mount(other, HUB, "/memories/", store="database")
    files.write(other, HUB, "/memories/theirs.md", b"x", reason="made")
    lately = [
        "/s/books/files/memories/docs/gateway-errors.md", f"/s/books/proposals/{pending.number}/", "/s/books/agents/forge-of-gates/",
        "/s/books/files/memories/gone.md", "/s/shop/files/memories/theirs.md", "/s/books/longterm/999999999999999999999/",
        "/nowhere", "/s/books/../shop/files/memories/theirs.md",
    ]  # fmt: skip
    found, chosen = rows(as_role("viewer"), "", recent=lately)
    assert [kind for kind, _, _ in found[:3]] == ["File", "Proposal", "Agent"]
    assert chosen == found[0] and not [name for _, name, _ in found if "theirs" in name or "gone" in name]
    found, chosen = rows(as_role("viewer"), "gate", recent=lately)
    assert [name for _, name, _ in found].count("gateway-errors.md /memories/docs") == 1
    assert chosen == found[0] and found[0][0] == "File"


@pytest.mark.parametrize(
    "typed", ["%", "_", "\\", "'", "\x00", "(", "[", "#99999999999999999999", "a" * 3000, "<b>", ">", "\u202e"]
)
def test_odd_input_is_only_text(as_role, space, typed):
    page = as_role("owner").get("/s/books/palette/", {"q": typed}).content.decode()
    assert "<b>" not in page and "<dialog" in page


def test_letters_in_order_find_a_path_and_signs_mean_themselves(space):
    assert files.find_paths(space, "tlgt") == ["/memories/web/tailgate.md"]
    assert files.find_paths(space, "docs gate") == ["/memories/docs/gateway-errors.md"]
    assert files.find_paths(space, "g_a") == ["/memories/g_a.md"]
    assert files.find_paths(space, "") == files.find_paths(space, "%") == []


def test_it_is_quick_among_ten_thousand_files(as_role, space, forge, pending, statements):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memoryhub_file (space_id, path, thread_id, revision, is_deleted, size, sha256, author_kind, author_name,"
            " created_at, modified_at, used_at, written_sha256, problem) SELECT %s, '/memories/docs/' || n || '/note-' || n * 7 || '.md',"
            " '', 1, false, 1, '', '', '', now(), now(), now(), '', '' FROM generate_series(1, 10000) n",
            [space.pk],
        )
    client = as_role("owner")
    rows(client, "note")
    for typed in ("note-77", "nt77", "zzz", "gate"):
        with statements() as sent:
            started = time.perf_counter()
            rows(client, typed)
            seconds = time.perf_counter() - started
        assert len(sent) <= 22 and seconds < 2


def test_the_state_of_a_proposal_is_in_the_language_of_the_page(as_role, pending):
    found, _ = rows(as_role("owner"), "payment", language="zh-CN")
    (name,) = [name for kind, name, _ in found if kind == "提案"]
    assert name.endswith("待处理") and "pending" not in name
