"""Claude Code: CLAUDE.md and rules from the top down, imports behind the file that names them, then its own memory's index.

AGENTS.md is read only where no CLAUDE.md lies in the folder or in any above it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import front_matter
from .claude_memory import cut_memory, project_slug, trimmed
from .claude_settings import MANAGED, Settings
from .markdown_imports import mentions, without_block_comments
from .plain_files import USER, matches_like_gitignore
from .settings import at
from .shapes import CodingAgent, Context, Start, Writer
from .tree import is_below, main_repository, parents_down_to

HEADING = "Codebase and user instructions are shown below."
LABELS = {
    "managed": " (organization-managed policy instructions)",
    "user": " (user's private global instructions for all projects)",
    "project": " (project instructions, checked into the codebase)",
    "local": " (user's private project instructions, not checked in)",
    "memory": " (user's auto-memory, persists across conversations)",
}
DEFAULT_MODE = "claude-md-or-agents-md"
AGENTS_MD = ("AGENTS.md", ".claude/AGENTS.md")
MAX_BYTES = 4_194_304
MAX_LEVELS = 5  # a file and four hops of imports
TEXT_ENDINGS = frozenset(
    """
    md txt text json yaml yml toml xml csv html htm css scss sass less js ts tsx jsx mjs cjs mts cts py pyi pyw rb erb
    rake go rs java kt kts scala c cpp cc cxx h hpp hxx cs swift sh bash zsh fish ps1 bat cmd env ini cfg conf config
    properties sql graphql gql proto vue svelte astro ejs hbs pug jade php pl pm lua r dart ex exs erl hrl clj cljs
    cljc edn hs lhs elm ml mli f f90 f95 for cmake make makefile gradle sbt rst adoc asciidoc org tex latex lock log
    diff patch
    """.split()  # noqa: SIM905  a table
)


@dataclass(frozen=True)
class Loaded:
    """A file as it is loaded; `patterns` are those of a rule that waits for a matching file."""

    path: str
    label: str
    kind: str
    why: str
    text: str
    patterns: tuple[str, ...] = ()
    cut_at: int | None = None


@dataclass
class Session(Settings):
    """One start of the program: what it may load, and what it loaded already."""

    writer: Writer
    done: set[str] = field(default_factory=set)

    # ---- loading

    def load(self, path: str, label: str, kind: str, why: str, level: int = 0) -> Iterator[Loaded]:
        """A file, and what it imports, in the order of the context; nothing for one that does not count."""
        tree = self.start.tree
        if path in self.done or level >= MAX_LEVELS:
            if level >= MAX_LEVELS and tree.kind(path) == "file" and path not in self.done:
                self.writer.ignore(path, f"Imported {level} hops deep; {MAX_LEVELS - 1} are followed")
            return
        if not tree.kind(path) or self._is_refused(path, label):
            return
        real = tree.real(path)
        if real in self.done:
            self.writer.ignore(path, f"A link to {real}, which is loaded already")
            return
        may_leave = label == "user" or self.takes_external
        is_elsewhere = level or (kind == "rule" and real != path)  # imported, or a rule behind a link
        if is_elsewhere and not may_leave and not is_below(real, self.start.directory):
            self.writer.ignore(path, "A link out of the folder; imports from outside need an approval")
            return
        self.done |= {path, real}
        data = self._read(real)
        if data is None:
            return
        text = data.decode("utf-8", "replace")
        keys, body = front_matter.split(text)
        patterns = rule_patterns(keys.get("paths"))
        content = without_block_comments(body)
        if not trimmed(content):
            self.writer.ignore(path, "Empty, or comments alone")
            return
        yield Loaded(path, label, kind, why, content, patterns)
        for target in self._imports(body, real):
            if not may_leave and not is_below(target, self.start.directory):
                if tree.kind(target) == "file":
                    self.writer.ignore(
                        target, f"Imported by {path}, but outside the folder it is started in; that needs an approval"
                    )
                continue
            yield from self.load(target, label, "import", f"Imported by {path}", level + 1)

    def _is_refused(self, path: str, label: str) -> bool:
        refusal = self.refusal(path, label)
        if refusal:
            self.writer.ignore(path, refusal)
        return bool(refusal)

    def _read(self, path: str) -> bytes | None:
        ending = os.path.splitext(path)[1][1:].lower()
        if ending and ending not in TEXT_ENDINGS:
            self.writer.ignore(path, "No text by its name")
            return None
        data = self.start.tree.read(path)
        if data is not None and len(data) > MAX_BYTES:
            self.writer.ignore(path, "Over 4 MiB")
            return None
        return data

    def _imports(self, body: str, real: str) -> list[str]:
        folder = os.path.dirname(real)
        return [
            os.path.normpath(self.start.at(name[2:]) if name.startswith("~/") else os.path.join(folder, name))
            for name in mentions(body)
        ]

    def rules(self, folder: str, label: str, *, conditional: bool = False) -> Iterator[Loaded]:
        """The rules of a folder and of those below it; those with `paths` only where `conditional`."""
        for path in self._rule_files(folder, set()):
            for one in self.load(path, label, "rule", f"A rule in {folder}"):
                if bool(one.patterns) == conditional:
                    yield one
                elif one.patterns:
                    self.writer.load_later(one.path, "when a file is read that fits " + ", ".join(one.patterns))

    def _rule_files(self, folder: str, seen: set[str]) -> Iterator[str]:
        tree = self.start.tree
        real = tree.real(folder)
        if real in seen:
            return
        seen.add(real)
        for name in tree.names(folder):
            path = os.path.join(folder, name)
            if tree.kind(path) == "folder":
                yield from self._rule_files(path, seen)
            elif name.endswith(".md"):
                yield path

    # ---- groups, in the order of the context

    def managed(self) -> Iterator[Loaded]:
        if os.path.isabs(MANAGED):
            yield from self.load(os.path.join(MANAGED, "CLAUDE.md"), "managed", "managed", "Policy of the organization")
            text = at(self.settings[3][1], "claudeMd")
            if isinstance(text, str) and text.strip():
                yield Loaded("<managed-settings>", "managed", "managed", "Policy of the organization", text)
            yield from self.rules(os.path.join(MANAGED, ".claude", "rules"), "managed")

    def user(self) -> Iterator[Loaded]:
        yield from self.load(os.path.join(self.config, "CLAUDE.md"), "user", "user", USER)
        yield from self.rules(os.path.join(self.config, "rules"), "user")

    def project(self) -> Iterator[Loaded]:
        """The files of each folder from the top down. AGENTS.md comes last in its folder, where it is read at all."""
        mode = (
            at(self.settings[0][1], "pluginConfigs", "agents-md@builtin", "options", "instructionFiles") or DEFAULT_MODE
        )
        folders = parents_down_to(self.start.directory)
        found = {folder: list(self._claude_md(folder)) for folder in folders}
        there = [one.path for rows in found.values() for one in rows if one.kind in ("project", "local")]
        reads = mode == "claude-md-and-agents-md" or (mode == DEFAULT_MODE and not there)
        for folder in folders:
            yield from found[folder]
            if reads:
                yield from self._agents_md(folder)
            else:
                self._note_agents_md(
                    folder, f"{there[-1]} exists, so AGENTS.md is not read" if there else "Switched off in settings"
                )

    def _claude_md(self, folder: str) -> Iterator[Loaded]:
        if not self._is_outside_worktree(folder):
            yield from self.of_folder(folder)
        yield from self.load(
            os.path.join(folder, "CLAUDE.local.md"), "local", "local", "Private instructions of this folder"
        )

    def _agents_md(self, folder: str) -> Iterator[Loaded]:
        for name in AGENTS_MD:
            yield from self.load(
                os.path.join(folder, name), "project", "fallback", "Read because no CLAUDE.md counts here or above"
            )

    def _note_agents_md(self, folder: str, why: str) -> None:
        for name in AGENTS_MD:
            if self.start.tree.kind(path := os.path.join(folder, name)) == "file":
                self.writer.ignore(path, why)

    def of_folder(self, folder: str) -> Iterator[Loaded]:
        why = "Instructions of this folder" if folder == self.start.directory else "Instructions of a folder above"
        yield from self.load(os.path.join(folder, "CLAUDE.md"), "project", "project", why)
        yield from self.load(os.path.join(folder, ".claude", "CLAUDE.md"), "project", "project", why)
        yield from self.rules(os.path.join(folder, ".claude", "rules"), "project")

    def _is_outside_worktree(self, folder: str) -> bool:
        """Whether a folder belongs to the main repository around a linked worktree, which reads its own files alone."""
        main = main_repository(self.start.tree, self.git_root) if self.git_root else ""
        return bool(main) and main != self.git_root and is_below(folder, main) and not is_below(folder, self.git_root)

    def memory(self) -> Iterator[Loaded]:
        """The index of its own memory; the files that it names are read by the model when it wants them."""
        if self._memory_is_off():
            return
        folder = self.memory_folder()
        path = os.path.join(folder, "MEMORY.md")
        data = self.start.tree.read(path)
        if data is not None:
            text, cut_at = cut_memory(data.decode("utf-8", "replace"))
            if text:
                yield Loaded(path, "memory", "memory", "The index of its own memory", text, cut_at=cut_at)
        for name in sorted(self.start.tree.names(folder)):
            if name != "MEMORY.md" and name.endswith(".md"):
                self.writer.load_later(os.path.join(folder, name), "when the model opens it")

    def _memory_is_off(self) -> bool:
        switch = self.start.env.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "")
        if switch:
            return switch not in ("0", "false")
        return any(settings.get("autoMemoryEnabled") is False for _, settings in self.settings)

    def memory_folder(self) -> str:
        for number in (2, 0):  # a checked-in file may not choose it
            chosen = self.settings[number][1].get("autoMemoryDirectory")
            if isinstance(chosen, str) and chosen:
                return os.path.normpath(os.path.join(self.start.home, chosen.removeprefix("~/")))
        root = main_repository(self.start.tree, self.git_root) if self.git_root else self.start.directory
        return os.path.join(self.config, "projects", project_slug(root), "memory")


def rule_patterns(given: str | list[str] | None) -> tuple[str, ...]:
    """The patterns of a rule's `paths`; empty for a rule that counts always."""
    parts = given if isinstance(given, list) else (given or "").split(",")
    found = [part.strip().removesuffix("/**") for part in parts if part.strip()]
    found = [part for part in found if part]
    return () if all(part == "**" for part in found) else tuple(found)


