"""What agents do with proposals: ask for a change, and withdraw it. People ask too, where they leave it to others to decide."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from memoryhub.db import statements
from memoryhub.detectors import Finding
from memoryhub.domain import activity, files, notify, prompts, quotas, spaces
from memoryhub.domain.proposals import findings
from memoryhub.domain.proposals.kinds import FILE_EDITS, kind_of
from memoryhub.domain.proposals.results import Result, check_marks, result, result_on
from memoryhub.domain.proposals.state import (
    OPEN,
    already_decided,
    asked_by,
    clean,
    close,
    deadline,
    get,
    is_late,
    locked,
    outdate_children,
)
from memoryhub.domain.proposals.waiting import expire_one
from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.models import Actor, Agent, DialectTemplate, PolicyRule, Proposal, Record, Space
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text import edits
from memoryhub.text.lines import bytes_of

State = Proposal.State


@dataclass(frozen=True)
class AskResult:
    """A proposal that waits, and its result where it was computed: not of one that waited before, or that builds on another."""

    proposal: Proposal
    found: Result | None = None


def propose(space: Space, asker: Agent | Actor, *, kind: str, path: str, **more: Any) -> Proposal:
    """Asks for a change of a file, for an agent or a person; the same change again while it waits is the same proposal. `more`
    as `ask` has it."""
    return ask(space, asker, kind=kind, path=path, **more).proposal


def ask(
    space: Space,
    asker: Agent | Actor,
    *,
    kind: str,
    path: str,
    change: dict[str, Any] | None = None,
    content: bytes | None = None,
    reason: str = "",
    thread_id: str = "",
    tool_call_id: str = "",
) -> AskResult:
    """What `propose` does, with what it found out about the proposal."""
    agent = asker if isinstance(asker, Agent) else None
    who = Actor.of_agent(asker) if isinstance(asker, Agent) else asker
    change = (change or {}) | ({} if agent else {"person": who.id})
    proposal = Proposal(
        space=space, agent=agent, agent_name=who.name, kind=kind, path=path, change=change, content=content,
        reason=clean(reason, 2000), thread_id=clean(thread_id, 200), tool_call_id=clean(tool_call_id, 200),
    )  # fmt: skip
    proposal.same_as = same_as(proposal)
    if waiting := _pending_twin(proposal):
        return AskResult(waiting)
    made = _result_when_asked(proposal)
    if made.after == made.before and made.kind.edits_file:
        raise Invalid(f"{path} says that already: there is nothing to propose.", code="no_change", path=path)
    if made.after is not None and len(made.after) > MAX_BYTES:
        raise too_large(path, len(made.after), MAX_BYTES)
    texts = made.kind.files_after(proposal, made.after)
    places = dict(zip(texts, files.resolve_paths(space, texts, agent=agent), strict=True))
    found = list(_findings_when_asked(made, texts, places))
    proposal.checked_digest = findings.check_found(space, found, made.before, made.after)
    edits.check_protected(made.before, made.after)
    proposal.reviewers = reviewers_for(space, places[path].rule)
    stored = _insert(proposal, found, made.kind.risk(proposal, found, made.before, made.after))
    return AskResult(stored, made if stored is proposal and made.waits_for is None else None)


def _findings_when_asked(
    made: Result, texts: dict[str, bytes | None], places: dict[str, files.Place]
) -> Iterator[Finding]:
    """What to look at in a change of files: where it writes, the names that it gives, and the words that it adds."""
    proposal, space = made.proposal, made.proposal.space
    yield from findings.program_findings(space, proposal.agent_id, places.items(), made.after)
    yield from findings.other_path_findings(space, places)
    known = {proposal.path} if made.before is not None else set()
    for name in sorted({name for name, text in texts.items() if text is not None} - known):
        if name:
            yield from findings.name_findings(space, name)
    yield from made.kind.findings(proposal, made.before, made.after)


def propose_promotion(
    space: Space, agent: Agent, *, content: str, scope: str = "group", record: Record | None = None, reason: str = "",
    thread_id: str = "", tool_call_id: str = "",
) -> Proposal:  # fmt: skip
    """Asks that a text become long-term memory: only a person promotes."""
    quotas.count_call(space, agent)
    if not content.strip():
        raise Invalid("There is nothing to promote: the content is empty.", code="invalid_content", field="content")
    change = {"scope": scope, "record_id": record.pk if record else None,
              "session_id": clean(record.session_id if record else "", 200)}  # fmt: skip
    proposal = Proposal(
        space=space, agent=agent, agent_name=agent.slug, kind=Proposal.Kind.PROMOTION, change=change, content=content.encode(),
        reason=clean(reason, 2000), thread_id=clean(thread_id, 200), tool_call_id=clean(tool_call_id, 200),
    )  # fmt: skip
    found = findings.findings_of(space, "", None, proposal.content)
    spaces.refuse_secrets(space, found, content)
    if record is not None and content.strip() != record.content.strip():
        says = f"Other words: this is not what record {record.pk} says, which the agent names as its source."
        found.append(Finding("other_words", "mid", 0, 0, 1, says))
    proposal.same_as = same_as(proposal)
    if waiting := _pending_twin(proposal):
        return waiting
    proposal.reviewers = max(1, space.settings["reviewers"])
    return _insert(proposal, found, kind_of(proposal).risk(proposal, found, None, proposal.content))


def report_template(
    agent: Agent,
    version: str,
    text: str,
    *,
    library: str = "deepagents",
    before_asking: Callable[[], None] = lambda: None,
) -> DialectTemplate | Proposal:
    """Takes in the template that an agent's client reports, if it is a published one or people decided on it; else asks them,
    which `before_asking` may refuse.

    A text that people rejected is answered with that proposal: clients report at every start.
    """
    quotas.count_call(agent.space, agent)
    report = prompts.read_report(agent, version, text, library)
    if report.published:
        return prompts.take_published(report)
    if known := prompts.template_in_use_again(report):
        return known
    before_asking()
    return propose_template(report)


def propose_template(report: prompts.Report) -> Proposal:
    """Asks that a text become the template of this agent's prompts."""
    space, agent = report.agent.space, report.agent
    change = {"version": report.version, "form": report.form}
    proposal = Proposal(
        space=space, agent=agent, agent_name=agent.slug, kind=Proposal.Kind.TEMPLATE, change=change, content=bytes_of(report.text),
    )  # fmt: skip
    kind = kind_of(proposal)
    # A version is what the client says: with another one it is no other request.
    proposal.same_as = same_as(proposal, but="version")
    if answered := _pending_twin(proposal) or _rejected_twin(proposal):
        return answered
    now = kind.published(proposal)
    proposal.base_sha256 = now.sha256 if now and now.content else ""
    found = kind.findings(proposal, now.content if now else None, proposal.content)
    spaces.refuse_secrets(space, found, report.text)
    proposal.reviewers = max(1, space.settings["reviewers"])
    spaces.mark_setup(space)  # prompts warn of it
    return _insert(proposal, found, kind.risk(proposal, found, None, proposal.content))


