"""Raw output of agents, and the gate that it passes on its way to working memory."""

from memoryhub.domain.quarantine.decide import (
    PROMOTED,
    admit,
    check_looked,
    discard,
    grave_lines,
    in_bulk,
    lock_record,
    see,
    undo,
    was_promoted,
)
from memoryhub.domain.quarantine.gate import (
    DEFAULT_STEPS,
    GATE_ACTIONS,
    gate_steps,
    judge_settings,
)
from memoryhub.domain.quarantine.gate_changes import GATE_DRY_RUN, change_gate, dry_run_gate
from memoryhub.domain.quarantine.judge import configure_judge, judge_status
from memoryhub.domain.quarantine.metadata import without_secrets
from memoryhub.domain.quarantine.queries import find, session, today, waiting, with_states
from memoryhub.domain.quarantine.queue import QueuePage, count_states, is_held, next_held, queue_page
from memoryhub.domain.quarantine.records import get, history, locked_state, log, write_state