# ---- the text


def read(start: Start) -> Context:
    """What Claude Code puts before the first message, and what reading the touched files adds behind it."""
    writer = Writer()
    session = Session(start, writer)
    loaded = [*session.managed(), *session.user(), *session.project(), *session.memory()]
    _note_near_misses(session)
    if loaded:
        writer.add(f"<system-reminder>\n{start.heading or HEADING}")
        for one in loaded:
            writer.add(f"\n\nContents of {one.path}{LABELS[one.label]}:\n\n")
            writer.block(one.path, one.kind, one.why, trimmed(one.text), one.cut_at)
        writer.add("\n</system-reminder>")
    for path in start.touched:
        for one in _on_touch(session, path):
            writer.add(f"{chr(10) if writer.blocks else ''}<system-reminder>\nContents of {one.path}:\n\n")
            writer.block(one.path, "nested", one.why, trimmed(one.text))
            writer.add("\n</system-reminder>")
    return writer.context()


def _on_touch(session: Session, path: str) -> Iterator[Loaded]:
    """What is loaded when a file is read: instructions of the folders down to it, and rules whose paths fit."""
    start = session.start
    path = os.path.normpath(os.path.join(start.directory, path))
    why = f"Loaded when {path} is read"
    folders = [
        one
        for one in parents_down_to(os.path.dirname(path))
        if is_below(one, start.directory) and one != start.directory
    ]
    for folder in folders:
        for name, label in (("CLAUDE.md", "project"), (".claude/CLAUDE.md", "project"), ("CLAUDE.local.md", "local")):
            yield from session.load(os.path.join(folder, name), label, "nested", why)
        yield from session.rules(os.path.join(folder, ".claude", "rules"), "project")
    places = [(os.path.join(session.config, "rules"), "user", start.directory)]
    places += [
        (os.path.join(one, ".claude", "rules"), "project", one) for one in [*parents_down_to(start.directory), *folders]
    ]
    for folder, label, base in places:
        fresh = Session(start, Writer(), set())
        for one in fresh.rules(folder, label, conditional=True):
            inside = is_below(path, base)
            fits = inside and any(
                matches_like_gitignore(pattern, os.path.relpath(path, base)) for pattern in one.patterns
            )
            if fits and f"rule {one.path}" not in session.done:
                session.done.add(f"rule {one.path}")
                yield one


def _note_near_misses(session: Session) -> None:
    """Files that look like instructions and are not read: another case of the name, and those below, which wait for a touch."""
    start = session.start
    for folder in parents_down_to(start.directory)[-1:]:
        for name in start.tree.names(folder):
            if name != "CLAUDE.md" and name.lower() == "claude.md":
                session.writer.ignore(os.path.join(folder, name), "The name must be CLAUDE.md, in capitals")


AGENT = CodingAgent(
    "claude-code", "Claude Code", "2.1.327", True, read, ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"), "claude"
)