def _rejected_twin(proposal: Proposal) -> Proposal | None:
    same = Proposal.objects.within(proposal.space_id).filter(
        agent=proposal.agent, kind=proposal.kind, state=State.REJECTED, same_as=proposal.same_as
    )
    return same.select_related("space", "agent").order_by("-number").first()


@transaction.atomic
def withdraw(space: Space, agent: Agent, number: int) -> Proposal:
    """Takes back one's own proposal while it waits."""
    proposal = locked(space, number)
    if proposal.agent_id != agent.pk:
        raise NotFound(f"There is no proposal {number} of yours.")
    if proposal.state not in OPEN:
        raise already_decided(proposal)
    close(proposal, State.WITHDRAWN, Actor.of_agent(agent), "proposals.withdraw", "took back")
    outdate_children(space, [number], State.WITHDRAWN)
    notify.add_notice(proposal, "proposal.withdrawn")
    return proposal


def same_as(proposal: Proposal, *, but: str = "") -> str:
    """One digest for one request of one agent; `but` is what of the change does not count."""
    change = {name: value for name, value in proposal.change.items() if name not in (but, "earlier")}
    parts = [proposal.agent_id, proposal.kind, proposal.path, change]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    digest.update(bytes(proposal.content or b""))
    return digest.hexdigest()


PENDING_TWIN = "SELECT number FROM memoryhub_proposal WHERE space_id = %s AND state = 'pending' AND same_as = %s"


def _pending_twin(proposal: Proposal) -> Proposal | None:
    """An equal request of this agent that waits already; one past its date expires here."""
    for (number,) in statements.rows(PENDING_TWIN, [proposal.space_id, proposal.same_as]):
        found = get(proposal.space, number)
        if not (is_late(found) and expire_one(proposal.space, number)):
            return found
    return None


def _result_when_asked(proposal: Proposal) -> Result:
    """What it makes of the published text, else of what the agent's newest pending proposal makes of that, on which it is stacked
    then."""
    kind = kind_of(proposal)
    now = kind.published(proposal)
    before = now.content if now else None
    proposal.base_revision, proposal.base_sha256 = (now.revision, now.sha256) if now else (None, "")
    try:
        after = kind.make(proposal, before)
        check_marks(proposal, now, before, after)
        return Result(proposal, before, after, proposal.base_revision)
    except HubError as refusal:
        newest = newest_pending(proposal) if kind.can_stack else None
        if newest is None or refusal.code not in ("string_not_found", "file_not_found"):
            raise
        _check_depth(newest)
        proposal.stacked_on = newest.number
        below = result_on(newest, now)
        if below.problem or below.after is None:
            raise
        try:
            after = kind.make(proposal, below.after)
        except HubError as there:
            new_file = refusal.code == "file_not_found"  # then the pending text is all there is
            raise (there if new_file or there.code == "string_not_unique" else refusal) from None
        return Result(proposal, below.after, after, proposal.base_revision, waits_for=newest.number)


