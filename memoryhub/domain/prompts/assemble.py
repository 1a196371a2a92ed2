"""The exact prompt of an agent: now, at a past moment, or as it would be if a change were approved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from django.utils import timezone

from memoryhub import detectors, dialects
from memoryhub.db import statements
from memoryhub.dialects import Dialect, Entry, Part, Rendered, Source, Warn, tokens_of_bytes
from memoryhub.domain.prompts import agents, inputs, inputs_then, memory_then
from memoryhub.domain.prompts.inputs import PromptInputs
from memoryhub.errors import Invalid, TooLarge
from memoryhub.models import Actor, Agent, Space
from memoryhub.stores import paths
from memoryhub.stores.file_cache import DiskFile

MAX_TEXT = 20_000
WARNING_CODES = {"secrets": "secret_like", "hidden": "hidden_characters"}
MAX_SYSTEM_PROMPT = 1024 * 1024
MAX_PLACES = 200  # of one kind in one file; more are counted, not marked


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What somebody wants to see of an agent's prompt; empty fields mean the agent's own."""

    dialect: str = ""
    query: str = ""
    task: str = ""
    thread: str = ""
    at: datetime | None = None
    system_prompt: str | None = None

    def check(self) -> PromptRequest:
        """Returns itself, or refuses with the name of the field."""
        for name in ("dialect", "query", "task", "thread", "system_prompt"):
            check_text(name, getattr(self, name) or "")
        if self.at and self.at > timezone.now() + timedelta(minutes=1):
            raise Invalid("at lies in the future; a prompt is known up to now.", field="at")
        return self


def parse_time(text: str) -> datetime | None:
    """The time in an `at` parameter; UTC without a zone. A `+` that a query string turned into a blank is accepted."""
    if not text:
        return None
    for spelled in (text, text.replace(" ", "+")):
        try:
            found = datetime.fromisoformat(spelled)
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    raise Invalid("at is a time such as 2026-11-18T09:41:00Z.", field="at")


def check_text(name: str, value: str) -> None:
    """Refuses NUL, lone surrogates and texts that are too long."""
    size = byte_length(value)
    if size is None or "\x00" in value:
        raise Invalid(f"{name} holds a NUL or half a character.", field=name)
    if name == "system_prompt":
        if size > MAX_SYSTEM_PROMPT:
            raise TooLarge("system_prompt is larger than 1 MiB.", field=name)
    elif len(value) > (200 if name in ("thread", "dialect") else MAX_TEXT):
        raise Invalid(f"{name} is too long.", field=name)


def byte_length(text: str) -> int | None:
    """Length in UTF-8 bytes; None where it cannot be encoded."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The exact text, with what it was made of."""

    rendered: Rendered
    data: bytes
    sha256: str
    sources: tuple[dict[str, Any], ...]
    revisions: dict[str, int]  # of each included file
    ledger: str  # the revisions as JSON, as deliveries store them
    gathered_warnings: tuple[Warn, ...] = ()
    seen: tuple[Warn, ...] = ()  # findings of detectors, for callers that ask for them
    pending: tuple[int, ...] = ()
    disk: tuple[DiskFile, ...] = ()
    per_thread: bool = False
    working_ids: str | None = None  # of its working entries, as in `PromptInputs`
    budget: int | None = None
    cut_order: tuple[str, ...] = dialects.CUT_ORDER
    entries: tuple[Entry, ...] = ()  # what retrieval found, before the budget cut

    @property
    def lasts(self) -> bool:
        """Whether it may be cached. Not while the embedder is away: nothing tells when it is back."""
        return all(one.code != memory_then.EMBEDDER_AWAY for one in self.gathered_warnings)

    @property
    def text(self) -> str:
        return self.rendered.text

    @property
    def fragment(self) -> str:
        return self.rendered.fragment

    @property
    def placement(self) -> str:
        return self.rendered.placement

    @property
    def dialect(self) -> str:
        return self.rendered.dialect.name

    @property
    def verified(self) -> bool:
        return self.rendered.dialect.verified

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.rendered.parts

    @property
    def warnings(self) -> tuple[Warn, ...]:
        return self.gathered_warnings + self.rendered.warnings + self.seen

    @property
    def bytes(self) -> int:
        return len(self.data)

    @property
    def tokens(self) -> int:
        return tokens_of_bytes(len(self.data))


