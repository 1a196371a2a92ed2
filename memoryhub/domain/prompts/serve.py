"""What an agent gets when it asks for its prompt: who asks, whether anything changed, the bytes, a line in the ledger.

The hot path of the hub. One prepared statement finds the token and the space's revision; a prompt of that revision is
taken from the shelf, else assembled; new bytes are noted in the ledger before they are answered.
"""

from __future__ import annotations

import hmac
import json
from collections import OrderedDict
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.dialects import Dialect
from memoryhub.domain import accounts, working
from memoryhub.domain.prompts import deliveries, inputs, memory_then
from memoryhub.domain.prompts.assemble import Prompt, PromptRequest, build_prompt, dialect_of, gather_inputs
from memoryhub.domain.prompts.disk import DiskFile, are_unchanged
from memoryhub.domain.prompts.inputs import PromptInputs
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Scope, Space, Token

# The ids of what it would show of working memory are what tells that agents added to it, that something expired, or was
# pushed out or taken out; what people change in an entry raises the revision.
DOOR = f"""
SELECT t.id, t.digest, t.used_at > now() - interval '1 minute', host(t.used_from), s.id, s.revision, s.setup_mark,
       a.id, a.slug, a.dialect, a.reported::text, s.settings::text, s.slug,
       CASE WHEN %(hot)s::boolean THEN ARRAY({working.newest_of_both("id", "s.id", "a.id", str(memory_then.HOT_LIMIT))})::text END
  FROM memoryhub_token t
  JOIN memoryhub_agent a ON a.id = t.agent_id
  JOIN memoryhub_space s ON s.id = t.space_id
 WHERE t.digest = %(digest)s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
   AND a.is_on AND t.scopes @> %(scopes)s::text::varchar[]
"""  # noqa: S608 (only names and a number of ours are put in)


@dataclass(frozen=True, slots=True)
class AtTheDoor:
    """An agent whose token is good, with what tells whether its prompt has changed."""

    space_id: int
    revision: int
    setup: int  # the mark of everything but texts
    agent_id: int
    slug: str
    dialect: str
    said: str  # what its client reported, as JSON
    chosen: str  # what the space chose, as JSON
    space_slug: str
    hot: str | None  # the ids of the newest of working memory, where a prompt may show it

    @property
    def reported(self) -> dict[str, Any]:
        return json.loads(self.said)

    def agent(self) -> Agent:
        """As much of the agent and its space as a write needs; no statement is asked for that."""
        space = Space(pk=self.space_id, slug=self.space_slug, revision=self.revision, settings=json.loads(self.chosen))
        return Agent(pk=self.agent_id, space=space, slug=self.slug, dialect=self.dialect, reported=self.reported)

    def searcher(self) -> Agent:
        """The same for search, which changes nothing in them: made once while space and agent stay as they are."""
        return searcher(self)

    def reader(self) -> Agent:
        """As much of them as retrieval reads for a prompt, made once for all calls that say the same."""
        return reader(self.space_id, self.chosen, self.agent_id, self.slug)


searcher = lru_cache(maxsize=256)(AtTheDoor.agent)


@lru_cache(maxsize=256)
def reader(space_id: int, chosen: str, agent_id: int, slug: str) -> Agent:
    return Agent(pk=agent_id, slug=slug, space=Space(pk=space_id, settings=json.loads(chosen)))


class Keepable(Protocol):
    """What weighs something and lies on disk in places that are looked at again."""

    @property
    def bytes(self) -> int: ...
    @property
    def disk(self) -> tuple[DiskFile, ...]: ...


Thing = TypeVar("Thing", bound=Keepable)


@dataclass
class Shelf(Generic[Thing]):
    """What this process made last (prompts, files); each counts only while its key and its files on disk hold."""

    most: int = 256
    most_bytes: int = 32 * 1024 * 1024
    size: int = 0
    kept: OrderedDict[tuple[Any, ...], Thing] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: tuple[Any, ...]) -> Thing | None:
        thing = self.find(key)
        return thing if thing is not None and are_unchanged(thing.disk) else None

    def find(self, key: tuple[Any, ...]) -> Thing | None:
        """The same without a look at the disk."""
        thing = self.kept.get(key)
        if thing is not None:
            with self.lock:
                if key in self.kept:
                    self.kept.move_to_end(key)
        return thing

    def put(self, key: tuple[Any, ...], thing: Thing) -> None:
        with self.lock:
            replaced = self.kept.pop(key, None)
            self.size += thing.bytes - (replaced.bytes if replaced else 0)
            self.kept[key] = thing
            while len(self.kept) > self.most or self.size > self.most_bytes:
                _, gone = self.kept.popitem(last=False)
                self.size -= gone.bytes


