"""The agents page, an agent, its tokens: happy path, then who may, then refusals."""

import re

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.errors import Invalid
from memoryhub.models import HUB, ActivityLine, Agent, AgentChange, Delivery, PromptText, Token
from memoryhub.templatetags.hub import agent_badge
from tests.one_line import one_line

NEW = {
    "name": "Forge two",
    "description": "writes code",
    "dialect": "deepagents/0.6.3",
    "system_prompt": "  You code.\n",
    "persona": "",
}


@pytest.fixture
def forge(house):
    return prompts.create_agent(house.space, HUB, "forge", description="writes code", budget=8000)


def test_an_owner_connects_an_agent_and_gets_its_token_once(as_role, house, client):
    owner = as_role("owner")
    made = owner.post("/s/books/agents/new/", NEW | {"framework": "codex"})
    assert made.status_code == 200
    agent = Agent.objects.get(slug="forge-two")
    (token,) = agent.tokens.all()
    first = re.search(r'id="secret"[^>]*>(mh_forge-two_\w+)<', made.content.decode())[1]
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {first}"}).json()["scopes"] == sorted(
        token.scopes
    )
    assert 'value="codex" checked' in " ".join(made.content.decode().split())
    assert first not in owner.get("/s/books/agents/forge-two/connect/").content.decode()
    assert agent.system_prompt == "  You code.\n"
    page = owner.post("/s/books/tokens/new/", {"agent": "forge-two", "scopes": ["prompt", "files"], "label": "ci"})
    secret = re.search(r"mh_forge-two_\w+", page.content.decode()).group()
    answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert answer.json()["scopes"] == ["files", "prompt"]
    assert secret not in owner.get("/s/books/agents/forge-two/").content.decode()


def test_each_agent_shows_its_last_prompt_and_who_is_behind(as_role, house, forge):
    parts = [{"kind": "template", "start": 0, "end": 60}, {"kind": "source", "start": 60, "end": 100}]
    PromptText.objects.create(space_id=house.space.pk, sha256="a" * 64, text=b"x" * 100, tokens=2118, parts=parts)
    files.add_mount(house.space, HUB, "/memories/")
    prompts.add_source(house.space, HUB, "/memories/AGENTS.md")
    for text in (b"one\n", b"two\n", b"three\n"):
        files.write(house.space, house.editor, "/memories/AGENTS.md", text)
    Delivery.objects.create(
        space_id=house.space.pk,
        agent_id=forge.pk,
        thread_id="t-42",
        sha256="a" * 64,
        revisions={"/memories/AGENTS.md": 1},
        asked={"dialect": ""},
    )
    page = as_role("viewer").get("/s/books/agents/").content.decode()
    assert "2,118" in page
    assert "1 thread on older memory" in page
    assert "has revision 1 of /memories/AGENTS.md, now 3" in page
    assert 'class="is-plain" x="0.0" width="15.89"' in page


def test_each_agent_shows_its_token_and_whether_its_version_is_known(as_role, house, forge):
    prompts.import_installed_template()
    Agent.objects.update(reported={"library": "deepagents", "version": "0.7.1"})
    old, _ = accounts.create_token(house.space, HUB, agent=forge)
    used, _ = accounts.create_token(house.space, HUB, agent=forge)
    accounts.create_token(house.space, HUB, agent=forge)
    Token.objects.filter(pk__in=[used.pk, old.pk]).update(used_at=timezone.now())
    accounts.revoke_token(old, HUB)
    viewer = as_role("viewer")
    page = viewer.get("/s/books/agents/").content.decode()
    assert "verified" not in page and "runs 0.7.1" in page  # nothing was handed out yet
    Delivery.objects.create(space_id=house.space.pk, agent_id=forge.pk, sha256="a" * 64, asked={"dialect": ""})
    page = viewer.get("/s/books/agents/").content.decode()
    assert "verified" in page and "runs 0.7.1" in page
    assert [str(one) in page for one in Token.objects.order_by("pk")] == [False, True, False]
    Agent.objects.update(reported={"library": "deepagents", "version": "99.1"})
    spaces.mark_setup(house.space)  # as a report does
    assert "version not known" in viewer.get("/s/books/agents/").content.decode()


