"""The coding agents of a home and what each loads in which project: only known places are entered, nothing is written or run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryhub.dialects import coding
from memoryhub.dialects.coding import Context, DiskTree, installed
from memoryhub.dialects.coding.settings import at, read_json, read_toml
from memoryhub.dialects.coding.tree import is_below, nearest_with
from memoryhub.domain.coding_agents.memory_files import context_in, memory_files

TREE = DiskTree()
MAX_PROJECTS = 50
MAX_WALKED = 400  # folders of one project
MAX_SHOWN = 20  # projects that a space shows at first
# Where each agent keeps what belongs to a person, and the variable that moves it.
HOMES = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR"), "codex": (".codex", "CODEX_HOME"), "gemini-cli": (".gemini", ""),
    "opencode": (".config/opencode", ""), "copilot-cli": (".copilot", ""), "hermes": (".hermes", "HERMES_HOME"),
    "openclaw": (".openclaw", ""), "deepagents-code": (".deepagents", ""), "cline": (".cline", ""), "cursor": (".cursor", ""),
    "windsurf": (".codeium/windsurf", ""), "zed": (".config/zed", ""), "amp": (".config/amp", ""), "aider": (".aider.conf.yml", ""),
}  # fmt: skip


@dataclass(frozen=True)
class FoundFile:
    """A memory file of a project, or of the home where it counts in the project."""

    path: str
    kind: str  # as in a context; "later" for what is loaded on demand, "ignored" for what is not loaded
    bytes: int


@dataclass(frozen=True)
class FoundProject:
    path: str
    files: tuple[FoundFile, ...]


@dataclass(frozen=True)
class FoundAgent:
    """A coding agent: `home` is its folder in the person's home, `version` the installed one; None where there is none."""

    agent: str
    version: str | None
    home: str | None
    projects: tuple[FoundProject, ...]


def find_agents(home: str, named: Sequence[str] = (), *, env: Mapping[str, str] | None = None) -> list[FoundAgent]:
    """The coding agents of a home with the projects named, and those that the agents themselves remember."""
    env, home = env or {}, os.path.abspath(home)
    real, wanted = os.path.realpath(home), _existing(named)
    # A home, or what holds it, is a project where it is named alone.
    remembered = {
        name: [path for path in _existing(_remembered(name, home, env)) if not is_below(real, path)]
        for name in coding.agents()
    }
    projects = list(dict.fromkeys([*wanted, *(path for paths in remembered.values() for path in paths)]))[:MAX_PROJECTS]
    below = {path: _below(path, home) for path in projects}
    found = []
    for name in coding.agents():
        folder, program = agent_home(name, home, env), installed.find_program(coding.agent(name).program, home)
        if folder or program:
            version = installed.version_of(program) if program else ""
            rows = (_project(name, path, home, env, below[path]) for path in projects)
            own = {*wanted, *remembered[name]}
            shown = tuple(one for one in rows if one.path in own or _has_own(one))
            found.append(FoundAgent(name, version or None, folder, shown))
    return found


def agent_home(name: str, home: str, env: Mapping[str, str]) -> str | None:
    """The folder in which an agent keeps what belongs to this person; None where there is none."""
    folder, variable = HOMES.get(name, ("", ""))
    path = env.get(variable) or (os.path.join(home, folder) if folder else "")
    return path if path and os.path.exists(path) else None


# ---- what a space shows of it


def folders_to_show(found: Sequence[FoundAgent]) -> list[str]:
    """The folders of agents that lie in the home; of OpenClaw its workspace."""
    homes = [os.path.realpath(one.home) for one in found if one.home and os.path.isdir(one.home)]
    return [os.path.join(one, "workspace") if one.endswith("/.openclaw") else one for one in homes]


def projects_to_show(found: Sequence[FoundAgent], named: Sequence[str], home: str) -> list[str]:
    """The projects named first, then others that hold a memory file of their own. A home itself is none."""
    others = [project.path for one in found for project in one.projects if _has_own(project)]
    real = os.path.realpath(home)
    return [path for path in dict.fromkeys([*named, *others]) if not is_below(real, path)][:MAX_SHOWN]


def short_path(path: str, home: str) -> str:
    """A path as people write it: from their home."""
    return "~" + path[len(home) :] if path == home or path.startswith(home.rstrip("/") + "/") else path


# ---- projects


def _remembered(name: str, home: str, env: Mapping[str, str]) -> Iterator[str]:
    """The folders that an agent notes in its own files."""
    if name == "claude-code":
        where = env.get("CLAUDE_CONFIG_DIR")
        yield from _keys(read_json(TREE, os.path.join(where or home, ".claude.json")), "projects")
    elif name == "codex":
        where = env.get("CODEX_HOME") or os.path.join(home, ".codex")
        yield from _keys(read_toml(TREE, os.path.join(where, "config.toml")), "projects")
    elif name == "gemini-cli":
        yield from _keys(read_json(TREE, os.path.join(home, ".gemini", "projects.json")), "projects")
        yield from read_json(TREE, os.path.join(home, ".gemini", "trustedFolders.json"))
    elif name == "copilot-cli":
        listed = at(read_json(TREE, os.path.join(home, ".copilot", "config.json")), "trusted_folders")
        yield from (one for one in (listed if isinstance(listed, list) else []) if isinstance(one, str))


def _keys(settings: object, key: str) -> list[str]:
    found = at(settings, key)
    return list(found) if isinstance(found, dict) else []


def _existing(paths: Sequence[str] | Iterator[str]) -> list[str]:
    """The real paths of those that are folders."""
    absolute = (one for one in paths if os.path.isabs(one) and "\x00" not in one)
    return list(dict.fromkeys(real for one in absolute if os.path.isdir(real := os.path.realpath(one))))


def _below(path: str, home: str) -> list[str]:
    """The memory files below a project; of a home, or of what holds one, nothing below it is entered."""
    if is_below(os.path.realpath(home), path) or path.count("/") < 2:
        return []
    return list(memory_files(path, list(coding.agents()), most=MAX_WALKED))


def _project(name: str, path: str, home: str, env: Mapping[str, str], below: list[str]) -> FoundProject:
    context = context_in(name, path, home, below=below, env=env)
    return FoundProject(path, tuple(_files(context)))


def _files(context: Context) -> Iterator[FoundFile]:
    kinds = {one.path: one.kind for one in context.blocks}
    kinds |= {one.path: "import" for one in context.inlined if one.path not in kinds}
    kinds = {one.path: "ignored" for one in context.ignored} | {one.path: "later" for one in context.later} | kinds
    for path, kind in kinds.items():
        if TREE.kind(path) == "file":
            yield FoundFile(path, kind, os.path.getsize(path))


def _has_own(project: FoundProject) -> bool:
    """Whether a file of the project itself counts."""
    return any(is_below(one.path, project.path) and one.kind != "ignored" for one in project.files)


def project_of(path: str) -> str:
    """The project that a folder belongs to: its repository, else itself."""
    real = os.path.realpath(path)
    return nearest_with(TREE, real, (".git",)) or real