shelf: Shelf[Prompt] = Shelf()
basis: Shelf[PromptInputs] = Shelf()  # what prompts are made of: another question or task needs nothing of it anew
Of = TypeVar("Of", Prompt, PromptInputs)


def keep(where: Shelf[Of], key: tuple[Any, ...], thread: str, made: Of, door: AtTheDoor) -> None:
    """Most prompts show nothing of one thread, so one copy serves all threads."""
    # What was read after the look at the door may be newer than the key says. A revision never comes back, so that is
    # no harm; the ids of working memory can, when an entry comes and goes again.
    if made.hot is None or made.hot == door.hot:
        where.put((*key, thread) if made.per_thread else key, made)


def enter(
    secret: str, address: str | None, *, hot: bool, scopes: tuple[str, ...] = (Scope.PROMPT,)
) -> AtTheDoor | None:
    """The agent that this token, with all these scopes, stands for; None for whoever needs a closer look (a person, or a refusal)."""
    digest = accounts.digest_of(secret)
    return known(statements.rows(DOOR, {"digest": digest, "hot": hot, "scopes": as_array(scopes)}), digest, address)


def known(rows: list[tuple[Any, ...]], digest: str, address: str | None) -> AtTheDoor | None:
    if not rows or not hmac.compare_digest(rows[0][1], digest):
        return None
    token_id, _, fresh, used_from, *facts = rows[0][:WIDTH]
    if not fresh or used_from != address:
        accounts.note_token_use(Token.objects.get(pk=token_id), address)
    door = AtTheDoor(*facts)
    before = seen.get(digest)
    if before is None and len(seen) >= MOST_SEEN:
        seen.clear()
        restless.clear()
    seen[digest] = door
    if before is None or before.revision == door.revision:
        restless.discard(digest)
    else:
        restless.add(digest)
    return door


# Whom each token stood for when this process last saw it, and for which of them the space had moved on since the look
# before: what to ask along with the next look, and nothing more.
seen: dict[str, AtTheDoor] = {}
restless: set[str] = set()
MOST_SEEN = 1024
WIDTH = 4 + len(fields(AtTheDoor))  # columns of DOOR


def seen_last(secret: str) -> AtTheDoor | None:
    return seen.get(accounts.digest_of(secret))


def enter_and_ask(
    secret: str, address: str | None, sql: str, asked: dict[str, Any], *, scopes: tuple[str, ...], hot: bool = False
) -> tuple[AtTheDoor | None, list[tuple[Any, ...]]]:
    """Who stands at the door, and in the same trip what a statement finds in the space that it was seen in last.

    Nothing is found when the token opens another space (`asked["space"]`) or none by now.
    """
    digest = accounts.digest_of(secret)
    asked = {**asked, "digest": digest, "hot": hot, "scopes": as_array(scopes)}
    both = statements.rows(with_door(sql), asked, binary=True)
    return known(both, digest, address), [row[WIDTH:] for row in both if row[WIDTH] is not None]


@lru_cache(maxsize=16)
def with_door(sql: str) -> str:
    """A statement whose first column is never null, beside the look at the door."""
    columns = ", ".join(["token_id", "digest", "fresh", "used_from", *(one.name for one in fields(AtTheDoor))])
    return f"SELECT door.*, found.* FROM ({DOOR}) AS door({columns}) LEFT JOIN ({sql}) AS found ON space_id = %(space)s"  # noqa: S608 (two statements of ours)


@lru_cache(maxsize=64)
def as_array(scopes: tuple[str, ...]) -> str:
    """Names as PostgreSQL writes an array of them: a list would cost a fifth of the whole look at the door."""
    return "{" + ",".join(scopes) + "}"


@dataclass(frozen=True, slots=True)
class Told:
    """How the texts of something kept stand, as the database said in the same moment as who is at the door."""

    of: PromptInputs
    rows: list[tuple[Any, ...]]


