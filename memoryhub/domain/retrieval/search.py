"""One ranked list over everything that may be seen: files, quarantine, working and long-term memory, proposals, activity.

Each layer brings its own best hits by words (long-term memory by meaning as well); then all of them are weighed by one
measure, words and meaning half and half. Agents never get quarantine or activity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.db import connection

from memoryhub.db import fragments, statements
from memoryhub.db.cache import Cache
from memoryhub.domain import activity, working
from memoryhub.domain.retrieval import query_words, word_rank
from memoryhub.domain.retrieval.embedder import EMBEDDER_SECONDS, serving_embedder
from memoryhub.domain.retrieval.retrieve import retrieve
from memoryhub.domain.retrieval.snippets import MAX_WEIGHED, has_all, snippet, times, word_counts
from memoryhub.domain.retrieval.word_rank import Candidate, Corpus
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Proposal, Record, RecordState, Space, WorkingEntry
from memoryhub.stores import paths
from memoryhub.text import input_checks

FOR_AGENTS = ("files", "working", "longterm", "proposals")
LAYERS = ("files", "quarantine", "working", "longterm", "proposals", "activity")
TITLES = {
    "files": "Files", "quarantine": "Quarantine", "working": "Working memory", "longterm": "Long-term memory",
    "proposals": "Proposals", "activity": "Activity",
}  # fmt: skip
PER_LAYER = 20  # on the page
MAX_HITS = 200  # hits of one list, and of each layer in it, over REST
MAX_QUERY = 500  # characters
MAX_PROPOSALS = 1000  # the newest, of those looked through
MAX_LINES = 20_000  # of activity, whose words are in no index; its own page searches further back


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found; `marks` are the stretches of the snippet that hold the words asked for."""

    layer: str
    id: str
    title: str
    url: str
    text: str
    created_at: datetime | None = None
    author: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    score: float = 0.0
    by: str = "words"
    cosine: float | None = None
    words: float = 0.0
    fact: str = ""  # the text that its copies say as well, where `text` has more
    adds: str = ""  # how the text of a line of activity ends, behind its thing


def search(
    space: Space,
    query: str,
    *,
    layers: list[str] | None = None,
    agent: Agent | None = None,
    limit: int = 50,
    per_layer: int = PER_LAYER,
) -> list[Hit]:
    """What fits the words or the meaning of a query best, as this agent (or, without one, a member) may see it."""
    wanted = _layers(layers, agent)
    query = query.strip()[:MAX_QUERY].replace("\x00", " ")
    if not word_rank.split_words(query):
        return []
    found: list[Hit] = []
    for layer in wanted:
        found += FIND[layer](space, query, agent, per_layer)
    return _rank(space, query, found, limit)


def _layers(layers: list[str] | None, agent: Agent | None) -> list[str]:
    allowed = FOR_AGENTS if agent else LAYERS
    unknown = [layer for layer in layers or [] if layer not in LAYERS]
    if unknown:
        raise Invalid(f"There is no layer {unknown[0]!r}; there are {', '.join(allowed)}.", code="unknown_layer")
    return [layer for layer in allowed if not layers or layer in layers]


def _rank(space: Space, query: str, found: list[Hit], limit: int) -> list[Hit]:
    """The best hits in one order, each with its score, its snippet and the words that are marked in it."""
    asked = word_rank.split_words(query)
    texts = [word_counts(f"{hit.title}\n{hit.text[:MAX_WEIGHED]}") for hit in found]
    counts = [{word: times(word, text) for word in asked} for text in texts]
    frequencies = {word: sum(1 for one in counts if one[word]) for word in asked}
    mean = sum(sum(text.values()) for text in texts) / max(1, len(texts))
    corpus = Corpus(max(1, len(texts)), mean or 1.0, frequencies)
    cosines = _cosines(space, query, found)
    candidates = [
        Candidate(at, cosines[at], word_rank.bm25(one, sum(text.values()), asked, corpus))
        for at, (one, text) in enumerate(zip(counts, texts, strict=True))
    ]
    return [_shown(found[one.id], one, asked) for one in word_rank.fuse(candidates)[:limit]]


