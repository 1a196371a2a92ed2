"""The gate between what agents say and what becomes memory: which detectors look, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from memoryhub import detectors
from memoryhub.db.cache import Cache
from memoryhub.detectors import Finding, KnownText, secrets
from memoryhub.detectors.coherence import says_nothing
from memoryhub.detectors.duplicate import first_copy
from memoryhub.domain import jobs, spaces, working
from memoryhub.domain.accounts import require
from memoryhub.domain.quarantine import known_texts
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Agent, Job, Record, RecordState, Space

ADMIT, MARK, HOLD = "admit", "mark", "hold"
GATE_ACTIONS = {ADMIT: "admits", MARK: "admits with a mark", HOLD: "holds"}
JUDGE = "judge"  # the reason of what the gate let through and a judge has not read yet
JUDGE_JOB = "judging.judge"
JUDGE_OFF: dict[str, Any] = {"is_on": False, "url": "", "model": "", "seconds": 15, "daily": 500}
FEEDBACK, READS_ONLY, VAGUE = "feedback", "reads_only", "vague"
# In the order in which they look; the first that holds gives the reason.
DEFAULT_STEPS = {
    "secrets": HOLD,
    "hidden": HOLD,
    "injection": HOLD,
    "coherence": HOLD,
    READS_ONLY: HOLD,
    VAGUE: MARK,
    "risky_advice": MARK,
    "duplicate": MARK,
    FEEDBACK: MARK,
}
SAYS = {
    "secrets": "Keys, tokens and passwords. They are replaced by a mark before anything is stored, whatever stands here.",
    "hidden": "Characters that a reader does not see and a model does.",
    "injection": "Sentences that speak to the model as if they were its rules.",
    "coherence": "Empty, cut off, repeated or broken text, error dumps and refusals.",
    VAGUE: "Texts that say nothing to remember: acknowledgements, thanks, a few words without any fact.",
    "risky_advice": "Recipes that send data to an address, loosen a check, or run something from outside. Worth a close look.",
    READS_ONLY: "Output of memory_retrieval nodes, which only read.",
    "duplicate": "Text that a source or working memory already has.",
    FEEDBACK: "Text that retrieval gave out and that comes back.",
}


@dataclass(frozen=True)
class Step:
    code: str
    action: str

    @property
    def says(self) -> str:
        return SAYS[self.code]


@dataclass(frozen=True)
class Verdict:
    """What the gate makes of one output. `content` is what may be stored: secrets are gone from it."""

    content: str
    state: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    copy_of: int | None = None  # the entry of working memory that its session said already


def gate_steps(space: Space, values: dict[str, Any] | None = None) -> list[Step]:
    """The space's gate in its order; what it has not chosen follows with what it does by default."""
    chosen = (values if values is not None else spaces.get_setting(space, "ingress")).get("steps", [])
    taken = {
        one["code"]: one["action"]
        for one in chosen
        if one.get("code") in DEFAULT_STEPS and one.get("action") in GATE_ACTIONS
    }
    return [
        Step(code, action)
        for code, action in {**taken, **{k: v for k, v in DEFAULT_STEPS.items() if k not in taken}}.items()
    ]


def judge_settings(space: Space) -> dict[str, Any]:
    """Whether a judge reads what the gate admits, where it is, its time limit and its budget."""
    return JUDGE_OFF | spaces.get_setting(space, "judge")


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


def examine(
    space: Space, agent: Agent | None, content: str, node_kind: str, *, session: str = "", scope: str = working.GROUP
) -> Verdict:
    """Lets every detector of the space's gate look at an output, before anything of it is stored."""
    gate = gate_steps(space)
    looking = [step.code for step in gate if step.action != ADMIT]
    compares = "duplicate" in looking or FEEDBACK in looking
    known = known_texts.read(space, agent, content, session, scope) if compares else NOTHING_KNOWN
    found = [*_detect(content, node_kind, looking), *_compare(known, content, looking)]
    if "secrets" not in looking:
        found += detectors.find(content, only=["secrets"])
    return replace(_verdict(gate, content, found), copy_of=_copy_of(known, content))


BESIDE = ("hidden", "injection", "risky_advice")
clean_beside: Cache[bool] = Cache(
    "metadata and names without findings", key="text, steps", max_items=4096,
    invalidated_by="nothing: detectors do not change", saves="looking at the names that come with each output",
)  # fmt: skip
MAX_CACHED = 500  # characters


def examine_beside(space: Space, text: str) -> tuple[list[Finding], str]:
    """What the gate finds in a text that comes beside an output, and the step that holds it, if one does."""
    gate = gate_steps(space)
    looking = tuple(step.code for step in gate if step.action != ADMIT and step.code in BESIDE)
    if not looking or clean_beside.get((text, looking)):
        return [], ""
    found = detectors.find(text, only=looking)
    if not found and len(text) <= MAX_CACHED:
        clean_beside.put((text, looking), True)
    return found, _first_that_holds(gate, {one.code for one in found})


NOTHING_KNOWN = known_texts.KnownTexts([], [], [])


def _compare(known: known_texts.KnownTexts, content: str, looking: list[str]) -> Iterator[Finding]:
    """What an output repeats of what is known already."""
    if "duplicate" in looking:
        yield from detectors.find(content, only=["duplicate"], context=known.texts)
    if FEEDBACK in looking:
        yield from _feedback(content, known.given_out)


