"""Coding agents of a machine: what each loads in a folder, the faults of memory files. Reads files; knows no database."""

from memoryhub.domain.coding_agents.check import FindingInFile, check_folder, says_more
from memoryhub.domain.coding_agents.cuts import Cut, cut_of
from memoryhub.domain.coding_agents.entries import (
    Entry,
    Format,
    Limit,
    and_entry,
    as_line,
    entries_of,
    entry_of,
    format_of,
    limits_of,
    with_entry,
    without_entry,
)
from memoryhub.domain.coding_agents.fixes import Fix, fixes_for_cut, fixes_for_ignored
from memoryhub.domain.coding_agents.gemini_inbox import discard_patch, inbox_patches, parse_patch, text_after_patch
from memoryhub.domain.coding_agents.hermes_pending import (
    PendingWrite,
    discard_pending,
    parse_pending,
    pending_writes,
    text_after_pending,
)
from memoryhub.domain.coding_agents.hook_files import (
    SettingsChange,
    make_change,
    own_command,
    plan_install,
    plan_uninstall,
    read_settings,
)
from memoryhub.domain.coding_agents.hook_settings import HOOKS, AgentHook, installed_command, with_hook, without_hook
from memoryhub.domain.coding_agents.laptop import (
    FoundAgent,
    agent_home,
    find_agents,
    folders_to_show,
    project_of,
    projects_to_show,
    short_path,
)
from memoryhub.domain.coding_agents.matrix import Cell, Group, matrix_of
from memoryhub.domain.coding_agents.memory_files import (
    NOT_LOADED,
    RULE_FOLDERS,
    context_in,
    folder_of,
    memory_files,
    names_of_agents,
)
from memoryhub.domain.coding_agents.opencode_plugin import NAME as PLUGIN_NAME
from memoryhub.domain.coding_agents.opencode_plugin import plan_plugin, plan_plugin_removal, plugin_command
