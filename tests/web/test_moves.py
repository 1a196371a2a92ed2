"""Memory moves between coding agents: a plan with its effects, written and taken back, or left to a reviewer; and what is compared."""

import re
from html import unescape

import pytest
from django.urls import reverse

from memoryhub.dialects.coding.claude_memory import project_slug
from memoryhub.domain import contexts, files, proposals, spaces
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from memoryhub.models import HUB, Proposal
from tests.web.test_contexts import TOKEN, get, text_of, write

pytestmark = pytest.mark.django_db(transaction=True)  # files on disk change after the commit
INDEX = "# Index\n\n- [Tests](tests.md) — fast ones first\n- [Deploys](deploys.md) — never on Fridays\n"


@pytest.fixture
def laptop(house, tmp_path):
    """A home with Claude Code's memory of one project, and the project; `house` owns the space that shows both."""
    home = (tmp_path / "home").resolve()
    shop = home / "shop"
    slug = project_slug(str(shop))
    write(home, {
        f".claude/projects/{slug}/memory/MEMORY.md": INDEX, f".claude/projects/{slug}/memory/tests.md": "make fast\n",
        ".hermes/memories/MEMORY.md": "Prefers tabs.", "shop/.git/HEAD": "ref: refs/heads/main\n",
        "shop/AGENTS.md": "# Shop\n\n- Amounts are in cents.\n", "shop/.claude/rules/money.md": "- Round half to even.\n",
    })  # fmt: skip
    for prefix, folder in (("/claude/", ".claude"), ("/hermes/", ".hermes"), ("/shop/", "shop")):
        files.add_mount(house.space, HUB, prefix, store="filesystem", directory=str(home / folder))
    contexts.set_home(house.space, HUB, str(home))
    house.space.refresh_from_db()
    for mount in files.mounts_of_space(house.space):
        files.take_in_mount(house.space, mount)
    house.space.refresh_from_db()
    return home, f"/claude/projects/{slug}/memory/MEMORY.md"


def on_disk(home, path):
    return (home / path.replace("/claude/", ".claude/").replace("/hermes/", ".hermes/").lstrip("/")).read_text()


# ---- an entry becomes a line of another file


def test_an_entry_becomes_a_line_and_one_click_takes_it_back(laptop, house, as_role):
    home, memory = laptop
    client = as_role("owner")
    query = {"path": memory, "number": 2}
    page = get(client, "moves.page", **query)
    shown = text_of(page)
    for said in (
        "Move entry 2 of Claude Code",
        "/shop/AGENTS.md",
        "Deploys — never on Fridays",
        "Codex",
        "Write 2 files",
    ):
        assert said in shown, said
    plan = contexts.plan_entry(house.space, house.owner, memory, 2, to="/shop/AGENTS.md")
    form = query | {"to": "/shop/AGENTS.md", "seen": plan.sha256}
    assert client.post(reverse("moves.apply", args=["books"]), form).status_code == 303
    assert on_disk(home, "shop/AGENTS.md") == "# Shop\n\n- Amounts are in cents.\n- Deploys — never on Fridays\n"
    assert on_disk(home, memory) == "# Index\n\n- [Tests](tests.md) — fast ones first\n"
    (undo,) = re.findall(r'action="([^"]*move/undo/[^"]*)"', get(client, "contexts.memory").content.decode())
    assert client.post(unescape(undo)).status_code == 303
    assert on_disk(home, memory) == INDEX
    assert on_disk(home, "shop/AGENTS.md") == "# Shop\n\n- Amounts are in cents.\n"


def test_the_effect_names_each_agent_that_gets_the_line(laptop, house):
    _home, memory = laptop
    plan = contexts.plan_entry(house.space, house.owner, memory, 1, to="/shop/AGENTS.md")
    effects = {one.agent.name: one for one in plan.effects}
    assert effects["codex"].after > effects["codex"].before
    assert effects["claude-code"].before != 0 and not effects["claude-code"].is_same
    assert effects["gemini-cli"].is_same


def test_a_line_goes_into_the_format_of_another_agents_memory(laptop, house):
    home, memory = laptop
    plan = contexts.plan_entry(house.space, house.owner, memory, 2, to="/hermes/memories/MEMORY.md", keep=True)
    contexts.apply_plan(house.space, house.owner, plan, plan.sha256)
    assert on_disk(home, "/hermes/memories/MEMORY.md") == "Prefers tabs.\n§\nDeploys — never on Fridays"
    assert on_disk(home, memory) == INDEX


def test_a_plan_of_two_files_is_written_whole_or_not_at_all(laptop, house):
    home, memory = laptop
    plan = contexts.plan_entry(house.space, house.owner, memory, 2, to="/shop/AGENTS.md")
    write(home, {memory.replace("/claude/", ".claude/"): INDEX + "- [New](new.md) — meanwhile\n"})
    with pytest.raises(Stale):
        contexts.apply_plan(house.space, house.owner, plan, plan.sha256)
    assert "Deploys" not in on_disk(home, "shop/AGENTS.md")
    with pytest.raises(Conflict, match="changed since you looked"):
        contexts.apply_plan(house.space, house.owner, plan, "0" * 64)


