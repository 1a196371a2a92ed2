"""Who calls, by whichever way: the address that is noted, and the tokens that no door takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.models import HUB, Token
from tests.api.calling import Caller

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
DOORS = {
    "prompt": ("GET", "prompt?query=refunds", None),
    "file": ("GET", f"files{PATH}", None),
    "batch": ("POST", "batch", {"paths": [PATH]}),
    "list": ("GET", "files?prefix=/memories/", None),
    "write": ("PUT", "files/open/a.md", {"content": "- one\n"}),
    "edit": ("POST", "edits", {"path": PATH, "old_string": "one", "new_string": "two"}),
    "tool": ("POST", "memory-tool", {"command": "view", "path": "/memories"}),
    "search": ("GET", "search?q=refunds", None),
    "retrieve": ("GET", "retrieve?query=refunds", None),
    "working": ("GET", "working", None),
    "log": ("POST", "quarantine", {"content": "x", "session_id": "s", "node_id": "n", "node_kind": "agent"}),
    "promote": ("POST", "promotions", {"content": "x", "reason": "y"}),
    "proposals": ("GET", "proposals", None),
    "me": ("GET", "me", None),
}


@pytest.fixture
def space():
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/")
    files.add_mount(space, HUB, "/open/", policy="trusted")
    files.write(space, HUB, PATH, b"- one\n")
    prompts.add_source(space, HUB, PATH)
    return space


@pytest.fixture
def call(way_in, space):
    return Caller(way_in, accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "forge"))[1])


def revoke(token):
    accounts.revoke_token(token, HUB)


def expire(token):
    Token.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(minutes=5))


def switch_off(token):
    prompts.change_agent(token.agent, HUB, is_on=False)


def close(token):
    """No scope is left."""
    Token.objects.filter(pk=token.pk).update(scopes=[])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (revoke, 401, "unauthenticated"), (expire, 401, "unauthenticated"), (switch_off, 403, "agent_off"),
        (close, 403, "scope_missing"),
    ],
)  # fmt: skip
def test_a_token_that_has_ended_opens_no_door_any_more(call, door, end, status, code):
    assert call(*DOORS[door]).status_code < 300
    assert call(*DOORS[door]).status_code < 300  # a caller who is known
    end(Token.objects.get())
    refused = call(*DOORS[door])
    if door == "me" and end is close:  # it says which scopes there are
        assert refused.json()["scopes"] == []
        return
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("door", ["prompt", "file", "me"])
@pytest.mark.parametrize(
    ("behind_proxy", "noted"), [(False, "127.0.0.1"), (True, "10.9.8.7")], ids=["by itself", "behind a proxy"]
)
def test_what_a_caller_says_of_its_address_counts_behind_a_proxy_alone(call, settings, door, behind_proxy, noted):
    settings.BEHIND_TLS = behind_proxy
    assert call(*DOORS[door], X_Forwarded_For="1.2.3.4, 10.9.8.7", X_Forwarded_Proto="https").status_code == 200
    assert Token.objects.get().used_from == noted
