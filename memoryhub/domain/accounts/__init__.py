"""People, sign-in, tokens, and what each may do."""

from memoryhub.domain.accounts.access import may, require, require_hub_owner
from memoryhub.domain.accounts.authenticate import NO_VALID_TOKEN, Caller, authenticate, digest_of
from memoryhub.domain.accounts.links import (
    LINK_TIME_NAMES,
    link_time,
    linkable,
    make_sign_in_link,
    peek_sign_in_link,
    require_no_other_owner,
    use_sign_in_link,
)
from memoryhub.domain.accounts.people import (
    change_email,
    change_password,
    create_person,
    find_person,
    hub_owner,
    note_space,
    person_by_name,
    set_preference,
)
from memoryhub.domain.accounts.sessions import end_session, ended_sign_ins, live_sessions, note_seen, note_sign_in
from memoryhub.domain.accounts.throttle import check_password
from memoryhub.domain.accounts.tokens import (
    create_token,
    get_token,
    revoke_token,
    rotate_token,
    tokens_of_space,
)

__all__ = [
    "LINK_TIME_NAMES",
    "NO_VALID_TOKEN",
    "Caller",
    "authenticate",
    "change_email",
    "change_password",
    "check_password",
    "create_person",
    "create_token",
    "digest_of",
    "end_session",
    "ended_sign_ins",
    "find_person",
    "get_token",
    "hub_owner",
    "link_time",
    "linkable",
    "live_sessions",
    "make_sign_in_link",
    "may",
    "note_seen",
    "note_sign_in",
    "note_space",
    "peek_sign_in_link",
    "person_by_name",
    "require",
    "require_hub_owner",
    "require_no_other_owner",
    "revoke_token",
    "rotate_token",
    "set_preference",
    "tokens_of_space",
    "use_sign_in_link",
]
