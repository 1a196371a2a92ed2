"""Spaces, their members and settings, change marks for caches, and events between packages."""

from memoryhub.domain.spaces.events import ask_event, on_event, send_event
from memoryhub.domain.spaces.group_roles import apply_group_roles
from memoryhub.domain.spaces.marks import LONGTERM_MARKS, NEW_MARK, longterm_mark, mark_longterm, mark_setup, text_mark
from memoryhub.domain.spaces.members import (
    add_member,
    change_role,
    deactivate_person,
    get_member,
    members,
    reactivate_person,
    remove_member,
)
from memoryhub.domain.spaces.secrets import check_secrets, refuse_secrets, secret_suspects
from memoryhub.domain.spaces.settings import change_settings, get_setting
from memoryhub.domain.spaces.space import (
    create,
    erase,
    get_by_slug,
    get_for_person,
    memberships_of,
    next_number,
    rename,
    spaces_of_person,
)

__all__ = [
    "LONGTERM_MARKS",
    "NEW_MARK",
    "add_member",
    "apply_group_roles",
    "ask_event",
    "change_role",
    "change_settings",
    "check_secrets",
    "create",
    "deactivate_person",
    "erase",
    "get_by_slug",
    "get_for_person",
    "get_member",
    "get_setting",
    "longterm_mark",
    "mark_longterm",
    "mark_setup",
    "members",
    "memberships_of",
    "next_number",
    "on_event",
    "reactivate_person",
    "refuse_secrets",
    "remove_member",
    "rename",
    "secret_suspects",
    "send_event",
    "spaces_of_person",
    "text_mark",
]
