"""The pages for rules and notices."""

from __future__ import annotations

import pytest
from django.urls import reverse

from memoryhub.domain import files, notify, prompts, proposals
from memoryhub.models import HUB, Person, PolicyRule, Webhook
from tests.one_line import one_line


@pytest.fixture
def at(house):
    return lambda name, *args: reverse(name, args=[house.space.slug, *args])


@pytest.fixture
def pending(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    files.write(house.space, HUB, "/memories/a.md", b"- one\n")
    change = {"old_string": "one", "new_string": "uno"}
    return proposals.propose(
        house.space, prompts.create_agent(house.space, HUB, "forge"), kind="edit", path="/memories/a.md", change=change
    )


RULE = {
    "pattern": "/memories/**",
    "policy": "trusted",
    "max_added": "300",
    "unless_findings": "on",
    "reviewers": "1",
    "agent": "",
}


def test_a_rule_is_tried_then_added_then_taken_away(as_role, pending, at):
    client = as_role("owner")
    page = client.get(at("files_access.page")).content.decode()
    assert 'formmethod="get"' not in page  # it would put the form's token into the address
    tried = client.post(at("policies.try_rule"), RULE)
    assert tried.status_code == 200
    assert "Of 1 proposal, 1 would have applied at once, none of them rejected." in tried.content.decode()
    assert not PolicyRule.objects.exists()
    assert client.post(at("policies.add_rule"), RULE).status_code == 303
    rule = PolicyRule.objects.get()
    assert (rule.pattern, rule.max_added, rule.unless_findings) == ("/memories/**", 300, True)
    assert "up to 300 added characters" in client.get(at("files_access.page")).content.decode()
    client.post(at("policies.remove_rule", rule.pk))
    assert not PolicyRule.objects.exists()


def test_a_rule_without_a_path_is_refused(as_role, pending, at):
    assert as_role("owner").post(at("policies.add_rule"), {**RULE, "pattern": ""}).status_code == 422


@pytest.mark.parametrize("name", ["policies.page", "webhooks.page"])
def test_only_owners_see_them(as_role, pending, at, name):
    assert as_role("reviewer").get(at(name)).status_code == 403
    assert as_role("owner").get(at(name), follow=True).status_code == 200


def test_a_webhook_shows_its_secret_once(as_role, pending, at):
    client = as_role("owner")
    body = {"url": "https://example.org/hook", "shape": "hub", "events": ["proposal.created"]}
    made = client.post(at("webhooks.add"), body).content.decode()
    hook = Webhook.objects.get()
    assert hook.secret in made
    assert hook.secret not in client.get(at("webhooks.page")).content.decode()
    client.post(at("webhooks.ping", hook.pk))
    assert "ping" in client.get(at("webhooks.page")).content.decode()
    client.post(at("webhooks.switch", hook.pk), {"on": "no"})
    assert not Webhook.objects.get().is_on
    client.post(at("webhooks.send_again", hook.notices.get().pk))
    client.post(at("webhooks.remove", hook.pk))
    assert not Webhook.objects.exists()
    assert client.post(at("webhooks.add"), {**body, "url": "no"}).status_code == 422


def test_the_hour_of_the_mail(house, as_role, pending, at):
    client = as_role("owner")
    client.cookies["memoryhub_zone"] = "Europe%2FBerlin"
    page = client.post(at("webhooks.set_digest"), {"digest": "7"}, follow=True).content.decode()
    house.space.refresh_from_db()
    assert (notify.mail_hour(house.space).hour, notify.mail_hour(house.space).zone) == (7, "Europe/Berlin")
    assert "7:00, Europe/Berlin" in page
    client.cookies["memoryhub_zone"] = "Asia%2FTokyo"
    assert "Now sent at 7:00, Europe/Berlin" in client.get(at("webhooks.page")).content.decode()
    assert "Goes to nobody yet. Without an address: a-owner, a-reviewer." in one_line(client.get(at("webhooks.page")))
    Person.objects.filter(username="a-reviewer").update(email="r@example.org")
    assert "Goes to a-reviewer. Without an address: a-owner." in one_line(client.get(at("webhooks.page")))
    client.post(at("webhooks.set_digest"), {"digest": "99"})
    house.space.refresh_from_db()
    assert house.space.settings["digest"] == ""
