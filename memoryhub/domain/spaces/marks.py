"""Change marks: the revision and the marks by which caches know that what they hold is out of date.

None of them ever comes to stand for something else, also where a database goes back: after a restore, or a fail-over to a
server that lagged. The marks, and the step by which the revision rises, are drawn from the moment and the process, so that the
changes made after such a step back have other numbers than those that were lost.

This module alone raises them, in the transaction of the change. Whoever changes something that a prompt is made of calls
the function for its kind:

- `mark_setup`: agents, sources, mounts, rules, templates, settings
- `mark_longterm`: whatever alters what retrieval finds in long-term memory
- `TEXT_MARK`: nothing but the text of a file, in the statement that writes its revision

What agents add to working memory needs none: a prompt compares the ids of its newest entries.
tests/api/test_prompts_renewed.py makes every change of a column that a prompt reads, and looks whether the next prompt has it.
"""

from __future__ import annotations

from memoryhub.db import statements
from memoryhub.models import Space

# Drawn from the moment and the process, which no two statements share: every copy of a space's row on another server has to get
# the same numbers (`server/distribute`), as it would not of random().
DRAWN = "hashtextextended(statement_timestamp()::text || pg_backend_pid()::text, {salt})"
NEW_MARK = f"({DRAWN.format(salt=1)} & 9007199254740991)"
# A step of a billion on average leaves room for eight billion changes of a space.
NEXT_REVISION = f"revision = revision + 1 + ({DRAWN.format(salt=2)} & 2147483647)"
# Columns of a space to set where one of its counters is raised in the same statement.
SETUP_MARKS = f"{NEXT_REVISION}, setup_mark = {NEW_MARK}"
LONGTERM_MARKS = f"{NEXT_REVISION}, longterm_mark = {NEW_MARK}"

SETUP = f"UPDATE memoryhub_space SET {SETUP_MARKS} WHERE id = %s RETURNING revision"  # noqa: S608 (constants of ours)
LONGTERM = f"UPDATE memoryhub_space SET {LONGTERM_MARKS} WHERE id = %s RETURNING revision"  # noqa: S608
TEXT_MARK = f"UPDATE memoryhub_space SET {NEXT_REVISION} WHERE id = %s {statements.ONLY_IF_HELD} RETURNING revision"  # noqa: S608


def mark_setup(space: Space | int) -> int:
    """What the space's prompts are set up with changed: from the commit on none that was assembled before is served.

    Answers the new revision of the space.
    """
    return statements.row(SETUP, [getattr(space, "pk", space)])[0]


def mark_longterm(space: Space) -> int:
    """What retrieval finds in long-term memory changed. Answers the new revision of the space."""
    return statements.row(LONGTERM, [space.pk])[0]


def longterm_mark(space: Space) -> statements.Change:
    """`mark_longterm` as a change that travels with others in one statement."""
    return statements.Change(LONGTERM, [space.pk])
