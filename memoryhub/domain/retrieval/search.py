"""One ranked list over everything that may be seen: files, quarantine, working and long-term memory, proposals, activity.

Each layer brings its own best hits by words (long-term memory by meaning as well); then all of them are weighed by one
measure, words and meaning half and half. Agents never get quarantine or activity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from memoryhub.db import fragments, statements
from memoryhub.detectors.cjk import CJK
from memoryhub.domain import activity, working
from memoryhub.domain.retrieval import query_words, word_rank
from memoryhub.domain.retrieval.embedder import EMBEDDER_SECONDS, serving_embedder
from memoryhub.domain.retrieval.retrieve import explore
from memoryhub.domain.retrieval.word_rank import Candidate, Corpus
from memoryhub.embedders import Embedder, EmbedderUnavailable
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Proposal, Record, RecordState, Space, WorkingEntry
from memoryhub.text import input_checks

FOR_AGENTS = ("files", "working", "longterm", "proposals")
LAYERS = ("files", "quarantine", "working", "longterm", "proposals", "activity")
TITLES = {
    "files": "Files", "quarantine": "Quarantine", "working": "Working memory", "longterm": "Long-term memory",
    "proposals": "Proposals", "activity": "Activity",
}  # fmt: skip
PER_LAYER = 20  # on the page
MAX_HITS = 200  # hits of one list, and of each layer in it, over REST
AROUND = 90  # characters beside a hit
SNIPPET = 240
READ = 4000  # characters of a text that are weighed
LONGEST = 500
MOST_PROPOSALS = 1000
MOST_LINES = 20_000  # of activity, whose words are in no index; its own page searches further back


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


def search(
    space: Space,
    query: str,
    *,
    layers: list[str] | None = None,
    agent: Agent | None = None,
    limit: int = 50,
    per_layer: int = PER_LAYER,
    known: Mapping[str, list[Hit]] | None = None,
) -> list[Hit]:
    """What fits the words or the meaning of a query best, as this agent (or, without one, a member) may see it.

    Of some layers the hits may be `known` already.
    """
    wanted = chosen(layers, agent)
    query = typed_query(query)
    if not word_rank.split_words(query):
        return []
    found: list[Hit] = []
    for layer in wanted:
        found += known[layer] if known and layer in known else FIND[layer](space, query, agent, per_layer)
    return weigh(space, query, found, limit)


def typed_query(query: str) -> str:
    return query.strip()[:LONGEST].replace("\x00", " ")


def chosen(layers: list[str] | None, agent: Agent | None) -> list[str]:
    allowed = FOR_AGENTS if agent else LAYERS
    unknown = [layer for layer in layers or [] if layer not in LAYERS]
    if unknown:
        raise Invalid(f"There is no layer {unknown[0]!r}; there are {', '.join(allowed)}.", code="unknown_layer")
    return [layer for layer in allowed if not layers or layer in layers]


def weigh(space: Space, query: str, found: list[Hit], limit: int) -> list[Hit]:
    """The best hits in one order, each with its score, its snippet and the words that are marked in it."""
    asked = word_rank.split_words(query)
    texts = [counted(f"{hit.title}\n{hit.text[:READ]}") for hit in found]
    counts = [{word: like(word, text) for word in asked} for text in texts]
    frequencies = {word: sum(1 for one in counts if one[word]) for word in asked}
    mean = sum(sum(text.values()) for text in texts) / max(1, len(texts))
    corpus = Corpus(max(1, len(texts)), mean or 1.0, frequencies)
    cosines = meanings(space, query, found)
    candidates = [
        Candidate(at, cosines[at], word_rank.bm25(one, sum(text.values()), asked, corpus))
        for at, (one, text) in enumerate(zip(counts, texts, strict=True))
    ]
    return [shown(found[one.id], one, asked) for one in word_rank.fuse(candidates)[:limit]]


@lru_cache(maxsize=512)
def counted(text: str) -> Counter[str]:
    """How often a text has each word; nobody changes what comes back."""
    return Counter(word_rank.split_words(text))


def like(word: str, text: Counter[str]) -> int:
    """How often a text has a word, also in another form of it (pure)."""
    exact = text.get(word, 0)
    if exact or len(word) < 3:
        return exact
    return sum(count for other, count in text.items() if kin(word, other))


def kin(word: str, other: str) -> bool:
    """Whether two words are forms of one: the same beginning, another ending (pure)."""
    if other.startswith(word):
        return True
    common = max(4, len(word) - 2)
    return len(word) > 4 and word[:common] == other[:common] and abs(len(word) - len(other)) <= 3


def meanings(space: Space, query: str, found: list[Hit]) -> list[float | None]:
    """The cosine of each hit with the query; none while the embedder is away."""
    try:
        embedder = serving_embedder(space)
        if not embedder.is_local:  # a remote one would be asked for every key that is pressed
            return [hit.cosine for hit in found]
        texts = [f"{hit.title}\n{hit.text[:1000]}" for hit in found]
        first, *others = vectors(embedder, [query, *texts])
    except EmbedderUnavailable:
        return [None] * len(found)
    return [float(first @ other) for other in others]


_vectors: dict[tuple[str, str], Any] = {}
MOST_VECTORS = 4000


def vectors(embedder: Embedder, texts: list[str]) -> list[Any]:
    """The vector of each text; the same files are found again and again, so this process keeps what it embedded last."""
    if new := [text for text in dict.fromkeys(texts) if (embedder.embedded_by, text) not in _vectors]:
        if len(_vectors) > MOST_VECTORS:
            _vectors.clear()
        made = embedder.embed(new, seconds=EMBEDDER_SECONDS)
        _vectors.update({(embedder.embedded_by, text): vector for text, vector in zip(new, made, strict=True)})
    return [_vectors[embedder.embedded_by, text] for text in texts]


def shown(hit: Hit, candidate: Candidate, asked: list[str]) -> Hit:
    snippet, marks = marked(hit.text, asked)
    by = (
        "words and meaning"
        if candidate.words and (candidate.cosine or 0) > 0.3
        else "words"
        if candidate.words
        else "meaning"
    )
    return replace(
        hit, snippet=snippet, marks=marks, score=round(candidate.mixed, 4), by=by, cosine=candidate.cosine,
        words=candidate.words,
    )  # fmt: skip


def marked(text: str, asked: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The stretch of a text around its first hits, and where in it the hits stand (pure)."""
    places = hits_in(text[:READ], asked)
    start = max(0, places[0][0] - AROUND) if places else 0
    if start:
        start = next((at + 1 for at in range(start, min(start + 20, len(text))) if text[at].isspace()), start)
    lead = "…" if start else ""
    body = text[start : start + SNIPPET]
    tail = "…" if start + SNIPPET < len(text) else ""
    marks = [(a - start + len(lead), b - start + len(lead)) for a, b in places if start <= a and b <= start + len(body)]
    return lead + body + tail, tuple(marks)


