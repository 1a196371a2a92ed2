"""What agents do with proposals: ask, look at their own, take back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.detectors import Finding, KnownText, secrets
from memoryhub.domain import activity, files, spaces
from memoryhub.domain.proposals import findings, notices, results
from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.models import Actor, Agent, Proposal, Record, Space
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text import protected
from memoryhub.text.lines import text_of

State, Kind = Proposal.State, Proposal.Kind
SAYS = {
    "edit": "asked to edit", "write": "asked to write", "insert": "asked to add to", "delete": "asked to delete",
    "move": "asked to move", "promotion": "asked to promote to",
}  # fmt: skip


@spaces.on_event("propose")
def propose(
    space: Space,
    agent: Agent,
    *,
    kind: str,
    path: str,
    change: dict[str, Any] | None = None,
    content: bytes | None = None,
    reason: str = "",
    thread_id: str = "",
    tool_call_id: str = "",
) -> Proposal:
    """Asks for a change of a file; the same change again while it waits is the same proposal."""
    proposal = Proposal(
        space=space, agent=agent, agent_name=agent.slug, kind=kind, path=path, change=change or {}, content=content,
        reason=clean(reason, 2000), thread_id=clean(thread_id, 200), tool_call_id=clean(tool_call_id, 200),
    )  # fmt: skip
    proposal.same_as = same_as(proposal)
    if waiting := _waiting(proposal):
        return waiting
    before, after = _stand_on_something(proposal)
    if after == before and kind in (Kind.EDIT, Kind.WRITE, Kind.INSERT):
        raise Invalid(f"{path} says that already: there is nothing to propose.", code="no_change", path=path)
    if after is not None and len(after) > MAX_BYTES:
        raise too_large(path, len(after), MAX_BYTES)
    found = _findings(space, proposal, before, after)
    spaces.refuse_secrets(space, found)
    protected.check(before, after)
    proposal.reviewers = reviewers_for(space, agent, path)
    risk = findings.risk_of(found, before, after, kind)
    return _file(proposal, found, 2 if kind == Kind.MOVE and findings.is_source(space, path) else risk)


def propose_promotion(
    space: Space,
    agent: Agent,
    *,
    content: str,
    scope: str = "group",
    record: Record | None = None,
    reason: str = "",
    session_id: str = "",
    thread_id: str = "",
    tool_call_id: str = "",
) -> Proposal:
    """Asks that a text become long-term memory: only a person promotes."""
    if not content.strip():
        raise Invalid("There is nothing to promote: the content is empty.", code="invalid_content", field="content")
    change = {"scope": scope, "record_id": record.pk if record else None,
              "session_id": clean(session_id or (record.session_id if record else ""), 200)}  # fmt: skip
    proposal = Proposal(
        space=space, agent=agent, agent_name=agent.slug, kind=Kind.PROMOTION, change=change, content=content.encode(),
        reason=clean(reason, 2000), thread_id=clean(thread_id, 200), tool_call_id=clean(tool_call_id, 200),
    )  # fmt: skip
    found = findings.findings_in("", content, findings.known_texts(space, "", None))
    spaces.refuse_secrets(space, found)
    proposal.same_as = same_as(proposal)
    if waiting := _waiting(proposal):
        return waiting
    proposal.reviewers = max(1, spaces.get_setting(space, "reviewers"))
    return _file(proposal, found, findings.risk_of(found, None, proposal.content, proposal.kind))


@transaction.atomic
def withdraw(space: Space, agent: Agent, number: int) -> Proposal:
    """Takes back one's own proposal while it waits."""
    proposal = locked(space, number)
    if proposal.agent_id != agent.pk:
        raise NotFound(f"There is no proposal {number} of yours.")
    if proposal.state not in (State.PENDING, State.OUTDATED):
        raise already_decided(proposal)
    close(proposal, State.WITHDRAWN, Actor.of_agent(agent))
    activity.record(
        space, Actor.of_agent(agent), "proposals.withdraw", "took back", f"proposal {number}", url=f"proposals/{number}/",
        path=proposal.path,
    )  # fmt: skip
    outdate_children(space, [number], State.WITHDRAWN)
    notices.tell(proposal, "proposal.withdrawn")
    return proposal


