"""What an output may repeat: a source, recent working memory, or what long-term memory gave out before.

One statement brings all of it. Of sources it brings their marks alone, for their texts seldom change; of long-term memory
the few chunks with a line that may be alike, found by fingerprints: no embedder is asked, and what is said again is known
wherever it stands, not only where retrieval would look first.
"""

from __future__ import annotations

from dataclasses import dataclass

from memoryhub.db import statements
from memoryhub.db.cache import Cache
from memoryhub.detectors import KnownText, fingerprints
from memoryhub.domain import working
from memoryhub.models import Agent, Space

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
SELECT 'source', f.id, f.revision, f.size, s.path, f.sha256, NULL::bigint, ''
FROM (SELECT DISTINCT path FROM memoryhub_source WHERE space_id = %(space)s AND is_on) s CROSS JOIN LATERAL (
    SELECT id, revision, size, sha256 FROM memoryhub_file
    WHERE space_id = %(space)s AND path = s.path AND thread_id = '' AND NOT is_deleted LIMIT 1
) f
UNION ALL
SELECT 'working', w.id, 0, 0, w.agent_name, w.content, w.agent_id, w.scope || ' ' || w.session_id
FROM ({NEWEST}) w
UNION ALL
SELECT 'longterm', c.id, e.number, 0, '', c.text, NULL::bigint, '' FROM ({NEAR}) n
CROSS JOIN LATERAL (SELECT id, entry_id, text FROM memoryhub_chunk WHERE id = n.chunk_id AND space_id = %(space)s LIMIT 1) c
CROSS JOIN LATERAL (SELECT number FROM memoryhub_longtermentry WHERE id = c.entry_id AND space_id = %(space)s LIMIT 1) e
"""  # noqa: S608 (SQL and numbers of ours are put in)
SOURCE = "SELECT content FROM memoryhub_revision WHERE space_id = %s AND file_id = %s AND number = %s"


sources: Cache[KnownText] = Cache(
    "sources to compare with", key="path, sha256, space, file, revision", max_items=64,
    invalidated_by="nothing: a revision does not change", saves="reading and preparing a source for each output",
)  # fmt: skip
working_texts: Cache[KnownText] = Cache(
    "working entries to compare with", key="label, text", max_items=1024, invalidated_by="nothing: it is made of its key",
    saves="preparing fifty texts for each output",
)  # fmt: skip


@dataclass(slots=True)
class KnownTexts:
    """What an output may repeat: sources and working memory, newest first; chunks of long-term memory; and what the same agent
    said in the same session for the same readers, by the id of its entry, newest first."""

    texts: list[KnownText]
    given_out: list[KnownText]
    same_session: list[tuple[int, KnownText]]


def read(space: Space, agent: Agent | None, content: str, session: str = "", scope: str = working.GROUP) -> KnownTexts:
    """What this agent's output may repeat."""
    asked = f"[{fingerprints.as_json(fingerprints.to_look_up(content))}]"
    values = {"space": space.pk, "agent": agent.pk if agent else NO_AGENT, "asked": asked}
    known, recent, given_out, same_session = [], [], [], []
    for kind, pk, number, size, label, text, logged_by, said_in in statements.rows(KNOWN, values, binary=True):
        if kind == "source":
            known.append(_source(label, text, space.pk, pk, number, size))
        elif kind == "working":
            one = _working_text(f"working memory ({label or 'a person'})", text)
            recent.append((pk, one))
            if agent and session and logged_by == agent.pk and said_in == f"{scope} {session}":
                same_session.append((pk, one))
        else:
            given_out.append((pk, KnownText(f"L-{number}", text)))
    newest_first = sorted(recent, key=lambda pair: -pair[0])
    return KnownTexts(
        known + [one for _, one in newest_first],
        [one for _, one in sorted(given_out, key=lambda pair: pair[0])],
        sorted(same_session, key=lambda pair: -pair[0]),
    )


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


def _working_text(label: str, text: str) -> KnownText:
    """A text ready to be compared; short ones are kept so, for the next output is compared with them again."""
    found = working_texts.get((label, text))
    if found is None:
        found = KnownText(label, text)
        if len(text) <= MAX_KEPT_ENTRY:
            working_texts.put((label, text), found)
    return found
