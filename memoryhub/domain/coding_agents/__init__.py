"""Coding agents of a machine: the faults of memory files in a folder, and what lies where. Reads files; knows no database."""

from memoryhub.domain.coding_agents.check import FindingInFile, check_folder
from memoryhub.domain.coding_agents.find import find_agents

__all__ = ["FindingInFile", "check_folder", "find_agents"]
