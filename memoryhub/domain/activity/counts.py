"""The counts of a space for the overview, and of what waits for the navigation, in one statement each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from memoryhub.db import statements
from memoryhub.models import Space

# Counting a large table exactly takes too long for a number on a page: beyond this pages show "and more".
MAX_COUNTED = 10_000

HELD = """(SELECT count(*) FROM (
     SELECT 1 FROM "quarantine"."state" WHERE space_id = %(space)s AND state = 'held' AND is_newest LIMIT %(max)s) h)"""
PROPOSALS = "(SELECT count(*) FROM memoryhub_proposal WHERE space_id = %(space)s AND state IN ('pending', 'outdated'))"
SQL = f"""
SELECT
  (SELECT count(*) FROM memoryhub_file WHERE space_id = %(space)s AND NOT is_deleted AND thread_id = '' AND revision > 0),
  (SELECT count(*) FROM (SELECT 1 FROM "quarantine"."record" WHERE space_id = %(space)s LIMIT %(max)s) r),
  {HELD},
  (SELECT count(*) FROM memoryhub_workingentry
     WHERE space_id = %(space)s AND removed_at IS NULL AND (is_pinned OR expires_at > now())),
  (SELECT count(*) FROM (
     SELECT 1 FROM memoryhub_longtermentry WHERE space_id = %(space)s AND state <> 'retired' LIMIT %(max)s) l),
  (SELECT count(*) FROM memoryhub_agent WHERE space_id = %(space)s),
  {PROPOSALS},
  (SELECT count(*) FROM memoryhub_membership WHERE space_id = %(space)s)
"""  # noqa: S608 (SQL of ours)
WAITING = f"SELECT {HELD}, {PROPOSALS}"


@dataclass(frozen=True)
class Counts:
    files: int
    quarantine: int
    held: int
    working: int
    longterm: int
    agents: int
    proposals: int
    people: int


def counts_of_space(space: Space) -> Counts:
    """The counts of a space; records and long-term entries are counted up to a limit."""
    return Counts(*statements.row(SQL, {"space": space.pk, "max": MAX_COUNTED}))


class Waiting(NamedTuple):
    held: int
    proposals: int


def counts_of_waiting(space: Space) -> Waiting:
    """The numbers beside the entries of the navigation, which every page shows: none of them needs a large table."""
    return Waiting(*statements.row(WAITING, {"space": space.pk, "max": MAX_COUNTED}))


FLOW = """
SELECT EXISTS (SELECT 1 FROM memoryhub_delivery WHERE space_id = %(space)s)
  OR EXISTS (SELECT 1 FROM "quarantine"."record" WHERE space_id = %(space)s)
  OR EXISTS (SELECT 1 FROM memoryhub_proposal WHERE space_id = %(space)s AND agent_id IS NOT NULL)
"""


def has_flow(space: Space) -> bool:
    """Whether an agent ever got a prompt, logged output or proposed a change in this space."""
    return bool(statements.row(FLOW, {"space": space.pk})[0])
