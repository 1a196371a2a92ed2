"""Coding agents of a machine: what each loads in a folder, the faults of memory files. Reads files; knows no database."""

from memoryhub.domain.coding_agents.below import NOT_LOADED, context_in, folder_of
from memoryhub.domain.coding_agents.check import MENTION_LINE, FindingInFile, check_folder
from memoryhub.domain.coding_agents.cuts import Cut, cut_of
from memoryhub.domain.coding_agents.fixes import Fix, fixes_for_cut, fixes_for_ignored
from memoryhub.domain.coding_agents.laptop import (
    FoundAgent,
    FoundFile,
    FoundProject,
    agent_home,
    find_agents,
    project_of,
)
from memoryhub.domain.coding_agents.matrix import Cell, Group, Row, matrix_of
from memoryhub.domain.coding_agents.walk import RULE_FOLDERS, memory_files, names_of_agents

__all__ = [
    "MENTION_LINE",
    "NOT_LOADED",
    "RULE_FOLDERS",
    "Cell",
    "Cut",
    "FindingInFile",
    "Fix",
    "FoundAgent",
    "FoundFile",
    "FoundProject",
    "Group",
    "Row",
    "agent_home",
    "check_folder",
    "context_in",
    "cut_of",
    "find_agents",
    "fixes_for_cut",
    "fixes_for_ignored",
    "folder_of",
    "matrix_of",
    "memory_files",
    "names_of_agents",
    "project_of",
]
