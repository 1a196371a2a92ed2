"""What the door keeps of a prompt's ingredients, against the same prompt assembled from nothing after every change."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, working
from memoryhub.domain.prompts import PromptRequest, inputs, serve
from memoryhub.domain.working import entries
from memoryhub.errors import Invalid
from memoryhub.models import HUB, File, Space, WorkingEntry

from .layers import counter, space  # noqa: F401

PATHS = ["/memories/a.md", "/memories/b.md", "/memories/c.md", "/here/d.md", files.GUIDELINES_PATH]
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
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    files.add_mount(space, HUB, "/here/", store="thread")
    for path in PATHS[:4]:
        prompts.add_source(space, HUB, path)
    return space


@pytest.fixture
def secret(scene, counter):
    return accounts.create_token(scene, HUB, agent=counter)[1]


@pytest.fixture
def handed(secret):
    def handed(query="", dialect="", thread="", is_restless=None):
        asked = PromptRequest(dialect, query, "", thread)
        if is_restless:  # as if the space had moved on before the last look
            serve.restless.add(accounts.digest_of(secret))
        door, about_texts = prompts.enter_for_prompt(secret, None, asked)
        return prompts.prompt_for(door, asked, about_texts)

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
        listed = prompts.sources_of(space)
        prompts.reorder_source(space, HUB, rng.choice(listed).pk, rng.randrange(len(listed)))
        prompts.switch_source(space, HUB, listed[0].pk, rng.random() < 0.7)
    elif kind == "agent":
        prompts.change_agent(agent, HUB, persona=rng.choice(["Calm.", "Quick.", ""]))
    elif kind == "add":
        entries.admit(space, f"Order {rng.random()}.", agent=agent, scope=rng.choice(["group", "agent"]))
    elif kind == "correct" and (entry := working.live(space).first()):
        working.edit(space, HUB, entry.pk, f"Corrected {rng.random()}.")


@pytest.mark.parametrize("seed", range(4))
def test_the_door_hands_out_what_is_assembled_from_nothing(scene, counter, handed, tmp_path, seed):
    rng, coin = random.Random(seed), random.Random(seed)
    for _ in range(50):
        changes(scene, counter, tmp_path, rng)
        for query in ("", "Which order?"):
            asked = {"query": query, "dialect": rng.choice(DIALECTS), "thread": rng.choice(["", "t-1", "t-2"])}
            got = handed(**asked, is_restless=coin.random() < 0.5)
            assert told(got) == told(prompts.assemble(Space.objects.get(pk=scene.pk), counter, **asked)), asked


def test_a_deleted_file_below_a_folder_that_is_away_is_told_alike(scene, counter, handed, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    files.add_mount(scene, HUB, "/far/", store="filesystem", directory=str(root))
    prompts.add_source(scene, HUB, "/far/e.md")
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


@pytest.fixture
def asked(monkeypatch):
    """The quick statements with what they found, from now on."""
    asked, rows = [], serve.hot_sql.rows

    def noting(sql, *rest, **more):
        found = rows(sql, *rest, **more)
        asked.append((sql, found))
        return found

    monkeypatch.setattr(serve.hot_sql, "rows", noting)
    return asked


def test_a_text_that_changed_is_sent_alone(scene, counter, handed, asked):
    for path in PATHS[:3]:
        files.write(scene, HUB, path, path.encode())
    handed()
    handed()
    files.write(scene, HUB, PATHS[1], b"another")
    asked.clear()
    assert b"another" in handed().data
    (_, (sql, found), *ledger) = asked
    assert sql == inputs.TEXTS and len(ledger) == 1
    assert [row[5] for row in found] == [None, None, b"another", None, None]
    asked.clear()
    prompts.change_agent(counter, HUB, persona="Calm.")
    asked.clear()
    assert b"Calm." in handed().data
    assert inputs.TEXTS not in [sql for sql, _ in asked] and len(asked) == 3  # the door, everything, the ledger


def test_where_files_keep_changing_they_are_asked_about_with_the_look_at_the_door(scene, handed, asked):
    for text in (b"one", b"two"):
        files.write(scene, HUB, PATHS[0], text)
        handed()
    files.write(scene, HUB, PATHS[0], b"three")
    asked.clear()
    assert b"three" in handed().data
    both, ledger = asked
    assert both[0] == serve.with_door(inputs.TEXTS) and "memoryhub_delivery" in ledger[0]
    handed()
    asked.clear()
    handed()  # nothing changed since
    assert [sql for sql, _ in asked] == [serve.DOOR]


def test_a_token_that_ended_opens_nothing_however_it_is_asked(scene, counter, secret, handed):
    handed()
    files.write(scene, HUB, PATHS[0], b"more")
    handed(is_restless=True)
    accounts.revoke_token(counter.tokens.get(), HUB)
    serve.restless.add(accounts.digest_of(secret))
    assert prompts.enter_for_prompt(secret, None, PromptRequest()) == (None, None)


def test_an_unknown_dialect_is_told_to_whoever_has_a_token(secret, handed):
    handed()
    serve.restless.add(accounts.digest_of(secret))
    door, about_texts = prompts.enter_for_prompt(secret, None, PromptRequest("no-such-dialect"))
    assert door and about_texts is None
    with pytest.raises(Invalid, match="no-such-dialect"):
        prompts.prompt_for(door, PromptRequest("no-such-dialect"), about_texts)


def test_what_was_asked_about_something_else_is_not_taken_for_an_answer(scene, counter, handed):
    files.write(scene, HUB, PATHS[0], b"one")
    assert b"one" in handed("Which order?").data
    entry = entries.admit(scene, "Order 41.", agent=counter)
    files.write(scene, HUB, PATHS[0], b"two")
    assert b"two" in handed("Which order?").data
    # It expires, so what was gathered first is the base again, and the door was asked about the other.
    WorkingEntry.objects.within(scene).filter(pk=entry).update(expires_at=timezone.now() - timedelta(hours=1))
    got = handed("Which order?", is_restless=True)
    assert b"two" in got.data and b"Order 41" not in got.data