# ---- the parts, shared with deciding


def clean(text: str, limit: int) -> str:
    """A line about the change: no secret, nothing that no table can hold, not endless."""
    if not text:
        return ""
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return secrets.redact(text[: limit * 2])[0][:limit]


def same_as(proposal: Proposal) -> str:
    """One digest for one wish of one agent."""
    parts = [proposal.agent_id, proposal.kind, proposal.path, proposal.change]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    digest.update(bytes(proposal.content or b""))
    return digest.hexdigest()


def _waiting(proposal: Proposal) -> Proposal | None:
    same = Proposal.objects.within(proposal.space_id).filter(state=State.PENDING, same_as=proposal.same_as)
    found = same.select_related("space", "agent").first()
    if found is None or not is_late(found):
        return found
    from memoryhub.domain.proposals import expiry

    expiry.expire_one(proposal.space, found.number)
    return None


def _stand_on_something(proposal: Proposal) -> tuple[bytes | None, bytes | None]:
    """Before and after: on the published text, else on what the same agent's newest pending one makes of it."""
    now = results.published(proposal)
    before = now.content if now else None
    proposal.base_revision, proposal.base_sha256 = (now.revision, now.sha256) if now else (None, "")
    try:
        return before, results.applied(proposal, before)
    except HubError as refusal:
        newest = newest_waiting(proposal) if proposal.kind in (Kind.EDIT, Kind.INSERT) else None
        if newest is None or refusal.code not in ("string_not_found", "file_not_found"):
            raise
        proposal.stacked_on = newest.number
        below = results.result(newest, now)
        if below.problem or below.after is None:
            raise
        try:
            after = results.applied(proposal, below.after)
        except HubError as there:
            new_file = refusal.code == "file_not_found"  # then the pending text is all there is
            raise (there if new_file or there.code == "string_not_unique" else refusal) from None
        return below.after, after


def waiting_text(space: Space, agent: Agent, path: str, thread_id: str = "") -> bytes | None:
    """What the agent's own newest waiting proposal makes of a file; nothing without one."""
    newest = newest_waiting(Proposal(space=space, agent=agent, path=path, thread_id=thread_id))
    return results.result(newest).after if newest else None


def newest_waiting(proposal: Proposal) -> Proposal | None:
    mine = Proposal.objects.within(proposal.space_id).filter(
        state=State.PENDING, path=proposal.path, agent=proposal.agent, kind__in=[Kind.EDIT, Kind.WRITE, Kind.INSERT],
        expires_at__gt=timezone.now(),
    )  # fmt: skip
    return mine.select_related("space").order_by("-number").first()


def _findings(space: Space, proposal: Proposal, before: bytes | None, after: bytes | None) -> list[Finding]:
    if proposal.kind in (Kind.DELETE, Kind.MOVE):
        return []
    known = findings.known_texts(space, proposal.path, before)
    return findings.findings_in(text_of(before or b""), text_of(after or b""), unchanged_only(known, before, after))


def unchanged_only(known: Sequence[KnownText], before: bytes | None, after: bytes | None) -> list[KnownText]:
    """The file's own text counts as known only where the change keeps it: a moved line is no duplicate."""
    if not known or before is None or known[0].text != text_of(before):
        return list(known)
    kept = set(text_of(after or b"").split("\n"))
    added = set(kept) - set(text_of(before).split("\n"))
    own = "\n".join(line if line in kept and line not in added else "" for line in known[0].text.split("\n"))
    return [replace(known[0], text=own), *known[1:]]


def reviewers_for(space: Space, agent: Agent | None, path: str) -> int:
    """How many people have to say yes: what the space chose, or more where an exception for the path asks for it."""
    asked = spaces.get_setting(space, "reviewers")
    try:
        _, rule = files.policy_for(space, path, agent)
    except HubError:
        return asked
    return max(asked, rule.reviewers if rule else 1)


