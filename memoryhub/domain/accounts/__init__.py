"""People, sign-in, tokens, and what each may do."""

from memoryhub.domain.accounts.access import may, require, require_hub_owner, role_rank
from memoryhub.domain.accounts.authenticate import NO_VALID_TOKEN, Caller, authenticate, digest_of, why_ended
from memoryhub.domain.accounts.identities import (
    Identity,
    connect_identity,
    disconnect_identity,
    identities_of,
    person_of_identity,
    person_of_proxy,
)
from memoryhub.domain.accounts.links import (
    LINK_TIME_NAMES,
    link_time,
    linkable,
    make_sign_in_link,
    peek_sign_in_link,
    require_no_other_owner,
    use_sign_in_link,
)
from memoryhub.domain.accounts.passkeys import (
    Site,
    add_passkey,
    begin_passkey,
    begin_passkey_check,
    check_passkey,
    remove_passkey,
)
from memoryhub.domain.accounts.people import (
    change_email,
    change_password,
    create_person,
    find_person,
    hub_owner,
    person_by_name,
    set_language,
    set_preference,
)
from memoryhub.domain.accounts.second_factor import (
    activate_totp,
    check_code,
    has_second_factor,
    new_recovery_codes,
    new_totp_secret,
    remove_totp,
    reset_second_factor,
    second_factors,
    totp_address,
)
from memoryhub.domain.accounts.sessions import (
    end_session,
    end_sessions,
    forget_ended_sign_ins,
    live_session,
    live_sessions,
    note_seen,
    note_sign_in,
    person_of_session,
)
from memoryhub.domain.accounts.throttle import check_password
from memoryhub.domain.accounts.tokens import (
    create_token,
    get_token,
    last_used_token,
    revoke_token,
    rotate_token,
    tokens_of_space,
)
