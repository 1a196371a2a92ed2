"""What of rendered Markdown may reach a browser: tags, attributes and addresses that are allowed, by bleach."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

from bleach.html5lib_shim import Filter
from bleach.sanitizer import Cleaner

ANCHOR = "h-"  # ids of headings begin with it, so that they meet no other id of the page
HEADING_TAGS = {"h1", "h2", "h3", "h4", "h5", "h6"}

_TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "center", "cite", "code", "dd", "del", "details", "dfn", "div", "dl",
    "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s",
    "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
    "tt", "u", "ul", "var",
}  # fmt: skip
_CLASSES = re.compile(r"(?:comment|sr|task|box|box done|front-matter|language-[\w+#.-]+|hl-[bcdfikns])\Z")
_NAMES = re.compile(rf"{ANCHOR}[\w-]+\Z")


# A browser, and html5lib as well, opens what is left open again and again: a text of ten kilobytes became one of megabytes.
_MAX_DEPTH, _MAX_OPENED_AGAIN = 200, 20_000  # elements in each other; elements that come back in all
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_EMPTY = {"br", "hr"}
_COMES_BACK = {"a", "b", "code", "em", "i", "s", "small", "strong", "tt", "u"}
_ENDS_ITSELF = {"dd", "dt", "li", "p", "td", "th", "tr"}
_WALLS = {"caption", "table", "td", "th"}


def is_tangled(text: str) -> bool:
    """Whether HTML leaves so much open that to put it in order would take long."""
    opened: list[str] = []
    coming_back = came_back = 0
    for match in _TAG.finditer(text):
        name = match[2].lower()
        if name not in _TAGS or name in _EMPTY:
            continue
        came_back += coming_back
        if not match[1]:
            if opened and opened[-1] == name and name in _ENDS_ITSELF:
                opened.pop()
            opened.append(name)
        elif (at := _place(opened, name)) >= 0:
            coming_back += sum(one in _COMES_BACK for one in opened[at + 1 :])
            del opened[at:]
        elif name in _COMES_BACK:
            coming_back = max(0, coming_back - 1)
        if len(opened) > _MAX_DEPTH or came_back > _MAX_OPENED_AGAIN:
            return True
    return False


def _place(opened: list[str], name: str) -> int:
    """Where the element stands that an end tag ends; below zero where there is none that it reaches."""
    for at in range(len(opened) - 1, -1, -1):
        if opened[at] == name:
            return at
        if opened[at] in _WALLS:
            break
    return -1


_PROTOCOLS = {"http", "https", "mailto"}
# What a browser leaves out of an address before it reads the scheme, and anything else that is no letter of one.
_IN_NO_SCHEME = re.compile(r"[^A-Za-z0-9+.:/?#&;-]+")


def _goes_somewhere_allowed(address: str) -> bool:
    """Whether an address names an allowed scheme, or none. Bleach takes `javascript:123` for the port of a host."""
    address = _IN_NO_SCHEME.sub("", html.unescape(address))
    scheme, colon, _ = re.split(r"[/?#]", address, maxsplit=1)[0].partition(":")
    return not colon or scheme.lower() in _PROTOCOLS


def _is_allowed(tag: str, name: str, value: str) -> bool:
    """Whether an attribute stays. Values count too: a class or an id has to be one that the renderer itself writes."""
    if name == "href":
        return tag == "a" and _goes_somewhere_allowed(value)
    if name == "id":
        return tag in HEADING_TAGS and bool(_NAMES.match(value))
    if name == "class":
        return bool(_CLASSES.match(value))
    if name == "start":
        return tag == "ol" and value.isdigit() and len(value) < 10
    if name == "align":
        return tag in ("td", "th", "p", "div") and value in ("left", "center", "right")
    if name in ("colspan", "rowspan"):
        return tag in ("td", "th") and value.isdigit() and 0 < int(value[:4]) <= 100
    return name == "title" or (name == "open" and tag == "details")


class _LinksAndHeadings(Filter):
    """Gives every link `rel="noopener nofollow"`, and every heading a level below that of the page's own heading."""

    def __iter__(self) -> Any:
        for token in super().__iter__():
            name = token["name"] if token["type"] in ("StartTag", "EmptyTag") else ""
            if name == "a":
                token["data"][(None, "rel")] = "noopener nofollow"
            elif name in HEADING_TAGS:
                token["data"][(None, "aria-level")] = str(min(int(name[1]) + 1, 6))
            yield token


@lru_cache(maxsize=1)
def cleaner() -> Cleaner:
    """Removes everything that a browser would run or fetch; what is not allowed stays visible as text."""
    return Cleaner(
        tags=_TAGS, attributes=_is_allowed, protocols=_PROTOCOLS, strip=False, strip_comments=True,
        filters=[_LinksAndHeadings],
    )  # fmt: skip
