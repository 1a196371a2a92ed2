"""The prompt from the caches, against the same prompt assembled from nothing after every change."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import accounts, files, prompts, working
from memoryhub.domain.accounts.authenticate import statement
from memoryhub.domain.prompts import PromptRequest, inputs_sql, serve
from memoryhub.errors import Invalid
from memoryhub.models import HUB, File, Space, WorkingEntry
from tests.outputs import admit

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
    def handed(query="", dialect="", thread=""):
        sent_sql = PromptRequest(dialect, query, "", thread)
        return prompts.prompt_for(accounts.authenticate(secret, beside=prompts.working_column(sent_sql)), sent_sql)

    return handed


def contents_of(prompt):
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
        admit(space, f"Order {rng.random()}.", agent=agent, scope=rng.choice(["group", "agent"]))
    elif kind == "correct" and (entry := working.live(space).first()):
        working.edit(space, HUB, entry.pk, f"Corrected {rng.random()}.")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_the_caches_hand_out_what_is_assembled_from_nothing(scene, counter, handed, tmp_path, seed):
    rng = random.Random(seed)
    for _ in range(50):
        changes(scene, counter, tmp_path, rng)
        for query in ("", "Which order?"):
            sent_sql = {"query": query, "dialect": rng.choice(DIALECTS), "thread": rng.choice(["", "t-1", "t-2"])}
            got = handed(**sent_sql)
            assert contents_of(got) == contents_of(
                prompts.assemble(Space.objects.get(pk=scene.pk), counter, **sent_sql)
            ), sent_sql


def test_a_deleted_file_below_a_folder_that_is_away_is_told_alike(scene, counter, handed, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    files.add_mount(scene, HUB, "/far/", store="filesystem", directory=str(root))
    prompts.add_source(scene, HUB, "/far/e.md")
    files.write(scene, HUB, "/far/e.md", b"five")
    files.delete(scene, HUB, "/far/e.md")

    def same():
        assert contents_of(handed()) == contents_of(prompts.assemble(Space.objects.get(pk=scene.pk), counter))

    same()
    away = root.rename(root.with_name("away"))
    for text in (b"one", b"two"):
        files.write(scene, HUB, "/here/d.md", text, thread_id="t-1")
        same()
    away.rename(root)
    files.write(scene, HUB, "/far/e.md", b"")  # whose sha256 is that of the deletion
    same()


@pytest.fixture
def sent_sql(monkeypatch):
    """The prepared statements with what they found, from now on."""
    sent_sql, rows = [], statements.rows

    def noting(sql, *rest, **more):
        found = rows(sql, *rest, **more)
        sent_sql.append((sql, found))
        return found

    monkeypatch.setattr(statements, "rows", noting)
    return sent_sql


def test_a_text_that_changed_is_sent_alone(scene, counter, handed, sent_sql):
    for path in PATHS[:3]:
        files.write(scene, HUB, path, path.encode())
    handed()
    handed()
    files.write(scene, HUB, PATHS[1], b"another")
    sent_sql.clear()
    assert b"another" in handed().data
    (_, (sql, found), *ledger) = sent_sql
    assert sql == inputs_sql.TEXTS and len(ledger) == 1
    assert [row[5] for row in found] == [None, None, None, b"another", None, None]
    sent_sql.clear()
    prompts.change_agent(counter, HUB, persona="Calm.")
    sent_sql.clear()
    assert b"Calm." in handed().data
    assert (
        inputs_sql.TEXTS not in [sql for sql, _ in sent_sql] and len(sent_sql) == 3
    )  # who calls, everything, the delivery


def test_a_prompt_that_did_not_change_is_one_statement(scene, handed, sent_sql):
    files.write(scene, HUB, PATHS[0], b"one")
    handed()
    handed()
    sent_sql.clear()
    handed()
    assert [sql for sql, _ in sent_sql] == [statement(serve.VIEW_IDS)]


def test_an_unknown_dialect_is_refused(handed):
    handed()
    with pytest.raises(Invalid, match="no-such-dialect"):
        handed(dialect="no-such-dialect")


def test_an_entry_that_expired_is_not_shown_from_what_was_gathered_with_it(scene, counter, handed):
    files.write(scene, HUB, PATHS[0], b"one")
    assert b"one" in handed("Which order?").data
    entry = admit(scene, "Order 41.", agent=counter)
    files.write(scene, HUB, PATHS[0], b"two")
    assert b"two" in handed("Which order?").data
    # It expires, so what was gathered first is the base again.
    WorkingEntry.objects.within(scene).filter(pk=entry).update(expires_at=timezone.now() - timedelta(hours=1))
    got = handed("Which order?")
    assert b"two" in got.data and b"Order 41" not in got.data
