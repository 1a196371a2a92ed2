"""What settings of Claude Code say about files that it loads: where they lie, which are denied, what may come from outside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memoryhub.text import path_patterns

from .plain_files import matches_like_gitignore
from .settings import at, read_json
from .shapes import Start
from .tree import is_below, nearest_with

MANAGED = "/etc/claude-code"


@dataclass
class Settings:
    """The settings of one start, each file read when it is first asked for."""

    start: Start

    @cached_property
    def config(self) -> str:
        return self.start.env.get("CLAUDE_CONFIG_DIR") or self.start.at(".claude")

    @cached_property
    def settings(self) -> list[tuple[str, dict[str, Any]]]:
        """Each settings file that counts, with the folder that its relative patterns mean."""
        tree, cwd = self.start.tree, self.start.directory
        return [
            (self.config, read_json(tree, os.path.join(self.config, "settings.json"))),
            (cwd, read_json(tree, os.path.join(cwd, ".claude", "settings.json"))),
            (cwd, read_json(tree, os.path.join(cwd, ".claude", "settings.local.json"))),
            ("/", read_json(tree, os.path.join(MANAGED, "managed-settings.json"))),
        ]

    @cached_property
    def git_root(self) -> str:
        return nearest_with(self.start.tree, self.start.directory, (".git",))

    @cached_property
    def takes_external(self) -> bool:
        """Whether this project was allowed to import files from outside the folder it is started in."""
        where = self.start.env.get("CLAUDE_CONFIG_DIR")
        known = read_json(
            self.start.tree, os.path.join(where, ".claude.json") if where else self.start.at(".claude.json")
        )
        return (
            at(known, "projects", self.git_root or self.start.directory, "hasClaudeMdExternalIncludesApproved") is True
        )

    def refusal(self, path: str, label: str) -> str:
        """Why settings keep a file out; empty where they do not."""
        for folder, settings in self.settings:
            for rule in at(settings, "permissions", "deny") or []:
                if (
                    isinstance(rule, str)
                    and rule.startswith("Read(")
                    and rule.endswith(")")
                    and self._denies(rule[5:-1], folder, path)
                ):
                    return f"Denied by the permission rule {rule}"
            for pattern in at(settings, "claudeMdExcludes") or []:
                if (
                    label in ("user", "project", "local")
                    and isinstance(pattern, str)
                    and path_patterns.matches(pattern, path)
                ):
                    return f"Left out by claudeMdExcludes: {pattern}"
        return ""

    def _denies(self, pattern: str, folder: str, path: str) -> bool:
        if pattern.startswith("//"):
            return matches_like_gitignore(pattern[2:], path.lstrip("/"))
        if pattern.startswith("~/"):
            folder, pattern = self.start.home, pattern[1:]
        elif pattern.startswith("/"):
            folder = folder if folder != self.config else os.path.dirname(self.config)
        else:
            folder, pattern = self.start.directory, pattern.removeprefix("./")
        return is_below(path, folder) and matches_like_gitignore(pattern, os.path.relpath(path, folder))