def _cosines(space: Space, query: str, found: list[Hit]) -> list[float | None]:
    """The cosine of each hit with the query; none while the embedder is away."""
    try:
        embedder = serving_embedder(space)
        if not embedder.is_local:  # a remote one would be asked for every key that is pressed
            return [hit.cosine for hit in found]
        texts = [f"{hit.title}\n{hit.text[:1000]}" for hit in found]
        first, *others = _embed(embedder, [query, *texts])
    except EmbedderUnavailable:
        return [None] * len(found)
    return [float(first @ other) for other in others]


vectors_of_hits: Cache[Any] = Cache(
    "vectors of search hits", key="embedder, text", max_items=4000, invalidated_by="nothing: a text has one vector",
    saves="embedding the same texts at every key that is pressed",
)  # fmt: skip


def _embed(embedder: Embedder, texts: list[str]) -> list[Any]:
    """The vector of each text."""
    found = {text: vectors_of_hits.get((embedder.embedded_by, text)) for text in texts}
    if new := [text for text, vector in found.items() if vector is None]:
        for text, vector in zip(new, embedder.embed(new, seconds=EMBEDDER_SECONDS), strict=True):
            found[text] = vector
            vectors_of_hits.put((embedder.embedded_by, text), vector)
    return [found[text] for text in texts]


def _shown(hit: Hit, candidate: Candidate, asked: list[str]) -> Hit:
    text, marks = snippet(hit.text, asked)
    is_meant = (candidate.cosine or 0) > 0.3
    by = "meaning" if not candidate.words else "words and meaning" if is_meant else "words"
    return replace(
        hit, snippet=text, marks=marks, score=round(candidate.mixed, 4), by=by, cosine=candidate.cosine,
        words=candidate.words,
    )  # fmt: skip


# ---- each layer's own best hits ----