def test_sources_are_numbered_as_each_prompt_has_them(as_role, house, forge):
    for path, owner in (("/a.md", None), ("/b.md", None), ("/own.md", forge)):
        prompts.add_source(house.space, HUB, path, agent=owner)
    page = one_line(as_role("viewer").get("/s/books/agents/"))
    assert re.findall(r'num small">(\d+)<.*?files(/\w+\.md)".*?dim">([\w ]+)</div>', page) == [
        ("1", "/a.md", "every other agent"), ("2", "/b.md", "every other agent"), ("1", "/own.md", "forge"),
    ]  # fmt: skip


def test_a_source_that_cannot_be_read_is_not_called_missing(as_role, house, forge, tmp_path):
    (tmp_path / "plain.md").write_text("words")
    (tmp_path / "link.md").symlink_to(tmp_path / "plain.md")
    (tmp_path / "folder").mkdir()
    files.add_mount(house.space, HUB, "/d/", store="filesystem", directory=str(tmp_path))
    for name in ("plain.md", "link.md", "folder", "none.md"):
        prompts.add_source(house.space, HUB, f"/d/{name}")
    viewer = as_role("viewer")
    for page in ("/s/books/agents/", "/s/books/agents/forge/"):
        found = re.findall(r"files/d/([\w.]+)(.*?)</li>", one_line(viewer.get(page)))
        said = {name: re.findall(r'class="tag \w+"[^>]*>([\w ]+)<', rest) for name, rest in found}
        assert said == {
            "plain.md": [], "link.md": ["not readable"], "folder": ["not readable"], "none.md": ["missing"],
        }  # fmt: skip


def test_of_many_sources_the_first_are_shown(as_role, house, forge):
    for n in range(52):
        prompts.add_source(house.space, HUB, f"/{n:02}.md")
    prompts.add_source(house.space, HUB, "/own.md", agent=forge)
    page = as_role("viewer").get("/s/books/agents/").content.decode()
    assert re.findall(r"files/(\w+)\.md", page) == [f"{n:02}" for n in range(50)] and "3 more." in page


def test_a_change_is_kept_for_prompts_of_the_past(as_role, house, forge):
    before = house.space.revision
    as_role("owner").post("/s/books/agents/forge/change/", {**NEW, "name": "forge", "dialect": "plain"})
    assert [change.values["dialect"] for change in AgentChange.objects.order_by("id")] == ["auto", "plain"]
    house.space.refresh_from_db()
    assert house.space.revision > before
    assert ActivityLine.objects.get(verb="agents.change").adds == ": the dialect, the base prompt"


def test_switches(as_role, forge):
    owner = as_role("owner")
    owner.post("/s/books/agents/forge/change/", {"switch": "is_on", "to": "off"})
    owner.post("/s/books/agents/forge/change/", {"switch": "memory_is_on", "to": "off"})
    forge.refresh_from_db()
    assert (forge.is_on, forge.memory_is_on) == (False, False)
    assert "memory is off" in owner.get("/s/books/agents/").content.decode()


def test_tokens_are_rotated_and_revoked(as_role, house, forge):
    owner = as_role("owner")
    token, _ = accounts.create_token(house.space, HUB, agent=forge)
    page = owner.post(f"/s/books/tokens/{token.pk}/rotate/")
    assert "mh_forge_" in page.content.decode()
    token.refresh_from_db()
    assert token.revoked_at
    new = Token.objects.exclude(pk=token.pk).get()
    assert owner.post(f"/s/books/tokens/{new.pk}/revoke/").status_code == 303
    new.refresh_from_db()
    assert new.revoked_at


def test_deleting_asks_for_the_name(as_role, forge):
    owner = as_role("owner")
    assert owner.post("/s/books/agents/forge/delete/", {"confirm": "x"}).status_code == 422
    assert owner.post("/s/books/agents/forge/delete/", {"confirm": "forge"}).status_code == 303
    assert not Agent.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_only_owners_change_agents_and_see_their_tokens(as_role, house, forge, role):
    token, _ = accounts.create_token(house.space, HUB, agent=forge)
    one = as_role(role)
    page = one.get("/s/books/agents/forge/")
    assert page.status_code == 200
    assert str(token) not in page.content.decode()
    assert "Switch off" not in page.content.decode()
    for path in (
        "agents/new/",
        "agents/forge/change/",
        "agents/forge/delete/",
        "tokens/new/",
        f"tokens/{token.pk}/revoke/",
    ):
        assert one.post(f"/s/books/{path}", NEW).status_code == 403, path


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "Name is required."),
        ({"name": "!!!"}, "letters or digits"),
        ({"name": "forge"}, "There is an agent"),
        ({"dialect": "nothing/1"}, "Dialect: choose one of the list."),
    ],
)
def test_a_wrong_form_comes_back_with_what_was_typed(as_role, forge, wrong, said):
    page = as_role("owner").post("/s/books/agents/new/", {**NEW, **wrong})
    assert page.status_code == 422
    assert said in page.content.decode()
    assert "You code." in page.content.decode()


