"""What the overview shows before the first agent does something: the memory that is there, the prompt made of it, how to connect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.dialects import tokens_of_bytes
from memoryhub.domain import activity, contexts, demo, files, prompts, spaces
from memoryhub.domain.contexts import Loaded, MountReaders
from memoryhub.languages import translated
from memoryhub.models import File, Mount, Space
from memoryhub.stores.survey import Survey
from memoryhub.templatetags.hub import names
from memoryhub.web import laptop
from memoryhub.web.frameworks import FRAMEWORKS
from memoryhub.web.prompt_view import PromptSection, PromptView
from memoryhub.web.surveys import survey_of

MAX_OFFERED, MAX_OTHERS, MAX_NAMED = 50, 50, 4
MAX_MOUNTS = 5  # whose coding agents are told of
MAX_AGENTS = 8
LINES_SHOWN = 120  # of the files in the prompt
LINES_OF_FRAME = 3  # of each part that comes from no file
IMPORTED = "Imported by "  # how the rules of every agent begin the reason for an import


@dataclass
class MemoryRow:
    """A file of the first step: where it is, how large, whether it stands in every prompt, and who else loads it."""

    path: str
    name: str
    tokens: int
    is_on: bool
    file: File | None = None
    says: list[str] = field(default_factory=list)

    @property
    def is_missing(self) -> bool:
        return self.file is None


@dataclass(frozen=True)
class AgentLine:
    """A coding agent, and what it loads when it is started in the folder."""

    title: str
    says: str
    tokens: int


@dataclass(frozen=True)
class FirstRun:
    """Everything the page shows, read when it is asked for."""

    space: Space

    @cached_property
    def mounts(self) -> list[Mount]:
        """Folders of agents stand last: what they load in a project is what one looks for."""
        return sorted(files.mounts_of_space(self.space), key=contexts.is_agents_folder)

    @property
    def mount(self) -> Mount | None:
        """The mount that the page is about: the only one, else the first."""
        return self.mounts[0] if self.mounts else None

    @cached_property
    def totals(self) -> Any:
        return files.file_totals(self.space)

    @cached_property
    def readers(self) -> list[MountReaders]:
        return [contexts.mount_readers(self.space, mount) for mount in self.mounts[:MAX_MOUNTS]]

    @cached_property
    def _sources(self) -> dict[str, bool]:
        listed = prompts.sources_of(self.space)
        return {path: any(one.is_on for one in listed if one.path == path) for path in [one.path for one in listed]}

    @cached_property
    def _known(self) -> dict[str, int]:
        return {path: size for readers in self.readers for path, size in readers.known.items()}

    @cached_property
    def in_prompt(self) -> list[MemoryRow]:
        """The sources of the space, in the order of the prompt."""
        return self._rows(list(self._sources)[:MAX_OFFERED])

    @cached_property
    def offered(self) -> list[MemoryRow]:
        """The other files that coding agents look for by name."""
        return self._rows([path for path in self._known if path not in self._sources][:MAX_OFFERED])

    @cached_property
    def others(self) -> list[MemoryRow]:
        """The first of all other files."""
        taken = {*self._sources, *self._known}
        found = [file for file in files.first_files(self.space, MAX_OTHERS + len(taken)) if file.path not in taken]
        return [self._row(file.path, file) for file in found[:MAX_OTHERS]]

    @property
    def others_in_short(self) -> str:
        """The first few of them, each with its tokens."""
        first = ", ".join(f"{row.name} {row.tokens:,}" for row in self.others[:MAX_NAMED])
        return first + (", …" if self.other_count > MAX_NAMED else "")

    @property
    def more(self) -> int:
        """How many files no list of this page names."""
        named = [row for row in (*self.in_prompt, *self.offered, *self.others) if row.file]
        return max(0, self.totals.files - len(named))

    @property
    def other_count(self) -> int:
        return len(self.others) + self.more

    def _rows(self, paths: list[str]) -> list[MemoryRow]:
        found = files.files_at(self.space, paths)
        return [self._row(path, found.get(path)) for path in paths]

    def _row(self, path: str, file: File | None) -> MemoryRow:
        row = MemoryRow(
            path, self._name(path), tokens_of_bytes(file.size if file else 0), self._sources.get(path, False), file
        )
        row.says = self._says(path)
        return row

    def _name(self, path: str) -> str:
        """The path below the only mount, else the whole."""
        prefix = self.mount.prefix if self.mount and len(self.mounts) == 1 else ""
        return path[len(prefix) :] if prefix and path.startswith(prefix) else path

    def _says(self, path: str) -> list[str]:
        """What coding agents do with a file."""
        readers = next((one for one in self.readers if path.startswith(next(iter(one.loaded), "\0"))), MountReaders())
        found = readers.readers(path)
        loading = [one for one in found if one.state != "ignored"]
        says = []
        if path in self._known and path not in self._sources and "/" in self._name(path) and "/." not in path:
            says.append(_("For work below %(folder)s.") % {"folder": self._name(path).rpartition("/")[0] + "/"})
        if by := next((one.why for one in loading if one.why.startswith(IMPORTED)), ""):
            says.append(_("Imported by %(file)s.") % {"file": self._name(by.removeprefix(IMPORTED))})
        says += self._imports(path, readers)
        by_name = [one.agent.title for one in loading if not one.why.startswith(IMPORTED)]
        if by_name:
            says.append(_("Loaded by %(agents)s.") % {"agents": names(by_name, MAX_NAMED)})
        if path in self._known:
            says += [
                _("Not by %(agent)s: %(why)s.") % {"agent": one.agent.title, "why": self._words(one.why)}
                for one in found
                if one.state == "ignored" and one.agent.verified
            ][:1]
        return says or [_("Agents can read it by path.")]

    def _words(self, why: str) -> str:
        """A reason in the language of the page, with names as this page shows them."""
        why = translated(why)
        return why.replace(self.mount.prefix, "") if self.mount and len(self.mounts) == 1 else why

    def _imports(self, path: str, readers: MountReaders) -> list[str]:
        """What one agent loads because of a file."""
        for one in readers.loaded.get(path[: path.rfind("/") + 1], readers.at_root):
            imported = [self._name(other) for other, why in one.why.items() if why == IMPORTED + path]
            if imported:
                values = {"files": names(imported, MAX_NAMED), "agent": one.agent.title, "tokens": f"{one.tokens:,}"}
                return [_("Imports %(files)s: %(agent)s loads %(tokens)s tokens here.") % values]
        return []

    @cached_property
    def coding_agents(self) -> list[AgentLine]:
        """The agents that load something of the first mount, and the best known of the others."""
        loaded = self.readers[0].at_root if self.readers else []
        chosen = [one for one in loaded if one.why or one.agent.verified][:MAX_AGENTS]
        return [AgentLine(one.agent.title, agent_words(one), one.tokens) for one in chosen]

    @cached_property
    def survey(self) -> Survey | None:
        """What the first mount takes in and leaves out."""
        return survey_of(self.mount) if self.mount else None

    @cached_property
    def prompt(self) -> prompts.Prompt:
        return prompts.prompt_of_new_agent(self.space)

    @cached_property
    def view(self) -> PromptView:
        return PromptView(self.space, self.prompt)

    @cached_property
    def shown(self) -> list[tuple[PromptSection, tuple[str, ...]]]:
        """The parts of the prompt with the lines that the page shows of them."""
        left, found = LINES_SHOWN, []
        for one in self.view.stretches:
            lines = one.lines[: left if one.path else LINES_OF_FRAME]
            left -= len(lines) if one.path else 0
            if lines:
                found.append((one, lines))
        return found

    @property
    def hidden_lines(self) -> int:
        """How many lines of the prompt are not shown."""
        return self.view.line_count - sum(len(lines) for _one, lines in self.shown)


def agent_words(one: Loaded) -> str:
    """How much an agent loads, or what it looks for and does not find."""
    if not one.why:
        return _("reads none: no %(name)s") % {"name": one.agent.files[0]}
    return ngettext("reads %(n)d file", "reads %(n)d files", len(one.why)) % {"n": len(one.why)}


def is_first_run(space: Space) -> bool:
    """Whether no agent ever did anything here."""
    return not activity.has_flow(space)


def version_of(space: Space, agents: int) -> str:
    """What the page was made of: while it stays, the page need not be loaded again."""
    return activity.page_version(space, agents)


def context_of(request: HttpRequest) -> dict[str, Any]:
    """The context of the page."""
    space = request.space
    demo_space = next((one for one in spaces.spaces_of_person(request.user) if one.is_demo), None)
    return {
        "first": FirstRun(space),
        "agents": list(prompts.agents_of_space(space)[:MAX_AGENTS]),
        "frameworks": FRAMEWORKS,
        "demo_space": demo_space if demo_space and demo_space.pk != space.pk else None,
        "offers_laptop": laptop.is_offered(request),
        "can_load_demo": request.user.is_hub_owner and not demo.exists(),
    }
