"""Changing the gate of a space, and trying a change on what came in lately first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memoryhub import detectors
from memoryhub.domain import jobs, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.quarantine.gate import (
    ADMIT,
    DEFAULT_STEPS,
    FEEDBACK,
    GATE_ACTIONS,
    JUDGE,
    READS_ONLY,
    Step,
    first_that_holds,
    gate_steps,
)
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Job, Record, RecordState, Space

GATE_DRY_RUN = "ingress.dry_run"
TRIED = 1000
SHOWN_CHANGES = 20
OF_ITS_TIME = ("duplicate", FEEDBACK)  # they depend on what memory held then: what was found then is taken over


def checked_steps(chosen: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A new gate as it may be saved, or a refusal that names what is allowed."""
    pairs = list(chosen)
    for code, action in pairs:
        if code not in DEFAULT_STEPS or action not in GATE_ACTIONS:
            raise Invalid(
                f"A step is one of {', '.join(DEFAULT_STEPS)} with one of {', '.join(GATE_ACTIONS)}.",
                code="unknown_step",
            )
    if len({code for code, _ in pairs}) != len(pairs):
        raise Invalid("Each check can be in the gate once.", code="unknown_step")
    return {"steps": [{"code": code, "action": action} for code, action in pairs]}


def change_gate(space: Space, actor: Actor, chosen: Iterable[tuple[str, str]]) -> Space:
    """Sets the space's gate: which detectors look, in which order, and what each of them does."""
    return spaces.change_settings(space, actor, {"ingress": checked_steps(chosen)})


def dry_run_gate(space: Space, actor: Actor, chosen: Iterable[tuple[str, str]]) -> Job:
    """Asks what another gate would have done to the newest 1,000 records; nothing is changed."""
    require(actor, "manage")
    return jobs.enqueue(GATE_DRY_RUN, checked_steps(chosen), space=space, asked_by=actor.name)


@jobs.job(GATE_DRY_RUN)
def dry_run_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    return try_gate(space, gate_steps(space, job.payload), progress)


def try_gate(
    space: Space, gate: tuple[Step, ...], progress: jobs.Progress = lambda done, total: None
) -> dict[str, Any]:
    """What a gate makes of the newest records, beside what was made of them."""
    records = list(Record.objects.within(space).defer("words").order_by("-id")[:TRIED])
    then = _first_states(space, [one.pk for one in records])
    counts = {"held": 0, "admitted": 0, "newly_held": 0, "newly_admitted": 0}
    changed = []
    for at, record in enumerate(records, 1):
        state, reason = _state_under(gate, record)
        counts[state] += 1
        was = then.get(record.pk, state)
        if was != state:
            counts[f"newly_{state}"] += 1
            changed.append(
                {"id": record.pk, "was": was, "now": state, "reason": reason, "content": record.content[:160]}
            )
        progress(at, len(records))
    return {
        "records": len(records),
        **counts,
        "changed": changed[:SHOWN_CHANGES],
        "steps": [[one.code, one.action] for one in gate],
    }


def _first_states(space: Space, ids: list[int]) -> dict[int, str]:
    """What the gate itself made of records, before any person or judge: what waited for the judge had passed it."""
    rows = RecordState.objects.within(space).filter(record_id__in=ids, actor_kind="hub").order_by("-id")
    found = rows.values_list("record_id", "state", "reason")
    return {pk: RecordState.ADMITTED if reason == JUDGE else state for pk, state, reason in found}


def _state_under(gate: tuple[Step, ...], record: Record) -> tuple[str, str]:
    """What a gate would make of a record that is stored already: its secrets are gone, so they count as found."""
    looking = [step.code for step in gate if step.action != ADMIT]
    plain = [code for code in looking if code in detectors.codes() and code not in (*OF_ITS_TIME, "secrets")]
    codes = {one.code for one in detectors.find(record.content, only=plain)} if plain else set()
    codes |= {code for code in (*OF_ITS_TIME, "secrets") if code in looking and code in record.codes}
    codes |= {one["code"] for one in record.findings if one.get("beside") and one["code"] in looking}
    if READS_ONLY in looking and record.node_kind == Record.NodeKind.MEMORY_RETRIEVAL:
        codes.add(READS_ONLY)
    holding = first_that_holds(gate, codes)
    return ("held", holding) if holding else ("admitted", "")
