"""What memory gives to a question: the newest of working memory (hot), then what long-term memory knows (cold).

Quarantine is never read here. Words and meaning are ranked together; the score that is shown is the cosine alone, and
`why` says what else spoke for an item.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoryhub.domain import working
from memoryhub.domain.retrieval.index import SearchOptions, Text, readers_for
from memoryhub.domain.retrieval.limits import check_limits, limits_of
from memoryhub.domain.retrieval.rank import rank
from memoryhub.domain.retrieval.word_rank import Candidate
from memoryhub.embedders import Embedder
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Space

SCOPES = ("group", "agent")
BY_WORDS = "\n(Long-term memory was searched by words alone: the embedder is away.)\n"


@dataclass(slots=True)  # as `Candidate` is
class Item:
    """One thing retrieval gives out. `number` names the long-term entry; working entries have none."""

    content: str
    source: str
    score: float
    id: int
    created_at: datetime
    scope: str = "group"
    number: int | None = None
    is_truncated: bool = False
    why: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """A whole retrieval, with what the playground shows: what the threshold cut off, and under which embedder."""

    items: list[Item]
    cut_off: list[Item]
    threshold: float
    embedded_by: str
    warnings: list[str]

    @property
    def hot(self) -> list[Item]:
        return [item for item in self.items if item.source == "hot"]

    @property
    def cold(self) -> list[Item]:
        return [item for item in self.items if item.source == "cold"]


def retrieve(
    space: Space,
    query: str,
    *,
    agent: Agent | None = None,
    hot: int | None = None,
    cold: int | None = None,
    threshold: float | None = None,
    max_chars: int | None = None,
    words: float | None = None,
    scope: str | None = None,
    embedder: Embedder | None = None,
    everyone: bool = False,
    show_cut: int = 0,
    mark: int | None = None,
) -> Found:
    """The newest working entries (`hot`), then the long-term chunks that fit the query best (`cold`), as this agent may read them.

    Limits that are not given are those of the agent, or of the space. `everyone` reads every agent's own memory too, for people;
    `embedder` asks another one than the one that serves; `show_cut` is how many of those that the threshold cut off are told;
    `mark` is the `longterm_mark` of the space where this call has read it, which spares a statement.
    """
    given = {"hot": hot, "cold": cold, "threshold": threshold, "max_chars": max_chars, "words": words}
    limits = limits_of(space, agent).with_values(check_limits(given))
    if scope is not None and scope not in SCOPES:
        raise Invalid(f"scope is one of {', '.join(SCOPES)}.", code="unknown_scope", field="scope")
    newest = working.newest(space, agent=agent, limit=limits.hot, scope=scope)
    first = [_hot(one, limits.max_chars) for one in newest]
    if not query.strip() or (limits.cold == 0 and not show_cut) or (scope == "agent" and agent is None):
        return Found(first, [], limits.threshold or 0.0, "", [])
    wanted = SearchOptions(limits.cold, show_cut, limits.threshold, words=limits.words)
    hits = rank(space, query, readers_for(agent, scope, everyone), wanted, embedder, mark)
    best, cut_off = (
        [_cold(one, hits.texts[one.id], limits.max_chars) for one in some] for some in (hits.best, hits.cut_off)
    )
    return Found(first + best, cut_off, hits.threshold, hits.embedded_by, hits.warnings)


def _hot(one: working.WorkingItem, max_chars: int) -> Item:
    why = {"by": "newest", "agent": one.agent}
    return Item(
        one.content[:max_chars], "hot", 1.0, one.id, one.created_at, one.scope,
        is_truncated=len(one.content) > max_chars, why=why,
    )  # fmt: skip


def _cold(one: Candidate, text: Text, max_chars: int) -> Item:
    content, number, created_at, scope, promoted_by, session_id, checked_at = text
    has_words, cosine = one.words > 0, None if one.cosine is None else round(one.cosine, 4)
    why = {
        "by": "words" if cosine is None else "words and meaning" if has_words else "meaning",
        "rank": one.rank, "mixed": round(one.mixed, 4), "cosine": cosine, "words": round(one.words, 4),
        "coverage": round(one.coverage, 4), "promoted_by": promoted_by, "session_id": session_id,
        "checked_at": checked_at.isoformat() if checked_at else None,
    }  # fmt: skip
    is_truncated = len(content) > max_chars
    return Item(content[:max_chars], "cold", cosine or 0.0, one.id, created_at, scope, number, is_truncated, why)


def as_text(items: list[Item], *, by_words: bool = False) -> str:
    """The items as a summary for a prompt, with a note where they were found by words alone."""
    parts = []
    hot = [f"- {_as_bullet(item.content)}" for item in items if item.source == "hot"]
    cold = [f"- {_as_bullet(item.content)} [L-{item.number}]" for item in items if item.source == "cold"]
    if hot:
        parts.append("Recent (working memory, newest first):\n" + "\n".join(hot))
    if cold:
        parts.append("Known (long-term memory, best match first):\n" + "\n".join(cold))
    text = "\n\n".join(parts) + "\n" if parts else "Nothing in memory fits.\n"
    return text + BY_WORDS if by_words else text


def _as_bullet(text: str) -> str:
    """One item is one bullet: its own lines are indented below it."""
    return text.strip().replace("\n", "\n  ")
