"""Changes that agents ask for, and what people decide on them."""

from memoryhub.domain.proposals.ask import (
    propose,
    propose_promotion,
    report_template,
    waiting_text,
    waiting_texts,
    withdraw,
)
from memoryhub.domain.proposals.bulk import decide_many, plan, undo_many
from memoryhub.domain.proposals.decide import QUICK_REASONS, TRY_AGAIN, approve, reject
from memoryhub.domain.proposals.drafts import (
    DraftCheck,
    check_entry_draft,
    check_file_draft,
    check_proposal_draft,
    check_template_draft,
    cuts_of,
    edited_bytes,
)
from memoryhub.domain.proposals.from_disk import (
    asked_since,
    changes_of_program,
    outdate_write,
    problem_on_disk,
    propose_before_write,
    renew_write,
    time_on_disk,
    writes_waiting,
)
from memoryhub.domain.proposals.inbox import counts, filtered, inbox
from memoryhub.domain.proposals.kinds import kind_of
from memoryhub.domain.proposals.results import SECONDS_FOR_MANY, Result, as_json, list_as_json, result
from memoryhub.domain.proposals.reviewing import ROWS_SHOWN, Review, asks_for_a_look, neighbours, next_to_decide, review
from memoryhub.domain.proposals.state import count_to_decide, get, is_own
from memoryhub.domain.proposals.submit import check_content, edited_texts, submit, submit_all
from memoryhub.domain.proposals.undo import comment, reopen, undo
from memoryhub.domain.proposals.waiting import expire_late, outdate_waiting, refresh_state
