"""A write of an agent's own tool to a held file: refused before it lands, and kept as a proposal."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from types import SimpleNamespace

import pytest

from memoryhub.domain import accounts, files, proposals, spaces, write_hooks
from memoryhub.management.commands import hook
from memoryhub.models import HUB, Actor, Proposal
from memoryhub.stores import held_list
from tests.domain.files.test_disk_secrets import KEY, assert_nowhere

ONE = "# Rules\n\nRun `make test`.\nKeep it short.\n"


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "shop")


@pytest.fixture
def root(space, tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    directory = tmp_path / "disk"
    directory.mkdir()
    (directory / "AGENTS.md").write_text(ONE)
    mount = files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory), exclude=["out/"])
    files.take_in_mount(space, mount)
    files.change_on_disk(space, HUB, mount, "hold", put_back=True)
    return directory


@pytest.fixture
def mia(space):
    person = accounts.create_person(HUB, "mia")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


def write(root, name="AGENTS.md", content="# Rules\n\nRun anything.\n", **more):
    return write_hooks.decide(
        "claude-code", "Write", {"file_path": str(root / name), "content": content}, str(root), "s1"
    )


def edit(root, old, new, name="AGENTS.md"):
    arguments = {"file_path": str(root / name), "old_string": old, "new_string": new}
    return write_hooks.decide("claude-code", "Edit", arguments, str(root), "s1")


def approve(space, mia, number):
    return proposals.approve(space, mia, number, seen=proposals.result(proposals.get(space, number)).seen)


def read(space, path="/memories/AGENTS.md"):
    return files.read(space, path).content.decode()


def test_a_write_becomes_a_proposal_and_the_file_stays(space, root, mia):
    decided = write(root)
    assert not decided.allows and decided.proposal == 1
    assert "recorded as proposal 1, do not retry, carry on" in decided.says
    assert (root / "AGENTS.md").read_text() == ONE == read(space)
    one = proposals.get(space, 1)
    assert (one.agent_name, one.path, bytes(one.content).decode()) == (
        "claude-code",
        "/memories/AGENTS.md",
        "# Rules\n\nRun anything.\n",
    )
    approve(space, mia, 1)
    assert read(space) == "# Rules\n\nRun anything.\n" == (root / "AGENTS.md").read_text()
    newest = files.file_row(space, "/memories/AGENTS.md")
    assert (newest.author_kind, newest.author_name) == ("agent", "claude-code")
    proposals.undo(space, mia, 1)
    assert read(space) == ONE == (root / "AGENTS.md").read_text()


def test_an_edit_is_recorded_as_the_text_that_would_result(space, root):
    assert edit(root, "Keep it short.", "Be brief.").proposal == 1
    assert bytes(proposals.get(space, 1).content).decode() == ONE.replace("Keep it short.", "Be brief.")


def test_the_same_write_again_is_the_same_proposal(space, root):
    assert write(root).proposal == write(root).proposal == 1
    assert Proposal.objects.within(space).count() == 1


def test_two_edits_of_one_file_can_both_be_approved(space, root, mia):
    edit(root, "# Rules", "# Our rules")
    edit(root, "Keep it short.", "Be brief.")
    approve(space, mia, 1)
    approve(space, mia, 2)
    assert read(space) == "# Our rules\n\nRun `make test`.\nBe brief.\n"


def test_an_edit_of_what_was_asked_before_builds_on_it(space, root):
    edit(root, "Keep it short.", "Be brief.")
    assert edit(root, "Be brief.", "Be very brief.").proposal == 2
    assert bytes(proposals.get(space, 2).content).decode() == ONE.replace("Keep it short.", "Be very brief.")


def test_a_rejected_write_is_told_so_and_not_recorded_again(space, root, mia):
    write(root)
    proposals.reject(space, mia, 1, note="We never run anything.")
    decided = write(root)
    assert not decided.allows and "We never run anything." in decided.says and decided.proposal is None
    assert Proposal.objects.within(space).count() == 1


def test_a_new_file_and_one_in_a_new_folder(space, root, mia):
    assert write(root, "deep/new.md", "new\n").proposal == 1
    assert not (root / "deep").exists()
    approve(space, mia, 1)
    assert (root / "deep/new.md").read_text() == "new\n"


def test_what_is_not_held_goes_on(space, root, tmp_path):
    assert write(tmp_path, "elsewhere.md").allows
    assert write(root, "out/x.md").allows, "the mount leaves it out"
    assert write(root, content=ONE).allows, "nothing changes"
    assert write_hooks.decide("claude-code", "Read", {"file_path": str(root / "AGENTS.md")}, str(root)).allows
    files.change_on_disk(space, HUB, files.mounts_of_space(space)[0], "apply")
    assert write(root).allows
    assert Proposal.objects.within(space).count() == 0


@pytest.mark.parametrize("way", ["link to the folder", "link to the file", "dots", "relative", "tilde"])
def test_every_way_to_the_file_is_held(space, root, tmp_path, monkeypatch, way):
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "link.md").symlink_to(root / "AGENTS.md")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = {
        "link to the folder": tmp_path / "link/AGENTS.md", "link to the file": tmp_path / "link.md", "relative": "AGENTS.md",
        "dots": f"{root}/x/../AGENTS.md", "tilde": "~/disk/AGENTS.md",
    }[way]  # fmt: skip
    decided = write_hooks.decide("claude-code", "Write", {"file_path": str(path), "content": "x\n"}, str(root))
    assert decided.proposal == 1


def test_a_secret_is_refused_and_stored_nowhere(space, root):
    decided = write(root, content=f"{ONE}key {KEY}\n")
    assert not decided.allows and decided.proposal is None and "secret" in decided.says and "line 5" in decided.says
    assert KEY not in decided.says and Proposal.objects.within(space).count() == 0
    assert not edit(root, "Keep it short.", f"key {KEY}").allows
    assert_nowhere(KEY)


def test_a_file_with_a_secret_on_disk_keeps_it(space, root, mia):
    (root / "AGENTS.md").write_text(f"{ONE}key {KEY}\n")
    files.sync_path(space, "/memories/AGENTS.md")
    approve(space, mia, 1)
    assert edit(root, "Keep it short.", "Be brief.").proposal == 2
    approve(space, mia, 2)
    assert (root / "AGENTS.md").read_text() == ONE.replace("Keep it short.", "Be brief.") + f"key {KEY}\n"
    assert_nowhere(KEY)


def test_a_protected_region_stays(space, root, mia):
    files.write(space, mia, "/memories/AGENTS.md", f"<!-- protected -->\na\n<!-- /protected -->\n{ONE}".encode())
    decided = edit(root, "a\n", "b\n")
    assert not decided.allows and decided.proposal is None and "protected" in decided.says


def test_a_command_that_writes_a_held_file_is_refused(space, root):
    for command in (f"echo x >> {root}/AGENTS.md", "sed -i s/a/b/ AGENTS.md", "rm -f ./AGENTS.md"):
        decided = write_hooks.decide("claude-code", "Bash", {"command": command}, str(root))
        assert not decided.allows and decided.proposal is None, command
    assert write_hooks.decide("claude-code", "Bash", {"command": "cat AGENTS.md; rm -rf out/x.md"}, str(root)).allows


def patch(root, *parts):
    text = "*** Begin Patch\n" + "".join(parts) + "*** End Patch\n"
    return write_hooks.decide("codex", "apply_patch", {"command": text}, str(root), "s1")


NEW, OLD = "*** Add File: new.md\n+new\n", "*** Update File: AGENTS.md\n@@\n-# Rules\n+# Our rules\n"


def test_each_held_file_of_a_patch_is_a_proposal(space, root, mia):
    decided = patch(root, NEW, OLD)
    assert "recorded as proposals 1, 2, do not retry" in decided.says and not (root / "new.md").exists()
    assert "/memories/new.md, /memories/AGENTS.md" in decided.says
    approve(space, mia, 2)
    assert read(space).startswith("# Our rules\n") and proposals.get(space, 2).agent_name == "codex"


def test_a_patch_with_other_files_says_that_they_were_not_changed(space, root, tmp_path):
    other = f"*** Add File: {tmp_path / 'free.md'}\n+x\n"
    assert patch(root, other).allows
    assert "The other files of this patch were not changed" in patch(root, OLD, other).says
    deleted = patch(root, "*** Delete File: AGENTS.md\n")
    assert not deleted.allows and deleted.proposal is None and "A person deletes" in deleted.says


def test_a_file_of_two_spaces_waits_in_both(space, root):
    other = spaces.create(HUB, "team")
    mount = files.add_mount(other, HUB, "/notes/", store="filesystem", directory=str(root))
    files.take_in_mount(other, mount)
    files.change_on_disk(other, HUB, mount, "hold")
    assert not write(root).allows
    assert [one.path for one in Proposal.objects.order_by("path")] == ["/memories/AGENTS.md", "/notes/AGENTS.md"]


def test_endless_changes_of_one_file_end(space, root):
    for number in range(55):
        last = write(root, content=f"{ONE}round {number}\n")
    assert not last.allows and last.proposal is None and "50 changes" in last.says
    assert Proposal.objects.within(space).count() == 50


# ---- as the agent runs it


class Input:
    def __init__(self, raw):
        self.buffer = io.BytesIO(raw)


def run(data_dir, raw, program="claude"):
    told = io.StringIO()
    assert hook.run_hook(program, str(data_dir), Input(raw), told) == 0
    return json.loads(told.getvalue() or "null")


def call(root, name="AGENTS.md", **more):
    document = {
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(root), "tool_name": "Write",
        "tool_input": {"file_path": str(root / name), "content": "x\n"}, **more,
    }  # fmt: skip
    return json.dumps(document).encode()


def reason(answer):
    said = answer["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")
    return said["permissionDecisionReason"]


@pytest.fixture
def listening(root, settings):
    """The hub's listener, in a thread of its own as in the background process."""
    stop = threading.Event()
    thread = threading.Thread(target=write_hooks.listen, args=(stop,))
    thread.start()
    while not (settings.DATA_DIR / held_list.SOCKET).exists():
        time.sleep(0.01)
    yield SimpleNamespace(data_dir=settings.DATA_DIR)
    stop.set()
    thread.join(10)


