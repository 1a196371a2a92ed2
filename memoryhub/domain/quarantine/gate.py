"""The gate between what agents say and what becomes memory: which detectors look, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from memoryhub import detectors
from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.detectors import Finding, KnownText, fingerprints, secrets
from memoryhub.detectors.coherence import says_nothing
from memoryhub.detectors.duplicate import first_copy
from memoryhub.domain import spaces, working
from memoryhub.models import Agent, Record, Space

ADMIT, MARK, HOLD = "admit", "mark", "hold"
GATE_ACTIONS = {ADMIT: "admits", MARK: "admits with a mark", HOLD: "holds"}
JUDGE = "judge"  # the reason of what the gate let through and a judge has not read yet
JUDGE_JOB = "judging.judge"
JUDGE_OFF: dict[str, Any] = {"is_on": False, "url": "", "model": "", "seconds": 15, "daily": 500}
FEEDBACK, READS_ONLY, VAGUE = "feedback", "reads_only", "vague"
BESIDE = ("hidden", "injection", "risky_advice")  # the steps that look at metadata and names
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


def gate_steps(space: Space, values: dict[str, Any] | None = None) -> tuple[Step, ...]:
    """The space's gate in its order; what it has not chosen follows with what it does by default."""
    chosen = (values if values is not None else space.settings["ingress"]).get("steps", [])
    return _in_order(tuple((one.get("code"), one.get("action")) for one in chosen))


@lru_cache(maxsize=64)
def _in_order(chosen: tuple[tuple[str, str], ...]) -> tuple[Step, ...]:
    taken = {code: action for code, action in chosen if code in DEFAULT_STEPS and action in GATE_ACTIONS}
    others = {code: action for code, action in DEFAULT_STEPS.items() if code not in taken}
    return tuple(Step(code, action) for code, action in {**taken, **others}.items())


def judge_settings(space: Space) -> dict[str, Any]:
    """Whether a judge reads what the gate admits, where it is, its time limit and its budget."""
    return JUDGE_OFF | space.settings["judge"]


def examine(
    space: Space, agent: Agent | None, content: str, node_kind: str, *, session: str = "", scope: str = working.GROUP
) -> Verdict:
    """Lets every detector of the space's gate look at an output, before anything of it is stored."""
    gate = gate_steps(space)
    looking = [step.code for step in gate if step.action != ADMIT]
    compares = "duplicate" in looking or FEEDBACK in looking
    known = read_known_texts(space, agent, content, session, scope) if compares else NOTHING_KNOWN
    found = [*_detect(content, node_kind, looking), *_compare(known, content, looking)]
    if "secrets" not in looking:
        found += detectors.find(content, only=["secrets"])
    return replace(_verdict(gate, content, found), copy_of=_copy_of(known, content))


def examine_beside(space: Space, text: str) -> tuple[list[Finding], str]:
    """What the gate finds in a text that comes beside an output, and the step that holds it, if one does."""
    gate = gate_steps(space)
    looking = [step.code for step in gate if step.action != ADMIT and step.code in BESIDE]
    found = detectors.find(text, only=looking) if looking else []
    return found, first_that_holds(gate, {one.code for one in found})


def _compare(known: KnownTexts, content: str, looking: list[str]) -> Iterator[Finding]:
    """What an output repeats of what is known already."""
    if "duplicate" in looking and known.texts:
        yield from detectors.find(content, only=["duplicate"], context=known.texts)
    if FEEDBACK in looking and known.given_out:
        yield from _feedback(content, known.given_out)


def _copy_of(known: KnownTexts, content: str) -> int | None:
    """The newest entry of the same session that says the same or nearly."""
    return first_copy(content, known.same_session) if known.same_session else None


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


def _verdict(gate: tuple[Step, ...], content: str, found: list[Finding]) -> Verdict:
    """From findings to a state: the first step that holds, in the gate's order, gives the reason (pure)."""
    found = sorted(found, key=lambda one: (one.start, one.end, one.code))
    codes = {one.code for one in found}
    holding = first_that_holds(gate, codes)
    stored = StoredText(content, has_secrets=not codes.isdisjoint(("secrets", detectors.COST)))
    return Verdict(stored.content, "held" if holding else "admitted", [stored.as_json(one) for one in found], holding)


def first_that_holds(gate: tuple[Step, ...], codes: set[str]) -> str:
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


# ---- what an output may repeat ----

# What an output may repeat: a source, recent working memory, or what long-term memory gave out before. One statement brings all of
# it: of sources their marks alone, for their texts seldom change; of long-term memory the few chunks with a line that may be
# alike, found by fingerprints: no embedder is asked, and what is said again is known wherever it stands.
MAX_KEPT_ENTRY = 4000  # characters of a working entry that stays prepared for comparing
MAX_KEPT_SOURCE = 64 * 1024  # bytes of a source that does
MAX_ALIKE = 20  # chunks, the oldest first, and as many for each fingerprint
NO_AGENT = -1

