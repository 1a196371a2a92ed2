"""Faults of memory files: what agents do not read or cut, what it names and is not there, and what must not stand in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from memoryhub import detectors
from memoryhub.dialects import coding
from memoryhub.dialects.coding import Tree
from memoryhub.domain.coding_agents.check import names, rules, unread
from memoryhub.domain.coding_agents.check.file import FindingInFile, MemoryFile
from memoryhub.domain.coding_agents.check.unread import says_more
from memoryhub.domain.coding_agents.memory_files import memory_files

UNREADABLE = "This file cannot be read by whoever runs the check, or is over 8 MB"


def check_folder(
    root: str, agents: list[str] | None = None, *, tree: Tree | None = None, files: Iterable[str] | None = None
) -> list[FindingInFile]:
    """The faults of the memory files in a folder and below it, by path and line. Nothing is run and nothing is written.

    A `tree` other than the disk comes with the `files` in it that are checked.
    """
    root = os.path.realpath(root) if tree is None else root
    tree = coding.CachedTree(tree or coding.DiskTree())
    chosen = agents or [one.name for one in coding.agents().values() if one.verified]
    listed = memory_files(root, chosen) if files is None else files
    found = [MemoryFile(root, path, tree) for path in listed]
    unreadable = (
        [] if files is not None else [one for one in found if tree.kind(one.path) == "file" and one.is_unreadable]
    )
    return [*(FindingInFile("unreadable", one.path, 1, UNREADABLE) for one in unreadable), *_check(found, chosen)]


def _check(files: list[MemoryFile], chosen: list[str]) -> list[FindingInFile]:
    not_read = unread.find_unread(files, chosen)
    files = files + [MemoryFile(files[0].root, path, files[0].tree) for path in not_read.imported]
    found = [*not_read.findings(), *_of_rules(files)]
    for file in _each_text_once(files):
        found += [*_secrets_and_hidden(file), *names.missing_imports(file)]
        found += [*names.dead_paths(file), *names.missing_commands(file)]
    return sorted(set(found), key=lambda one: (one.path, one.line, one.code, one.message))


def _each_text_once(files: list[MemoryFile]) -> list[MemoryFile]:
    """Without links to what is checked anyway: a fault stands in one file, however many names it has."""
    by_place = {file.tree.real(file.path): file for file in sorted(files, key=lambda one: one.is_link, reverse=True)}
    return list(by_place.values())


def _of_rules(files: list[MemoryFile]) -> Iterator[FindingInFile]:
    """Rules that stand in several files, and rules that say the opposite of each other."""
    plain = [(file.path, file.lines, file.fenced) for file in files if not file.is_link]
    for code, path, line, message in (*rules.repeated(plain), *rules.contradictions(plain)):
        yield FindingInFile(code, path, line, message)


def _secrets_and_hidden(file: MemoryFile) -> Iterator[FindingInFile]:
    for one in detectors.find(file.text, only=("secrets", "hidden")):
        code = "secret" if one.code == "secrets" else one.code
        yield FindingInFile(code, file.path, one.line, one.message)
