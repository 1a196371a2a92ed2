"""The inbox: what waits, by risk and age, in groups, with what each change does in a line."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from memoryhub.db.prepared import prepared
from memoryhub.dialects import tokens_of_bytes
from memoryhub.domain.proposals.results import Result, results_of
from memoryhub.domain.proposals.state import OPEN, ends_soon
from memoryhub.domain.proposals.waiting import expire_late
from memoryhub.models import Proposal, Space
from memoryhub.text import diff
from memoryhub.text.lines import text_of

State = Proposal.State
PAGE = 50
DECIDED = (State.APPROVED, State.REJECTED, State.WITHDRAWN, State.EXPIRED)
VIEWS = {
    "pending": Q(state=State.PENDING), "outdated": Q(state=State.OUTDATED),
    "changes": Q(state=State.REJECTED, changes_requested=True),
    "decided": Q(state__in=DECIDED) & ~Q(state=State.REJECTED, changes_requested=True),
}  # fmt: skip
ORDERS = {
    "risk": ("-risk", "created_at", "pk"),
    "newest": ("-created_at", "-pk"),
    "oldest": ("created_at", "pk"),
}
ALIKE, PIECE = 0.8, 8  # the share of pieces of so many characters
SECONDS = 3.0  # of a processor; lines of a list after it go without counts
LARGE = 300_000  # of texts with so many bytes, no changes are counted


@dataclass
class Row:
    """One line of the inbox."""

    proposal: Proposal
    found: Result
    added: int = 0
    removed: int = 0
    more_tokens: int = 0
    like: int | None = None
    chain: int = 0  # how many stand in its chain, on the first of them
    expires_soon: bool = False

    @property
    def tags(self) -> list[dict[str, Any]]:
        """One tag per kind of finding, with how many."""
        counts: dict[str, list[str]] = {}
        for one in self.proposal.findings:
            counts.setdefault(one["code"], []).append(one["severity"])
        return [
            {"code": code, "count": len(found), "css": "bad" if "high" in found else "warn"}
            for code, found in counts.items()
        ]


@dataclass
class Group:
    name: str
    rows: list[Row] = field(default_factory=list)


@dataclass
class Inbox:
    groups: list[Group]
    total: int
    page: int
    pages: int

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]


def filtered(
    space: Space, *, view: str = "pending", agent: str = "", words: str = "", path: str = "", kind: str = "",
    thread: str = "",
) -> QuerySet[Proposal]:  # fmt: skip
    """The proposals of a space that fit: by state, agent, thread, kind, path (of a folder, all below it), and words in path,
    reason or finding. What is past its date waits no more."""
    expire_late(space)
    found = Proposal.objects.within(space).filter(VIEWS.get(view, VIEWS["pending"]))
    if agent:
        found = found.filter(agent_name=agent)
    if kind:
        found = found.filter(kind=kind)
    if thread:
        found = found.filter(thread_id=thread)
    if path:
        found = found.filter(Q(path__startswith=path) if path.endswith("/") else Q(path=path) | Q(change__to=path))
    for word in words.split()[:6]:
        if word.isdecimal() and len(word) < 10:
            found = found.filter(number=int(word))
        else:
            found = found.filter(
                Q(path__icontains=word) | Q(reason__icontains=word) | Q(agent_name__icontains=word)
                | Q(findings__contains=[{"code": word.lower()}])
            )  # fmt: skip
    return found


COUNTS = prepared(
    lambda space: (
        Proposal.objects.within(space)
        .order_by()
        .values("space_id")
        .annotate(**{view: Count("pk", filter=chosen) for view, chosen in VIEWS.items()})
        .values_list(*VIEWS)
    )
)


def counts(space: Space) -> dict[str, int]:
    """How many there are in each view, in one statement."""
    return dict(zip(VIEWS, COUNTS.first(space.pk) or [0] * len(VIEWS), strict=True))


def inbox(
    space: Space,
    found: QuerySet[Proposal],
    *,
    order: str = "risk",
    view: str = "pending",
    page: int = 1,
    total: int | None = None,
) -> Inbox:
    """One page of it, in groups; chains stand together, near-duplicates say so. `total`, where the caller has counted already."""
    total = found.count() if total is None else total
    pages = max(1, -(-total // PAGE))
    page = min(max(1, page), pages)
    by = ("-decided_at", "-pk") if view in ("decided", "changes") else ORDERS.get(order, ORDERS["risk"])
    chosen = list(found.select_related("agent").order_by(*by)[(page - 1) * PAGE : page * PAGE])
    for one in chosen:
        one.space = space
    rows = rows_of(space, chosen)
    return Inbox(_grouped(rows, view, order), total, page, pages)


def rows_of(space: Space, chosen: list[Proposal]) -> list[Row]:
    """What each line says; of what is decided, no texts are read."""
    open_ones = {one.proposal.pk: one for one in results_of(space, [one for one in chosen if one.state in OPEN])}
    began = time.thread_time()
    rows = [
        _row(open_ones[one.pk], counts=time.thread_time() - began < SECONDS)
        if one.pk in open_ones
        else Row(one, Result(one, None, None, None, "decided"))
        for one in chosen
    ]
    _mark_alike(rows)
    return rows


def _row(found: Result, *, counts: bool = True) -> Row:
    row = Row(found.proposal, found, expires_soon=ends_soon(found.proposal))
    before, after = len(found.before or b""), len(found.after or b"")
    if counts and found.applies and found.kind.has_text and before + after < LARGE:
        changes = diff.compare(found.before_text, found.after_text, context=0)
        row.added, row.removed = changes.added, changes.removed
        row.more_tokens = tokens_of_bytes(after) - tokens_of_bytes(before)
    return row


def _mark_alike(rows: list[Row]) -> None:
    """Notes on each row the number of an earlier one on the same path that says nearly the same."""
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in sorted(rows, key=lambda row: row.proposal.number):
        new = _new_text(row.proposal)
        earlier = texts.setdefault((row.proposal.path, row.proposal.kind), [])
        row.like = next((number for number, text in earlier[-8:] if _alike(text, new)), None)
        earlier.append((row.proposal.number, new))


def _new_text(proposal: Proposal) -> str:
    change = proposal.change
    text = change.get("new_string") or change.get("text") or text_of(bytes(proposal.content or b""))
    return text[:2000]


def _alike(one: str, other: str) -> bool:
    """Whether two texts share four fifths of their pieces; in one pass over both, as agents choose them."""
    if not one or not other or min(len(one), len(other)) < 0.6 * max(len(one), len(other)):
        return False
    pieces, others = _pieces_of(one), _pieces_of(other)
    return 2 * (pieces & others).total() > ALIKE * (pieces.total() + others.total())


def _pieces_of(text: str) -> Counter[str]:
    """Every run of PIECE characters of a text, with its count."""
    return Counter(text[at : at + PIECE] for at in range(max(1, len(text) - PIECE + 1)))


def _grouped(rows: list[Row], view: str, order: str) -> list[Group]:
    rows = _chains_together(rows)
    names = {
        "decided": _("Decided"), "changes": _("Changes requested"), "outdated": _("Outdated: the file changed since"),
    }  # fmt: skip
    if view in names or order != "risk":
        return [Group(names.get(view, _("Waiting")), rows)] if rows else []
    by_number = {row.proposal.number: row for row in rows}
    risks: dict[int, int] = {}
    for row in rows:
        root = _root(row, by_number)
        risks[root] = max(risks.get(root, 0), row.proposal.risk)
    # A chain is as risky as its riskiest link, so that it stays together.
    close = [row for row in rows if risks[_root(row, by_number)] > 0]
    plain = [row for row in rows if risks[_root(row, by_number)] == 0]
    return [group for group in (Group(_("Needs attention"), close), Group(_("Routine"), plain)) if group.rows]


def _root(row: Row, by_number: dict[int, Row]) -> int:
    number = row.proposal.number
    while number in by_number and (below := by_number[number].proposal.stacked_on) in by_number:
        number = below
    return number


def _chains_together(rows: list[Row]) -> list[Row]:
    """What is stacked follows what it stands on."""
    by_number = {row.proposal.number: row for row in rows}
    chains: dict[int, list[Row]] = {}
    for row in rows:
        chains.setdefault(_root(row, by_number), []).append(row)
    for links in chains.values():
        links.sort(key=lambda row: row.proposal.number)
        links[0].chain = len(links) if len(links) > 1 else 0
    return [row for links in chains.values() for row in links]
