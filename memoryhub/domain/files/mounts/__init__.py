"""Mounts: which store a virtual path belongs to, and which policy agents' writes get there; rules are exceptions by path."""

from memoryhub.domain.files.mounts.changes import (
    add_mount,
    change_mount,
    remove_mount,
    reset_written,
    stop_excluding,
    take_in_name,
)
from memoryhub.domain.files.mounts.directories import (
    allowed_roots,
    is_hub_operator,
    is_inside,
    may_mount_directories,
    real_directory,
)
from memoryhub.domain.files.mounts.explain import Explanation, WriteOutcome, explain_path, outcome_of_write
from memoryhub.domain.files.mounts.guard import (
    check_agents_path,
    not_memory_error,
    other_paths,
    shared_places,
    why_not_memory,
    why_program,
)
from memoryhub.domain.files.mounts.ownership import (
    claim,
    is_mine,
    leave_to_its_node,
    mounts_with_nodes,
    put_in_charge,
    reclaim,
    why_waiting,
)
from memoryhub.domain.files.mounts.resolve import (
    MOUNT_COLUMNS,
    Place,
    cached_mount,
    find_mount,
    get_mount,
    intake_of,
    is_left_out,
    left_out_error,
    mount_at_prefix,
    mounts_of_space,
    place_in_mount,
    require_shown,
    resolve_path,
    resolve_paths,
    survey_mount,
    view_at,
    why_left_out,
)
from memoryhub.domain.files.mounts.rules import (
    add_rule,
    change_rule,
    count_matched,
    dry_run_rule,
    get_rule,
    is_small,
    matched_paths,
    remove_rule,
    reorder_rule,
    rule_applies,
    rules_of_space,
)