def _copy_of(known: known_texts.KnownTexts, content: str) -> int | None:
    """The newest entry of the same session that says the same or nearly."""
    return first_copy(content, known.same_session)


@spaces.on_event("findings_of_entry")
def findings_of_entry(space: Space, content: str) -> list[dict[str, Any]]:
    """What the gate finds in a text that a person wrote into working memory; it holds nothing."""
    looking = [step.code for step in gate_steps(space) if step.action != ADMIT]
    stored = StoredText(content, has_secrets=False)
    found = _detect(content, Record.NodeKind.AGENT, looking)
    return [stored.as_json(one) for one in sorted(found, key=lambda one: (one.start, one.end))]


def _detect(content: str, node_kind: str, looking: list[str]) -> Iterator[Finding]:
    """What is seen in an output without comparing it with anything."""
    there = detectors.detectors()
    plain = [code for code in looking if code in there and code not in ("duplicate", VAGUE)]
    if plain:
        yield from detectors.find(content, only=plain)
    if VAGUE in looking and says_nothing(content):
        yield Finding(VAGUE, "low", 0, len(content), 1, "Vague: it says nothing that could be remembered.", "no-fact")
    if READS_ONLY in looking and node_kind == Record.NodeKind.MEMORY_RETRIEVAL:
        says = "A memory_retrieval node only reads: what it says is kept here and becomes memory by a person alone."
        yield Finding(READS_ONLY, "low", 0, len(content), 1, says)


def _feedback(content: str, given_out: list[KnownText]) -> Iterator[Finding]:
    """Lines that long-term memory gave out before: remembered again, they would grow with every turn."""
    for one in detectors.find(content, only=["duplicate"], context=given_out):
        label = one.details.get("label", "long-term memory")
        says = f"Long-term memory says this already ({label}): what retrieval gave out comes back."
        yield Finding(FEEDBACK, "low", one.start, one.end, one.line, says, one.kind, one.details)


def _verdict(gate: list[Step], content: str, found: list[Finding]) -> Verdict:
    """From findings to a state: the first step that holds, in the gate's order, gives the reason (pure)."""
    found = sorted(found, key=lambda one: (one.start, one.end, one.code))
    codes = {one.code for one in found}
    holding = _first_that_holds(gate, codes)
    stored = StoredText(content, has_secrets=not codes.isdisjoint(("secrets", detectors.COST)))
    return Verdict(stored.content, "held" if holding else "admitted", [stored.as_json(one) for one in found], holding)


def _first_that_holds(gate: list[Step], codes: set[str]) -> str:
    """The code of the step that holds; a text that takes too long to check is held under every gate."""
    if detectors.COST in codes:
        return detectors.COST
    return next((step.code for step in gate if step.action == HOLD and step.code in codes), "")


class StoredText:
    """A text without its secrets, and where in it a stretch of the text as it was sent now stands."""

    def __init__(self, content: str, *, has_secrets: bool) -> None:
        self.cuts: list[tuple[int, int, int]] = []  # start, end, and how much longer the text is after it
        self.content = content
        parts, at, longer = [], 0, 0
        for start, end, kind in secrets.hits(content) if has_secrets else ():
            mark = secrets.MARK.format(kind=kind)
            parts += [content[at:start], mark]
            longer += len(mark) - (end - start)
            self.cuts.append((start, end, longer))
            at = end
        if self.cuts:
            self.content = "".join([*parts, content[at:]])

    def place(self, offset: int, *, is_end: bool) -> int:
        by = 0
        for start, end, longer in self.cuts:
            if offset < start or (is_end and offset == start):
                break
            if offset < end or (is_end and offset == end):
                return end + longer if is_end else start + by
            by = longer
        return offset + by

    def as_json(self, one: Finding) -> dict[str, Any]:
        """A finding with both places: as it was sent (`start`, `end`), and in what is stored (`from`, `to`)."""
        return {
            **one.as_json(),
            "from": self.place(one.start, is_end=False),
            "to": self.place(one.end, is_end=True),
        }


# ---- changing the gate, and trying a change first ----

GATE_DRY_RUN = "ingress.dry_run"
TRIED = 1000
SHOWN_CHANGES = 20
OF_ITS_TIME = ("duplicate", FEEDBACK)  # they depend on what memory held then: what was found then is taken over


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


def try_gate(space: Space, gate: list[Step], progress: jobs.Progress = lambda done, total: None) -> dict[str, Any]:
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


def _state_under(gate: list[Step], record: Record) -> tuple[str, str]:
    """What a gate would make of a record that is stored already: its secrets are gone, so they count as found."""
    looking = [step.code for step in gate if step.action != ADMIT]
    plain = [code for code in looking if code in detectors.codes() and code not in (*OF_ITS_TIME, "secrets")]
    codes = {one.code for one in detectors.find(record.content, only=plain)} if plain else set()
    codes |= {code for code in (*OF_ITS_TIME, "secrets") if code in looking and code in record.codes}
    codes |= {one["code"] for one in record.findings if one.get("beside") and one["code"] in looking}
    if READS_ONLY in looking and record.node_kind == Record.NodeKind.MEMORY_RETRIEVAL:
        codes.add(READS_ONLY)
    holding = _first_that_holds(gate, codes)
    return ("held", holding) if holding else ("admitted", "")
