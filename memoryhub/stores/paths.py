"""The rules of virtual paths: one function says what a path is, everyone else trusts it.

A virtual path is `/memories/AGENTS.md`, or a source's own spelling such as `~/.deepagents/AGENTS.md` and
`./.deepagents/AGENTS.md`, which only a mount with that very prefix can answer. Nothing is ever expanded.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

from memoryhub.errors import Invalid
from memoryhub.text.unseen import UNSEEN_CHARACTER

MAX_PATH = 1024
MAX_NAME = 255  # what file systems take
TEMPORARY = ".memoryhub-"
HEADS = ("~/", "./")


def clean(path: str, *, directory: bool = False) -> str:
    """The normal form of a virtual path (NFC, no empty parts); an Invalid with the reason where it is none."""
    if not isinstance(path, str) or not path:
        raise refused(path, "is empty")
    check_length(path, 4 * MAX_PATH)  # before it is composed, which a long text takes time for, and gets shorter by
    path = unicodedata.normalize("NFC", path)
    check_length(path, MAX_PATH)
    head, rest = split_head(path)
    if directory:
        rest = rest.removesuffix("/")
    if not rest and directory:
        return head
    for segment in rest.split("/"):
        check_segment(path, segment)
    return head + rest + ("/" if directory else "")


def check_length(path: str, most: int) -> None:
    """Refuse a path of more bytes than this in UTF-8."""
    if len(path) > most or len(path.encode("utf-8", "surrogatepass")) > most:
        raise refused(path[:80] + "…", f"is longer than {MAX_PATH} bytes")


def of_source(printed: str) -> str:
    """The path that a source leads to; a prompt prints it as it was configured, slash or no slash."""
    if printed.startswith("/") and printed.isascii():
        return printed
    try:
        return clean(printed if printed.startswith(("/", *HEADS)) else "/" + printed)
    except Invalid:
        return printed


def from_url(tail: str, *, directory: bool = False) -> str:
    """A path as it stands in a URL, without its leading slash and after one decoding."""
    return clean(tail if tail.startswith("~/") else "/" + tail, directory=directory)


def split_head(path: str) -> tuple[str, str]:
    """`/`, `~/` or `./`, and the rest."""
    for head in HEADS:
        if path.startswith(head):
            return head, path[len(head) :]
    if not path.startswith("/"):
        raise refused(path, "does not start with a slash")
    return "/", path[1:]


def check_segment(path: str, segment: str) -> None:
    """Refuse a name that could lead out of a root, hide, or be read as something else."""
    if reason := why_refused(segment):
        raise refused(path, reason)


def why_refused(segment: str) -> str:
    """The reason why a name is refused, or nothing."""
    if not segment:
        return "has an empty part (two slashes in a row, or one at the end)"
    if segment in (".", ".."):
        return f"has the part “{segment}”, which could lead out of its root"
    if segment.startswith("~"):
        return "has a part that begins with “~”, which could mean a home directory"
    if "\\" in segment:
        return "has a backslash"
    if segment.startswith(TEMPORARY):
        return f"has a name that begins with “{TEMPORARY}”, which the hub keeps for itself"
    for sign in () if segment.isascii() and segment.isprintable() else segment:
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            return f"has the hidden character U+{ord(sign):04X}"
    if not segment.isascii() and (unseen := UNSEEN_CHARACTER.search(segment)):
        return f"has the hidden character U+{ord(unseen.group()):04X}"
    if len(segment.encode()) > MAX_NAME:
        return f"has a name longer than {MAX_NAME} bytes"
    return ""


DEVICES = frozenset(["con", "nul", "prn", "aux", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))])


def why_misleading(path: str) -> str:
    """Why an agent gives no new file this name, or nothing: it looks like another name, or some systems read it as one."""
    for segment in split_head(path)[1].split("/"):
        if segment != segment.strip() or segment.endswith("."):
            return f"has the part “{segment}”, which begins or ends with a blank, or ends with a dot"
        for sign in () if segment.isascii() else segment:
            if unicodedata.category(sign) == "Zs" and sign not in " \u3000":
                return f"has the blank U+{ord(sign):04X}, which looks like another one"
        if segment.partition(".")[0].rstrip().casefold() in DEVICES:
            return f"has the part “{segment}”, which is a device on some systems"
    return ""


def is_clean_name(name: str) -> bool:
    """Whether a name found on disk can be part of a virtual path as it is."""
    return unicodedata.is_normalized("NFC", name) and not why_refused(name)


def under(prefix: str, path: str) -> bool:
    """Whether a path lies at or below a prefix, by whole segments: `/memoriesX` is not below `/memories/`."""
    return path == prefix.rstrip("/") or path.startswith(prefix if prefix.endswith("/") else prefix + "/")


def strip(prefix: str, path: str) -> str:
    """The path inside a mount: the prefix goes, the leading slash stays."""
    return "/" + path[len(prefix) :] if path.startswith(prefix) else "/"


URL_SAFE = "/~:@!$&'()*+,;="  # what a URL may have in its path as it is


def page_of(path: str, query: str = "") -> str:
    """Where the page of a path is, below the address of its space. Browsers drop `./` from URLs, so such a path goes into the query."""
    if path.startswith("./"):
        return f"files/?path={quote(path)}" + (f"&{query}" if query else "")
    return "files/" + quote(path.lstrip("/"), safe=URL_SAFE) + (f"?{query}" if query else "")


def parent(path: str) -> str:
    """The folder of a path, with its slash at the end."""
    return path.rstrip("/").rpartition("/")[0] + "/"


def refused(path: object, reason: str) -> Invalid:
    # A lone surrogate cannot travel in an answer; it is shown as what it is.
    shown = str(path).encode("utf-8", "backslashreplace").decode()
    return Invalid(f"The path “{shown}” {reason}.", code="invalid_path", path=shown)