def assemble(
    space: Space,
    agent: Agent,
    *,
    dialect: str | None = None,
    query: str = "",
    task: str = "",
    thread: str = "",
    at: datetime | None = None,
    system_prompt: str | None = None,
    changes: Mapping[str, bytes | None] | None = None,
    template: str | None = None,
) -> Prompt:
    """The exact prompt of this agent; `at` looks back, `changes` are files as if approved (None: gone), `template` is one as if
    approved."""
    asked = PromptRequest(dialect or "", query, task, thread, at, system_prompt).check()
    chosen = dialect_of(asked.dialect, agent)
    gathered = gather_inputs(space, agent, chosen, asked, waiting=True)
    if changes:
        gathered = inputs.with_changes(gathered, changes)
    if template is not None and not agent.template:
        gathered = replace(gathered, ingredients=replace(gathered.ingredients, template=template))
    prompt = build_prompt(chosen, gathered, asked)
    return with_pending(prompt, gathered.waiting)


def dialect_of(asked: str, agent: Agent) -> Dialect:
    """The dialect that was asked for, else the agent's own; a version nobody named is the one its client reported."""
    name = asked or agent.dialect
    reported = agent.reported or {}
    if "/" not in name and name == reported.get("library") and reported.get("version"):
        with suppress(Invalid):  # a client can report anything; the newest form is used then
            return dialects.resolve(f"{name}/{reported['version']}")
    return dialects.resolve(name)


def gather_inputs(
    space: Space, agent: Agent, dialect: Dialect, asked: PromptRequest, *, waiting: bool = False
) -> PromptInputs:
    """The inputs of the prompt, with what retrieval finds where the dialect shows it."""
    retrieves = bool(asked.query) and dialects.families()[dialect.family].retrieves
    if asked.at:
        found = inputs_then.inputs_at(space.pk, agent, dialect, asked.at, thread=asked.thread)
    else:
        thread = asked.thread
        found = inputs.current_inputs(
            space.pk, agent.pk, agent.slug, dialect, thread=thread, lately=retrieves, waiting=waiting
        )
    if not retrieves or found.ingredients.off:
        return found
    if asked.at:
        return inputs_then.with_memory_at(found, space, agent, asked.query, asked.at)
    return inputs.with_memory(found, space, agent, asked.query)


def build_prompt(dialect: Dialect, gathered: PromptInputs, asked: PromptRequest) -> Prompt:
    """The prompt made of these inputs. Pure: the same for a past moment, a preview and an agent's request."""
    ingredients = inputs.for_request(gathered.ingredients, asked.system_prompt, asked.task)
    rendered = dialects.render(dialect, ingredients)
    data = rendered.data
    states = zip(ingredients.sources, rendered.statuses, strict=True)
    sources = tuple(source_state(source, status) for source, status in states)
    revisions = {
        paths.of_source(one["path"]): one["revision"]
        for one in sources
        if one["status"] == "included" and one["revision"]
    }
    return Prompt(
        rendered=rendered,
        data=data,
        sha256=hashlib.sha256(data).hexdigest(),
        sources=sources,
        revisions=revisions,
        ledger=revisions_json(revisions),
        gathered_warnings=gathered.warnings,
        disk=gathered.disk,
        per_thread=gathered.per_thread,
        working_ids=gathered.working_ids,
        budget=ingredients.budget,
        cut_order=ingredients.cut_order,
        entries=ingredients.working + ingredients.longterm,
    )


revisions_json = json.JSONEncoder(sort_keys=True).encode  # one encoder; `json.dumps` makes one a call


