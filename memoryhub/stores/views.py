"""Read-only files that are made at the moment of reading: what working and long-term memory hold, for any framework."""

from __future__ import annotations

WORKING, OWN, PINNED, QUERY = "/working.md", "/own.md", "/pinned.md", "/query.md"
NAMES = {
    WORKING: "the newest of working memory, of the whole group",
    OWN: "what the agent keeps for itself: the newest of its working memory, then of its long-term memory",
    PINNED: "entries of long-term memory that people pinned, in their order",
    QUERY: "what long-term memory gives to the query of the call; empty without one",
}


class ViewStore:
    on_disk = False
    keeps_for = None
