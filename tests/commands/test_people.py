"""space, user and agent on the command line."""

import io
import json
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryhub.domain import accounts
from memoryhub.models import Membership, Person, Space, Token

pytestmark = pytest.mark.django_db


def run_command(*args):
    out = io.StringIO()
    call_command(*args, "--json", stdout=out)
    return json.loads(out.getvalue())


def me(client, token):
    return client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).json()


def test_a_space_a_person_and_an_agent(client):
    assert run_command("space", "add", "books", "--name", "Books") == {"space": "books", "name": "Books"}
    rk = run_command("user", "add", "rk", "--role", "reviewer", "--space", "books")
    assert {k: rk[k] for k in ("user", "space", "role")} == {"user": "rk", "space": "books", "role": "reviewer"}
    assert me(client, rk["token"])["role"] == "reviewer"
    forge = run_command("agent", "add", "Forge", "--space", "books", "--dialect", "deepagents/0.7.1")
    assert set(forge) == {"agent", "space", "token"}
    assert me(client, forge["token"])["agent"] == "forge"
    reads = run_command(
        "agent", "token", "Forge", "--space", "books", "--scope", "prompt", "--scope", "files", "--days", "7"
    )
    assert set(reads) == set(forge) and reads["token"] != forge["token"]
    assert me(client, reads["token"])["scopes"] == ["files", "prompt"]
    assert Token.objects.get(scopes=["files", "prompt"]).expires_at > timezone.now() + timedelta(days=6)
    assert me(client, forge["token"])["agent"] == "forge"


def test_a_second_space_adds_the_membership_and_a_token_for_it(client):
    run_command("space", "add", "books")
    run_command("space", "add", "notes")
    first = run_command("user", "add", "rk", "--role", "owner", "--space", "books")
    second = run_command("user", "add", "rk", "--role", "viewer", "--space", "notes")
    assert (me(client, first["token"])["space"], me(client, second["token"])["space"]) == ("books", "notes")
    assert Person.objects.filter(username="rk").count() == 1
    assert Membership.objects.filter(person__username="rk").count() == 2


def test_a_password_from_standard_input(monkeypatch):
    run_command("space", "add", "books")
    monkeypatch.setattr("sys.stdin", io.StringIO("sieben rote Zwerge\n"))
    run_command("user", "add", "rk", "--role", "owner", "--space", "books", "--password-stdin")
    assert accounts.check_password("rk", "sieben rote Zwerge", None).username == "rk"


def test_a_person_is_kept_out_and_let_in_again(client):
    run_command("space", "add", "books")
    token = run_command("user", "add", "rk", "--role", "viewer", "--space", "books")["token"]
    assert run_command("user", "deactivate", "rk") == {"user": "rk", "is_active": False}
    assert me(client, token)["error"]["code"] == "unauthenticated"
    assert run_command("user", "reactivate", "RK") == {"user": "rk", "is_active": True}
    assert me(client, token)["role"] == "viewer"


def test_whoever_owns_the_hub_can_open_a_new_space():
    run_command("space", "add", "books")
    assert Membership.objects.get(space=Space.objects.get(), person=accounts.hub_owner()).role == "owner"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["user", "add", "rk", "--role", "owner", "--space", "nowhere"], "There is no space 'nowhere'"),
        (["agent", "add", "x", "--dialect", "nothing/1"], "no space"),
        (["agent", "token", "x"], "no space"),
        (["space", "add", "Big Letters"], "small letters"),
        (["user", "deactivate", "nobody"], "no person 'nobody'"),
    ],
)
def test_refusals_are_one_sentence(args, said):
    from memoryhub.errors import HubError

    with pytest.raises(HubError, match=said):
        call_command(*args)


@pytest.mark.parametrize("days", ["0", "-3", "week", "99999999999"])
def test_a_token_lasts_a_number_of_days(days):
    with pytest.raises(CommandError, match="a number from 1 to 36500"):
        call_command("agent", "token", "x", "--days", days)


def test_without_a_password_it_prints_a_link_that_signs_in(client):
    run_command("space", "add", "books")
    out = io.StringIO()
    call_command("user", "add", "rk", "--role", "viewer", "--space", "books", stdout=out)
    link = re.search(r"/login/once/[\w-]+/", out.getvalue()).group()
    assert client.post(link).status_code == 303
    assert client.get("/s/books/").status_code == 200
