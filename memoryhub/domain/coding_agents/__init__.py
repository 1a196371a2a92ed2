"""Coding agents: the faults of memory files in a folder of this machine, and what agents load of the files of a space."""

from memoryhub.domain.coding_agents.check import FindingInFile, check_folder
from memoryhub.domain.coding_agents.space_readers import Loaded, MountReaders, Reader, mount_readers

__all__ = ["FindingInFile", "Loaded", "MountReaders", "Reader", "check_folder", "mount_readers"]
