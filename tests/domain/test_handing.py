"""What the door keeps of a prompt's ingredients, against the same prompt assembled from nothing after every change."""

from __future__ import annotations

import random

import pytest

from memoryhub.domain import agents, files, gathering, handing, mounts, prompts, sources, tokens, working
from memoryhub.domain.access import HUB
from memoryhub.domain.prompts import Asked
from memoryhub.models import File, Space

from .layers import counter, space  # noqa: F401

PATHS = ["/memories/a.md", "/memories/b.md", "/memories/c.md", "/here/d.md", gathering.GUIDELINES_PATH]
TEXTS = [
    b"one",
    b"two <!-- and a comment -->",
    b"",
    b"\xff no text",
    b'quoted "three" \\ four',
    "fünf".encode(),
]
DIALECTS = ["hub", "plain", "deepagents/0.6.3"]


@pytest.fixture
def scene(space, counter, tmp_path):
    mounts.add(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    mounts.add(space, HUB, "/here/", store="thread")
    for path in PATHS[:4]:
        sources.add(space, HUB, path)
    return space


@pytest.fixture
def handed(scene, counter):
    secret = tokens.create(scene, HUB, agent=counter)[1]

    def handed(query="", dialect="", thread=""):
        asked = Asked(dialect, query, "", thread)
        return handing.prompt_for(handing.enter(secret, None, hot=handing.shows_working_memory(asked)), asked)

    return handed


def told(prompt):
    return prompt.data, prompt.sources, prompt.revisions, prompt.warnings, prompt.parts, prompt.entries


def changes(space, agent, root, rng):
    """One change of anything that a prompt may show."""
    path, thread = rng.choice(PATHS), rng.choice(["", "t-1"])
    thread = thread if path.startswith("/here/") else ""
    written = File.objects.within(space).filter(path=path, thread_id=thread, is_deleted=False, revision__gt=0).first()
    kind = rng.choice(
        ["write", "write", "write", "back", "delete", "move", "list", "agent", "add", "correct", "disk", "disk"]
    )
    on_disk = root / path.rpartition("/")[2]
    if kind == "disk":  # somebody puts a folder in the place of a file, and takes it away again
        if on_disk.is_dir():
            on_disk.rmdir()
        elif not path.startswith("/here/"):
            on_disk.unlink(missing_ok=True)
            on_disk.mkdir()
    elif on_disk.is_dir():
        return
    elif kind == "write":
        files.write(space, HUB, path, rng.choice(TEXTS), thread_id=thread)
    elif kind == "back" and written and written.revision > 1 and not thread:
        files.write(space, HUB, path, bytes(written.revisions.get(number=written.revision - 1).content))
    elif kind == "delete" and written:
        files.delete(space, HUB, path, thread_id=thread)
    elif kind == "move" and written and path.startswith("/memories/"):
        to = rng.choice([one for one in PATHS[:3] if one != path])
        if File.objects.within(space).filter(path=to, is_deleted=False, revision__gt=0).exists():
            files.delete(space, HUB, to)
        files.move(space, HUB, path, to)
    elif kind == "list":
        listed = sources.of(space)
        sources.reorder(space, HUB, rng.choice(listed).pk, rng.randrange(len(listed)))
        sources.switch(space, HUB, listed[0].pk, rng.random() < 0.7)
    elif kind == "agent":
        agents.change(agent, HUB, persona=rng.choice(["Calm.", "Quick.", ""]))
    elif kind == "add":
        working.admit(space, f"Order {rng.random()}.", agent=agent, scope=rng.choice(["group", "agent"]))
    elif kind == "correct" and (entry := working.live(space).first()):
        working.edit(space, HUB, entry.pk, f"Corrected {rng.random()}.")


@pytest.mark.parametrize("seed", range(4))
def test_the_door_hands_out_what_is_assembled_from_nothing(scene, counter, handed, tmp_path, seed):
    rng = random.Random(seed)
    for _ in range(50):
        changes(scene, counter, tmp_path, rng)
        for query in ("", "Which order?"):
            asked = {"query": query, "dialect": rng.choice(DIALECTS), "thread": rng.choice(["", "t-1", "t-2"])}
            got = handed(**asked)
            assert told(got) == told(prompts.assemble(Space.objects.get(pk=scene.pk), counter, **asked)), asked


def test_a_deleted_file_below_a_folder_that_is_away_is_told_alike(scene, counter, handed, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    mounts.add(scene, HUB, "/far/", store="filesystem", directory=str(root))
    sources.add(scene, HUB, "/far/e.md")
    files.write(scene, HUB, "/far/e.md", b"five")
    files.delete(scene, HUB, "/far/e.md")

    def same():
        assert told(handed()) == told(prompts.assemble(Space.objects.get(pk=scene.pk), counter))

    same()
    away = root.rename(root.with_name("away"))
    for text in (b"one", b"two"):
        files.write(scene, HUB, "/here/d.md", text, thread_id="t-1")
        same()
    away.rename(root)
    files.write(scene, HUB, "/far/e.md", b"")  # whose sha256 is that of the deletion
    same()


def test_a_text_that_changed_is_sent_alone(scene, counter, handed, monkeypatch):
    for path in PATHS[:3]:
        files.write(scene, HUB, path, path.encode())
    asked, rows = [], handing.hot_sql.rows

    def noting(sql, *rest, **more):
        found = rows(sql, *rest, **more)
        asked.append((sql, found))
        return found

    handed()
    files.write(scene, HUB, PATHS[1], b"another")
    monkeypatch.setattr(handing.hot_sql, "rows", noting)
    assert b"another" in handed().data
    (_, (sql, found), *ledger) = asked
    assert sql == gathering.TEXTS and len(ledger) == 1
    assert [row[4] for row in found] == [None, None, b"another", None, None]
    asked.clear()
    agents.change(counter, HUB, persona="Calm.")
    asked.clear()
    assert b"Calm." in handed().data
    assert gathering.TEXTS not in [sql for sql, _ in asked] and len(asked) == 3  # the door, everything, the ledger