def test_undo_is_refused_where_something_was_built_on_it(laptop, house):
    home, memory = laptop
    plan = contexts.plan_entry(house.space, house.owner, memory, 2, to="/shop/AGENTS.md")
    made = contexts.apply_plan(house.space, house.owner, plan, plan.sha256)
    files.write(house.space, house.owner, "/shop/AGENTS.md", b"- other\n")
    with pytest.raises(Conflict, match="changed again since"):
        contexts.undo_plan(house.space, house.owner, made)
    assert on_disk(home, "shop/AGENTS.md") == "- other\n" and "Deploys" not in on_disk(home, memory)


def test_what_an_entry_cannot_become(laptop, house):
    home, memory = laptop
    with pytest.raises(NotFound):
        contexts.plan_entry(house.space, house.owner, memory, 1, to="/shop/README.md")
    with pytest.raises(Invalid, match="no entry 9"):
        contexts.plan_entry(house.space, house.owner, memory, 9, to="/shop/AGENTS.md")
    with pytest.raises(Invalid, match="says that already"):
        contexts.plan_entry(house.space, house.owner, memory, 1, to="/shop/AGENTS.md", text="- Amounts are in cents.")
    write(home, {"shop/AGENTS.md": f"- Token {TOKEN}\n"})
    with pytest.raises(Conflict, match="secret"):
        contexts.plan_entry(house.space, house.owner, memory, 1, to="/shop/AGENTS.md")


# ---- as proposals


def test_a_person_leaves_a_move_to_a_reviewer(laptop, house, as_role):
    home, memory = laptop
    client = as_role("editor")
    plan = contexts.plan_entry(house.space, house.editor, memory, 2, to="/shop/AGENTS.md")
    form = {"path": memory, "number": 2, "to": "/shop/AGENTS.md", "seen": plan.sha256, "propose": "1"}
    answer = client.post(reverse("moves.apply", args=["books"]), form, follow=True)
    assert "Proposals 1, 2 wait for a decision." in text_of(answer)
    first, second = Proposal.objects.within(house.space).order_by("number")
    assert (first.path, second.path, first.agent, first.agent_name) == (
        "/shop/AGENTS.md",
        memory,
        None,
        house.editor.name,
    )
    assert "Deploys" not in on_disk(home, "shop/AGENTS.md")
    assert (
        client.post(reverse("moves.apply", args=["books"]), form).status_code == 303
    )  # the same again is no second pair
    assert Proposal.objects.within(house.space).count() == 2
    page = text_of(as_role("reviewer").get(reverse("proposals.detail", args=["books", 1])))
    assert house.editor.name in page and "An entry of Claude Code" in page
    proposals.approve(house.space, house.reviewer, 1, seen=proposals.review(proposals.get(house.space, 1)).found.sha256)
    assert on_disk(home, "shop/AGENTS.md").endswith("- Deploys — never on Fridays\n")
    newest = files.revisions_of(files.file_row(house.space, "/shop/AGENTS.md"))[0]
    assert (newest.actor_kind, newest.actor_name, newest.approver_name) == (
        "person",
        house.editor.name,
        house.reviewer.name,
    )
    proposals.undo(house.space, house.reviewer, 1)
    assert "Deploys" not in on_disk(home, "shop/AGENTS.md")


def test_where_others_decide_nobody_approves_their_own(laptop, house):
    _home, memory = laptop
    spaces.change_settings(house.space, house.owner, {"who_decides": "others"})
    house.space.refresh_from_db()
    plan = contexts.plan_entry(house.space, house.reviewer, memory, 2, to="/shop/AGENTS.md", keep=True)
    (asked,) = contexts.propose_plan(house.space, house.reviewer, plan, plan.sha256)
    seen = proposals.review(proposals.get(house.space, asked.number)).found.sha256
    with pytest.raises(Forbidden, match="You proposed this"):
        proposals.approve(house.space, house.reviewer, asked.number, seen=seen)
    assert proposals.count_to_decide(house.space, house.reviewer, 1) == 0
    proposals.approve(house.space, house.owner, asked.number, seen=seen)


# ---- one AGENTS.md for all


