"""The faults of memory files in a place, and the size of each agent's context there."""

from __future__ import annotations

from memoryhub.dialects import coding
from memoryhub.domain import coding_agents
from memoryhub.domain.coding_agents import FindingInFile
from memoryhub.domain.contexts.places import Place


def check(place: Place) -> list[FindingInFile]:
    """What `memoryhub check` finds in the folder, of files whose text is shown; their secrets by kind and line alone."""
    tree = place.tree
    inside = [path for path in place.all_files if path.startswith(place.directory.rstrip("/") + "/")]
    shown = [path for path in inside if not tree.why_withheld(path)]
    verified = [one.name for one in coding.agents().values() if one.verified]
    found = coding_agents.check_folder(place.directory, verified, tree=tree, files=shown)
    found = [one for one in found if not tree.why_withheld(one.path)]
    for path in tree.marked_files:
        found += [FindingInFile("secret", path, line, kind) for kind, line in tree.secrets_in(path)]
    return sorted(set(found), key=lambda one: (one.path, one.line, one.code, one.message))
