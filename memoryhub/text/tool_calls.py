"""What the file tools of coding agents make of a file (pure): which file a call changes, and the text that would result.

The rules are those of the agents' own tools, compared with the real Claude Code, Codex and Copilot CLI: line ends and typographic
quotation marks of the file count as plain ones where a text is looked for, and what is taken out whole takes its line end with it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memoryhub.errors import Invalid
from memoryhub.text.edits import replaced, string_not_found, string_not_unique
from memoryhub.text.patches import BEGIN, FilePatch, parse_patch, paths_in_patch

MAX_EDITS = 1_000
# The names of a tool's arguments: path, whole text, text before, text after, in every place, list of edits.
Names = tuple[str, str, str, str, str, str]
_CLAUDE: Names = ("file_path", "content", "old_string", "new_string", "replace_all", "edits")
_GEMINI: Names = ("file_path", "content", "old_string", "new_string", "allow_multiple", "")
_OPENCODE: Names = ("filePath", "content", "oldString", "newString", "replaceAll", "")
_COPILOT: Names = ("path", "file_text", "old_str", "new_str", "", "")
WRITE, EDIT, SEVERAL, OTHER, SHELL, PATCH = "write", "edit", "several", "other", "shell", "patch"
TOOLS: dict[str, dict[str, tuple[str, Names]]] = {
    "claude-code": {
        "Write": (WRITE, _CLAUDE), "Edit": (EDIT, _CLAUDE), "MultiEdit": (SEVERAL, _CLAUDE),
        "NotebookEdit": (OTHER, ("notebook_path", *_CLAUDE[1:])), "Bash": (SHELL, _CLAUDE),
    },
    "gemini-cli": {
        "write_file": (WRITE, _GEMINI), "replace": (EDIT, _GEMINI), "run_shell_command": (SHELL, _GEMINI),
    },
    "codex": {"apply_patch": (PATCH, ("", "command", "", "", "", "")), "Bash": (SHELL, _CLAUDE)},
    "copilot-cli": {
        "create": (WRITE, _COPILOT), "edit": (EDIT, _COPILOT), "bash": (SHELL, _COPILOT),
        "apply_patch": (PATCH, ("", "input", "", "", "", "")),
    },
    "opencode": {"write": (WRITE, _OPENCODE), "edit": (EDIT, _OPENCODE), "bash": (SHELL, _OPENCODE)},
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """One text in place of another, at one place or at every place."""

    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that writes files: the paths that it changes as the agent gave them, and a whole text or edits of one.

    A call whose text cannot be told, such as a command of a shell, has neither.
    """

    tool: str
    kind: str
    paths: tuple[str, ...]
    content: str | None = None
    edits: tuple[Edit, ...] = ()
    patch: FilePatch | None = None


def read_calls(agent: str, tool: str, arguments: Any) -> list[ToolCall]:
    """The changes that a call of a tool makes, one for each file of a patch; none for tools that write no files."""
    kind, names = TOOLS.get(agent, {}).get(tool, ("", _CLAUDE))
    if kind != PATCH:
        call = read_call(agent, tool, arguments)
        return [call] if call else []
    text = _text(arguments if isinstance(arguments, Mapping) else {names[1]: arguments}, names[1])
    patches = parse_patch(text)
    if any("\x00" in path for one in patches for path in (one.path, one.moves_to)):
        raise Invalid("A path of this patch is no path.", code="invalid_call")
    return [
        ToolCall(tool, PATCH, tuple(path for path in (one.path, one.moves_to) if path), patch=one) for one in patches
    ]


def read_call(agent: str, tool: str, arguments: Any) -> ToolCall | None:
    """The call of a tool that writes files; None for other tools. Arguments that such a tool cannot have are refused."""
    kind, names = TOOLS.get(agent, {}).get(tool, ("", _CLAUDE))
    if not kind:
        return None
    if not isinstance(arguments, Mapping):
        raise Invalid(f"The arguments of {tool} are no object.", code="invalid_call")
    if kind == SHELL:
        return ToolCall(tool, kind, tuple(paths_in_command(_text(arguments, "command"))))
    if kind == PATCH:
        raise Invalid(f"{tool} changes several files.", code="invalid_call")
    path = _text(arguments, names[0])
    if not path or "\x00" in path:
        raise Invalid(f"The path that {tool} is to write is no path.", code="invalid_call")
    if kind == WRITE:
        return ToolCall(tool, kind, (path,), content=_text(arguments, names[1]))
    if kind == OTHER:
        return ToolCall(tool, kind, (path,))
    if kind == EDIT:
        return ToolCall(tool, kind, (path,), edits=(_edit(arguments, names),))
    listed = arguments.get(names[5])
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_EDITS:
        raise Invalid(f"{tool} takes 1 to {MAX_EDITS} edits.", code="invalid_call")
    return ToolCall(tool, kind, (path,), edits=tuple(_edit(one, names) for one in listed))


