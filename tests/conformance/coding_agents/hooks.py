"""The hook with the real Claude Code and a real hub: a held file stays, the model is told, and each text is what the program writes
where nothing is held. `python -m tests.conformance.coding_agents.hooks`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from memoryhub.text.tool_calls import read_call, text_after
from tests.conformance.coding_agents.programs import install
from tests.conformance.coding_agents.scripted import Call, ScriptedModel
from tests.running import TREE, clean, command, own_place, running_in

LIMIT = 240
START = {
    "plain.md": "one\ntwo\nthree\n", "crlf.md": "one\r\ntwo\r\nthree\r\n", "bom.md": "\ufeffone\ntwo\n", "quotes.md": "it’s “fine”\nkeep\n",
    "drop.md": "keep\ndrop\nend\n", "dup.md": "dup\ndup\n", "blanks.md": "a  \nb\t\n", "last.md": "no end",
    "mixed.md": "one\r\ntwo\nthree\r\n", "empty.md": "", "parts.md": "drop it and keep it\n", "over.md": "old\r\nlines\r\n",
}  # fmt: skip
EDITS: dict[str, dict[str, Any]] = {
    "plain.md": {"old_string": "two", "new_string": "2"}, "crlf.md": {"old_string": "one\ntwo", "new_string": "1\n2"},
    "bom.md": {"old_string": "two", "new_string": "2"}, "quotes.md": {"old_string": 'it\'s "fine"', "new_string": 'it\'s "ok" (\'so\')'},
    "drop.md": {"old_string": "drop", "new_string": ""}, "dup.md": {"old_string": "dup", "new_string": "x", "replace_all": True},
    "blanks.md": {"old_string": "a  \nb", "new_string": "a \nc  "}, "last.md": {"old_string": "no end", "new_string": "an end\n"},
    "mixed.md": {"old_string": "two", "new_string": "2\nmore"}, "empty.md": {"old_string": "", "new_string": "made\n"},
    "parts.md": {"old_string": "drop it", "new_string": ""}, "made.md": {"old_string": "", "new_string": "made  \nby edit"},
}  # fmt: skip
WRITES = {"over.md": "new\nlines\n", "new.md": "a\nb  \n"}


def calls(folder: Path, *, reads: bool) -> list[Call]:
    """What the scripted model asks for; Claude Code edits only what was read before."""
    asked: list[Call] = []
    for name, edit in EDITS.items():
        path = str(folder / name)
        asked += [("Read", {"file_path": path})] if reads and name in START else []
        asked.append(("Edit", {"file_path": path, **edit}))
    for name, content in WRITES.items():
        path = str(folder / name)
        asked += [("Read", {"file_path": path})] if reads and name in START else []
        asked.append(("Write", {"file_path": path, "content": content}))
    return asked


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in START.items():
        (folder / name).write_bytes(text.encode())
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {one.name: one.read_bytes().decode() for one in sorted(folder.glob("*.md"))}


def claude(model: ScriptedModel, start: Path, home: Path) -> str:
    done = subprocess.run(
        [str(install("claude-code")), "-p", "hi", "--permission-mode", "acceptEdits"], cwd=start, stdin=subprocess.DEVNULL,
        env={
            "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(TREE), "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": model.url,
        }, capture_output=True, timeout=LIMIT,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace")


def compare_texts(place: Path) -> list[str]:
    """Where our text of a call differs from what the program writes, without a hook."""
    folder = make(place / "free")
    (place / "home").mkdir()
    claude(ScriptedModel(calls(folder, reads=True)), folder, place / "home")
    theirs, wrong = contents(folder), []
    for tool, arguments in calls(folder, reads=False):
        name = os.path.basename(arguments["file_path"])
        call = read_call("claude-code", tool, arguments)
        assert call is not None
        ours = text_after(call, START.get(name))
        if ours != theirs.get(name):
            wrong.append(f"{name}: theirs {theirs.get(name)!r}, ours {ours!r}")
    return wrong


def compare_hook(place: Path) -> list[str]:
    """What goes wrong with the hook installed and the folder held: nothing may be written, everything has to be recorded."""
    data_dir, home = place / "data", place / "held-home"
    folder = make(place / "held")
    home.mkdir()
    with running_in(data_dir, str(folder), "--hold"):
        settings = home / ".claude" / "settings.json"
        installed = command(
            "hook", "claude", "--install", "--yes", "--settings", str(settings), "--data-dir", str(data_dir)
        )
        assert installed.returncode == 0, installed.stderr
        asked = [
            *calls(folder, reads=True),
            ("Bash", {"command": f"echo more >> {folder}/plain.md", "description": "x"}),
        ]
        model = ScriptedModel(asked)
        said = claude(model, folder, home)
        listed = subprocess.run(
            [sys.executable, "-m", "memoryhub", "proposals", "--json"], cwd=TREE, env=clean(MEMORYHUB_DATA_DIR=str(data_dir)),
            capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
        removed = command("hook", "claude", "--uninstall", "--yes", "--settings", str(settings))
    wrong = [] if contents(folder) == START else [f"the folder changed: {contents(folder)}"]
    wrong += (
        [f"no result says that it was recorded: {model.results}"]
        if "recorded as proposal 1" not in "".join(model.results)
        else []
    )
    denied = sum("recorded as proposal" in one for one in model.results)
    wrong += (
        [f"{denied} of {len(EDITS) + len(WRITES)} writes were recorded"] if denied != len(EDITS) + len(WRITES) else []
    )
    wrong += [f"the paths of the proposals: {listed.stdout[:2000]}"] if listed.stdout.count('"path"') != denied else []
    wrong += ["the command was not refused"] if "is held" not in "".join(model.results) else []
    wrong += [f"the session did not go on: {said!r}"] if "done" not in said else []
    wrong += ["the settings are still there"] if removed.returncode or settings.exists() else []
    return wrong


def main() -> int:
    failed = 0
    with own_place() as place:
        for name, check in (("texts", compare_texts), ("hook", compare_hook)):
            wrong = check(place)
            failed += len(wrong)
            print(f"claude-code, {name}: {'as the program' if not wrong else ''}", *wrong, sep="\n  ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
