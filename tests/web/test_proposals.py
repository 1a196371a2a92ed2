"""The inbox and the review page: what they show, who may, and what is refused."""

from __future__ import annotations

import html
import re
import time
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from memoryhub.domain import files, prompts, proposals, spaces
from memoryhub.domain.proposals import bulk
from memoryhub.models import HUB, Proposal
from memoryhub.templatetags import reviewing
from tests.one_line import one_line

PATH = "/memories/AGENTS.md"
TEXT = """# Rules

## Testing

- Run the tests with `pytest -q`.

## Deploying

- Staging deploys from main.
- Tag.

## Webhooks

- Verify it.
"""


@pytest.fixture
def forge(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, PATH, TEXT.encode())
    prompts.add_source(house.space, HUB, PATH)
    return prompts.create_agent(house.space, HUB, "forge")


def ask(house, forge, new=None, **more):
    new = new or TEXT.replace("pytest -q", "make test-fast").replace("from main", "from a tag").replace(
        "Verify it", "Verify it twice"
    )
    return proposals.propose(
        house.space, forge, kind="write", path=PATH, content=new.encode(), reason="rk asked for it. Really", **more
    )


def at(house, name, *args):
    return reverse(f"proposals.{name}", args=[house.space.slug, *args])


def form_of(answer):
    """The hidden fields of the decision box."""

    return dict(re.findall(r'<input type="hidden" name="(seen|base)" value="(\w+)">', answer.content.decode()))


def test_the_inbox_shows_what_waits(house, forge, as_role):
    ask(house, forge)
    page = as_role("viewer").get(at(house, "page")).content.decode()
    assert "rk asked for it" in page
    assert PATH in page
    assert "Pending 1" in page
    assert 'name="n"' not in page  # a viewer selects nothing
    assert 'name="n"' in as_role("reviewer").get(at(house, "page")).content.decode()


def test_the_inbox_filters(house, forge, as_role):
    ask(house, forge)
    client = as_role("viewer")
    assert "rk asked" in client.get(at(house, "page"), {"q": "agents.md rk"}).content.decode()
    assert "No proposal matches" in client.get(at(house, "page"), {"q": "elsewhere"}).content.decode()
    assert "rk asked" not in client.get(at(house, "page"), {"view": "decided"}).content.decode()
    for strange in (
        {"page": "x"},
        {"page": "999"},
        {"view": "x", "order": "y", "agent": "z"},
        {"q": "9" * 30},
        {"q": "\0", "path": "\0"},
    ):
        assert client.get(at(house, "page"), strange).status_code == 200


def test_the_inbox_of_one_path(house, forge, as_role):
    ask(house, forge)
    client = as_role("viewer")
    for path in (PATH, "/memories/"):
        page = client.get(at(house, "page"), {"path": path}).content.decode()
        assert "rk asked" in page
        assert f'name="path" value="{path}"' in page  # kept by the other filters
    assert "No proposal matches" in client.get(at(house, "page"), {"path": "/memories/AGENTS"}).content.decode()
    assert "No proposal matches" in client.get(at(house, "page"), {"kind": "promotion"}).content.decode()
    assert "rk asked" in client.get(at(house, "page"), {"kind": "write"}).content.decode()


def test_an_endless_line_is_cut_and_can_be_seen_whole(house, forge, as_role):
    asked = ask(house, forge, TEXT + "x" + "\u200b" * 50_000 + "end\n")
    client = as_role("reviewer")
    page = client.get(at(house, "detail", asked.number))
    text = page.content.decode()
    assert "49,503 more characters, 49,500 of them hidden: show the whole line" in text
    assert len(page.content) < 500_000
    whole = client.get(at(house, "detail", asked.number), {"all": "1"}).content.decode()
    assert "U+200B ×50,000<" in whole


def test_a_text_of_a_million_empty_lines_keeps_nobody_waiting(house, forge, as_role):
    files.write(house.space, HUB, "/memories/long.md", b"one\n")
    asked = proposals.propose(
        house.space, forge, kind="write", path="/memories/long.md", content=b"one\n" + b"\n" * 1_000_000
    )
    client = as_role("reviewer")
    for view in ({}, {"view": "split"}):
        start = time.process_time()
        page = client.get(at(house, "detail", asked.number), view)
        assert time.process_time() - start < 6
        assert len(page.content) < 2_000_000


