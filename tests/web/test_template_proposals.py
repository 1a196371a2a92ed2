"""A reported template stands wherever proposals stand: inbox, review, many at once, command line, mail, chat."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from memoryhub.domain import files, prompts, proposals
from memoryhub.domain.notify import daily_mail, webhooks
from memoryhub.models import HUB
from tests.one_line import one_line

TEXT = "<mine>\nBe kind.\n{agent_memory}\n</mine>"
OTHER = "<other>{agent_memory}</other>"


@pytest.fixture
def forge(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, "/memories/AGENTS.md", b"- One fact.\n")
    prompts.add_source(house.space, HUB, "/memories/AGENTS.md")
    return prompts.create_agent(house.space, HUB, "forge", dialect="deepagents")


@pytest.fixture
def pending(forge):
    return proposals.report_template(forge, "0.7.32", TEXT)


def at(house, name, *args):
    return reverse(f"proposals.{name}", args=[house.space.slug, *args])


def prompt_of(forge):
    return prompts.assemble(forge.space, forge).text


def test_its_row_and_its_page(house, as_role, pending):
    reviewer = as_role("reviewer")
    assert "the template of deepagents 0.7.32" in one_line(reviewer.get(at(house, "page")).content.decode())
    page = one_line(reviewer.get(at(house, "detail", pending.number)).content.decode())
    assert "Use the template of deepagents 0.7.32" in page
    assert "wants to use the template of deepagents 0.7.32" in page
    assert "Be kind." in page
    assert "The prompts of forge for deepagents/0.6.3, and of no other agent" in page
    assert "Approve the template" in page
    assert "long-term memory" not in page.split('class="review"')[1].split('id="talk"')[0]


def test_it_is_approved_and_undone(house, as_role, pending, forge):
    reviewer = as_role("reviewer")
    before = prompt_of(forge)
    seen = proposals.result(pending).seen
    done = reviewer.post(at(house, "approve", pending.number), {"seen": seen, "do": "approve"}, follow=True)
    assert f"Approved proposal {pending.number}." in done.content.decode()
    assert prompt_of(forge) == TEXT.format(agent_memory="/memories/AGENTS.md\n\n- One fact.")
    page = reviewer.get(at(house, "detail", pending.number)).content.decode()
    assert "Be kind." in page
    reviewer.post(at(house, "undo", pending.number))
    assert prompt_of(forge) == before


def test_many_at_once_show_the_prompt_and_do_it(house, as_role, pending, forge):
    counter = prompts.create_agent(house.space, HUB, "counter", dialect="deepagents")
    second = proposals.report_template(counter, "0.7.1", OTHER)
    reviewer, numbers = as_role("reviewer"), [pending.number, second.number]
    page = one_line(reviewer.get(at(house, "bulk"), {"n": numbers, "do": "approve"}).content.decode())
    assert "Uses 2 templates" in page
    assert "forge" in page
    assert "&lt;mine&gt;" in page
    seen = {f"seen-{number}": proposals.result(proposals.get(house.space, number)).sha256 for number in numbers}
    reviewer.post(at(house, "decide_many"), {**seen, "do": "approve"})
    assert prompt_of(forge).startswith("<mine>")
    assert prompt_of(counter).startswith("<other>")
    proposals.undo_many(house.space, house.reviewer, numbers)
    assert not prompt_of(forge).startswith("<mine>")


def test_it_is_named_in_mails_chats_and_on_the_command_line(house, pending):
    assert "wants to use the template of deepagents 0.7.32" in daily_mail.mail_text(house.space, [pending])
    said = webhooks.proposal_sentence(pending, "proposal.created")
    assert said == f"forge asks to change the template of deepagents 0.7.32 (proposal {pending.number})"
    assert webhooks.proposal_body(pending)["kind"] == "template"
    out = io.StringIO()
    call_command("proposals", space=house.space.slug, stdout=out)
    assert "forge: template" in out.getvalue()
    call_command("approve", str(pending.number), space=house.space.slug, stdout=out)
    assert proposals.get(house.space, pending.number).state == "approved"


def test_the_overview_names_it(house, as_role, pending):
    page = as_role("owner").get(f"/s/{house.space.slug}/").content.decode()
    assert "forge wants to use the template of deepagents 0.7.32" in one_line(page)


def test_two_prompts_compared_name_the_decision(house, forge, pending):
    then = timezone.now()
    proposals.approve(house.space, house.reviewer, pending.number, seen=proposals.result(pending).seen)
    compared = prompts.compare_moments(house.space, forge, then, None)
    assert any(one.kind == "template" and one.proposal == pending.number for one in compared.causes)
