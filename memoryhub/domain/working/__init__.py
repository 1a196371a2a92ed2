"""Working memory: admitted output of the last day."""

from memoryhub.domain.working.corrections import corrections, history
from memoryhub.domain.working.entries import (
    AFTER_ALL,
    AGENT,
    GROUP,
    MAX_ENTRIES,
    Output,
    WorkingItem,
    add,
    edit,
    enter,
    entering,
    extend,
    get,
    listed,
    live,
    newest,
    newest_of,
    newest_of_both,
    pin,
    put_back,
    remove,
)
from memoryhub.domain.working.seen import (
    entries_unseen,
    mark_seen,
    mark_unseen,
    unseen,
    unseen_by_agent,
    waits_for_person,
)
