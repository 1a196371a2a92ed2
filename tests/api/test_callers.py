"""Who calls, by whichever way: the address that is noted, and the tokens that no door takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import RequestFactory
from django.utils import timezone

from memoryhub import requests
from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.models import HUB, Token
from memoryhub.settings_sign_in import trusted_proxies
from memoryhub.wsgi import application
from tests.api.calling import Caller
from tests.taking_back import taken_back

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


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (revoke, 401, "unauthenticated"), (expire, 401, "unauthenticated"), (switch_off, 403, "agent_off"),
        (close, 403, "scope_missing"),
    ],
)  # fmt: skip
def test_a_token_that_has_ended_opens_no_door_any_more(call, subtests, end, status, code):
    for door, asked in DOORS.items():
        with subtests.test(door), taken_back():
            assert call(*asked).status_code < 300
            assert call(*asked).status_code < 300  # a caller who is known
            end(Token.objects.get())
            refused = call(*asked)
            if door == "me" and end is close:  # it says which scopes there are
                assert refused.json()["scopes"] == []
                continue
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("door", ["prompt", "file", "me"])
@pytest.mark.parametrize(
    ("behind_proxy", "noted"), [(False, "127.0.0.1"), (True, "10.9.8.7")], ids=["by itself", "behind a proxy"]
)
def test_what_a_caller_says_of_its_address_counts_behind_a_proxy_alone(call, settings, door, behind_proxy, noted):
    settings.BEHIND_TLS = behind_proxy
    assert call(*DOORS[door], X_Forwarded_For="1.2.3.4, 10.9.8.7", X_Forwarded_Proto="https").status_code == 200
    assert Token.objects.get().used_from == noted


@pytest.mark.parametrize("door", ["prompt", "file", "me"])
@pytest.mark.parametrize(
    ("trusted", "noted"), [("loopback", "10.9.8.7"), ("private,203.0.113.0/24", "127.0.0.1"), ("", "127.0.0.1")]
)
def test_behind_tls_a_proxy_alone_says_where_a_caller_is(call, settings, door, trusted, noted):
    settings.BEHIND_TLS, settings.TRUSTED_PROXIES = True, trusted_proxies(trusted)
    assert call(*DOORS[door], X_Forwarded_For="1.2.3.4, 10.9.8.7").status_code == 200
    assert Token.objects.get().used_from == noted


@pytest.mark.parametrize("peer", ["203.0.113.9", "::ffff:203.0.113.9", "2001:db8::7"])
def test_who_connects_past_the_proxy_is_believed_nothing(settings, peer):
    """Else they would choose the address that their tries to sign in are counted for, and the scheme of the hub."""
    settings.BEHIND_TLS = True
    meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": "10.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"}
    requests.distrust_forwarded(meta)
    assert (requests.client_address(meta), meta["HTTP_X_FORWARDED_PROTO"]) == (peer, "http")
    meta |= {"REMOTE_ADDR": "172.17.0.1", "HTTP_X_FORWARDED_PROTO": "https"}
    requests.distrust_forwarded(meta)
    assert (requests.client_address(meta), meta["HTTP_X_FORWARDED_PROTO"]) == ("10.0.0.1", "https")


def test_the_scheme_is_believed_of_proxies_alone(settings):
    settings.BEHIND_TLS = True
    for peer, scheme in (("127.0.0.1", "https"), ("203.0.113.9", "http")):
        environ = (
            RequestFactory()
            .get("/static/nothing.css", headers={"X-Forwarded-Proto": "https"}, REMOTE_ADDR=peer)
            .environ
        )
        assert application_saw(environ | {"HTTP_HOST": "localhost"}) == scheme


def application_saw(environ: dict) -> str:
    """The scheme that is said behind the door of WSGI."""
    list(application(environ, lambda *_: None))
    return environ["HTTP_X_FORWARDED_PROTO"]