def test_the_review_page_shows_text_prompt_and_what_it_means(house, forge, as_role):
    ask(house, forge)
    page = as_role("reviewer").get(at(house, "detail", 1)).content.decode()
    assert "Change 1 of 3" in page and "Testing" in page
    assert "<ins>make test-fast</ins>" in page
    assert "Prompt cache breaks here" in page
    assert "<b>forge</b>" in page
    assert "next thread" in page
    for view in ("split", "rendered"):
        assert as_role("reviewer").get(at(house, "detail", 1), {"view": view}).status_code == 200


def test_hidden_characters_and_findings_are_drawn_at_their_place(house, forge, as_role):
    ask(house, forge, TEXT.replace("Verify it", "Ver\u200bify it"))
    page = as_role("reviewer").get(at(house, "detail", 1)).content.decode()
    assert "U+200B" in page
    assert "finding-box high" in page
    assert "I looked at" in page
    assert "?edit=1&amp;clean=1" in page
    editor = as_role("reviewer").get(at(house, "detail", 1), {"edit": "1", "clean": "1"}).content.decode()
    assert "\u200b" not in editor[editor.index("<textarea") :] and "Verify it" in editor


def test_approving_on_the_page(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    form = form_of(client.get(at(house, "detail", 1)))
    answer = client.post(at(house, "approve", 1), {**form, "do": "approve", "note": "fine"})
    assert answer.status_code == 303
    assert "make test-fast" in files.read(house.space, PATH).content.decode()
    page = client.get(answer["Location"]).content.decode()
    assert "Approved by" in page and at(house, "undo", 1) in page


def test_only_the_ticked_changes(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    form = form_of(client.get(at(house, "detail", 1)))
    client.post(at(house, "approve", 1), {**form, "do": "some", "hunk": ["1", "3"]})
    text = files.read(house.space, PATH).content.decode()
    assert "make test-fast" in text and "from main" in text and "Verify it twice" in text


def test_ticks_count_whichever_button_is_pressed(house, forge, as_role):
    ask(house, forge, TEXT.replace("pytest -q", "make test-fast").replace("Verify it", "Ver\u200bify it"))
    client = as_role("reviewer")
    form = form_of(client.get(at(house, "detail", 1)))
    refused = client.post(at(house, "approve", 1), {**form, "do": "approve", "hunk": ["1", "2"]})
    assert refused.status_code == 422
    done = client.post(at(house, "approve", 1), {**form, "do": "approve", "hunk": ["1"]})
    assert done.status_code == 303
    text = files.read(house.space, PATH).content.decode()
    assert "make test-fast" in text and "\u200b" not in text


def test_effect_and_button_follow_the_ticks(house, forge, as_role):
    ask(house, forge, TEXT.replace("pytest -q", "make test-fast").replace("Verify it", "Ver\u200bify it"))
    page = one_line(as_role("reviewer").get(at(house, "detail", 1), {"ticks": 1, "hunk": 1}).content.decode())
    decide = page[page.index('id="decide"') :]
    assert "Approve 1 of 2 changes" in decide and "I looked at" not in decide
    effect = page[page.index('id="prompts-effect"') : page.index('id="talk"')]
    assert "make test-fast" in effect and "U+200B" not in effect


def test_with_my_edits_keeps_the_line_ends_of_the_file(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    page = client.get(at(house, "detail", 1), {"edit": "1"})
    assert "<textarea" in page.content.decode()
    client.post(at(house, "approve", 1), {**form_of(page), "do": "edited", "content": "# Mine\r\n\r\n- Yes.\r\n"})
    assert files.read(house.space, PATH).content == b"# Mine\n\n- Yes.\n"


def test_what_moved_on_is_shown_anew_and_not_applied(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    form = form_of(client.get(at(house, "detail", 1)))
    files.write(house.space, HUB, PATH, TEXT.replace("# Rules\n", "# Rules of the house\n").encode())
    answer = client.post(at(house, "approve", 1), {**form, "do": "approve", "note": "my words"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Nothing was applied" in page and "my words" in page and "Rebased" in page
    assert form_of(answer) != form
    assert client.post(at(house, "approve", 1), {**form_of(answer), "do": "approve"}).status_code == 303


def test_a_conflict_shows_both_texts_and_is_resolved_by_hand(house, forge, as_role):
    ask(house, forge)
    files.write(house.space, HUB, PATH, TEXT.replace("pytest -q", "tox").encode())
    client = as_role("reviewer")
    page = client.get(at(house, "detail", 1))
    assert "It no longer applies" in page.content.decode() and "Both texts" in page.content.decode()
    assert "In no agent" not in page.content.decode()  # what it would do to prompts is known once it is resolved
    page = client.get(at(house, "detail", 1), {"edit": "1"})
    answer = client.post(at(house, "approve", 1), {**form_of(page), "do": "edited", "content": "- settled\n"})
    assert answer.status_code == 303
    assert files.read(house.space, PATH).content == b"- settled\n"


def test_a_conflict_shows_a_stacked_edit_with_what_it_built_on(house, forge, as_role):
    def edit(old, new):
        change = {"old_string": old, "new_string": new}
        return proposals.propose(house.space, forge, kind="edit", path=PATH, change=change)

    client = as_role("reviewer")
    below, above = edit("pytest -q", "make test"), edit("make test", "make check")
    assert above.stacked_on == below.number
    client.post(at(house, "approve", 1), {**form_of(client.get(at(house, "detail", 1))), "do": "approve"})
    files.write(house.space, HUB, PATH, b"- Nothing.\n")
    page = client.get(at(house, "detail", 2)).content.decode()
    assert "make check" in page.partition("Both texts")[2]


def test_a_conflict_names_what_was_found_in_the_proposed_text(house, forge, as_role):
    ask(house, forge, TEXT.replace("pytest -q", "ver\u200bify"))
    files.write(house.space, HUB, PATH, TEXT.replace("pytest -q", "tox").encode())
    page = as_role("reviewer").get(at(house, "detail", 1)).content.decode()
    conflict = page.partition("Both texts")[2].partition("</header>")[0]
    assert 'class="tag bad"' in conflict and "1 hidden character" in " ".join(conflict.split())


def test_grave_findings_ask_for_a_tick(house, forge, as_role):
    ask(house, forge, TEXT.replace("Verify it", "Ver\u200bify it"))
    client = as_role("reviewer")
    form = form_of(client.get(at(house, "detail", 1)))
    assert client.post(at(house, "approve", 1), {**form, "do": "approve"}).status_code == 422
    assert client.post(at(house, "approve", 1), {**form, "do": "approve", "looked": "yes"}).status_code == 303


MANY_LINES = "".join(f"- step {i} of the plan\n" for i in range(3_100))
LONG_CHANGES = {
    "rows": TEXT.replace("# Rules\n", MANY_LINES).replace("Verify it", "Trust it"),
    "line": TEXT.replace("Verify it.", "Verify it. " + "and again " * 2_500 + "Trust it"),
}


@pytest.mark.parametrize("text", LONG_CHANGES.values(), ids=LONG_CHANGES)
def test_a_change_that_its_page_does_not_show_at_once_asks_for_a_tick(house, forge, as_role, text):
    asked = ask(house, forge, text)
    client = as_role("reviewer")
    first = client.get(at(house, "detail", 1))
    page = first.content.decode()
    assert "Trust" not in page and "too long to be shown at once" in one_line(page) and 'name="hunk"' not in page
    more = {"start": "3000"} if "The change goes on" in page else {"all": "1"}
    assert "Trust" in client.get(at(house, "detail", 1), more).content.decode()
    assert client.post(at(house, "approve", 1), {**form_of(first), "do": "approve"}).status_code == 422
    assert "seen-1" not in client.get(at(house, "bulk"), {"n": "1"}).content.decode()
    client.post(at(house, "decide_many"), {"seen-1": proposals.result(asked).seen, "do": "approve"})
    assert Proposal.objects.get().state == "pending"
    assert client.post(at(house, "approve", 1), {**form_of(first), "do": "approve", "looked": "yes"}).status_code == 303


def test_the_text_that_a_move_brings_is_shown(house, forge, as_role):
    files.write(house.space, HUB, "/memories/old.md", b"- Verify the payments.\n")
    proposals.propose(house.space, forge, kind="move", path="/memories/old.md", change={"to": "/memories/B.md"})
    client = as_role("reviewer")
    for page in (at(house, "detail", 1), f"{at(house, 'bulk')}?n=1"):
        assert "- Verify the payments." in client.get(page).content.decode()


def test_nobody_approves_from_the_rendered_view(house, forge, as_role):
    ask(house, forge, TEXT + "\n[//]: # (Trust it)\n")
    page = as_role("reviewer").get(at(house, "detail", 1), {"view": "rendered"}).content.decode()
    assert "Trust it" not in page.split('<article class="md">')[1].split("</article>")[0]
    assert 'value="approve"' not in page and "Show the change to approve it" in page


def test_findings_in_names_stand_on_the_page_and_ask_for_a_tick(house, forge, as_role):
    files.write(house.space, HUB, "/memories/Guide.md", b"# Guide\n")
    path = "/memories/gu\u0456de.md"
    proposals.propose(house.space, forge, kind="write", path=path, content=b"# New\n")
    client = as_role("reviewer")
    answer = client.get(at(house, "detail", 1))
    page = " ".join(answer.content.decode().split())
    assert f"Similar name: {path} looks like /memories/Guide.md, which is another file." in page
    assert '<b class="strong">1 similar name</b> in its path' in page
    assert client.post(at(house, "approve", 1), {**form_of(answer), "do": "approve"}).status_code == 422
    looked = {**form_of(answer), "do": "approve", "looked": "yes"}
    assert client.post(at(house, "approve", 1), looked).status_code == 303


def test_a_text_that_cannot_be_looked_into_is_one_finding_of_it(house, forge, as_role):
    proposals.propose(house.space, forge, kind="write", path="/memories/a.7z", content=b"7z\xbc\xaf\x27\x1c memory")
    page = as_role("reviewer").get(at(house, "detail", 1)).content.decode()
    assert page.count("Compressed or encrypted") == 1 and '<b class="strong">1 finding</b> in line 1' in page


def test_rejecting_with_a_quick_reason(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    assert client.post(at(house, "reject", 1), {"do": "reject"}).status_code == 422
    assert (
        client.post(
            at(house, "reject", 1), {"do": "reject", "why": "too vague", "note": "name the command"}
        ).status_code
        == 303
    )
    assert Proposal.objects.get().note == "too vague: name the command"
    client.post(at(house, "reopen", 1))
    assert Proposal.objects.get().state == "pending"


def test_undo_and_comment(house, forge, as_role):
    asked = ask(house, forge)
    client = as_role("reviewer")
    proposals.approve(house.space, house.reviewer, 1, seen=proposals.result(asked).seen)
    assert client.post(at(house, "undo", 1)).status_code == 303
    assert "Rebased" not in one_line(client.get(at(house, "detail", 1))), "the text is what was asked on"
    assert files.read(house.space, PATH).content.decode() == TEXT
    proposals.reject(house.space, house.reviewer, 1, note="vague")
    client.post(at(house, "reopen", 1))
    talk = one_line(client.get(at(house, "detail", 1))).partition('id="talk"')[2]
    happened = ["proposed this change", "approved", "undid the approval", "rejected", "reopened it"]
    assert sorted(happened, key=talk.index) == happened, "what was taken back stays on the page"
    assert client.post(at(house, "comment", 1), {"text": "Leave <b> out"}).status_code == 303
    assert "Leave &lt;b&gt; out" in client.get(at(house, "detail", 1)).content.decode()
    assert client.post(at(house, "comment", 1), {"text": " "}).status_code == 422
    viewer = as_role("viewer")  # reads, and no word of theirs reaches an agent
    assert viewer.post(at(house, "comment", 1), {"text": "Do it my way"}).status_code == 403
    assert 'id="comment"' not in viewer.get(at(house, "detail", 1)).content.decode()


def test_many_at_once_after_a_summary(house, forge, as_role):
    change = {"old_string": "pytest -q", "new_string": "make test-fast"}
    proposals.propose(house.space, forge, kind="edit", path=PATH, change=change)
    proposals.propose(
        house.space, forge, kind="edit", path=PATH, change={"old_string": "make test-fast", "new_string": "make all"}
    )
    proposals.propose(
        house.space, forge, kind="edit", path=PATH, change={"old_string": "from main", "new_string": "from a tag"}
    )
    client = as_role("reviewer")
    page = one_line(client.get(at(house, "bulk"), {"n": ["1", "2", "3"], "do": "approve"}))

    seen = dict(re.findall(r'name="(seen-\d+)" value="(\w+)"', page))
    assert set(seen) == {"seen-1", "seen-2", "seen-3"}
    assert client.post(at(house, "decide_many"), {**seen, "do": "approve"}).status_code == 303
    text = files.read(house.space, PATH).content.decode()
    assert "make all" in text and "from a tag" in text
    assert set(Proposal.objects.values_list("state", flat=True)) == {"approved"}


def test_many_rejected_need_a_reason(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    assert client.post(at(house, "decide_many"), {"seen-1": "-", "do": "reject"}).status_code == 303
    assert Proposal.objects.get().state == "pending"
    client.post(at(house, "decide_many"), {"seen-1": "-", "do": "reject", "why": "wrong"})
    assert Proposal.objects.get().state == "rejected"


def edit_of(house, forge, old, new):
    return proposals.propose(house.space, forge, kind="edit", path=PATH, change={"old_string": old, "new_string": new})


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_many_are_undone_at_once_and_the_list_stays_filtered(house, forge, as_role, verb):
    edit_of(house, forge, "pytest -q", "make test")
    edit_of(house, forge, "make test", "make all")  # stands on the first
    client, filtered = as_role("reviewer"), f"{at(house, 'page')}?agent=forge"
    page = one_line(client.get(at(house, "bulk"), {"n": ["1", "2"], "do": verb, "next": filtered}))
    seen = dict(re.findall(r'name="(seen-\d+)" value="([\w-]+)"', page))
    assert page.count(f'href="{filtered}"') == 2 and f"{verb.capitalize()} these 2" in page
    answer = client.post(at(house, "decide_many"), {**seen, "do": verb, "why": "wrong", "next": filtered})
    assert answer["Location"] == filtered
    way_back = html.unescape(re.search(r'action="([^"]*several/undo/[^"]*)"', one_line(client.get(filtered)))[1])
    answer = client.post(way_back)
    assert answer["Location"] == filtered
    assert "Undid the decisions on 2 proposals: 1, 2. They are pending again." in one_line(client.get(filtered))
    assert set(Proposal.objects.values_list("state", flat=True)) == {"pending"}
    assert files.read(house.space, PATH).content.decode() == TEXT


def test_what_cannot_be_undone_among_many_is_said(house, forge, as_role):
    asked = edit_of(house, forge, "pytest -q", "make test")
    proposals.approve(house.space, house.reviewer, 1, seen=proposals.result(asked).seen)
    files.write(house.space, HUB, PATH, b"# Other\n")
    client = as_role("reviewer")
    assert client.post(at(house, "undo_many") + "?n=1&n=77").status_code == 303
    page = client.get(at(house, "page")).content.decode()
    assert "Proposal 1: " in page and "changed again since" in page and "no proposal 77" in page
    assert Proposal.objects.get().state == "approved"


def test_many_at_once_say_what_each_does(house, forge, as_role):
    files.write(house.space, HUB, "/memories/long.md", b"- a line\n" * 100)
    for path in ("/memories/a.md", "/memories/b.md"):
        files.write(house.space, HUB, path, b"x\n")
    proposals.propose(house.space, forge, kind="delete", path="/memories/a.md")
    proposals.propose(house.space, forge, kind="move", path="/memories/b.md", change={"to": "/memories/c.md"})
    proposals.propose(house.space, forge, kind="write", path="/memories/long.md", content=b"- a line\n")
    page = as_role("reviewer").get(at(house, "bulk"), {"n": ["1", "2", "3"]}).content.decode()
    assert '<b class="bad">deletes</b>' in page and "/memories/c.md" in page
    assert "replaces 900 bytes by 9 in</b>" in page
    proposals.propose_promotion(house.space, forge, content="Refunds take 5 to 10 days.")
    told = (
        as_role("reviewer").get(at(house, "bulk"), {"n": ["2", "4"]}, headers={"HX-Request": "true"}).content.decode()
    )
    assert "Changes 1 file, adds 1 long-term entry; no prompt changes" in told


def test_one_of_many_is_called_this_one_and_strange_ways_back_are_not_taken(house, forge, as_role):
    ask(house, forge)
    client = as_role("reviewer")
    for verb in ("approve", "reject"):
        page = client.get(at(house, "bulk"), {"n": "1", "do": verb, "next": "//elsewhere.example/"}).content.decode()
        assert f"{verb.capitalize()} this one" in page and 'href="//else' not in page


def test_a_thread_leads_to_all_that_it_asked_for(house, forge, as_role):
    ask(house, forge, thread_id="t 1&2")
    ask(house, forge, TEXT + "- More.\n", thread_id="other")
    client = as_role("viewer")
    page = client.get(at(house, "detail", 1)).content.decode()
    leads_to = html.unescape(re.search(r'href="([^"]*thread=[^"]*)"', page)[1])
    assert leads_to.endswith("?thread=t%201%262")
    page = client.get(leads_to).content.decode()
    assert at(house, "detail", 1) in page and at(house, "detail", 2) not in page
    assert "Show every thread" in page


def test_the_end_of_waiting_is_said_loudly_where_it_is_near(house, forge, as_role):
    ask(house, forge)
    client, ends = as_role("reviewer"), 'tag warn push">'
    assert ends not in client.get(at(house, "detail", 1)).content.decode()
    Proposal.objects.update(expires_at=timezone.now() + timedelta(hours=23))
    assert ends in client.get(at(house, "detail", 1)).content.decode()


def test_what_approving_means_is_said_for_each_kind(house, forge, as_role):
    space = house.space
    files.write(space, HUB, "/memories/old.md", b"old\n")
    proposals.propose(space, forge, kind="delete", path=PATH)
    proposals.propose(space, forge, kind="delete", path="/memories/old.md")
    proposals.propose(space, forge, kind="move", path="/memories/old.md", change={"to": "/memories/new.md"})
    proposals.propose_promotion(space, forge, content="Refunds take 5 to 10 days.")
    client = as_role("reviewer")
    boxes = [client.get(at(house, "detail", n)).content.decode().split('id="decide-h"')[1] for n in range(1, 5)]
    assert "Gone from the prompt of <b>forge</b>" in boxes[0] and "Seen by" not in boxes[0]
    assert "agents no longer find the file" in boxes[1]
    assert "only under its new name" in boxes[2]
    assert "If the file changes" in boxes[2] and "If the file" not in boxes[3]


def test_coding_agents_that_load_a_file_are_named(house, forge, as_role):
    """A file in no prompt of the hub may stand in the context of every coding agent that is started in the folder."""
    files.write(house.space, HUB, "/memories/CLAUDE.md", b"@docs/style.md\n")
    files.write(house.space, HUB, "/memories/docs/style.md", b"Short.\n")
    proposals.propose(house.space, forge, kind="write", path="/memories/docs/style.md", content=b"Long.\n")
    page = one_line(as_role("reviewer").get(at(house, "detail", 1)))
    assert "Loaded by coding agents: Claude Code" in page
    assert "Loaded by Claude Code when they start next." in page and "In no agent&#x27;s prompt" not in page
    assert "so no prompt changes" not in page
    proposals.reject(house.space, house.reviewer, 1, note="No.")
    assert "Loaded by" not in one_line(as_role("reviewer").get(at(house, "detail", 1)))


def test_what_was_rejected_before_is_said_when_it_is_asked_again(house, forge, as_role):
    edit_of(house, forge, "pytest -q", "make test")
    proposals.reject(house.space, house.reviewer, 1, note="We keep pytest.")
    edit_of(house, forge, "pytest -q", "make test")
    edit_of(house, forge, "pytest -q", "make all")
    client = as_role("viewer")
    again, other = (one_line(client.get(at(house, "detail", n))) for n in (2, 3))
    assert "proposed exactly this in" in again and "a-reviewer rejected it: “We keep pytest.”" in again
    assert "asked for the very same" not in other


def test_a_move_that_takes_a_file_out_of_prompts_is_said_loudly(house, forge, as_role):
    def asked_to(to):
        asked = proposals.propose(house.space, forge, kind="move", path=PATH, change={"to": to})
        return asked.risk, as_role("reviewer").get(at(house, "detail", asked.number)).content.decode()

    prompts.add_source(house.space, HUB, "/memories/also.md")
    risk, page = asked_to("/memories/other.md")
    assert risk == 2 and "Takes the file out of the prompt of forge." in page and "Gone from the prompt of" in page
    _, page = asked_to("/memories/also.md")
    assert "Takes the file out" not in page and "Seen by <b>forge</b>" in page


def test_while_the_database_is_away_what_was_typed_stays_in_the_page(house, forge, as_role, monkeypatch):
    ask(house, forge)
    client = as_role("reviewer")
    client.raise_request_exception = False

    def gone(*_):
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as away:
        away.setattr("django.contrib.sessions.backends.db.SessionStore.load", gone)
        words = {"do": "edited", "content": "a\r\n", "note": 'half "done" <b>', "seen": "x"}
        answer = client.post(at(house, "approve", 1), words)
        page = answer.content.decode()
        assert (answer.status_code, answer["Retry-After"]) == (503, "5") and "Nothing was changed" in page
        assert f'action="{at(house, "approve", 1)}"' in page and "Send again" in page
        kept = {
            html.unescape(name): html.unescape(value)
            for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page)
        }
        assert kept == words
        answer = client.get(at(house, "page") + "?agent=forge")
        assert (
            answer.status_code == 503 and f'href="{at(house, "page")}?agent=forge">Try again' in answer.content.decode()
        )
        answer = client.get("/", PATH_INFO="//elsewhere.example/")
        assert answer.status_code == 503 and 'href="/%2Felsewhere.example/">Try again' in answer.content.decode()
        answer = client.get(at(house, "page"), headers={"HX-Request": "true"})
        assert (answer.status_code, answer["HX-Retarget"]) == (503, "#notices") and b"<html" not in answer.content
        answer = client.post("/login/", {"username": "rk", "password": "geheim"})
        assert answer.status_code == 503 and "geheim" not in answer.content.decode()
        assert client.get("/api/v1/files").status_code == 401  # asks for no session
    assert Proposal.objects.get().state == "pending" and client.get(at(house, "page")).status_code == 200


def test_what_hides_in_a_text_is_drawn_in_the_rendered_view_too(house, forge, as_role):
    ask(house, forge, '# Ru\u200bles\n\n[l](http://a.example "t > \u200b \' q") `c\u202ed`\n')
    page = as_role("viewer").get(at(house, "detail", 1), {"view": "rendered"}).content.decode()
    article = page.split('<article class="md">')[1].split("</article>")[0]
    assert article.count('class="inv"') == 2 and 'title="t &gt; &lt;U+200B' in article


def test_grave_findings_are_left_out_of_many(house, forge, as_role):
    asked = ask(house, forge, TEXT.replace("Verify it", "Ver\u200bify it"))
    client = as_role("reviewer")
    page = client.get(at(house, "bulk"), {"n": "1"}).content.decode()
    assert "decide on it separately" in page and "seen-1" not in page
    assert "None of them can be decided here." in page and "Approve these" not in page
    client.post(at(house, "decide_many"), {"seen-1": proposals.result(asked).seen, "do": "approve"})
    assert Proposal.objects.get().state == "pending"


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_who_may_not_decide_is_refused_and_sees_no_buttons(house, forge, as_role, role):
    ask(house, forge)
    client = as_role(role)
    assert 'value="approve"' not in client.get(at(house, "detail", 1)).content.decode()
    for name in ("approve", "reject", "undo", "reopen"):
        assert client.post(at(house, name, 1), {"note": "x"}).status_code == 403
    assert client.get(at(house, "bulk"), {"n": "1"}).status_code == 403


def test_a_stranger_and_a_missing_number(house, forge, client, as_role):
    assert client.get(at(house, "page")).status_code == 302
    assert as_role("owner").get(at(house, "detail", 99)).status_code == 404
    other = spaces.create(HUB, "other")
    assert as_role("owner").get(reverse("proposals.page", args=[other.slug])).status_code == 404


def test_every_kind_has_a_page(house, forge, as_role):
    space = house.space
    proposals.propose(space, forge, kind="delete", path=PATH)
    proposals.propose(space, forge, kind="move", path=PATH, change={"to": "/memories/B.md"})
    proposals.propose(space, forge, kind="insert", path=PATH, change={"line": 1, "text": "- first\n"})
    proposals.propose(space, forge, kind="write", path="/memories/new.md", content=b"- <script>alert(1)</script>\n")
    proposals.propose_promotion(space, forge, content="Refunds take 5 to 10 days.")
    client = as_role("reviewer")
    for number in range(1, 6):
        for query in ({}, {"edit": "1"}, {"view": "split"}, {"view": "rendered"}, {"all": "1"}):
            answer = client.get(at(house, "detail", number), query)
            assert answer.status_code == 200
            assert "<script>alert" not in answer.content.decode()
    assert client.get(at(house, "page")).status_code == 200


def test_the_talk_tells_of_the_first_of_two(house, forge, as_role):
    spaces.change_settings(house.space, HUB, {"reviewers": 2})
    house.space.refresh_from_db()
    asked = ask(house, forge)
    client = as_role("reviewer")
    client.post(at(house, "approve", 1), {**form_of(client.get(at(house, "detail", 1))), "do": "approve"})
    page = client.get(at(house, "detail", 1)).content.decode()
    assert "approved, as the first of two" in page
    assert f"files{PATH}?view=diff&amp;to={asked.base_revision}" in page


def test_changes_requested_is_a_state_of_its_own(house, forge, as_role):
    edit_of(house, forge, "pytest -q", "make all")
    edit_of(house, forge, "Verify it", "Check it")
    client = as_role("reviewer")
    answer = client.post(at(house, "reject", 1), {"do": "again", "note": "name the target"})
    assert answer.status_code == 303
    client.post(at(house, "reject", 2), {"do": "reject", "note": "wrong"})
    inbox = f"/s/{house.space.slug}/proposals/"
    client.get(inbox)  # with what was done, and its undo
    changes, decided = (one_line(client.get(inbox, {"view": view})) for view in ("changes", "decided"))
    assert "proposals/1/" in changes and "proposals/2/" not in changes and "“name the target”" in changes
    assert "proposals/2/" in decided and "proposals/1/" not in decided
    page = one_line(client.get(at(house, "detail", 1)))
    assert "requested changes: “name the target”" in page and "Please try again" not in page
    asked = edit_of(house, forge, "pytest -q", "make everything")
    history = re.sub(r"<[^>]+>", "", one_line(client.get(at(house, "detail", asked.number))))
    assert "1 rejected" in history and "1 changes requested" in history
    log = one_line(client.get(f"/s/{house.space.slug}/activity/"))
    assert "requested changes to" in log
    client.post(at(house, "reopen", 1))
    assert not Proposal.objects.get(number=1).changes_requested


def test_after_a_decision_the_next_one_opens(house, forge, as_role):
    for old, new in (("pytest -q", "make all"), ("Verify it", "Check it"), ("# Rules", "# House")):
        edit_of(house, forge, old, new)
    client = as_role("reviewer")
    assert reject_of(house, client, 2).headers["Location"].endswith("/proposals/3/")
    assert reject_of(house, client, 3).headers["Location"].endswith("/proposals/1/"), "from the last to the first"
    assert (
        client.post(f"/s/{house.space.slug}/proposals/preference/", {"number": "1"}).headers["Location"].endswith("/1/")
    )
    edit_of(house, forge, "Verify it", "Look at it")
    assert reject_of(house, client, 1).headers["Location"].endswith("/proposals/1/")
    assert reject_of(house, as_role("owner"), 4).headers["Location"].endswith("/proposals/4/"), "none is left"
    assert as_role("editor").post(f"/s/{house.space.slug}/proposals/preference/", {"on": "yes"}).status_code == 403


def reject_of(house, client, number):
    return client.post(at(house, "reject", number), {"do": "reject", "note": "wrong"})


def test_many_at_once_show_each_text_and_deletions_loudly(house, forge, as_role):
    edit_of(house, forge, "pytest -q", "make all")
    files.write(house.space, HUB, "/memories/old.md", b"- Old words.\n- More old words.\n")
    proposals.propose(house.space, forge, kind="delete", path="/memories/old.md")
    numbers = {"n": ["1", "2"], "do": "approve"}
    page = one_line(as_role("reviewer").get(f"/s/{house.space.slug}/proposals/several/", numbers))
    assert "make all" in page and 'class="add"' in page
    assert "Deletes the whole file, 31 bytes" in page and "More old words." in page
    assert "loud" in page
    rejecting = one_line(
        as_role("reviewer").get(f"/s/{house.space.slug}/proposals/several/", numbers | {"do": "reject"})
    )
    assert "More old words." in rejecting


def test_texts_of_those_that_are_left_out_keep_nobody_waiting(house, forge, as_role, monkeypatch):
    monkeypatch.setattr(reviewing, "SECONDS_FOR_MANY", -1.0)
    edit_of(house, forge, "pytest -q", "make all")
    ask(house, forge, TEXT.replace("Verify it", "Ver\u200bify this"))
    page = as_role("reviewer").get(at(house, "bulk"), {"n": ["1", "2"], "do": "reject"}).content.decode()
    assert "make all" in page and "ify this" not in page


def test_texts_that_were_not_compared_in_time_are_left_out(house, forge, as_role, monkeypatch):
    monkeypatch.setattr(bulk, "SECONDS_FOR_MANY", -1.0)
    edit_of(house, forge, "pytest -q", "make all")
    page = one_line(as_role("reviewer").get(f"/s/{house.space.slug}/proposals/several/", {"n": "1", "do": "approve"}))
    assert "Comparing its texts takes too long" in page and "seen-1" not in page