# Masks that differ in more bits than a quarter of the words are of lines that differ in more words (`fingerprints`).
NEAR = f"""
SELECT DISTINCT t.chunk_id FROM json_to_recordset(%(asked)s::json) AS q(code int, size int, mask bigint)
CROSS JOIN LATERAL (
    SELECT chunk_id FROM memoryhub_telltale
    WHERE space_id = %(space)s AND code = q.code AND size BETWEEN (4 * q.size + 4) / 5 AND 5 * q.size / 4
        AND bit_count((mask # q.mask)::bit(64)) <= q.size / 4 AND (agent_id IS NULL OR agent_id = %(agent)s)
    LIMIT {MAX_ALIKE}
) t ORDER BY 1 LIMIT {MAX_ALIKE}
"""  # noqa: S608 (a number of ours is put in)
NEWEST = working.newest_of_both(
    "id, agent_name, content, agent_id, scope, session_id", "%(space)s", "%(agent)s", str(working.MAX_ENTRIES)
)
KNOWN = f"""
SELECT 'source', f.id, f.revision, f.size, s.path, f.sha256, false
FROM (SELECT DISTINCT path FROM memoryhub_source WHERE space_id = %(space)s AND is_on) s CROSS JOIN LATERAL (
    SELECT id, revision, size, sha256 FROM memoryhub_file
    WHERE space_id = %(space)s AND path = s.path AND thread_id = '' AND NOT is_deleted LIMIT 1
) f
UNION ALL
SELECT 'working', w.id, 0, 0, w.agent_name, w.content,
    w.agent_id = %(agent)s AND w.session_id = %(session)s AND w.session_id <> '' AND w.scope = %(scope)s
FROM ({NEWEST}) w
UNION ALL
SELECT 'longterm', c.id, e.number, 0, '', c.text, false FROM ({NEAR}) n
CROSS JOIN LATERAL (SELECT id, entry_id, text FROM memoryhub_chunk WHERE id = n.chunk_id AND space_id = %(space)s LIMIT 1) c
CROSS JOIN LATERAL (SELECT number FROM memoryhub_longtermentry WHERE id = c.entry_id AND space_id = %(space)s LIMIT 1) e
"""  # noqa: S608 (SQL and numbers of ours are put in)
SOURCE = "SELECT content FROM memoryhub_revision WHERE space_id = %s AND file_id = %s AND number = %s"


sources: Cache[KnownText] = Cache(
    "sources to compare with", key="path, sha256, space, file, revision", max_items=64,
    invalidated_by="nothing: a revision does not change", saves="reading and preparing a source for each output",
)  # fmt: skip
working_texts: Cache[KnownText] = Cache(
    "working entries to compare with", key="agent, text", max_items=1024, invalidated_by="nothing: it is made of its key",
    saves="preparing fifty texts for each output",
)  # fmt: skip


@dataclass(slots=True)
class KnownTexts:
    """What an output may repeat: sources and working memory, newest first; chunks of long-term memory; and what the same agent
    said in the same session for the same readers, by the id of its entry, newest first."""

    texts: list[KnownText]
    given_out: list[KnownText]
    same_session: list[tuple[int, KnownText]]


NOTHING_KNOWN = KnownTexts([], [], [])


def read_known_texts(
    space: Space, agent: Agent | None, content: str, session: str = "", scope: str = working.GROUP
) -> KnownTexts:
    """What this agent's output may repeat."""
    asked = f"[{fingerprints.as_json(fingerprints.to_look_up(content))}]"
    agent_id = agent.pk if agent else NO_AGENT
    values = {"space": space.pk, "agent": agent_id, "session": session, "scope": scope, "asked": asked}
    published, recent, given_out, same_session = [], [], [], []
    for kind, pk, number, size, label, text, is_of_session in statements.rows(KNOWN, values, binary=True):
        if kind == "working":
            one = pk, working_texts.get((label, text)) or _working_text(label, text)
            recent.append(one)
            if is_of_session:
                same_session.append(one)
        elif kind == "source":
            published.append(_source(label, text, space.pk, pk, number, size))
        else:
            given_out.append((pk, KnownText(f"L-{number}", text)))
    newest_first, oldest_first = sorted(recent, reverse=True), sorted(given_out)  # by their ids, no two of them equal
    texts = published + [one for _, one in newest_first]
    return KnownTexts(texts, [one for _, one in oldest_first], sorted(same_session, reverse=True))


def _source(path: str, sha256: str, space: int, file: int, revision: int, size: int) -> KnownText:
    """A source as it is published; the sum of its bytes in the key leaves no doubt which text it is."""
    key = path, sha256, space, file, revision
    if found := sources.get(key):
        return found
    rows = statements.rows(SOURCE, [space, file, revision], binary=True)
    found = KnownText(path, bytes(rows[0][0]).decode("utf-8", "replace") if rows else "")
    if size <= MAX_KEPT_SOURCE:
        sources.put(key, found)
    return found


def _working_text(logged_by: str, text: str) -> KnownText:
    """A text ready to be compared; short ones are kept so, for the next output is compared with them again."""
    found = KnownText(f"working memory ({logged_by or 'a person'})", text)
    if len(text) <= MAX_KEPT_ENTRY:
        working_texts.put((logged_by, text), found)
    return found
