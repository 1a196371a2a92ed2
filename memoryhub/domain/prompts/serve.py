"""What an agent gets when it asks for its prompt: the cached one while nothing changed, else one assembled anew.

Agents ask for this most of all. `accounts.authenticate` reads the space's revision with the token; a prompt of that revision
comes from the cache, and new bytes are recorded as a delivery before they are answered. Ids of working memory are
compared with the incarnation of the server: after a fail-over an id may be that of another entry.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import OperationalError

from memoryhub import dialects
from memoryhub.db import replica
from memoryhub.db.cache import ENTRY_BYTES, Cache
from memoryhub.dialects import Dialect
from memoryhub.domain import retrieval
from memoryhub.domain.accounts import Caller, digest_of
from memoryhub.domain.prompts import deliveries, inputs, inputs_sql
from memoryhub.domain.prompts.assemble import Prompt, build_prompt, gather_inputs
from memoryhub.domain.prompts.inputs import PromptInputs
from memoryhub.domain.prompts.requests import NO_LIMITS, PromptRequest, dialect_for
from memoryhub.models import Agent
from memoryhub.refusals import go_on_without_room

WORKING_IDS = inputs_sql.newest_ids("s.id", "a.id", inputs_sql.HOT_LIMIT)
# For a call that names a limit of its own, of which the first ones count.
ALL_WORKING_IDS = inputs_sql.newest_ids("s.id", "a.id", str(retrieval.MAX_ITEMS))

prompt_cache: Cache[Prompt] = Cache(
    "prompts", key="agent, the space's revision, start of the server, call, working entries",
    max_bytes=32 << 20, size_of=lambda prompt: 2 * prompt.bytes + ENTRY_BYTES,  # as bytes and in pieces
    invalidated_by="nothing: a revision never comes back; a change of a file on disk", saves="assembling the prompt again",
)  # fmt: skip
inputs_cache: Cache[PromptInputs] = Cache(
    "inputs of prompts", key="agent, the space's setup_mark, start of the server, dialect, working entries",
    max_bytes=32 << 20, size_of=lambda inputs: inputs.bytes + ENTRY_BYTES,
    invalidated_by="nothing: a mark never comes back; texts are compared by SHA-256",
    saves="reading set-up and texts again for another query or task",
)  # fmt: skip
Made = TypeVar("Made", Prompt, PromptInputs)


# Where files of a `views` mount may be in the prompt, what they show.
VIEW = retrieval.views.ids_sql("s.id", "a.id", inputs_sql.HOT_LIMIT)
VIEW_IDS = f"CASE WHEN s.has_views THEN {VIEW} END"
WORKING_OR_VIEW_IDS = f"CASE WHEN s.has_views THEN {VIEW} ELSE {WORKING_IDS} END"
ALL_WORKING_OR_VIEW_IDS = f"CASE WHEN s.has_views THEN {VIEW} ELSE {ALL_WORKING_IDS} END"


def working_column(asked: PromptRequest) -> str:
    """What `accounts.authenticate` reads beside, for a call that may show working memory."""
    if asked.at is not None:
        return "NULL"
    if not asked.query:
        return VIEW_IDS
    return WORKING_OR_VIEW_IDS if asked.limits.hot is None else ALL_WORKING_OR_VIEW_IDS


def working_ids_of(caller: Caller, asked: PromptRequest) -> str | None:
    """The ids of the working entries that the prompt would show, as a PostgreSQL array."""
    ids: str | None = caller.beside
    if ids is None or asked.limits.hot is None or caller.space.has_views:
        return ids
    return "{" + ",".join(ids.strip("{}").split(",")[: asked.limits.hot]) + "}"


def prompt_for(caller: Caller, asked: PromptRequest) -> Prompt:
    """The prompt of the calling agent, whose `beside` is that of `working_column`; recorded as delivered."""
    agent = agent_of(caller)
    dialect = None
    if asked.query:
        dialect = dialect_for(agent, asked)
        if not caller.space.has_views:
            asked = without_useless_query(asked, dialect)
    working_ids = working_ids_of(caller, asked)
    words = (asked.dialect, asked.query, asked.task, asked.at, asked.system_prompt, asked.limits)
    key = (caller.space.pk, agent.pk, caller.space.revision, caller.incarnation, working_ids, *words)
    prompt = prompt_cache.get(key) or prompt_cache.get((*key, asked.thread))
    if prompt is None or not all(file.is_unchanged() for file in prompt.disk):
        prompt = replica.read(lambda: assembled(caller, asked, dialect or dialect_for(agent, asked)))
        if prompt.lasts:
            put_in_cache(prompt_cache, key, asked.thread, prompt, working_ids)
    mark = (caller.incarnation, caller.space.setup_mark)
    try:
        deliveries.record_delivery(caller.space.pk, agent.pk, asked.thread, prompt, asked, mark)
        if asked.dialect != agent.asked_dialect:
            deliveries.note_dialect(caller.space.pk, agent, prompt, asked)
    except OperationalError as error:  # the prompt itself needs no room
        go_on_without_room(error, "a delivery")
    return prompt


def agent_of(caller: Caller) -> Agent:
    assert caller.agent is not None, "people look at prompts by `assemble`"
    return caller.agent


def without_useless_query(asked: PromptRequest, dialect: Dialect) -> PromptRequest:
    """The request, without its query where the dialect has no place for what retrieval finds."""
    return asked if dialects.families()[dialect.family].retrieves else replace(asked, query="", limits=NO_LIMITS)


def put_in_cache(cache: Cache[Made], key: tuple[Any, ...], thread: str, made: Made, working_ids: str | None) -> None:
    """Caches what was made; most prompts show nothing of one thread, so one copy serves all threads."""
    # What was read after the caller may be newer than the key says. A revision never comes back, so that is no harm; the
    # ids of working memory can, when an entry comes and goes again.
    if made.working_ids is None or made.working_ids == working_ids:
        cache.put((*key, thread) if made.per_thread else key, made)


def assembled(caller: Caller, asked: PromptRequest, dialect: Dialect) -> Prompt:
    """The prompt made anew, from cached inputs as far as they hold."""
    agent = agent_of(caller)
    if asked.at:
        whole = Agent.objects.select_related("space").get(pk=agent.pk)  # a past moment reads all of it
        return build_prompt(dialect, gather_inputs(whole.space, whole, dialect, asked), asked)
    gathered = inputs_for(caller, asked, dialect)
    retrieves = dialects.families()[dialect.family].retrieves
    if asked.query and not gathered.ingredients.off and (retrieves or inputs.shows_query(gathered)):
        limits = retrieval.limits_of(caller.space, agent).with_values(asked.limits.given)
        gathered = inputs.with_memory(gathered, caller.space, agent, asked.query, limits, retrieves=retrieves)
    return build_prompt(dialect, gathered, asked)


def inputs_for(caller: Caller, asked: PromptRequest, dialect: Dialect) -> PromptInputs:
    """What the prompt is made of, but for what long-term memory knows about the query.

    What was gathered under the space's `setup_mark` holds but for its texts: those are compared again for each revision.
    """
    space, agent = caller.space, agent_of(caller)
    working_ids = working_ids_of(caller, asked)
    key = (space.pk, agent.pk, space.setup_mark, caller.incarnation, working_ids, dialect.name, asked.limits)
    found = inputs_cache.get(key) or inputs_cache.get((*key, asked.thread))
    if found is not None and space.has_views and found.revision != space.revision:
        found = None  # what its sources show may be another
    if found is not None:
        if found.revision == space.revision and all(file.is_unchanged() for file in found.disk):
            return found
        found = inputs.with_current_texts(found, space.pk, space.revision)
    if found is None:
        limits = retrieval.limits_of(space, agent).with_values(asked.limits.given)
        retrieves = bool(asked.query) and dialects.families()[dialect.family].retrieves
        found = inputs.current_inputs(
            space.pk, agent.pk, agent.slug, dialect, thread=asked.thread, lately=limits if retrieves else None,
            views_within=limits if space.has_views else None, revision=space.revision,
        )  # fmt: skip
    put_in_cache(inputs_cache, key, asked.thread, found, working_ids)
    return found


# ---- while the database is away; off unless `MEMORYHUB_STALE_PROMPT_SECONDS` says for how long


class ServedPrompt(NamedTuple):
    """A prompt, and when it was current (`time.monotonic`)."""

    prompt: Prompt
    at: float


served_prompts: Cache[ServedPrompt] = Cache(
    "prompts while the database is away", key="token, agent, call", max_bytes=32 << 20, size_of=lambda one: one.prompt.bytes + 1,
    invalidated_by="`MEMORYHUB_STALE_PROMPT_SECONDS`", saves="answers while nothing can be asked; only with that setting",
)  # fmt: skip


def note_served(secret: str, agent_slug: str, asked: PromptRequest, prompt: Prompt) -> None:
    """Keeps a prompt that was made or confirmed just now."""
    served_prompts.put((digest_of(secret), agent_slug, asked), ServedPrompt(prompt, time.monotonic()))


def stale_prompt(secret: str, agent_slug: str, asked: PromptRequest) -> tuple[Prompt, float] | None:
    """What this token got for this call, and how many seconds ago; None where that is too long ago, or the setting is off.

    A token that was revoked since gets it too: nobody can look that up then.
    """
    found = served_prompts.get((digest_of(secret), agent_slug, asked)) if settings.STALE_PROMPT_SECONDS else None
    age = time.monotonic() - found.at if found else 0.0
    return (found.prompt, age) if found and age <= settings.STALE_PROMPT_SECONDS else None
