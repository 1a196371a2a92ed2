"""Files at virtual paths: mounts and rules, reading, changing, revisions, and the disk."""

from memoryhub.domain.files.change import (
    Guard,
    check_if_match,
    check_if_none_match,
    etag_matches,
    lock_files,
    refuse_folder,
    write,
)
from memoryhub.domain.files.disk.before_write import HeldPlace, held_mounts, held_places, storable_text
from memoryhub.domain.files.disk.git_authors import find_git_authors
from memoryhub.domain.files.disk.intake import leave_out_everywhere
from memoryhub.domain.files.disk.marks import check_marks
from memoryhub.domain.files.disk.no_secret import allow_in_text, allow_on_disk, allowed_in_space, forbid
from memoryhub.domain.files.disk.problems import closed_at
from memoryhub.domain.files.disk.review import (
    change_on_disk,
    held_file,
    hold_again,
    keep_approved,
    look_again,
    mark_seen,
    put_back,
    take_back,
    take_in_mount,
    unreviewed,
)
from memoryhub.domain.files.disk.sync import sync_file
from memoryhub.domain.files.disk.watch import end_threads_of_run, retry_disk, scan_all, sync_path
from memoryhub.domain.files.edit import copy, delete, edit, insert, move, restore
from memoryhub.domain.files.find import existing_paths, find_paths, is_folder, link_target, list_entries, walk
from memoryhub.domain.files.line_authors import author_of, blame, blame_job, lines_with_keys
from memoryhub.domain.files.listing import (
    add_details,
    below_folders,
    entries_of,
    file_totals,
    files_at,
    first_files,
    newest_revisions,
    pending_below,
    search_paths,
    threads_in,
    unwritten_files,
)
from memoryhub.domain.files.mounts import (
    Explanation,
    Place,
    WriteOutcome,
    add_mount,
    add_rule,
    allowed_roots,
    change_mount,
    change_rule,
    check_agents_path,
    count_matched,
    dry_run_rule,
    explain_path,
    find_mount,
    get_mount,
    get_rule,
    intake_of,
    is_hub_operator,
    is_inside,
    is_left_out,
    is_mine,
    is_small,
    leave_to_its_node,
    matched_paths,
    may_mount_directories,
    mount_at_prefix,
    mounts_of_space,
    mounts_with_nodes,
    other_paths,
    outcome_of_write,
    put_in_charge,
    real_directory,
    remove_mount,
    remove_rule,
    reorder_rule,
    require_shown,
    reset_written,
    resolve_path,
    resolve_paths,
    rule_applies,
    rules_of_space,
    shared_places,
    stop_excluding,
    survey_mount,
    take_in_name,
    view_at,
    why_left_out,
    why_program,
)
from memoryhub.domain.files.read import (
    Published,
    Reader,
    changed_on_disk,
    exists,
    published_now,
    read,
    read_many,
)
from memoryhub.domain.files.requests import Applied, ChangeRequest, Pending, decode_content
from memoryhub.domain.files.revisions import (
    Approval,
    base_content,
    content_of,
    decided_content,
    file_row,
    get_revision,
    lock_file,
    record_revision,
    revisions_of,
    why_unwritten,
)
from memoryhub.domain.files.search import glob, glob_oldest, grep
from memoryhub.domain.files.tree import (
    FOLDER_PAGE_SIZE,
    GUIDELINES_PATH,
    POSITIONING_PATH,
    PROMPT_FILES,
    FolderEntry,
    agents_reading,
    deleted_files,
    folder_entries,
    in_every_prompt,
    mount_at,
    note_editing,
    pending_proposals,
    source_readers,
    stop_editing,
    tree,
)
from memoryhub.domain.files.zip import fetch_zip, is_small_folder, pack_folder, zip_bytes, zip_job, zip_name
