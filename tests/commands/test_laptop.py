"""`memoryhub laptop` on made-up homes: what is found, what is entered, and a space that shows it without touching it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import httpx
import pytest

from memoryhub.dialects.coding.claude_memory import project_slug
from memoryhub.domain import coding_agents, contexts, files, spaces
from memoryhub.errors import Conflict, Forbidden
from memoryhub.models import HUB, File, Mount, Space
from tests.owners import create_hub_owner
from tests.running import Hub, clean, command, data_dir, place, sign_in_by_link, started_once  # noqa: F401  fixtures
from tests.unprivileged import unprivileged


def write(root, made):
    for name, text in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def make_home(home):
    home = home.resolve()
    shop, notes = home / "shop", home / "notes"
    slug = project_slug(str(shop))
    write(home, {
        ".claude.json": json.dumps({"projects": {str(shop): {}, str(home / "gone"): {}, str(home): {}}}),
        ".claude/CLAUDE.md": "- Answer in English.\n", ".claude/.credentials.json": '{"token": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}',
        f".claude/projects/{slug}/memory/MEMORY.md": "- [Tests](tests.md) — fast ones first\n",
        f".claude/projects/{slug}/memory/tests.md": "Run make test-fast.\n",
        f".claude/projects/{slug}/session.jsonl": '{"said": "hello"}\n',
        ".codex/AGENTS.md": "- Be short.\n", ".codex/config.toml": f'[projects."{notes}"]\ntrust_level = "trusted"\n',
        ".gemini/GEMINI.md": "- Be kind.\n", ".gemini/projects.json": json.dumps({"projects": {str(shop): "shop"}}),
        ".gemini/tmp/shop/memory/MEMORY.md": "- private\n", "shop/.git/HEAD": "ref: refs/heads/main\n",
        "shop/AGENTS.md": "- Cents.\n", "shop/CLAUDE.md": "@AGENTS.md\n", "shop/GEMINI.md": "- g\n",
        "shop/CLAUDE.local.md": "- port 8301\n",
        "shop/.gitignore": "CLAUDE.local.md\n", "notes/AGENTS.md": "- n\n", "Documents/AGENTS.md": "- not entered\n",
    })  # fmt: skip
    return home


@pytest.fixture
def home(tmp_path):
    return make_home(tmp_path / "mia")


def listed(*arguments):
    done = command("laptop", "--list", "--json", *map(str, arguments), PATH="/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["agents"]


def test_the_list_names_agents_projects_and_files(home):
    found = {one["agent"]: one for one in listed("--home", home, home / "shop")}
    assert set(found) == {"claude-code", "codex", "gemini-cli"}
    claude = found["claude-code"]
    assert set(claude) == {"agent", "version", "home", "projects"} and claude["home"] == str(home / ".claude")
    shop = {one["path"]: one for one in claude["projects"]}[str(home / "shop")]
    kinds = {os.path.relpath(one["path"], home): (one["kind"], one["bytes"]) for one in shop["files"]}
    memory = f".claude/projects/{project_slug(str(home / 'shop'))}/memory"
    assert kinds == {
        ".claude/CLAUDE.md": ("user", 21), "shop/CLAUDE.md": ("project", 11), "shop/AGENTS.md": ("import", 9),
        "shop/CLAUDE.local.md": ("local", 12), f"{memory}/MEMORY.md": ("memory", 40), f"{memory}/tests.md": ("later", 20),
    }  # fmt: skip
    assert [one["path"] for one in found["codex"]["projects"]] == [str(home / "shop"), str(home / "notes")]
    assert "secret" not in json.dumps(found) and "Documents" not in json.dumps(found)


SHUT = (
    ".claude.json",
    ".claude/CLAUDE.md",
    ".claude/projects",
    ".codex",
    ".gemini/projects.json",
    "shop/.git",
    "shop/AGENTS.md",
    "shop",
)


@pytest.mark.parametrize("shut", SHUT)
def test_what_cannot_be_read_does_not_stop_the_list(home, shut):
    mode = (home / shut).stat().st_mode
    (home / shut).chmod(0)
    with unprivileged():
        found = {one.agent: one for one in coding_agents.find_agents(str(home), [str(home / "shop")])}
    (home / shut).chmod(mode)
    assert set(found) == {"claude-code", "codex", "gemini-cli"}
    assert str(home / "shop") in {one.path for one in found["claude-code"].projects}


def test_a_home_without_agents(tmp_path):
    (tmp_path / "empty").mkdir()
    assert listed("--home", tmp_path / "empty", tmp_path / "empty") == []
    done = command("laptop", "--list", "--home", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (1, "") and "is no folder" in done.stderr
    assert command("laptop", "--list", str(tmp_path / "none")).returncode == 1


ENTERED = """
import os, sys
entered = []
sys.addaudithook(lambda name, given: entered.append(str(given[0])) if name in ("os.scandir", "os.listdir", "open") else None)
from memoryhub.management import laptop_list
laptop_list.main(["--list", "--json", "--home", sys.argv[1], *sys.argv[2:]])
print("\\n".join(one for one in entered if one.startswith(sys.argv[1])), file=sys.stderr)
"""


def test_only_known_places_are_entered(home):
    (home / "Documents" / "deep").mkdir()
    os.mkfifo(home / ".codex" / "AGENTS.override.md")
    done = subprocess.run(
        [sys.executable, "-c", ENTERED, str(home), str(home)], capture_output=True, text=True, cwd=home / "notes",
        env=clean(PYTHONPATH=os.getcwd()), timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    entered = {os.path.relpath(path, home).split("/")[0] for path in done.stderr.split()}
    assert "Documents" not in entered and {".claude", "shop"} <= entered


def test_what_is_entered_does_not_grow_with_the_home(home):
    def entered():
        done = subprocess.run(
            [sys.executable, "-c", ENTERED, str(home), str(home / "shop")], capture_output=True, text=True, cwd=home / "notes",
            env=clean(PYTHONPATH=os.getcwd()), timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return sorted(done.stderr.split())

    before, slug = entered(), project_slug(str(home / "shop"))
    for folder in ("Documents", f".claude/projects/{slug}", ".claude/todos", "shop/node_modules", ".codex/sessions"):
        (home / folder).mkdir(parents=True, exist_ok=True)
        for number in range(400):
            (home / folder / f"{number}.jsonl").touch()
    assert entered() == before


def seen(home):
    return {
        os.path.join(folder, name): (os.lstat(os.path.join(folder, name)).st_mtime_ns, os.lstat(os.path.join(folder, name)).st_size)
        for folder, folders, names in os.walk(home)
        for name in [*names, *folders]
    }  # fmt: skip


def test_looking_writes_nothing(home, tmp_path):
    before = seen(home)
    command("laptop", "--list", "--home", str(home), MEMORYHUB_DATA_DIR=str(tmp_path / "data"))
    assert seen(home) == before and not (tmp_path / "data").exists()


def test_without_an_answer_nothing_is_made(home, tmp_path):
    done = command("laptop", "--home", str(home), str(home / "shop"), MEMORYHUB_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 1 and "--yes" in done.stderr and "~/shop" in done.stdout


# ---- the space


@pytest.fixture
def shown(db, home):
    found = coding_agents.find_agents(str(home), [str(home / "shop")])
    return contexts.show_laptop(HUB, str(home), found, [str(home / "shop"), str(home / "notes")], name="Mine")


def test_the_space_mounts_memory_and_nothing_beside_it(shown, home):
    before = seen(home)
    assert dict(shown.mounts) == {
        "/claude/": str(home / ".claude"), "/codex/": str(home / ".codex"), "/gemini/": str(home / ".gemini"),
        "/shop/": str(home / "shop"), "/notes/": str(home / "notes"),
    }  # fmt: skip
    for mount in Mount.objects.within(shown.space):
        files.take_in_mount(shown.space, mount)
    slug = project_slug(str(home / "shop"))
    taken = set(File.objects.within(shown.space).values_list("path", flat=True))
    assert taken >= {
        "/claude/CLAUDE.md", f"/claude/projects/{slug}/memory/MEMORY.md", f"/claude/projects/{slug}/memory/tests.md",
        "/gemini/tmp/shop/memory/MEMORY.md", "/codex/AGENTS.md", "/shop/CLAUDE.local.md",
    }  # fmt: skip
    assert not any(path.endswith((".json", ".jsonl", ".toml")) for path in taken)
    assert seen(home) == before


def test_showing_again_adds_only_what_is_new(shown, home):
    found = coding_agents.find_agents(str(home), [])
    again = contexts.show_laptop(HUB, str(home), found, [str(home / "shop"), str(home)])
    assert again.space == shown.space and Mount.objects.within(shown.space).count() == 5
    assert [one for one, _ in again.refused] == [str(home)]


def test_the_context_has_the_files_of_the_home(shown, home):
    from memoryhub.models import Actor, Role

    owner = create_hub_owner("mia")
    spaces.add_member(shown.space, HUB, owner, Role.OWNER)
    actor = Actor.of_person(owner, Role.OWNER)
    mount = Mount.objects.within(shown.space).get(prefix="/shop/")
    look = contexts.read_context(
        contexts.place_in_mount(Space.objects.get(pk=shown.space.pk), actor, mount.pk, ""), "claude-code"
    )
    for text in (b"Answer in English.", b"- Cents.", b"port 8301", b"fast ones first"):
        assert text in look.context.text
    assert b"not shown" not in look.context.text


def test_only_who_runs_the_hub_shows_a_home(db, house, home):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    with pytest.raises(Forbidden):
        contexts.show_laptop(house.owner, str(home), [], [], slug="books")


def test_a_space_of_others_never_gets_a_home(shown, home, tmp_path):
    spaces.create(HUB, "team", "Team")
    for slug, whose in (("team", home), ("laptop", tmp_path)):
        with pytest.raises(Conflict, match="--space"):
            contexts.show_laptop(HUB, str(whose), [], [], slug=slug)
    assert Space.objects.get(slug="team").settings["home"] == ""


def test_a_project_whose_name_is_no_text_is_told(shown, home):
    again = contexts.show_laptop(HUB, str(home), [], [str(home / "pro\udcff"), str(home / "a\u202eb")])
    assert [why[:18] for _, why in again.refused] == ["Its name is no UTF"] * 2


@pytest.fixture
def house(db):
    from types import SimpleNamespace

    from memoryhub.domain import accounts
    from memoryhub.models import Actor, Role

    space = spaces.create(HUB, "books", "Books")
    person = accounts.create_person(HUB, "an-owner")
    spaces.add_member(space, HUB, person, Role.OWNER)
    return SimpleNamespace(space=space, owner=Actor.of_person(person, Role.OWNER))


def test_one_command_from_a_home_to_its_contexts(place, data_dir):
    home = make_home(place / "mia")
    done = command(
        "laptop", "--yes", "--no-start", "--home", str(home), str(home / "shop"), MEMORYHUB_DATA_DIR=str(data_dir)
    )
    assert done.returncode == 0, done.stderr
    assert "/shop/ shows ~/shop" in done.stdout and "Claude Code, ~/.claude" in done.stdout
    running = Hub(data_dir).wait_ready()
    try:
        again = command("laptop", "--yes", "--home", str(home), MEMORYHUB_DATA_DIR=str(data_dir))
        link = re.search(rf"Open {running.url}(/login/once/\S+)", again.stdout)
        assert link, again.stdout + again.stderr
        with httpx.Client(follow_redirects=True) as browser:
            page = sign_in_by_link(browser, running.url + link[1])
            assert page.url.path == "/s/laptop/contexts/" and "What Claude Code sees in" in page.text
    finally:
        running.process.kill()
        running.process.wait()