def hits_in(text: str, asked: list[str]) -> list[tuple[int, int]]:
    """Where a text holds the words that were asked for, as far as one snippet can show, in order (pure)."""
    wanted = tuple(asked)
    places: list[tuple[int, int]] = []
    for match in word_rank.WORD.finditer(text):
        start = match.start()
        if places and start > places[0][0] + SNIPPET:
            break
        places += [(start + a, start + b) for a, b in hits_in_word(match.group(), wanted)]
    return joined(sorted(places))


@lru_cache(maxsize=4096)
def hits_in_word(said: str, wanted: tuple[str, ...]) -> list[tuple[int, int]]:
    """The stretches of one word that were asked for: all of it, or, in a script without blanks, some (pure).

    Texts say most of their words many times, and the texts found for one query say the same ones.
    """
    folded = said.casefold()
    if any(folded == word or (len(word) >= 3 and kin(word, folded)) for word in wanted):
        return [(0, len(said))]
    if not CJK.search(folded):
        return []
    return [(at, at + len(word)) for word in wanted for at in finds(folded, word)]


def finds(text: str, word: str) -> list[int]:
    return [at for at in range(len(text) - len(word) + 1) if text.startswith(word, at)]


def joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in places:
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def marked_pieces(snippet: str, marks: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """A snippet cut at its marks, for templates: text and whether it is marked (pure)."""
    cuts = sorted({0, len(snippet), *(at for mark in marks for at in mark)})
    starts = {start for start, _ in marks}
    return [(snippet[a:b], a in starts) for a, b in pairwise(cuts)]


# ---- each layer's own best hits ----


def in_files(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    index_files(space)
    return file_hits(statements.rows(IN_FILES, file_search_params(space.pk, query, most), binary=True))


def file_search_params(space_id: int, query: str, most: int) -> dict[str, Any]:
    like = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return {"space": space_id, "like": like, "words": query_words.query(query), "most": most}


def file_hits(rows: list[tuple[Any, ...]]) -> list[Hit]:
    """The hits in the rows, newest first."""
    return [
        Hit("files", path, path, f"files{path}", bytes(content or b"").decode("utf-8", "replace"), when, author)
        for path, when, author, content in sorted(rows, key=itemgetter(1), reverse=True)
    ]


# The texts are fetched for what is shown alone, one look-up each.
IN_FILES = f"""
SELECT f.path, f.modified_at, f.author_name, r.content FROM (
  SELECT * FROM memoryhub_file f WHERE f.space_id = %(space)s AND NOT f.is_deleted AND f.thread_id = '' AND (
    upper(f.path) LIKE upper(%(like)s::text)
    OR f.id IN (SELECT file_id FROM memoryhub_filewords WHERE space_id = %(space)s AND words @@ (%(words)s::text)::tsquery))
  ORDER BY f.modified_at DESC LIMIT %(most)s) f
LEFT JOIN LATERAL ({fragments.newest_text_of("f", "%(space)s")}) r ON true
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


# Up to which revision of each space this process has seen that all files are listed: nothing to look for until the next.
_listed: dict[int, int] = {}


def is_file_search_listed(space_id: int, revision: int) -> bool:
    return _listed.get(space_id) == revision


def index_files(space: Space) -> None:
    """Lists the words of files that changed since somebody last searched."""
    if is_file_search_listed(space.pk, space.revision):
        return
    stale = statements.rows(STALE, {"space": space.pk}, binary=True)
    for file_id, revision, path, content in stale:
        text = f"{path}\n{bytes(content).decode('utf-8', 'replace')}"[: input_checks.INDEXED]
        statements.rows(INDEX, [space.pk, file_id, revision, *word_rank.words_by_configuration(text)])
    if not stale and not connection.in_atomic_block:  # else what was found could be taken back
        _listed[space.pk] = space.revision


def records_with(space: Space, query: str) -> QuerySet[Record]:
    """Quarantine records with the words of a query, newest first; discarded ones are left out."""
    found = Record.objects.within(space).not_in_state(space, RecordState.DISCARDED).defer("words").order_by("-id")
    return found.filter(query_words.in_record(query)) if query.strip() else found


def in_quarantine(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    return [
        Hit(
            "quarantine", str(one.pk), f"{one.node_kind} in {one.session_id}", f"quarantine/{one.pk}/", one.content,
            one.created_at, one.agent_name,
        )
        for one in records_with(space, query)[:most]
    ]  # fmt: skip


def in_working(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    asked = word_rank.split_words(query)
    return [
        Hit(
            "working",
            str(one.pk),
            one.session_id or "An entry",
            f"working/#w{one.pk}",
            one.content,
            one.created_at,
            one.agent_name,
        )
        for one in readable_working(space, agent)
        if says(one.content, asked)
    ][:most]


def readable_working(space: Space, agent: Agent | None) -> list[WorkingEntry]:
    found = working.live(space)
    return list(found.filter(agent_key__in=[0, agent.pk]) if agent else found)[:500]


def says(text: str, asked: list[str]) -> bool:
    counted = Counter(word_rank.split_words(text[:READ]))
    return all(like(word, counted) for word in asked)


def in_longterm(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    found = explore(space, query, agent=agent, hot=0, cold=min(most, working.MAX_ENTRIES), everyone=agent is None)
    return [
        Hit(
            "longterm", f"L-{one.number}", f"L-{one.number}", f"longterm/{one.number}/",
            one.content, one.created_at, one.why.get("promoted_by") or "", cosine=one.score,
        )
        for one in found.cold
    ]  # fmt: skip


def in_proposals(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    asked = word_rank.split_words(query)
    found = Proposal.objects.within(space).order_by("-number")
    found = found.filter(agent=agent) if agent else found
    hits = []
    for one in found[:MOST_PROPOSALS]:
        text = said_by(one)
        if says(f"{one.path} {text}", asked) or query.lstrip("#") == str(one.number):
            title = f"#{one.number} {one.path or 'a promotion'}, {one.state}"
            hits.append(
                Hit(
                    "proposals",
                    str(one.number),
                    title,
                    f"proposals/{one.number}/",
                    text,
                    one.created_at,
                    one.agent_name,
                )
            )
    return hits[:most]


def said_by(proposal: Proposal) -> str:
    change: dict[str, Any] = proposal.change or {}
    new = [str(change[key]) for key in ("new_string", "text") if change.get(key)]
    whole = bytes(proposal.content).decode("utf-8", "replace") if proposal.content else ""
    return "\n".join(part for part in (proposal.reason, *new, whole) if part)


def has_more_activity(space: Space) -> bool:
    """Whether there is more activity than a search looks through."""
    return activity.lines(space).values("pk")[MOST_LINES : MOST_LINES + 1].exists()


def in_activity(space: Space, query: str, agent: Agent | None, most: int) -> list[Hit]:
    lines = activity.lines(space, words=query, newest=MOST_LINES)[:most]
    return [
        Hit(
            "activity",
            str(one.pk),
            f"{one.actor_name} {one.says}",
            one.url,
            f"{one.thing} {one.adds}".strip(),
            one.at,
            one.actor_name,
        )
        for one in lines
    ]


FIND: dict[str, Callable[[Space, str, Agent | None, int], list[Hit]]] = {
    "files": in_files,
    "quarantine": in_quarantine,
    "working": in_working,
    "longterm": in_longterm,
    "proposals": in_proposals,
    "activity": in_activity,
}