@pytest.mark.parametrize(
    ("framework", "dialect", "kept"),
    [
        ("deepagents", "", "deepagents"),
        ("langgraph", "", "auto"),
        ("nothing", "", "deepagents"),
        ("mcp", "plain", "plain"),
    ],
)
def test_the_framework_chooses_the_dialect_unless_one_is_named(as_role, house, framework, dialect, kept):
    as_role("owner").post("/s/books/agents/new/", {"name": "forge", "framework": framework, "dialect": dialect})
    assert Agent.objects.get(slug="forge").dialect == kept


@pytest.mark.parametrize(
    ("names", "slugs"),
    [
        (["研究员", "客服"], ["agent-1", "agent-2"]),
        (["客服 bot", "退款 bot", "bot"], ["bot", "bot-2", None]),
        (["مساعد"], ["agent-1"]),
        (["🚀"], ["agent-1"]),
        (["Ñandú Röster"], ["nandu-roster"]),
        (["客" * 100], ["agent-1"]),
        (["研究员", "研究员"], ["agent-1", None]),
    ],
)
def test_names_in_any_script_get_an_address(as_role, house, client, names, slugs):
    owner = as_role("owner")
    for name, slug in zip(names, slugs, strict=True):
        made = owner.post("/s/books/agents/new/", {"name": name, "framework": "other"})
        if slug is None:
            assert made.status_code == 422 and "There is an agent" in made.content.decode()
            continue
        assert Agent.objects.get(name=name).slug == slug
        secret = re.search(r'id="secret"[^>]*>(mh_[\w-]+)<', made.content.decode())[1]
        assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
        assert owner.get(f"/s/books/agents/{slug}/").status_code == 200
        assert prompts.agent_by_name(house.space, name).slug == slug


def test_a_name_is_short_text(house):
    for name in ("x" * 101, "a\x00b", "\ud800", " "):
        with pytest.raises(Invalid):
            prompts.create_agent(house.space, HUB, name)


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("forge", "Fo"),
        ("code reviewer", "Cr"),
        ("x", "X"),
        ("研究员", "研究"),
        ("🚀", "🚀"),
        ("_ _", "?"),
        ("7b", "7b"),
    ],
)
def test_a_badge_has_initials_and_one_of_eight_tints(name, letters):
    badge = agent_badge(name)
    assert re.fullmatch(rf'<span class="av a[1-8]" aria-hidden="true">{re.escape(letters)}</span>', badge), badge
    assert badge == agent_badge(name)


def test_twenty_agents_use_every_tint():
    assert {agent_badge(f"agent {number}").split('"')[1] for number in range(60)} == {f"av a{n}" for n in range(1, 9)}


def test_an_agent_that_is_not_there_is_404(as_role, house):
    assert as_role("owner").get("/s/books/agents/nobody/").status_code == 404


@pytest.mark.parametrize("rows", [1, 3])
def test_any_number_of_agents_costs_the_same_queries(as_role, house, rows, statements):
    for number in range(rows):
        agent = prompts.create_agent(house.space, HUB, f"agent {number}")
        Delivery.objects.create(space_id=house.space.pk, agent_id=agent.pk, thread_id="t", sha256=str(number))
    client = as_role("owner")
    client.get("/s/books/agents/")
    with statements() as sent:
        client.get("/s/books/agents/")
    assert len(sent) <= 14


def test_a_switch_can_be_undone(as_role, forge):
    owner = as_role("owner")
    page = owner.post("/s/books/agents/forge/change/", {"switch": "is_on", "to": "off"}, follow=True).content.decode()
    owner.post(re.search(r'action="([^"]+switch=is_on[^"]+)"', page).group(1).replace("&amp;", "&"))
    forge.refresh_from_db()
    assert forge.is_on