def test_the_hook_asks_the_hub(listening, root, space):
    assert "recorded as proposal 1, do not retry, carry on" in reason(run(listening.data_dir, call(root)))
    assert run(listening.data_dir, call(root, "out/x.md")) is None
    assert run(listening.data_dir, call(root.parent)) is None
    assert "recorded as proposal 2" in run(
        listening.data_dir, call(root, tool_name="write_file", tool_input={"file_path": "AGENTS.md", "content": "y\n"}), "gemini"
    )["reason"]  # fmt: skip
    assert oct((listening.data_dir / held_list.SOCKET).stat().st_mode)[-3:] == "600"
    assert oct((listening.data_dir / held_list.LIST).stat().st_mode)[-3:] == "600"


GARBAGE = [
    b"", b"null", b"[]", b"7", b'"x"', b"{", b"\xff\xfe", b"{}", b'{"tool_name": 7}', b'{"tool_name": "Write"}',
    b'{"tool_name": "Write", "tool_input": []}', b"[" * 200_000, b'{"a":' * 200_000, b" " * ((16 << 20) + 1),
    b'{"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "\\ud800"}}',
]  # fmt: skip


@pytest.mark.parametrize("raw", GARBAGE, ids=lambda raw: repr(raw[:40]))
def test_what_is_no_call_is_refused_while_files_are_held(root, space, settings, raw):
    assert "could not be read" in reason(run(settings.DATA_DIR, raw))
    files.change_on_disk(space, HUB, files.mounts_of_space(space)[0], "apply")
    assert run(settings.DATA_DIR, raw) is None


