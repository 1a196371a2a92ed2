"""Mounts: which store a virtual path belongs to, and which policy agents' writes get there; rules are exceptions by path."""

from memoryhub.domain.files.mounts.changes import (
    add_mount,
    change_mount,
    clean_prefix,
    remove_mount,
    reset_written,
    stop_excluding,
    take_in_name,
)
from memoryhub.domain.files.mounts.directories import allowed_roots, is_hub_operator, is_inside, may_mount_directories
from memoryhub.domain.files.mounts.explain import Explanation, explain_path
from memoryhub.domain.files.mounts.guard import check_agents_path, not_memory_error, why_not_memory, why_program
from memoryhub.domain.files.mounts.intakes import intake_of, is_left_out, left_out_error, survey_mount
from memoryhub.domain.files.mounts.resolve import (
    MOUNT_COLUMNS,
    Place,
    cached_mount,
    find_mount,
    get_mount,
    mounts_of_space,
    no_mount_error,
    place_in_mount,
    policy_for,
    require_shown,
    resolve_path,
)
from memoryhub.domain.files.mounts.rules import (
    add_rule,
    conditions_hold,
    count_matched,
    dry_run_rule,
    is_small,
    remove_rule,
    rule_applies,
    rules_of_space,
)
from memoryhub.domain.files.mounts.shared import other_paths, shared_places

__all__ = [
    "MOUNT_COLUMNS",
    "Explanation",
    "Place",
    "add_mount",
    "add_rule",
    "allowed_roots",
    "cached_mount",
    "change_mount",
    "check_agents_path",
    "clean_prefix",
    "conditions_hold",
    "count_matched",
    "dry_run_rule",
    "explain_path",
    "find_mount",
    "get_mount",
    "intake_of",
    "is_hub_operator",
    "is_inside",
    "is_left_out",
    "is_small",
    "left_out_error",
    "may_mount_directories",
    "mounts_of_space",
    "no_mount_error",
    "not_memory_error",
    "other_paths",
    "place_in_mount",
    "policy_for",
    "remove_mount",
    "remove_rule",
    "require_shown",
    "reset_written",
    "resolve_path",
    "rule_applies",
    "rules_of_space",
    "shared_places",
    "stop_excluding",
    "survey_mount",
    "take_in_name",
    "why_not_memory",
    "why_program",
]
