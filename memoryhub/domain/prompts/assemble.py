"""The exact prompt of an agent: now, at a past moment, or as it would be if a change were approved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.dialects import Dialect, Entry, Ingredients, Part, Rendered, Source, Warn, tokens_of_bytes
from memoryhub.domain import retrieval
from memoryhub.domain.files import GUIDELINES_PATH, POSITIONING_PATH
from memoryhub.domain.prompts import agents, inputs, inputs_sql, inputs_then, memory, warnings
from memoryhub.domain.prompts.inputs import PromptInputs
from memoryhub.domain.prompts.requests import NO_LIMITS, AskedLimits, PromptRequest, as_looked_at, dialect_for
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Agent, Space
from memoryhub.stores import paths
from memoryhub.stores.disk_files import DiskFile


@dataclass(frozen=True)
class Prompt:
    """The exact text, with what it was made of."""

    rendered: Rendered
    data: bytes
    sha256: str
    sources: tuple[dict[str, Any], ...]
    revisions: dict[str, int]  # of each included file
    ledger: str  # the revisions as JSON, as deliveries store them
    gathered_warnings: tuple[Warn, ...] = ()
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
        return all(one.code != memory.EMBEDDER_AWAY for one in self.gathered_warnings)

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
        return self.rendered.verified

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.rendered.parts

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """What to know about it, without what detectors find in its text: `all_warnings` has that too."""
        return self.gathered_warnings + self.rendered.warnings

    @cached_property
    def all_warnings(self) -> tuple[Warn, ...]:
        return self.warnings + warnings.findings_in(self.data, self.parts)

    @cached_property
    def warnings_header(self) -> str:
        """The warnings as answers in plain text carry them; made once for a prompt that is cached."""
        return warnings.as_header(self.all_warnings)

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
    limits: AskedLimits = NO_LIMITS,
    changes: Mapping[str, bytes | None] | None = None,
    template: str | None = None,
) -> Prompt:
    """The exact prompt of this agent as people look at it; `at` looks back, `changes` are files as if approved (None: gone),
    `template` is one as if approved."""
    asked = as_looked_at(agent, PromptRequest(dialect or "", query, task, thread, at, system_prompt, limits).check())
    return assemble_request(space, agent, asked, changes=changes, template=template)


def assemble_request(
    space: Space,
    agent: Agent,
    asked: PromptRequest,
    *,
    changes: Mapping[str, bytes | None] | None = None,
    template: str | None = None,
) -> Prompt:
    """The exact prompt that the agent's own call gets; the request was checked."""
    chosen = dialect_for(agent, asked)
    gathered = gather_inputs(space, agent, chosen, asked, waiting=True)
    if changes:
        gathered = with_changes(gathered, changes)
    if template is not None and not agent.template:
        gathered = replace(gathered, ingredients=replace(gathered.ingredients, template=template))
    prompt = build_prompt(chosen, gathered, asked)
    return with_pending(prompt, gathered.waiting)


def gather_inputs(
    space: Space, agent: Agent, dialect: Dialect, asked: PromptRequest, *, waiting: bool = False
) -> PromptInputs:
    """The inputs of the prompt, with what retrieval finds where the dialect shows it."""
    retrieves = bool(asked.query) and dialects.families()[dialect.family].retrieves
    limits = retrieval.limits_of(space, agent).with_values(asked.limits.given)
    if asked.at:
        found = inputs_then.inputs_at(space.pk, agent, dialect, asked.at, thread=asked.thread)
        if space.has_views:
            found = inputs_then.with_views_at(found, space, agent, asked.query, asked.at, asked.limits.given)
    else:
        found = inputs.current_inputs(
            space.pk, agent.pk, agent.slug, dialect, thread=asked.thread, lately=limits if retrieves else None,
            views_within=limits if space.has_views else None, waiting=waiting,
        )  # fmt: skip
    if not asked.query or found.ingredients.off or not (retrieves or inputs.shows_query(found)):
        return found
    if asked.at:
        return inputs_then.with_memory_at(found, space, agent, asked.query, asked.at, asked.limits.given)
    return inputs.with_memory(found, space, agent, asked.query, limits, retrieves=retrieves)


def for_request(ingredients: Ingredients, system_prompt: str | None, task: str) -> Ingredients:
    """The ingredients of one request: its base prompt, if it has one, in place of the agent's, and its task."""
    base = ingredients.base if system_prompt is None else system_prompt
    return replace(ingredients, base=base, task=task)


def with_changes(gathered: PromptInputs, changes: Mapping[str, bytes | None]) -> PromptInputs:
    """The inputs as if files had these texts; None: as if the file were deleted."""
    kept = gathered.ingredients
    sources = tuple(
        inputs.source_of(source.path, changes[where], None, None)
        if (where := paths.of_source(source.path)) in changes
        else source
        for source in kept.sources
    )
    guidelines, positioning = kept.guidelines, kept.positioning
    if GUIDELINES_PATH in changes:
        guidelines = inputs.source_of(GUIDELINES_PATH, changes[GUIDELINES_PATH], None, None).text
    if POSITIONING_PATH in changes:
        positioning = inputs.source_of(POSITIONING_PATH, changes[POSITIONING_PATH], None, None).text or ""
    ingredients = replace(kept, sources=sources, guidelines=guidelines, positioning=positioning)
    return replace(gathered, ingredients=ingredients)


def build_prompt(dialect: Dialect, gathered: PromptInputs, asked: PromptRequest) -> Prompt:
    """The prompt made of these inputs. Pure: the same for a past moment, a preview and an agent's request."""
    ingredients = for_request(gathered.ingredients, asked.system_prompt, asked.task)
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


PENDING = inputs_sql.PENDING.format(paths="%(paths)s::text[]")


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
        "warnings": [{"code": one.code, "path": one.path, "message": one.message} for one in prompt.all_warnings],
        "pending": list(prompt.pending),
    }
