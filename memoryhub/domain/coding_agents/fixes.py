"""What would bring a file into an agent's context, and what that costs: each fix was tried on a changed tree (pure).

A fix is shown only where the agent then gets the text, so a sentence here never promises what its dialect does not do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memoryhub.dialects import coding
from memoryhub.dialects.coding import ChangedTree, Context, Tree
from memoryhub.dialects.coding.settings import at, read_json, read_toml
from memoryhub.dialects.coding.tree import nearest_with

IMPORTS = frozenset(["claude-code", "gemini-cli", "copilot-cli"])
MAX_FIXES = 3
CODEX_LIMIT = 32_768
EDIT, SETTING = "edit", "setting"
EXTERNAL = "hasClaudeMdExternalIncludesApproved = true"
SETTINGS = {
    "claude-code": "instructionFiles = claude-md-and-agents-md", "gemini-cli": "context.fileName with {name}",
    "codex": "project_doc_fallback_filenames with {name}",
}  # fmt: skip


@dataclass(frozen=True)
class Fix:
    """A change of files after which the agent gets the text; `size` counts the bytes of the whole context then."""

    code: str  # import rename write remove setting approve
    path: str  # the file that is changed
    about: str  # the file that is brought in
    changes: Mapping[str, bytes | None]
    size: int
    detail: str = ""  # what is set, for a setting

    @property
    def kind(self) -> str:
        return SETTING if self.code in ("setting", "approve") else EDIT


Read = Callable[[Tree], Context]


def fixes_for_ignored(
    name: str, path: str, context: Context, tree: Tree, directory: str, home: str, read: Read
) -> list[Fix]:
    """Ways to bring an ignored file into the context of an agent, fewest tokens first."""
    text = (tree.read(path) or b"").decode("utf-8", "replace").strip()
    if not text:
        return []
    found: dict[str, Fix] = {}
    for code, changed, changes in _candidates(name, path, context, tree, directory, home):
        if code in found:
            continue
        after = read(ChangedTree(tree, changes))
        if _has(after, path, text, changes) and _keeps(context, after, changes):
            detail = SETTINGS.get(name, "") if code == "setting" else EXTERNAL if code == "approve" else ""
            found[code] = Fix(code, changed, path, changes, len(after.text), detail.format(name=os.path.basename(path)))
    return sorted(found.values(), key=lambda fix: fix.size)[:MAX_FIXES]


def fixes_for_cut(name: str, path: str, context: Context, tree: Tree, home: str, read: Read) -> list[Fix]:
    """Ways to get all of a file that is cut. Most limits are fixed: then there is none but a shorter file."""
    if name != "codex":
        return []
    config = os.path.join(home, ".codex", "config.toml")
    size = sum(len(tree.read(one.path) or b"") for one in context.blocks) + len(tree.read(path) or b"")
    needed = max(CODEX_LIMIT * 2, -(-size // CODEX_LIMIT) * CODEX_LIMIT)
    changes = {config: _with_toml_key(tree, config, "project_doc_max_bytes", str(needed))}
    after = read(ChangedTree(tree, changes))
    is_whole = any(one.path == path and one.cut_at is None for one in after.blocks)
    detail = f"project_doc_max_bytes = {needed}"
    return [Fix("setting", config, path, changes, len(after.text), detail)] if is_whole else []


def _has(after: Context, path: str, text: str, changes: Mapping[str, bytes | None]) -> bool:
    loaded = {one.path for one in after.blocks} | {one.path for one in after.inlined}
    renamed = [new for new, content in changes.items() if content is not None]
    return path in loaded or text.encode() in after.text or (changes.get(path, b"") is None and renamed[0] in loaded)


def _keeps(before: Context, after: Context, changes: Mapping[str, bytes | None]) -> bool:
    """Whether no other file is lost by the change, or cut."""
    loaded = {one.path: one.cut_at for one in after.blocks}
    return all(
        one.path in loaded and (one.cut_at or not loaded[one.path]) for one in before.blocks if one.path not in changes
    )


Candidate = tuple[str, str, Mapping[str, bytes | None]]


def _candidates(name: str, path: str, context: Context, tree: Tree, directory: str, home: str) -> Iterator[Candidate]:
    content = tree.read(path) or b""
    folder, base = os.path.split(path)
    for right in coding.agent(name).files:
        if base != right and base.lower() == right.lower() and not tree.kind(os.path.join(folder, right)):
            yield "rename", path, {path: None, os.path.join(folder, right): content}
    loaded = [
        one.path for one in context.blocks if one.kind in ("project", "fallback", "local") and tree.kind(one.path)
    ]
    # The nearest file that is loaded: the one beside it, else the one of the folder it starts in.
    loaded.sort(key=lambda one: (os.path.dirname(one) != folder, -len(os.path.dirname(one))))
    for target in loaded[:3]:
        target_bytes = tree.read(target) or b""
        gap = b"" if not target_bytes or target_bytes.endswith(b"\n") else b"\n"
        if name in IMPORTS:
            mention = os.path.relpath(path, os.path.dirname(target)).replace(" ", "\\ ").encode()
            mention = mention if name != "gemini-cli" or mention.startswith(b".") else b"./" + mention
            yield "import", target, {target: target_bytes + gap + b"@" + mention + b"\n"}
        yield "write", target, {target: target_bytes + gap + b"\n" + content}
    new = os.path.join(directory, coding.agent(name).files[0])
    if not loaded and base.lower() != os.path.basename(new).lower() and not tree.kind(new):
        yield "write", new, {new: content}
    override = os.path.join(folder, "AGENTS.override.md")
    if name == "codex" and tree.kind(override) == "file" and not (tree.read(override) or b"").strip():
        yield "remove", override, {override: None}
    yield from _settings(name, base, tree, directory, home)


def _settings(name: str, base: str, tree: Tree, directory: str, home: str) -> Iterator[Candidate]:
    """Settings of this person with which the agent reads the file."""
    if not tree.kind(home):
        return
    if name == "claude-code" and base == "AGENTS.md":
        path = os.path.join(home, ".claude", "settings.json")
        wanted = {"pluginConfigs": {"agents-md@builtin": {"options": {"instructionFiles": "claude-md-and-agents-md"}}}}
        yield "setting", path, {path: _merged(tree, path, wanted)}
    if name == "claude-code":
        path = os.path.join(home, ".claude.json")
        root = nearest_with(tree, directory, (".git",)) or directory
        approved = {"projects": {root: {"hasClaudeMdExternalIncludesApproved": True}}}
        yield "approve", path, {path: _merged(tree, path, approved)}
    if name == "gemini-cli":
        path = os.path.join(home, ".gemini", "settings.json")
        names = at(read_json(tree, path), "context", "fileName") or ["GEMINI.md"]
        names = [names] if isinstance(names, str) else list(names)
        yield "setting", path, {path: _merged(tree, path, {"context": {"fileName": [*names, base]}})}
    if name == "codex":
        path = os.path.join(home, ".codex", "config.toml")
        names = at(read_toml(tree, path), "project_doc_fallback_filenames") or []
        yield (
            "setting",
            path,
            {path: _with_toml_key(tree, path, "project_doc_fallback_filenames", json.dumps([*names, base]))},
        )


def _merged(tree: Tree, path: str, wanted: dict[str, Any]) -> bytes:
    return json.dumps(_over(read_json(tree, path), wanted), indent=2).encode() + b"\n"


def _over(base: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in wanted.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _with_toml_key(tree: Tree, path: str, key: str, value: str) -> bytes:
    """A TOML file with a key at its top; a line that set it before is gone."""
    text = (tree.read_settings(path) or b"").decode("utf-8-sig", "replace")
    kept = [line for line in text.split("\n") if line.split("=")[0].strip() != key]
    return "\n".join([f"{key} = {value}", *kept]).encode()
