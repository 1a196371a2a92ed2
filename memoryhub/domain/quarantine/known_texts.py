"""What an output may repeat: a source, recent working memory, or what long-term memory gave out before.

One statement brings all of it. Of sources it brings their marks alone, for their texts seldom change; of long-term memory
the few chunks with a line that may be alike, found by fingerprints: no embedder is asked, and what is said again is known
wherever it stands, not only where retrieval would look first.
"""

from __future__ import annotations

from functools import lru_cache

from memoryhub.db import statements
from memoryhub.db.meanwhile import Asking
from memoryhub.detectors import KnownText, fingerprints
from memoryhub.domain import working
from memoryhub.models import Agent, Space

SHORT = 4000  # characters of a working entry that stays prepared for comparing
SMALL = 64 * 1024  # bytes of a source that does
MOST_ALIKE = 20  # chunks, the oldest first, and as many for each fingerprint
NO_AGENT = -1

# Masks that differ in more bits than a quarter of the words are of lines that differ in more words (`fingerprints`).
NEAR = f"""
SELECT DISTINCT t.chunk_id FROM json_to_recordset(%(asked)s::json) AS q(code int, size int, mask bigint)
CROSS JOIN LATERAL (
    SELECT chunk_id FROM memoryhub_telltale
    WHERE space_id = %(space)s AND code = q.code AND size BETWEEN (4 * q.size + 4) / 5 AND 5 * q.size / 4
        AND bit_count((mask # q.mask)::bit(64)) <= q.size / 4 AND (agent_id IS NULL OR agent_id = %(agent)s)
    LIMIT {MOST_ALIKE}
) t ORDER BY 1 LIMIT {MOST_ALIKE}
"""  # noqa: S608 (a number of ours is put in)
WHAT_IS_KNOWN = f"""
SELECT 'source', f.id, f.revision, f.size, s.path, f.sha256
FROM (SELECT DISTINCT path FROM memoryhub_source WHERE space_id = %(space)s AND is_on) s CROSS JOIN LATERAL (
    SELECT id, revision, size, sha256 FROM memoryhub_file
    WHERE space_id = %(space)s AND path = s.path AND thread_id = '' AND NOT is_deleted LIMIT 1
) f
UNION ALL
SELECT 'working', w.id, 0, 0, w.agent_name, w.content
FROM ({working.newest_of_both("id, agent_name, content", "%(space)s", "%(agent)s", str(working.MAX_ENTRIES))}) w
UNION ALL
SELECT 'longterm', c.id, e.number, 0, '', c.text FROM ({NEAR}) n
CROSS JOIN LATERAL (SELECT id, entry_id, text FROM memoryhub_chunk WHERE id = n.chunk_id AND space_id = %(space)s LIMIT 1) c
CROSS JOIN LATERAL (SELECT number FROM memoryhub_longtermentry WHERE id = c.entry_id LIMIT 1) e
"""  # noqa: S608 (SQL and numbers of ours are put in)
SOURCE = "SELECT content FROM memoryhub_revision WHERE space_id = %s AND file_id = %s AND number = %s"


def asking(space: Space, agent: Agent | None, content: str) -> Asking:
    """The database, for what this agent's output may repeat; other detectors look meanwhile."""
    asked = f"[{fingerprints.as_json(fingerprints.to_look_up(content))}]"
    return Asking(WHAT_IS_KNOWN, {"space": space.pk, "agent": agent.pk if agent else NO_AGENT, "asked": asked})


def known(space: Space, asked: Asking) -> tuple[list[KnownText], list[KnownText]]:
    """Its answer: sources and working memory, newest first; and chunks of long-term memory."""
    sources, recent, given_out = [], [], []
    for kind, pk, number, size, label, text in asked.rows():
        if kind == "source":
            load = kept_source if size <= SMALL else source
            sources.append(load(label, text, space.pk, pk, number))
        elif kind == "working":
            recent.append((pk, prepared(f"working memory ({label or 'a person'})", text)))
        else:
            given_out.append((pk, KnownText(f"L-{number}", text)))
    newest_first = sorted(recent, key=lambda pair: -pair[0])
    return sources + [one for _, one in newest_first], [one for _, one in sorted(given_out, key=lambda pair: pair[0])]


def source(path: str, sha256: str, space: int, file: int, revision: int) -> KnownText:
    """A source as it is published; the sum of its bytes among what it is kept by leaves no doubt which text it is."""
    rows = statements.rows(SOURCE, [space, file, revision], binary=True)
    return KnownText(path, bytes(rows[0][0]).decode("utf-8", "replace") if rows else "")


kept_source = lru_cache(maxsize=64)(source)


def prepared(label: str, text: str) -> KnownText:
    """A text ready to be compared; short ones are kept so, for the next output is compared with the same."""
    return kept(label, text) if len(text) <= SHORT else KnownText(label, text)


kept = lru_cache(maxsize=1024)(KnownText)
