"""Coding agents of a machine: the faults of memory files in a folder. Reads files; knows no database."""

from memoryhub.domain.coding_agents.check import FindingInFile, check_folder

__all__ = ["FindingInFile", "check_folder"]
