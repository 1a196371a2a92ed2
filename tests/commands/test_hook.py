"""`memoryhub hook` as an agent runs it: against a running hub, and its installation."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from memoryhub.domain.write_hooks.listen import is_listened_to
from memoryhub.management.commands import hook
from tests.running import TREE, clean, command, data_dir, place, running_in, started_once  # noqa: F401  fixtures


def run_hook(data_dir, document):
    done = subprocess.run(
        [sys.executable, "-m", "memoryhub", "hook", "claude", "--data-dir", str(data_dir)], cwd="/", capture_output=True,
        text=True, input=json.dumps(document), env=clean(PYTHONPATH=str(TREE)), timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout or "null")


def wait_for_listener(data_dir):
    """The background process listens a moment after pages are served; until then a held file may be written, and waits on disk."""
    for _ in range(200):
        if is_listened_to(str(data_dir)):
            return
        time.sleep(0.05)
    raise AssertionError("nothing listens to hooks")


def test_the_hook_against_a_running_hub(place, data_dir):
    folder = place / "notes"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("# Rules\n")
    asked = {
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(folder), "tool_name": "Edit",
        "tool_input": {"file_path": str(folder / "AGENTS.md"), "old_string": "# Rules", "new_string": "# My rules"},
    }  # fmt: skip
    with running_in(data_dir, str(folder), "--hold"):
        wait_for_listener(data_dir)
        said = run_hook(data_dir, asked)["hookSpecificOutput"]
        assert said["permissionDecision"] == "deny"
        assert "recorded as proposal 1, do not retry, carry on" in said["permissionDecisionReason"]
        assert run_hook(data_dir, asked | {"tool_name": "Read"}) is None
        listed = command("proposals", "--json", MEMORYHUB_DATA_DIR=str(data_dir))
        assert '"agent": "claude-code"' in listed.stdout and "+# My rules" in listed.stdout
    assert (folder / "AGENTS.md").read_text() == "# Rules\n"


@pytest.fixture
def settings_of(tmp_path, capsys):
    """Changes the settings of an agent in a project: the status, what was said, and why not."""

    def changed(agent, *options):
        status = hook.main([agent, *options, "--project", str(tmp_path)])
        return status, *capsys.readouterr()

    return changed


def test_it_is_installed_and_removed_again(tmp_path, settings_of):
    settings = tmp_path / ".claude" / "settings.json"
    status, said, why = settings_of("claude", "--install")
    assert status == 1 and "--yes" in why and "PreToolUse" in said and not settings.exists()
    status, said, why = settings_of("claude", "--install", "--yes", "--data-dir", str(tmp_path / "data"))
    assert status == 0 and said.endswith(f"{settings} is created.\n")
    assert f"--data-dir {tmp_path}/data" in settings.read_text()
    assert "hook claude" in settings_of("claude", "--status")[1]
    assert settings_of("claude", "--uninstall", "--yes")[0] == 0
    assert not settings.exists()
    settings.write_text("{ // mine\n}")
    status, _, why = settings_of("claude", "--install", "--yes")
    assert status == 1 and "not touched" in why and settings.read_text() == "{ // mine\n}"


def test_codex_and_copilot_cli_have_files_of_their_own(tmp_path, settings_of):
    for agent, file in (("codex", ".codex/hooks.json"), ("copilot", ".github/hooks/memoryhub.json")):
        status, said, _ = settings_of(agent, "--install", "--yes")
        assert status == 0 and f"hook {agent}" in (tmp_path / file).read_text()
        assert ("trust" in said) == (agent == "codex")
        assert settings_of(agent, "--uninstall", "--yes")[0] == 0
        assert not (tmp_path / file).exists()


def test_the_plugin_of_opencode_is_a_file_of_its_own(tmp_path, settings_of):
    plugin = tmp_path / ".opencode" / "plugin" / "memoryhub.js"
    assert settings_of("opencode", "--install", "--yes")[0] == 0 and "tool.execute.before" in plugin.read_text()
    assert settings_of("opencode", "--uninstall", "--yes")[0] == 0
    assert not plugin.exists()
