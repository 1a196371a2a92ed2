"""The hook in settings files: put in and taken out, all else byte for byte; what is no plain JSON is never touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memoryhub.domain import coding_agents
from memoryhub.errors import Conflict, Invalid

CLAUDE = coding_agents.HOOKS["claude"]
COMMAND = "/opt/venv/bin/memoryhub hook claude"
OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}
TEXTS = {
    "nothing": "",
    "empty": "{}",
    "empty with lines": "{\n}\n",
    "other settings": '{\n    "model": "opus",\n    "env": {"A": "1.50", "B": 1e5}\n}\n',
    "tabs and CR LF": '{\r\n\t"model": "opus"\r\n}\r\n',
    "on one line": '{"model":"opus","permissions":{"deny":["Read(./a)"]}}',
    "another event": '{\n  "hooks": {\n    "Stop": []\n  },\n  "model": "x"\n}\n',
    "the same event": json.dumps({"hooks": {"PreToolUse": [OTHER]}, "z": "ünï"}, indent=2, ensure_ascii=False),
    "an empty event": '{"hooks": {"PreToolUse": [ ] , "Stop": [1]}}',
    "empty hooks": '{"a": {"hooks": 1}, "hooks": {}}',
    "a BOM": '\ufeff{\n  "a": 1\n}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_is_added_and_the_rest_stays(text):
    after = coding_agents.with_hook(CLAUDE, text, COMMAND)
    assert coding_agents.installed_command(CLAUDE, after) == COMMAND
    settings = json.loads(after.removeprefix("\ufeff"))
    before = json.loads(text.removeprefix("\ufeff")) if text.strip() else {}
    assert settings["hooks"]["PreToolUse"][:-1] == before.get("hooks", {}).get("PreToolUse", [])
    assert {name: one for name, one in settings.items() if name != "hooks"} == {
        name: one for name, one in before.items() if name != "hooks"
    }
    assert after.replace("\r\n", "").count("\r") == 0 and (len(text) < 4 or text[:20].strip("} \n\r") in after)
    assert coding_agents.with_hook(CLAUDE, after, COMMAND) == after or "hooks" in text
    removed = coding_agents.without_hook(CLAUDE, after)
    assert coding_agents.installed_command(CLAUDE, removed) == ""
    assert all(name in json.loads(removed.removeprefix("\ufeff")) for name in before if before[name])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_undo_restores_the_bytes(tmp_path, text):
    path = tmp_path / ".claude" / "settings.json"
    if text:
        path.parent.mkdir()
        path.write_bytes(text.encode())
        path.chmod(0o640)
    change = coding_agents.plan_install(CLAUDE, str(path), COMMAND)
    assert COMMAND in change.diff and (not path.exists() or path.read_bytes() == text.encode()), (
        "planning writes nothing"
    )
    kept = coding_agents.make_change(change)
    assert COMMAND in path.read_text()
    assert bool(kept) == bool(text) and (not kept or Path(kept).read_bytes() == text.encode())
    if text:
        assert path.stat().st_mode & 0o777 == 0o640
    assert coding_agents.plan_install(CLAUDE, str(path), COMMAND).is_none
    coding_agents.make_change(coding_agents.plan_uninstall(CLAUDE, str(path)))
    assert (path.read_bytes() == text.encode()) if text else not path.exists()
    assert sorted(os.listdir(path.parent)) == (["settings.json"] if text else [])
    assert coding_agents.plan_uninstall(CLAUDE, str(path)).is_none


def test_undo_after_other_changes_takes_out_the_entry_alone(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(TEXTS["the same event"])
    coding_agents.make_change(coding_agents.plan_install(CLAUDE, str(path), COMMAND))
    path.write_text(path.read_text().replace("ünï", "changed since"))
    coding_agents.make_change(coding_agents.plan_uninstall(CLAUDE, str(path)))
    assert path.read_text() == TEXTS["the same event"].replace("ünï", "changed since")


def test_another_command_takes_the_place_of_the_one_before(tmp_path):
    first = coding_agents.with_hook(CLAUDE, TEXTS["the same event"], COMMAND)
    second = coding_agents.with_hook(CLAUDE, first, "/new/memoryhub hook claude --data-dir /x")
    assert second.count("hook claude") == 1 and "guard.sh" in second and "/new/" in second


BROKEN = {
    "comments": '{\n  // mine\n  "model": "x"\n}\n',
    "a comma too much": '{"a": 1,}',
    "half of it": '{"hooks": {"PreTool',
    "a list": "[]",
    "a name twice": '{"hooks": {}, "hooks": {}}',
    "hooks of another shape": '{"hooks": []}',
    "an event of another shape": '{"hooks": {"PreToolUse": {}}}',
    "deep": "[" * 100_000,
    "a long number": '{"a": ' + "9" * 6000 + "}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_plain_json_is_never_touched(tmp_path, text):
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(Invalid, match="not touched"):
        coding_agents.plan_install(CLAUDE, str(path), COMMAND)
    assert coding_agents.plan_uninstall(CLAUDE, str(path)).is_none
    assert path.read_text() == text and os.listdir(tmp_path) == ["settings.json"]


def test_bytes_that_are_no_text_are_never_touched(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(Invalid, match="UTF-8"):
        coding_agents.plan_install(CLAUDE, str(path), COMMAND)


def test_a_change_of_the_file_meanwhile_is_kept(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = coding_agents.plan_install(CLAUDE, str(path), COMMAND)
    path.write_text('{"a": 1}')
    with pytest.raises(Conflict):
        coding_agents.make_change(change)
    assert path.read_text() == '{"a": 1}'


def test_settings_that_are_a_link_stay_one(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    real, path = tmp_path / "dotfiles" / "claude.json", tmp_path / "settings.json"
    real.write_text("{}")
    path.symlink_to(real)
    coding_agents.make_change(coding_agents.plan_install(CLAUDE, str(path), COMMAND))
    assert path.is_symlink() and COMMAND in real.read_text()
    coding_agents.make_change(coding_agents.plan_uninstall(CLAUDE, str(path)))
    assert path.is_symlink() and real.read_text() == "{}"


def test_a_plugin_is_made_and_removed_and_nobody_elses_touched(tmp_path):
    path = tmp_path / "opencode" / "plugin" / "memoryhub.js"
    command = "/opt/my venv/bin/memoryhub hook opencode"
    coding_agents.make_change(coding_agents.plan_plugin(str(path), "'/opt/my venv/bin/memoryhub' hook opencode"))
    assert '["/opt/my venv/bin/memoryhub", "hook", "opencode"]' in path.read_text() and command not in path.read_text()
    assert "my venv" in coding_agents.plugin_command(path.read_bytes())
    assert coding_agents.plan_plugin(str(path), "'/opt/my venv/bin/memoryhub' hook opencode").is_none
    coding_agents.make_change(coding_agents.plan_plugin_removal(str(path)))
    assert not path.exists() and coding_agents.plan_plugin_removal(str(path)).is_none
    path.write_text("export const Mine = 1\n")
    for plan in (
        lambda: coding_agents.plan_plugin(str(path), "x"),
        lambda: coding_agents.plan_plugin_removal(str(path)),
    ):
        with pytest.raises(Conflict, match="not touched"):
            plan()
    assert path.read_text() == "export const Mine = 1\n"


FLAT = coding_agents.HOOKS["copilot"]
CODEX = coding_agents.HOOKS["codex"]


def test_the_file_of_copilot_cli_is_one_of_its_own(tmp_path):
    path = tmp_path / ".copilot" / FLAT.file
    command = "/opt/venv/bin/memoryhub hook copilot"
    coding_agents.make_change(coding_agents.plan_install(FLAT, str(path), command))
    entry = {"type": "command", "bash": command, "timeoutSec": 20}
    assert json.loads(path.read_text()) == {"version": 1, "hooks": {"preToolUse": [entry]}}
    assert coding_agents.plan_install(FLAT, str(path), command).is_none
    own = {"type": "command", "bash": "guard.sh"}
    added = coding_agents.with_hook(FLAT, json.dumps({"version": 1, "hooks": {"preToolUse": [own, 3, "x"]}}), command)
    assert json.loads(added)["hooks"]["preToolUse"] == [own, 3, "x", entry]
    assert coding_agents.installed_command(FLAT, coding_agents.without_hook(FLAT, added)) == ""
    coding_agents.make_change(coding_agents.plan_uninstall(FLAT, str(path)))
    assert not path.exists()


def test_the_file_of_codex_is_beside_its_settings():
    text = coding_agents.with_hook(CODEX, "", "/opt/venv/bin/memoryhub hook codex")
    assert CODEX.file == "hooks.json" and json.loads(text)["hooks"]["PreToolUse"][0]["matcher"] == "apply_patch|Bash"