@pytest.mark.parametrize(
    ("there", "made"),
    [
        ({"AGENTS.md": "- a\n"}, {"GEMINI.md": "@./AGENTS.md\n"}),
        ({"CLAUDE.md": "- c\n"}, {"AGENTS.md": "- c\n", "CLAUDE.md": "@AGENTS.md\n", "GEMINI.md": "@./AGENTS.md\n"}),
        (
            {"AGENTS.md": "- a\n", "CLAUDE.md": "- c\n", "GEMINI.md": "- a\n"},
            {"CLAUDE.md": "@AGENTS.md\n\n- c\n", "GEMINI.md": "@./AGENTS.md\n"},
        ),
    ],
)
def test_one_file_for_all(laptop, house, there, made):
    home, _memory = laptop
    (home / "shop" / "AGENTS.md").unlink()
    write(home / "shop", there)
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/shop/")
    plan = contexts.plan_one_file(contexts.place_in_mount(house.space, house.owner, mount.pk, ""))
    assert {one.path.removeprefix("/shop/"): one.after.decode() for one in plan.files} == made
    contexts.apply_plan(house.space, house.owner, plan, plan.sha256)
    shared = (home / "shop" / "AGENTS.md").read_bytes().strip()
    for agent in ("claude-code", "codex", "gemini-cli", "opencode", "copilot-cli"):
        place = contexts.place_in_mount(house.space, house.owner, mount.pk, "")
        assert shared in contexts.read_context(place, agent).context.text, agent


def test_a_folder_without_instructions_says_that_there_is_nothing_to_move(laptop, house, as_role):
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/hermes/")
    page = get(as_role("owner"), "moves.page", mount=mount.pk, dir="")
    assert page.status_code == 200
    assert "has no AGENTS.md" in text_of(page) and "One AGENTS.md for all agents in" in text_of(page)
    assert f"contexts/files/?mount={mount.pk}" in page.content.decode(), "back to where one came from"


def test_what_only_one_file_says_moves_along_where_asked(laptop, house):
    home, _memory = laptop
    write(home / "shop", {"CLAUDE.md": "- c\n"})
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/shop/")
    plan = contexts.plan_one_file(contexts.place_in_mount(house.space, house.owner, mount.pk, ""), move_all=True)
    texts = {one.path: one.after.decode() for one in plan.files}
    assert (
        texts["/shop/AGENTS.md"] == "# Shop\n\n- Amounts are in cents.\n\n- c\n"
        and texts["/shop/CLAUDE.md"] == "@AGENTS.md\n"
    )


# ---- compared


def test_what_codex_would_lose_with_what_brings_it_there(laptop, house, as_role):
    client = as_role("owner")
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/shop/")
    sections = b"# Shop\n\n- Amounts are in cents.\n\n## Tests\n- Never against the live card gateway.\n"
    files.write(house.space, house.owner, "/shop/AGENTS.md", sections)
    answer = get(client, "contexts.compared", mount=mount.pk, agent="claude-code", **{"with": "codex"})
    page = text_of(answer)
    assert "What Codex would lose of Claude Code’s context in ~/shop" in page
    assert (
        "~/shop/.claude/rules/money.md Codex does not look for this file" in page
        and "Write it into ~/shop/AGENTS.md" in page
    )
    found = contexts.Difference(
        *(
            contexts.read_context(contexts.place_in_mount(house.space, house.owner, mount.pk, ""), name)
            for name in ("claude-code", "codex")
        )
    )
    assert [one.path.rpartition("/")[2] for one in found.lost] == ["money.md", "MEMORY.md"]
    assert [path.rpartition("/")[2] for path in found.both] == ["AGENTS.md"] and not found.gained
    fix = get(client, "contexts.fix", mount=mount.pk, agent="codex", about="/shop/.claude/rules/money.md", code="write")
    assert "Round half to even." in text_of(fix)


def test_a_context_at_a_past_moment(laptop, house, as_role):
    _home, _memory = laptop
    client = as_role("owner")
    mount = next(one for one in files.mounts_of_space(house.space) if one.prefix == "/shop/")
    files.write(house.space, house.owner, "/shop/AGENTS.md", b"- Amounts are in euros.\n")
    files.write(house.space, house.owner, "/shop/CLAUDE.md", b"- later\n")
    moment = contexts.moments_of(house.space)[0]
    assert moment.path == "/shop/AGENTS.md"
    then = get(client, "contexts.raw", mount=mount.pk, at=moment.at.isoformat())
    assert b"Amounts are in cents." in then.content and b"later" not in then.content
    assert b"later" in get(client, "contexts.raw", mount=mount.pk).content
    page = text_of(get(client, "contexts.page", mount=mount.pk, at=moment.at.isoformat()))
    assert "The context of a session started at" in page and "thing to fix" not in page
    compared = text_of(get(client, "contexts.compared", mount=mount.pk, at=moment.at.isoformat()))
    assert "What changed for Claude Code" in compared and "~/shop/CLAUDE.md" in compared
    assert get(client, "contexts.page", mount=mount.pk, at="nonsense").status_code == 422


def test_viewers_move_nothing(laptop, as_role):
    _home, memory = laptop
    viewer = as_role("viewer")
    assert get(viewer, "moves.page", path=memory, number=1).status_code == 403
    assert viewer.post(reverse("moves.apply", args=["books"]), {"path": memory, "number": 1}).status_code == 403
    assert viewer.post(reverse("moves.undo", args=["books"]) + "?made=/shop/AGENTS.md@1").status_code == 403
