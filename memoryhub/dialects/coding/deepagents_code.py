"""deepagents-code: this person's file, then two of the repository's root; comments are left out wherever they stand."""

from __future__ import annotations

from memoryhub.text import comments

from .plain_files import repository
from .shapes import CodingAgent, Context, Start, Writer
from .tree import is_below

NAME = "AGENTS.md"


def read(start: Start) -> Context:
    """The block of memory in the system prompt, without the library's own guidelines behind it."""
    writer = Writer()
    root = repository(start)
    places = [(start.at(".deepagents", "agent", NAME), "user", "This person's memory for the agent `agent`")]
    if root:
        places += [
            (f"{root}/.deepagents/{NAME}", "project", "Instructions of the repository"),
            (f"{root}/{NAME}", "project", "Instructions of the repository"),
        ]
    elif start.tree.kind(f"{start.directory}/{NAME}") == "file":
        writer.ignore(f"{start.directory}/{NAME}", "The folder is in no git repository, so no file of it is read")
    for path, kind, why in places:
        if start.tree.kind(path) != "file":
            continue
        if kind == "project" and not is_below(start.tree.real(path), start.tree.real(root)):
            writer.ignore(path, "A link out of the repository")
            continue
        data = start.tree.read(path) or b""
        if "\ufffd" in (decoded := data.decode("utf-8", "replace")) and b"\xef\xbf\xbd" not in data:
            failed = Writer()
            failed.ignore(path, "It is no UTF-8 text: the program ends with an error and sends nothing")
            return failed.context()
        text = comments.without(decoded).rstrip()
        if not text:
            writer.ignore(path, "Empty, or comments alone")
            continue
        shown = start.tree.real(path) if kind == "project" else path
        writer.add(("\n\n" if writer.blocks else "<agent_memory>\n") + f"{shown}\n\n")
        writer.block(path, kind, why, text)
    writer.add("\n\n</agent_memory>" if writer.blocks else "<agent_memory>\n(No memory loaded)\n\n</agent_memory>")
    return writer.context()


AGENT = CodingAgent(
    "deepagents-code", "deepagents-code", "0.1.57", True, read, (NAME, ".deepagents/AGENTS.md"), "dcode"
)