MAX_STACKED = 50
DEPTH = """
WITH RECURSIVE chain AS (
    SELECT stacked_on, 1 AS depth FROM memoryhub_proposal WHERE space_id = %(space)s AND number = %(number)s
    UNION ALL
    SELECT p.stacked_on, c.depth + 1 FROM chain c JOIN memoryhub_proposal p
        ON p.space_id = %(space)s AND p.number = c.stacked_on AND p.state = 'pending' WHERE c.depth < %(most)s
) SELECT max(depth) FROM chain
"""


def _check_depth(newest: Proposal) -> None:
    """Refuse to build on a proposal that stands on very many others: each look at it makes all of their texts."""
    values = {"space": newest.space_id, "number": newest.number, "most": MAX_STACKED}
    if statements.row(DEPTH, values)[0] >= MAX_STACKED:
        raise Conflict(
            f"{MAX_STACKED} of your proposals for {newest.path} wait and build on each other. Wait until a person has decided on "
            "them, or take some back.", code="too_many_stacked", path=newest.path, stacked_on=newest.number,
        )  # fmt: skip


def waiting_text(space: Space, agent: Agent, path: str, thread_id: str = "") -> bytes | None:
    """What the agent's own newest waiting proposal makes of a file; nothing without one."""
    newest = newest_pending(Proposal(space=space, agent=agent, path=path, thread_id=thread_id))
    return result(newest).after if newest else None


def waiting_texts(
    space: Space, agent: Agent, paths: Iterable[str], thread_id: str = ""
) -> dict[str, tuple[int, bytes]]:
    """By path, the number of the agent's own newest waiting proposal and the text it makes; of those paths that have one. One
    statement where none waits."""
    mine = Proposal.objects.within(space).filter(
        state=State.PENDING, agent=agent, path__in=list(paths), kind__in=FILE_EDITS, expires_at__gt=Now()
    )
    newest = {one.path: one for one in mine.select_related("space", "agent").order_by("number")}
    found = {path: result(one) for path, one in newest.items()}
    return {path: (newest[path].number, one.after) for path, one in found.items() if one.after is not None}


def newest_pending(proposal: Proposal) -> Proposal | None:
    """The newest proposal of the same agent that makes a new text of the same file and waits."""
    mine = Proposal.objects.within(proposal.space_id).filter(
        state=State.PENDING, path=proposal.path, agent=proposal.agent, kind__in=FILE_EDITS,
        expires_at__gt=Now(),
    )  # fmt: skip
    return mine.select_related("space").order_by("-number").first()


def reviewers_for(space: Space, rule: PolicyRule | None) -> int:
    """How many people have to say yes: what the space chose, or more where an exception for the path asks for it."""
    return max(space.settings["reviewers"], rule.reviewers if rule else 1)


def size_of(proposal: Proposal) -> int:
    """About how many bytes a proposal stores."""
    words = sum(len(value.encode()) for value in proposal.change.values() if isinstance(value, str))
    return words + len(proposal.content or b"")


def _insert(proposal: Proposal, found: list[Finding], risk: int) -> Proposal:
    space = proposal.space
    if proposal.agent:
        quotas.count_bytes(space, proposal.agent, size_of(proposal))
    proposal.findings, proposal.risk = [one.as_json() for one in found], risk
    proposal.expires_at = deadline(space)

    def record() -> None:
        activity.record(
            space, asked_by(proposal), "proposals.propose", f"asked to {kind_of(proposal).wants}", proposal.thing,
            url=f"proposals/{proposal.number}/", adds=f"in proposal {proposal.number}", path=proposal.path,
        )  # fmt: skip

    return insert_numbered(proposal, record, _pending_twin)


# Numbers have no gaps: the space's row stays locked until the transaction ends.
NEXT_NUMBER = "UPDATE memoryhub_space SET last_proposal = last_proposal + 1 WHERE id = %s RETURNING last_proposal"


def insert_numbered(
    proposal: Proposal,
    record: Callable[[], object],
    waiting_twin: Callable[[Proposal], Proposal | None] = lambda proposal: None,
) -> Proposal:
    """Gives a proposal its number and stores it, with its line of activity and the notices. Of two equal requests at the same
    moment one wins, and both get it: `waiting_twin` finds it."""
    try:
        with transaction.atomic():
            proposal.number = statements.row(NEXT_NUMBER, [proposal.space_id])[0]
            proposal.save(force_insert=True)
            record()
            notify.add_notice(proposal, "proposal.created")
    except IntegrityError:
        if twin := waiting_twin(proposal):
            return twin
        raise
    return proposal