def _text(arguments: Mapping[str, Any], name: str) -> str:
    found = arguments.get(name)
    if not isinstance(found, str):
        raise Invalid(f"The argument {name} is no text.", code="invalid_call")
    try:
        found.encode()
    except UnicodeEncodeError:
        raise Invalid(f"The argument {name} is no UTF-8 text.", code="invalid_call") from None
    return found


def _edit(arguments: Any, names: Names) -> Edit:
    if not isinstance(arguments, Mapping):
        raise Invalid("An edit is no object.", code="invalid_call")
    everywhere = arguments.get(names[4], False) if names[4] else False
    if everywhere not in (True, False, None):
        raise Invalid(f"The argument {names[4]} is neither true nor false.", code="invalid_call")
    return Edit(_text(arguments, names[2]), _text(arguments, names[3]), bool(everywhere))


# ---- the text that results


def text_after(call: ToolCall, before: str | None) -> str:
    """The text of the file after a call; None is no file. Refused where the agent's own tool would not find what it replaces."""
    if call.content is not None:
        return call.content
    if call.patch is not None:
        return call.patch.text_after(before)
    if not call.edits:
        raise Invalid(f"What {call.tool} does to the file cannot be predicted.", code="unknown_result")
    bom, text = ("\ufeff", (before or "")[1:]) if (before or "").startswith("\ufeff") else ("", before or "")
    is_crlf = text.count("\r\n") * 2 > text.count("\n")
    plain = text.replace("\r\n", "\n") if is_crlf else text
    for edit in call.edits:
        plain = _edited(plain, edit, is_new=before is None or not plain.strip())
    return bom + (plain.replace("\n", "\r\n") if is_crlf else plain)


def _edited(text: str, edit: Edit, *, is_new: bool) -> str:
    old, new = edit.old.replace("\r\n", "\n"), edit.new
    if not old:
        if not is_new:
            raise Invalid(
                "The file is there and not empty: old_string has to name the text to replace.", code="string_not_found"
            )
        return new
    if old not in text:
        old, new = _as_typed(text, old, new)
    count = text.count(old)
    if not count:
        raise string_not_found(text, old)
    if count > 1 and not edit.everywhere:
        raise string_not_unique(old, count)
    if not new and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"
    return replaced(text, old, new, text.count(old) if edit.everywhere else 1)


_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
_OPENS = re.compile(r"(?:^|[\s(\[{—–])$")


def _as_typed(text: str, old: str, new: str) -> tuple[str, str]:
    """The text to look for as it stands in the file, with its typographic quotation marks, and the new one in that manner."""
    at = text.translate(_STRAIGHT).find(old.translate(_STRAIGHT))
    if at < 0:
        return old, new
    there = text[at : at + len(old)]
    return there, _curled(new, double=any(c in there for c in "“”"), single=any(c in there for c in "‘’"))


def _curled(text: str, *, double: bool, single: bool) -> str:
    made: list[str] = []
    for at, letter in enumerate(text):
        opens = bool(_OPENS.search(text[max(0, at - 1) : at]))
        if letter == '"' and double:
            letter = "“" if opens else "”"
        elif letter == "'" and single:
            letter = "‘" if opens else "’"
        made.append(letter)
    return "".join(made)


# ---- commands of a shell

_PLAIN_WRITERS = {"rm", "mv", "cp", "tee", "truncate", "install", "ln", "unlink", "shred", "rsync", "touch"}
_IN_PLACE = {"sed", "perl", "ruby", "gawk"}
_REDIRECTS = {">", ">>", ">|", "&>", "&>>", "<>"}
_ENDS = {"|", "||", "&&", ";", "&", "(", ")", "|&", ";;"}
MAX_COMMAND = 100_000


def paths_in_command(command: str) -> list[str]:
    """The paths that a command of a shell plainly writes: behind a redirection, or named to a program that writes files.

    What a script does with its own means nobody can tell from the line that starts it.
    """
    try:
        lexer = shlex.shlex(command[:MAX_COMMAND].replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:  # a quotation mark that is not closed, as here-documents have
        words = re.findall(r"[<>|&;]+|[^\s<>|&;'\"]+", command[:MAX_COMMAND])
    found: list[str] = paths_in_patch(command[:MAX_COMMAND]) if BEGIN in command else []
    program, in_place, expects = "", False, False
    for word in words:
        if word in _REDIRECTS:
            expects = True
        elif expects:
            found.append(word)
            expects = False
        elif word in _ENDS:
            program, in_place = "", False
        elif not program:
            program = "" if re.match(r"\w+=", word) or word in ("sudo", "env", "command") else word.rsplit("/", 1)[-1]
        elif word.startswith("-"):
            in_place = in_place or (program in _IN_PLACE and bool(re.match(r"-\w*i|--in-place", word)))
        elif program in _PLAIN_WRITERS or in_place:
            found.append(word)
        elif program == "dd" and word.startswith("of="):
            found.append(word[3:])
    return list(dict.fromkeys(one for one in found if one and "\x00" not in one))
