"""What an edit by `old_string` and `new_string` does to a text, and the regions of it that agents may not touch (pure).

Agents and their libraries know these semantics from deepagents: occurrences are counted without overlap, an
empty `old_string` is refused, and the sentences are the ones their clients look for.
"""

from __future__ import annotations

import re
from collections import Counter

from memoryhub.errors import Forbidden, HubError, Invalid, NotFound, TooLarge
from memoryhub.text.lines import split

MAX_BYTES = 1 << 20  # of the text of a file
EMPTY_OLD = "Error: old_string cannot be empty. Provide the exact text to replace."


def apply_edit(text: str, old: str, new: str, replace_all: bool = False) -> str:
    """The text after an edit; refused where `old` is not there, or is there several times without `replace_all`."""
    if not old:
        raise Invalid(EMPTY_OLD, code="string_not_found")
    count = text.count(old)
    if not count:
        raise string_not_found(text, old)
    if count > 1 and not replace_all:
        raise string_not_unique(old, count)
    return replaced(text, old, new, count)


def replaced(text: str, old: str, new: str, count: int) -> str:
    """The text with its first `count` occurrences replaced; refused where it would be larger than a file may be, before it is made:
    a million short ones in place of which a long text comes would fill the memory of the machine."""
    if len(text) + count * (len(new) - len(old)) > MAX_BYTES:
        limit = f"{MAX_BYTES:,}"
        raise TooLarge(f"After this edit the file would be larger than {limit} bytes, its limit.", limit=MAX_BYTES)
    return text.replace(old, new, count)


def apply_insert(text: str, line: int, new: str) -> str:
    """The text with new lines after a line; 0 is the beginning."""
    lines = split(text)
    if not 0 <= line <= len(lines):
        raise Invalid(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].",
            code="invalid_line",
            lines=len(lines),
        )
    head, tail = "".join(lines[:line]), "".join(lines[line:])
    if head and not head.endswith("\n"):
        head += "\n"
    return head + (new if new.endswith("\n") or not tail else new + "\n") + tail


def file_not_found(path: str) -> HubError:
    """The error for a path without a file, in the words of agents' edit tools."""
    return NotFound(f"Error: File '{path}' not found", code="file_not_found", path=path)


def string_not_found(text: str, old: str) -> HubError:
    """The error for a string that is not there; it says so when only line ends or blanks around it differ."""
    bare = old.removesuffix("\n")
    if bare and bare != old and text.endswith(bare):
        return Invalid(
            "Error: old_string has a newline at its end that the end of the file does not have. "
            "Leave the trailing newline out of old_string (and of new_string) and try again.",
            code="string_not_found",
            hint="trailing_newline",
            occurrences=text.count(bare),
        )
    return Invalid(f"Error: String not found in file: '{old}'", code="string_not_found", **_near_miss(text, old))


def _near_miss(text: str, old: str) -> dict[str, str]:
    if "\r\n" in text and "\r\n" not in old and old.replace("\n", "\r\n") in text:
        return {"hint": "The lines of this file end in CR LF: write them as \\r\\n and try again."}
    if old.strip() and old.strip() in text:
        return {"hint": "It is there with other blanks around it: copy the text exactly as the file has it."}
    return {}


def string_not_unique(old: str, count: int) -> HubError:
    """The error for a string that occurs several times."""
    return Invalid(
        f"Error: String '{old}' appears {count} times in file. Use replace_all=True to replace all instances, "
        "or provide a more specific string with surrounding context.",
        code="string_not_unique",
        occurrences=count,
    )


# ---- regions that agents may not touch, between marks that people put there

PROTECTED = re.compile(rb"<!--\s*protected\b", re.I)
# Without the closing mark the region goes on to the end of the text.
PROTECTED_REGION = re.compile(rb"<!--\s*protected\b.*?(?:<!--\s*/protected\s*-->|\Z)", re.I | re.S)


def protected_regions(text: bytes | None) -> Counter[bytes]:
    """The protected regions of a text, each with its count; one that is not closed reaches to the end."""
    return Counter(PROTECTED_REGION.findall(text)) if text and PROTECTED.search(text) else Counter()


def check_protected(before: bytes | None, after: bytes | None) -> None:
    """Refuses a change of an agent after which the text has not exactly the protected regions of before: none more, none less,
    none longer. So nobody appends to a region that was not closed, and closes it."""
    if before == after:
        return
    had, has = protected_regions(before), protected_regions(after)
    if had == has:
        return
    if had:
        says = (
            "This change touches a region that people protected. Leave everything between <!-- protected --> and "
            "<!-- /protected --> as it is (without the closing line, up to the end); do not retry this change."
        )
    else:
        says = "Only people protect regions: leave <!-- protected --> out of the text."
    raise Forbidden(says, code="protected_region")