def source_state(source: Source, status: str) -> dict[str, Any]:
    return {
        "path": source.path,
        "status": status,
        "revision": source.revision,
        "sha256": source.sha256,
        "bytes": source.size,
    }


def with_pending(prompt: Prompt, numbers: tuple[int, ...]) -> Prompt:
    return prompt if prompt.pending == numbers else replace(prompt, pending=numbers)


PENDING = inputs.PENDING.format(paths="%(paths)s::text[]")


def pending_numbers(space_id: int, listed: list[str]) -> tuple[int, ...]:
    """The numbers of the pending proposals for any of these sources."""
    return tuple(
        number
        for (number,) in statements.rows(
            PENDING, {"space": space_id, "paths": [paths.of_source(path) for path in listed]}
        )
    )


def change_settings(
    agent: Agent, actor: Actor, *, budget: int | None, gives_way: list[str], memory_is_on: bool, template: str
) -> Agent:
    """Changes the settings of an agent that affect its prompt: budget, cut order, memory, template."""
    if unknown := set(gives_way) - set(dialects.CUT_ORDER):
        raise Invalid(f"Nothing called {', '.join(sorted(unknown))} can give way.", field="gives_way")
    values = {"budget": budget, "gives_way": gives_way, "memory_is_on": memory_is_on}
    return agents.change_agent(agent, actor, **values, template=template if template.strip() else "")


def with_findings(prompt: Prompt) -> Prompt:
    """The prompt with findings in its sources as warnings: text like a secret, hidden characters."""
    more = tuple(warn for part in prompt.parts if part.kind == "source" for warn in findings_in_part(prompt, part))
    return replace(prompt, seen=more)


def findings_in_part(prompt: Prompt, part: Part) -> list[Warn]:
    """One warning per detector for a part, with the byte spans of its findings."""
    text = prompt.data[part.start : part.end].decode()
    return [
        Warn(code, part.label, f"{part.label}: {message}", at=part.start + spans[0][0],
             places=tuple((part.start + start, part.start + end) for start, end in spans))
        for code, message, spans in findings_in_text(text)
    ]  # fmt: skip


@lru_cache(maxsize=32)
def findings_in_text(text: str) -> tuple[tuple[str, str, tuple[tuple[int, int], ...]], ...]:
    """For secrets and hidden characters: the warning's code, its message, and the byte spans of the findings."""
    found = detectors.find(text, only=WARNING_CODES)
    told = []
    for name, code in WARNING_CODES.items():
        mine = [one for one in found if one.code == name]
        if mine:
            # A detector counts lines of this part, which are neither those of the prompt nor of the file.
            message = mine[0].message.replace(f" in line {mine[0].line}.", ".", 1)
            others = f" ({len(mine)} places in this file)" if len(mine) > 1 else ""
            spans = tuple(byte_span(text, one.start, one.end) for one in mine[:MAX_PLACES])
            told.append((code, message + others, spans))
    return tuple(told)


def byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())


def first_change(before: bytes, after: bytes) -> int | None:
    """The offset of the first byte that differs, where a provider's prompt cache ends; None when none does."""
    if before == after:
        return None
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def parts_json(prompt: Prompt) -> list[dict[str, Any]]:
    """The parts as the API answers them and deliveries store them."""
    return [{"kind": part.kind, "label": part.label, "start": part.start, "end": part.end} for part in prompt.parts]


def as_json(prompt: Prompt) -> dict[str, Any]:
    """The prompt as the API answers it."""
    return {
        "dialect": prompt.dialect,
        "verified": prompt.verified,
        "text": prompt.text,
        "fragment": prompt.fragment,
        "placement": prompt.placement,
        "sha256": prompt.sha256,
        "bytes": prompt.bytes,
        "tokens_estimate": prompt.tokens,
        "sources": list(prompt.sources),
        "parts": parts_json(prompt),
        "warnings": [{"code": one.code, "path": one.path, "message": one.message} for one in prompt.warnings],
        "pending": list(prompt.pending),
    }