def _in_files(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    _list_words(space)
    like = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    values = {"space": space.pk, "like": like, "words": query_words.tsquery(query), "most": limit}
    rows = sorted(statements.rows(IN_FILES, values, binary=True), key=itemgetter(1), reverse=True)
    return [
        Hit("files", path, path, paths.page_of(path), bytes(content or b"").decode("utf-8", "replace"), when, author)
        for path, when, author, content in rows
    ]


# The texts are fetched for what is shown alone, one look-up each.
IN_FILES = f"""
SELECT f.path, f.modified_at, coalesce(nullif(r.git_author, ''), f.author_name), r.content FROM (
  SELECT * FROM memoryhub_file f WHERE f.space_id = %(space)s AND NOT f.is_deleted AND f.thread_id = '' AND (
    upper(f.path) LIKE upper(%(like)s::text)
    OR f.id IN (SELECT file_id FROM memoryhub_filewords WHERE space_id = %(space)s AND words @@ (%(words)s::text)::tsquery))
  ORDER BY f.modified_at DESC LIMIT %(most)s) f
LEFT JOIN LATERAL ({fragments.newest_text_of("f", "%(space)s", "content, git_author")}) r ON true
"""  # noqa: S608 (pieces of ours)
STALE = f"""
SELECT f.id, f.revision, f.path, r.content FROM (
  SELECT * FROM memoryhub_file f WHERE f.space_id = %(space)s AND f.thread_id = '' AND NOT f.is_deleted AND NOT EXISTS (
    SELECT 1 FROM memoryhub_filewords w WHERE w.file_id = f.id AND w.revision = f.revision)
  LIMIT 500) f
JOIN LATERAL ({fragments.newest_text_of("f", "%(space)s")}) r ON true
"""  # noqa: S608 (pieces of ours)
INDEX = f"""
INSERT INTO memoryhub_filewords (space_id, file_id, revision, words) VALUES (%s, %s, %s, {word_rank.TSVECTOR})
ON CONFLICT (file_id) DO UPDATE SET revision = excluded.revision, words = excluded.words
"""  # noqa: S608 (only names of text search configurations are put in)


listed_revisions: Cache[bool] = Cache(
    "listed words of files", key="space", max_items=10_000, invalidated_by="the space's revision",
    saves="looking for files whose words are not listed yet",
)  # fmt: skip


def _list_words(space: Space) -> None:
    """Lists the words of files that changed since somebody last searched."""
    if listed_revisions.get(space.pk, space.revision):
        return
    stale = statements.rows(STALE, {"space": space.pk}, binary=True)
    for file_id, revision, path, content in stale:
        text = f"{path}\n{bytes(content).decode('utf-8', 'replace')}"[: input_checks.MAX_INDEXED]
        statements.rows(INDEX, [space.pk, file_id, revision, *word_rank.words_by_configuration(text)])
    if not stale and not connection.in_atomic_block:  # else what was found could be taken back
        listed_revisions.put(space.pk, True, space.revision)


def _in_quarantine(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    """Records with the words of a query, newest first; discarded ones are left out."""
    found = Record.objects.within(space).not_in_state(space, RecordState.DISCARDED).defer("words").order_by("-id")
    return [
        Hit(
            "quarantine", str(one.pk), f"{one.node_kind} in {one.session_id}", f"quarantine/{one.pk}/", one.content,
            one.created_at, one.agent_name,
        )
        for one in found.filter(query_words.records_with(query))[:limit]
    ]  # fmt: skip


def _in_working(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    asked = word_rank.split_words(query)
    return [
        Hit(
            "working", str(one.pk), _session_shown(one, agent) or "An entry", f"working/#w{one.pk}", one.content, one.created_at,
            one.agent_name,
        )
        for one in _readable_working(space, agent)
        if has_all(one.content, asked)
    ][:limit]  # fmt: skip


def _session_shown(one: WorkingEntry, agent: Agent | None) -> str:
    """The session of an entry, for people and for the agent itself: with its name others could read files of its thread."""
    return one.session_id if agent is None or one.agent_id == agent.pk else ""


def _readable_working(space: Space, agent: Agent | None) -> list[WorkingEntry]:
    found = working.live(space)
    return list(found.filter(agent_key__in=[0, agent.pk]) if agent else found)[:500]


def _in_longterm(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    found = retrieve(space, query, agent=agent, hot=0, cold=min(limit, working.MAX_ENTRIES), everyone=agent is None)
    return [
        Hit(
            "longterm", f"L-{one.number}", f"L-{one.number}", f"longterm/{one.number}/",
            one.content, one.created_at, one.why.get("promoted_by") or "", cosine=one.score,
        )
        for one in found.cold
    ]  # fmt: skip


def _in_proposals(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    asked = word_rank.split_words(query)
    found = Proposal.objects.within(space).order_by("-number")
    found = found.filter(agent=agent) if agent else found
    hits = []
    for one in found[:MAX_PROPOSALS]:
        text, fact = _texts_of(one)
        if has_all(f"{one.path} {text}", asked) or query.lstrip("#") == str(one.number):
            title = f"#{one.number} {one.path or ('a promotion' if one.kind == Proposal.Kind.PROMOTION else one.thing)}, {one.state}"
            url = f"proposals/{one.number}/"
            hits.append(Hit("proposals", str(one.number), title, url, text, one.created_at, one.agent_name, fact=fact))
    return hits[:limit]


def _texts_of(proposal: Proposal) -> tuple[str, str]:
    """Everything that a proposal says, and what it would write."""
    change: dict[str, Any] = proposal.change or {}
    new = [str(change[key]) for key in ("new_string", "text") if change.get(key)]
    whole = bytes(proposal.content).decode("utf-8", "replace") if proposal.content else ""
    written = [part for part in (*new, whole) if part]
    return "\n".join(part for part in (proposal.reason, *written) if part), "\n".join(written)


def has_more_activity(space: Space) -> bool:
    """Whether there is more activity than a search looks through."""
    return activity.find_lines(space).values("pk")[MAX_LINES : MAX_LINES + 1].exists()


def _in_activity(space: Space, query: str, agent: Agent | None, limit: int) -> list[Hit]:
    lines = activity.find_lines(space, words=query, newest=MAX_LINES)[:limit]
    return [
        Hit(
            "activity", str(one.pk), f"{one.actor_name} {one.says}", one.address, f"{one.thing}{one.ending}".strip(), one.at,
            one.actor_name, adds=one.ending,
        )
        for one in lines
    ]  # fmt: skip


FIND: dict[str, Callable[[Space, str, Agent | None, int], list[Hit]]] = {
    "files": _in_files,
    "quarantine": _in_quarantine,
    "working": _in_working,
    "longterm": _in_longterm,
    "proposals": _in_proposals,
    "activity": _in_activity,
}