def test_without_a_hub_it_depends_on_the_mount(root, space, settings):
    assert "does not answer" in reason(run(settings.DATA_DIR, call(root)))
    assert run(settings.DATA_DIR, call(root.parent)) is None
    files.change_on_disk(space, HUB, files.mounts_of_space(space)[0], "hold")
    assert run(settings.DATA_DIR, call(root)) is None
    assert run(settings.DATA_DIR / "none", call(root)) is None


def test_a_socket_that_a_killed_hub_left_is_replaced(root, settings, listening):
    assert write_hooks.is_listened_to(str(settings.DATA_DIR))
    stale = settings.DATA_DIR / "killed"
    stale.mkdir()
    write_hooks.bind(str(stale)).close()
    assert not write_hooks.is_listened_to(str(stale)) and (stale / held_list.SOCKET).exists()
    write_hooks.bind(str(stale)).close()


def test_a_data_directory_with_a_long_name(root, space, settings, tmp_path, monkeypatch):
    long = tmp_path / ("d" * 120)
    long.mkdir()
    listener = write_hooks.bind(str(long))
    assert write_hooks.is_listened_to(str(long))
    listener.close()


def test_strange_requests_get_no_answer_and_stop_nothing(listening, root):
    import socket as sockets

    for sent in (b"", b"{", b"[]", b"\xff", b'{"agent": 1, "tool": {}, "input": 3}'):
        with held_list.socket_address(str(listening.data_dir)) as address, sockets.socket(sockets.AF_UNIX) as asking:
            asking.connect(address)
            asking.sendall(sent)
            asking.shutdown(sockets.SHUT_WR)
            asking.settimeout(10)
            asking.recv(1 << 16)
    assert "recorded as proposal" in reason(run(listening.data_dir, call(root)))


def test_the_list_is_written_as_mounts_change(root, space, settings):
    held = held_list.read_held(str(settings.DATA_DIR))
    assert [(one.directory, one.puts_back) for one in held] == [(os.path.realpath(root), True)]
    files.remove_mount(space, HUB, files.mounts_of_space(space)[0])
    assert held_list.read_held(str(settings.DATA_DIR)) == []
    (settings.DATA_DIR / held_list.LIST).write_text("{")
    assert held_list.read_held(str(settings.DATA_DIR)) is None