def _file(proposal: Proposal, found: list[Finding], risk: int) -> Proposal:
    """Gives the number and records it; of two equal wishes at the same moment one wins and both get its number."""
    space = proposal.space
    proposal.findings, proposal.risk = [one.as_json() for one in found], risk
    proposal.expires_at = deadline(space)
    try:
        with transaction.atomic():
            proposal.number = spaces.next_number(space, "last_proposal")
            proposal.save(force_insert=True)
            thing = proposal.path or "long-term memory"
            activity.record(
                space, Actor.of_agent(proposal.agent), "proposals.propose", SAYS[proposal.kind], thing,
                url=f"proposals/{proposal.number}/", adds=f"in proposal {proposal.number}", path=proposal.path,
            )  # fmt: skip
            notices.tell(proposal, "proposal.created")
    except IntegrityError:
        if waiting := _waiting(proposal):
            return waiting
        raise
    return proposal


def is_late(proposal: Proposal, now: datetime | None = None) -> bool:
    """Whether it waits and its date is over: nobody decides on it any more."""
    ends = proposal.expires_at if proposal.state in (State.PENDING, State.OUTDATED) else None
    return ends is not None and ends <= (now or timezone.now())


def deadline(space: Space) -> Any:
    return timezone.now() + timedelta(days=spaces.get_setting(space, "proposal_days"))


def get(space: Space, number: int) -> Proposal:
    """One proposal of the space."""
    found = Proposal.objects.within(space).select_related("space", "agent").filter(number=number).first()
    if found is None:
        raise NotFound(f"There is no proposal {number} in this space.")
    return found


def locked(space: Space, number: int) -> Proposal:
    """The same, held until the transaction ends: of two decisions the second sees the first."""
    found = Proposal.objects.within(space).select_for_update(of=("self",)).select_related("space", "agent")
    proposal = found.filter(number=number).first()
    if proposal is None:
        raise NotFound(f"There is no proposal {number} in this space.")
    return proposal


def already_decided(proposal: Proposal) -> Conflict:
    who = f" by {proposal.decided_by_name}" if proposal.decided_by_name else ""
    ended = "expired unapplied. Reopen it to decide on it" if proposal.state == State.EXPIRED else ""
    return Conflict(
        f"Proposal {proposal.number} {ended or f'was {proposal.state} already{who}'}.",
        code="already_decided",
        state=proposal.state,
        decided_by=proposal.decided_by_name,
    )


def close(proposal: Proposal, state: str, actor: Actor, note: str = "") -> None:
    """Writes down how it ended."""
    statements.run(closing(proposal, state, actor, note))


CLOSE = f"""
UPDATE memoryhub_proposal SET state = %s, note = %s, decided_at = %s, updated_at = %s, decided_by_id = %s,
  decided_by_name = %s, with_edits = %s, applied_revision = %s, entry_number = %s
WHERE id = %s {statements.ONLY}
"""  # noqa: S608


def closing(proposal: Proposal, state: str, actor: Actor, note: str = "") -> statements.Change:
    """The same as a change that can travel with what it decides."""
    now = timezone.now()
    proposal.state, proposal.note = state, clean(note, 2000)
    proposal.decided_at, proposal.updated_at = now, now
    proposal.decided_by_id, proposal.decided_by_name = actor.id, actor.name
    values = (
        proposal.state, proposal.note, now, now, proposal.decided_by_id, proposal.decided_by_name, proposal.with_edits,
        proposal.applied_revision, proposal.entry_number, proposal.pk,
    )  # fmt: skip
    return statements.Change(CLOSE, values)


OUTDATE = """
UPDATE memoryhub_proposal SET state = 'outdated', note = 'It built on proposal ' || stacked_on || ', ' || %s || '.',
    decided_at = %s, updated_at = %s, decided_by_id = NULL, decided_by_name = ''
WHERE id IN (
    SELECT id FROM memoryhub_proposal WHERE space_id = %s AND state = 'pending' AND stacked_on = ANY(%s)
    ORDER BY number FOR UPDATE
) RETURNING number
"""


def outdate_children(space: Space, parents: list[int], ended: str) -> None:
    """What built on these has nothing to stand on any more, nor has what built on that."""
    while parents:
        now = timezone.now()
        parents = [number for (number,) in statements.changed(OUTDATE, [ended, now, now, space.pk, parents])]
        ended = State.OUTDATED
