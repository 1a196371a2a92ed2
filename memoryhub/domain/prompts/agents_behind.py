"""The last prompt of each agent of a space, and which threads would get other bytes now for what they asked then."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.db import fragments, statements
from memoryhub.db.cache import ENTRY_BYTES, Cache
from memoryhub.db.prepared import any_of, prepared
from memoryhub.domain import activity
from memoryhub.domain.prompts import inputs_sql
from memoryhub.domain.prompts.agents import agents_after, called_last
from memoryhub.domain.prompts.assemble import assemble_request
from memoryhub.domain.prompts.explain.live_threads import THREAD_LIFETIME, grouped_threads, live_threads
from memoryhub.domain.prompts.explain.sizes import Segment, segments_of
from memoryhub.domain.prompts.requests import StoredRequest, compare_query, dialect_of, stored_texts
from memoryhub.models import Agent, Delivery, PromptText, Space, Token
from memoryhub.stores.disk_files import DiskFile

LAYER_NAMES = {
    "plain": gettext_lazy("template and guidelines"), "source": gettext_lazy("files"), "working": gettext_lazy("working"),
    "longterm": gettext_lazy("long-term"),
}  # fmt: skip
MAX_REQUESTS = 20  # different ones of an agent that are assembled; threads that asked for others are not compared


@dataclass
class AgentRow:
    """One agent as a row of the list of agents."""

    agent: Agent
    delivery: Delivery | None = None
    tokens: int = 0
    segments: Sequence[Segment] = ()
    behind: int = 0  # threads that would get other bytes now; calls without a thread count as one
    behind_threads: Sequence[BehindThread] = ()  # the newest of them
    is_current: bool = False  # its last call would get the same bytes now
    is_old: bool = False  # its last call would get other bytes now
    now: PromptNow | None = None  # what its last call would get now
    token: Token | None = None  # the one it used last

    @property
    def up_to_date(self) -> bool | None:
        """Whether its last call would get the same bytes now; None before the first, and where that is not known."""
        return True if self.is_current else False if self.is_old else None

    @property
    def spoken(self) -> str:
        words = (
            _("%(name)s: %(tokens)s of %(budget)s tokens; %(parts)s")
            if self.agent.budget
            else _("%(name)s: %(tokens)s tokens; %(parts)s")
        )
        return words % {
            "name": self.agent.name, "tokens": f"{self.tokens:,}", "budget": f"{self.agent.budget or 0:,}",
            "parts": _(", ").join(f"{LAYER_NAMES.get(s.layer, s.layer)} {s.tokens:,}" for s in self.segments),
        }  # fmt: skip


def agent_rows(space: Space, *, words: str = "", after: str = "", limit: int = 100) -> tuple[list[AgentRow], str]:
    """Agents in the order of their address, each with its last prompt and whether it is up to date; and the one after which
    there are more, else an empty string."""
    if words:
        found = Agent.objects.within(space).filter(slug__gt=after).order_by("slug")
        found = found.filter(name__icontains=words) | found.filter(description__icontains=words)
        agents = list(found[: limit + 1])
    else:
        agents = agents_after(space, after, limit + 1)
    return rows_for(space, agents[:limit]), agents[limit - 1].slug if len(agents) > limit else ""


def agents_called_last(space: Space, limit: int) -> list[AgentRow]:
    """The agents that called last, newest first, then those that never did."""
    return rows_for(space, called_last(space, limit))


def agent_row(space: Space, agent: Agent) -> AgentRow:
    return rows_for(space, [agent])[0]


SIZES = prepared(lambda space, wanted: PromptText.objects.within(space).filter(any_of("sha256", wanted)).defer("text"))


def rows_for(space: Space, agents: list[Agent]) -> list[AgentRow]:
    by_agent: dict[int, list[ThreadStatus]] = {}
    for one in grouped_statuses(space, agents):
        by_agent.setdefault(one.delivery.agent_id, []).append(one)
    last = {pk: threads[0] for pk, threads in by_agent.items()}
    shas = {one.delivery.sha256 for one in last.values()}
    texts = {one.sha256: one for one in SIZES(space.pk, list(shas))} if shas else {}
    out = []
    for agent in agents:
        newest = last.get(agent.pk)
        text = texts.get(newest.delivery.sha256) if newest else None
        tokens = text.tokens if text else 0
        segments = segments_of(text.parts, tokens, agent.budget) if text else ()
        old = [one for one in by_agent.get(agent.pk, ()) if one.is_behind]
        shown = [as_behind(one, agent, *thread) for one in old for thread in one.alike]
        row = AgentRow(agent, None, tokens, segments, sum(one.count for one in old), shown)
        if newest:
            row = replace(
                row, delivery=newest.delivery, is_current=newest.is_current, is_old=newest.is_behind, now=newest.now
            )
        out.append(row)
    return out


def rows_with_tokens(space: Space, rows: list[AgentRow]) -> list[AgentRow]:
    """The rows with the valid token that each agent used last, else its newest."""
    good = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    found = Token.objects.within(space).filter(good, agent_id__in=[row.agent.pk for row in rows])
    latest = found.order_by("agent_id", F("used_at").desc(nulls_last=True), "-pk").distinct("agent_id")
    by_agent = {token.agent_id: token for token in latest}
    return [replace(row, token=by_agent.get(row.agent.pk)) for row in rows]


# What each thread would get now


@dataclass(frozen=True, slots=True)
class PromptNow:
    """What an agent would get now for one of its calls; without the text, so that many can be kept."""

    sha256: str
    dialect: str
    verified: bool
    lacks_template: bool
    revisions: dict[str, int]
    disk: tuple[DiskFile, ...]
    per_thread: bool

    @property
    def bytes(self) -> int:
        return 200 + 100 * len(self.revisions)


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """What a thread got last, and whether it would get the same bytes now; `now` is None where that is not known."""

    delivery: Delivery
    now: PromptNow | None = None
    sha256: str = ""  # of the delivered bytes, as far as they are stored
    looks_back: bool = False  # it asked for a past moment, which stays
    is_guess: bool = False  # recorded by an older version, which stored no more of the call than its dialect
    count: int = 1  # threads that asked the same and got the same
    others: tuple[tuple[str, datetime], ...] = ()  # the newest of those: thread and time

    @property
    def alike(self) -> tuple[tuple[str, datetime], ...]:
        """The newest threads of which this is true."""
        return self.others or ((self.delivery.thread_id, self.delivery.last_at),)

    @property
    def differs(self) -> bool:
        return self.now is not None and self.now.sha256 != self.sha256

    @property
    def is_behind(self) -> bool:
        return self.differs and not (self.is_guess and self.older_file is None)

    @property
    def is_current(self) -> bool:
        return self.looks_back or (self.now is not None and not self.differs)

    @property
    def older_file(self) -> tuple[str, int, int] | None:
        """The file of which a newer revision reaches the prompt: path, the revision it has, and the newest. None where the
        text differs for another reason."""
        if not self.differs or self.now is None:
            return None
        has = self.delivery.revisions
        found = [
            (path, int(has[path]), number)
            for path, number in self.now.revisions.items()
            if path in has and str(has[path]).isdecimal() and int(has[path]) < number
        ]
        return max(found, key=lambda one: one[2] - one[1], default=None)


def thread_statuses(space: Space, agents: Iterable[Agent]) -> list[ThreadStatus]:
    """Each live thread with what it would get now for what it asked then, newest first."""
    return statuses_of(space, agents, [StoredRequest(one) for one in live_threads(space, agents)])


def statuses_of(space: Space, agents: Iterable[Agent], stored: list[StoredRequest]) -> list[ThreadStatus]:
    """What each of these calls would get now. This is the one place that says what is up to date: pages, API and metrics
    read it."""
    by_pk = {agent.pk: agent for agent in agents}
    texts = stored_texts(space.pk, stored)
    cached = LookedUp(space, working_ids(space, {one.delivery.agent_id for one in stored if one.query}))
    out = []
    for one in stored:
        text = texts.get(one.delivery.sha256, b"")
        now = cached.prompt_now(by_pk[one.delivery.agent_id], one, text) if one.is_comparable else None
        sha256 = hashlib.sha256(text).hexdigest() if one.is_masked else one.delivery.sha256
        out.append(ThreadStatus(one.delivery, now, sha256, one.looks_back, is_guess=not one.delivery.asked))
    return out


def grouped_statuses(space: Space, agents: list[Agent]) -> list[ThreadStatus]:
    """`thread_statuses` with a row for all threads that asked the same and got the same: lists of many agents need no more. Where
    the prompt depends on the thread, each thread has a row."""
    groups = grouped_threads(space, agents)
    found = statuses_of(space, agents, [StoredRequest(delivery) for delivery, _, _ in groups])
    apart = {one.delivery.agent_id for one in found if one.now and one.now.per_thread}
    out = [
        replace(one, count=count, others=threads)
        for one, (_, count, threads) in zip(found, groups, strict=True)
        if one.delivery.agent_id not in apart
    ]
    return out + thread_statuses(space, [agent for agent in agents if agent.pk in apart])


prompts_now: Cache[PromptNow] = Cache(
    "what calls would get now", key="agent, the space's revision, dialect, call, working entries",
    max_bytes=32 << 20, size_of=lambda now: now.bytes + ENTRY_BYTES,
    invalidated_by="nothing: a revision never comes back; a change of a file on disk",
    saves="assembling a prompt for each call of each agent on pages that say who is behind: 0.15 of 0.17 ms a call",
)  # fmt: skip


@dataclass
class LookedUp:
    """What calls would get now, each different one of an agent looked up once, up to `MAX_REQUESTS` of them."""

    space: Space
    entries: dict[int, tuple[str, int]]  # by agent, as `working_ids` has them
    found: dict[tuple[Any, ...], PromptNow] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    def prompt_now(self, agent: Agent, one: StoredRequest, text: bytes) -> PromptNow | None:
        """What this call would get now; None where the agent made too many different ones."""
        key = (agent.pk, *one.identity)
        threaded = (*key, one.delivery.thread_id)
        now = self.found.get(key) or self.found.get(threaded)
        if now is None and self.counts[agent.pk] < MAX_REQUESTS:
            self.counts[agent.pk] += 1
            now = prompt_now(self.space, agent, one, text, self.entries.get(agent.pk))
            self.found[threaded if now.per_thread else key] = now
        return now


def prompt_now(
    space: Space, agent: Agent, one: StoredRequest, text: bytes, entries: tuple[str, int] | None
) -> PromptNow:
    """What the call would get now, from the cache while nothing changed."""
    asked = one.request(text)
    dialect = dialect_of(asked.dialect, agent)
    key = (space.pk, agent.pk, space.revision, dialect, entries if one.query else None, *one.identity)
    found = prompts_now.get(key) or prompts_now.get((*key, asked.thread))
    if found is None or not all(file.is_unchanged() for file in found.disk):
        prompt = assemble_request(space, agent, asked)
        found = PromptNow(
            prompt.sha256,
            prompt.dialect,
            prompt.verified,
            any(one.code == "template_unknown" for one in prompt.warnings),
            prompt.revisions,
            prompt.disk,
            prompt.per_thread,
        )
        if prompt.lasts and prompt.working_ids in (None, entries and entries[0]):
            prompts_now.put((*key, asked.thread) if found.per_thread else key, found)
    return found


WORKING_IDS = f"""
SELECT a.id, {inputs_sql.newest_ids("s.id", "a.id", inputs_sql.HOT_LIMIT)}, {fragments.INCARNATION}
FROM memoryhub_agent a JOIN memoryhub_space s ON s.id = a.space_id WHERE a.id = ANY(%s)
"""  # noqa: S608 (an expression of ours)


def working_ids(space: Space, agent_ids: set[int]) -> dict[int, tuple[str, int]]:
    """The ids of the working entries that a prompt of each of these agents would show, and the incarnation of the server."""
    rows = statements.rows(WORKING_IDS, [list(agent_ids)]) if agent_ids else []
    return {agent: (ids, incarnation) for agent, ids, incarnation in rows}


@dataclass
class BehindThread:
    """A thread that runs on an older text; `path` is empty where it is older for another reason than one file."""

    agent_id: int
    agent: str
    thread_id: str
    path: str
    has: int
    now: int
    last_at: datetime
    asked: dict[str, Any]

    @property
    def compare_query(self) -> str:
        """The query of the page that compares what was delivered with now."""
        return compare_query(self.last_at, self.asked)


def threads_behind(rows: Iterable[AgentRow]) -> list[BehindThread]:
    """The newest live threads of these agents that would get other bytes now for what they asked then, newest first."""
    found = [one for row in rows for one in row.behind_threads]
    return sorted(found, key=lambda one: one.last_at, reverse=True)


def as_behind(one: ThreadStatus, agent: Agent, thread: str, last_at: datetime) -> BehindThread:
    older = one.older_file or ("", 0, 0)
    return BehindThread(agent.pk, agent.slug, thread, *older, last_at, StoredRequest(one.delivery).values)


MAX_MEASURED = 200  # agents of a space, those that called last


@activity.gauge("memoryhub_threads_behind", "Threads that would get other bytes now for what they asked then")
def measure_behind(only: str) -> Iterator[tuple[str, int]]:
    """The number for each space whose agents called in the last days; `only` is the slug of the one that is asked for."""
    since = timezone.now() - THREAD_LIFETIME
    called = set(Delivery.objects.filter(last_at__gte=since).values_list("space_id", flat=True).distinct())
    for space in Space.objects.filter(pk__in=called, **({"slug": only} if only else {})).order_by("slug"):
        agents = Agent.objects.within(space).filter(seen_at__gte=since).order_by("-seen_at")[:MAX_MEASURED]
        yield space.slug, sum(one.count for one in grouped_statuses(space, list(agents)) if one.is_behind)
