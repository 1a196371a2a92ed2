"""What memory gives to a question: the newest of working memory (hot), then what long-term memory knows (cold).

Quarantine is never read here. Words and meaning are ranked together; the score that is shown is the cosine alone, and
`why` says what else spoke for an item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoryhub.domain import working
from memoryhub.domain.retrieval.rank import RankOptions, rank
from memoryhub.domain.retrieval.readers import readers_for
from memoryhub.domain.retrieval.word_rank import Candidate
from memoryhub.embedders import Embedder
from memoryhub.errors import Invalid
from memoryhub.models import Agent, Space

MOST = 50
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
    hot: int = 10,
    cold: int = 5,
    threshold: float | None = None,
    max_chars: int = 500,
    scope: str | None = None,
) -> list[Item]:
    """The newest working entries, then the long-term chunks that fit the query best, as this agent may read them."""
    return explore(
        space, query, agent=agent, hot=hot, cold=cold, threshold=threshold, max_chars=max_chars, scope=scope
    ).items


def explore(
    space: Space,
    query: str,
    *,
    agent: Agent | None = None,
    hot: int = 10,
    cold: int = 5,
    threshold: float | None = None,
    max_chars: int = 500,
    scope: str | None = None,
    embedder: Embedder | None = None,
    everyone: bool = False,
    show_cut: int = 0,
) -> Found:
    """Retrieval with its reasons. `everyone` reads every agent's own memory too, for people; `embedder` asks another one."""
    check(hot, cold, threshold, max_chars, scope)
    first = [as_hot(one, max_chars) for one in working.newest(space, agent=agent, limit=hot, scope=scope)]
    if not query.strip() or (cold == 0 and not show_cut) or (scope == "agent" and agent is None):
        return Found(first, [], threshold or 0.0, "", [])
    choice = RankOptions(cold, show_cut, threshold)
    sought = rank(space, query, readers_for(agent, scope, everyone), choice, embedder)
    give = [as_cold(one, sought.texts[one.id], max_chars) for one in sought.kept]
    left = [as_cold(one, sought.texts[one.id], max_chars) for one in sought.cut]
    return Found(first + give, left, sought.threshold, sought.embedded_by, sought.warnings)


def check(hot: int, cold: int, threshold: float | None, max_chars: int, scope: str | None) -> None:
    for name, value in (("hot", hot), ("cold", cold)):
        if not 0 <= value <= MOST:
            raise Invalid(f"{name} is a number from 0 to {MOST}.", code="invalid", field=name)
    if threshold is not None and not -1 <= threshold <= 1:
        raise Invalid("threshold is a number from -1 to 1.", code="invalid", field="threshold")
    if not 1 <= max_chars <= 1 << 20:
        raise Invalid("max_chars is a number from 1 to 1048576.", code="invalid", field="max_chars")
    if scope is not None and scope not in SCOPES:
        raise Invalid(f"scope is one of {', '.join(SCOPES)}.", code="unknown_scope", field="scope")


def as_hot(one: working.Fresh, max_chars: int) -> Item:
    why = {"by": "newest", "agent": one.agent}
    return Item(
        one.content[:max_chars], "hot", 1.0, one.id, one.created_at, one.scope,
        is_truncated=len(one.content) > max_chars, why=why,
    )  # fmt: skip


def as_cold(one: Candidate, found: Sequence[Any], max_chars: int) -> Item:
    text, number, created_at, scope, promoted_by, session_id, checked_at = found
    has_words, cosine = one.words > 0, None if one.cosine is None else round(one.cosine, 4)
    why = {
        "by": "words" if cosine is None else "words and meaning" if has_words else "meaning",
        "rank": one.rank, "mixed": round(one.mixed, 4), "cosine": cosine, "words": round(one.words, 4),
        "coverage": round(one.coverage, 4), "promoted_by": promoted_by, "session_id": session_id,
        "checked_at": checked_at.isoformat() if checked_at else None,
    }  # fmt: skip
    return Item(text[:max_chars], "cold", cosine or 0.0, one.id, created_at, scope, number, len(text) > max_chars, why)


def as_text(items: list[Item], *, by_words: bool = False) -> str:
    """The items as a summary that can stand in a prompt; it says so where words alone found them."""
    parts = []
    hot = [f"- {flat(item.content)}" for item in items if item.source == "hot"]
    cold = [f"- {flat(item.content)} [L-{item.number}]" for item in items if item.source == "cold"]
    if hot:
        parts.append("Recent (working memory, newest first):\n" + "\n".join(hot))
    if cold:
        parts.append("Known (long-term memory, best match first):\n" + "\n".join(cold))
    told = "\n\n".join(parts) + "\n" if parts else "Nothing in memory fits.\n"
    return told + BY_WORDS if by_words else told


def flat(text: str) -> str:
    """One item is one bullet: its own lines are indented below it."""
    return text.strip().replace("\n", "\n  ")
