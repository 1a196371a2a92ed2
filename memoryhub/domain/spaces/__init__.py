"""Spaces, their members and settings, change marks for caches, and events between packages."""

from memoryhub.domain.spaces.events import ask_event, on_event, send_event
from memoryhub.domain.spaces.group_roles import apply_group_roles
from memoryhub.domain.spaces.marks import (
    LONGTERM_MARKS,
    NEW_MARK,
    NEXT_REVISION,
    TEXT_MARK,
    longterm_mark,
    mark_longterm,
    mark_setup,
)
from memoryhub.domain.spaces.members import (
    add_member,
    change_role,
    deactivate_person,
    get_member,
    members,
    reactivate_person,
    remove_member,
)
from memoryhub.domain.spaces.secrets import (
    MarkedBytes,
    bytes_digest,
    check_secrets,
    mark_secrets,
    refuse_secrets,
    secret_error,
    secret_suspects,
)
from memoryhub.domain.spaces.settings import change_settings
from memoryhub.domain.spaces.space import (
    create,
    erase,
    get_by_slug,
    get_for_person,
    last_of_person,
    memberships_of,
    note_space,
    rename,
    spaces_in_menu,
    spaces_of_person,
)