def enter_for_prompt(secret: str, address: str | None, asked: PromptRequest) -> tuple[AtTheDoor | None, Told | None]:
    """Who asks for a prompt; where files changed before its last call they most likely did again, and are asked about
    in the same trip."""
    hot = shows_working_memory(asked)
    kept = kept_of(seen_last(secret), asked) if accounts.digest_of(secret) in restless else None
    if kept is None:
        return enter(secret, address, hot=hot), None
    space_id, found = kept
    door, rows = enter_and_ask(
        secret, address, inputs.TEXTS, inputs.text_params(space_id, found), scopes=(Scope.PROMPT,), hot=hot
    )
    return door, Told(found, rows) if rows else None


def kept_of(last: AtTheDoor | None, asked: PromptRequest) -> tuple[int, PromptInputs] | None:
    """The space of a prompt that was asked for like this, and what it was made of when this process made it."""
    if last is None or asked.at:
        return None
    try:
        dialect = dialect_of(asked.dialect, last)
    except Invalid:  # said to whoever has a token, and to nobody else
        return None
    key = basis_key(last, fitting(asked, dialect), dialect)
    found = basis.find(key) or basis.find((*key, asked.thread))
    return (last.space_id, found) if found else None


def prompt_for(door: AtTheDoor, asked: PromptRequest, told: Told | None = None) -> Prompt:
    """The agent's prompt, from the shelf while nothing changed; noted in the ledger."""
    dialect = None
    if asked.query:
        dialect = dialect_of(asked.dialect, door)
        asked = fitting(asked, dialect)
    hot = door.hot if asked.query else None
    words = (asked.dialect, asked.query, asked.task, asked.at, asked.system_prompt)
    key = (door.space_id, door.agent_id, door.revision, hot, *words)
    prompt = shelf.get(key) or shelf.get((*key, asked.thread))
    if prompt is None:
        prompt = assembled(door, asked, dialect or dialect_of(asked.dialect, door), told)
        if prompt.lasts:
            keep(shelf, key, asked.thread, prompt, door)
    given = (asked.query, asked.task, asked.system_prompt or "")
    deliveries.record_delivery(door.space_id, door.agent_id, asked.thread, prompt, given)
    return prompt


def fitting(asked: PromptRequest, dialect: Dialect) -> PromptRequest:
    """The same without a query where the dialect has no place for what retrieval finds."""
    return asked if dialects.families()[dialect.family].retrieves else replace(asked, query="")


def assembled(door: AtTheDoor, asked: PromptRequest, dialect: Dialect, told: Told | None) -> Prompt:
    """The prompt made anew; the ORM is asked only where a past moment needs it."""
    if asked.at:
        agent = Agent.objects.select_related("space").get(pk=door.agent_id)
        return build_prompt(dialect, gather_inputs(agent.space, agent, dialect, asked), asked)
    gathered = gathered_for(door, asked, dialect, told)
    if asked.query and not gathered.ingredients.off:
        reader = door.reader()
        gathered = inputs.with_memory(gathered, reader.space, reader, asked.query)
    return build_prompt(dialect, gathered, asked)


def basis_key(door: AtTheDoor, asked: PromptRequest, dialect: Dialect) -> tuple[Any, ...]:
    return door.space_id, door.agent_id, door.setup, door.hot if asked.query else None, dialect.name


def gathered_for(door: AtTheDoor, asked: PromptRequest, dialect: Dialect, told: Told | None) -> PromptInputs:
    """What the prompt is made of, but for what long-term memory knows about the query.

    What was gathered under the mark of the setup holds but for its texts: those are looked at again for each revision.
    """
    key = basis_key(door, asked, dialect)
    found = basis.find(key) or basis.find((*key, asked.thread))
    if found is not None:
        if found.revision == door.revision and are_unchanged(found.disk):
            return found
        rows = told.rows if told and told.of is found else None
        found = inputs.with_current_texts(found, door.space_id, door.revision, rows)
    if found is None:
        found = inputs.current_inputs(
            door.space_id, door.agent_id, door.slug, dialect, thread=asked.thread, lately=bool(asked.query),
            revision=door.revision,
        )  # fmt: skip
    keep(basis, key, asked.thread, found, door)
    return found


def shows_working_memory(asked: PromptRequest) -> bool:
    """Whether this call may show working memory, so that its newest entry belongs to the key."""
    return bool(asked.query) and asked.at is None
