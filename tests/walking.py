"""Finds a site's pages by following its links, as a person could; few of each kind are enough."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote, urldefrag, urljoin, urlsplit

from django.urls import Resolver404, resolve

# What `Reader` looks at. Python's parser takes three times as long for a whole page, and every page is read several times.
TAG = r"""(?:[^>"']|"[^"]*"|'[^']*')*>"""
TELLING = re.compile(
    rf"<textarea\b{TAG}.*?</textarea>|</?(?:a|form|input|button|select|option)\b{TAG}|<[a-z][\w-]*\s(?=[^<]*\bid=){TAG}",
    re.S,
)


@dataclass
class Answer:
    status: int
    kind: str  # the media type
    text: str
    leads_to: str = ""


@dataclass
class Found:
    path: str
    answer: Answer
    linked_from: str


@dataclass
class Form:
    method: str
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)  # as they are sent when nothing is changed
    buttons: list[tuple[str, str, str]] = field(default_factory=list)  # name, value, formaction
    is_blocked: bool = False  # a button of it may not be pressed yet
    asks: bool = False  # whether there is something to fill in or choose


class Reader(HTMLParser):
    """Collects the links, ids and forms of a page, as a browser without JavaScript would use them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.forms: list[Form] = []
        self.named_forms: dict[str, Form] = {}
        self.form: Form | None = None
        self.select: tuple[Form, str, list[tuple[str, bool]]] | None = None
        self.textarea: tuple[Form, str] | None = None
        self.text = ""
        self.feed("".join(TELLING.findall(text)))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if named.get("id"):
            self.ids.append(named["id"])
        if tag == "form":
            self.form = Form(named.get("method", "get").lower(), named.get("action", ""))
            self.forms.append(self.form)
            self.named_forms[named.get("id", "")] = self.form
            if self.form.method == "get" and self.form.action:
                self.links.append(self.form.action)
            return
        form = self.named_forms.get(named["form"]) if "form" in named else self.form
        if form and "disabled" in named:
            form.is_blocked = form.is_blocked or tag == "button"
        elif form:
            self.note_field(tag, named, form)

    def note_field(self, tag: str, named: dict[str, str], form: Form) -> None:
        name, kind = named.get("name", ""), named.get("type", "text" if tag == "input" else "submit").lower()
        form.asks = form.asks or (tag in ("input", "textarea", "select") and kind != "hidden")
        if tag == "button" or (tag == "input" and kind in ("submit", "image")):
            if kind != "button":
                form.buttons.append((name, named.get("value", ""), named.get("formaction", "")))
        elif tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in named):
            form.fields.append((name, named.get("value", "on" if kind in ("checkbox", "radio") else "")))
        elif tag == "textarea" and name:
            self.textarea, self.text = (form, name), ""
        elif tag == "select" and name:
            self.select = (form, name, [])
        elif tag == "option" and self.select:
            self.select[2].append((named.get("value", ""), "selected" in named))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "textarea" and self.textarea:
            form, name = self.textarea
            form.fields.append((name, self.text.removeprefix("\n")))
            self.textarea = None
        elif tag == "select" and self.select:
            form, name, options = self.select
            chosen = [value for value, selected in options if selected] or [value for value, _ in options[:1]]
            form.fields += [(name, value) for value in chosen]
            self.select = None


def kind_of(path: str) -> str:
    """What a path is one of: its named address, and the choices in its query that change what is drawn."""
    parts = urlsplit(path)
    try:
        name = resolve(unquote(parts.path)).view_name
    except Resolver404:
        name = re.sub(r"\d+", "0", parts.path)
    chosen = [f"{key}={value if re.fullmatch('[a-z]+', value) else '*'}" for key, value in parse_qsl(parts.query)]
    return f"{name}?{'&'.join(sorted(chosen))}"


def walk(get: Callable[[str], Answer], starts: Iterable[str], each: int = 2, most: int = 400) -> list[Found]:
    """Every kind of page that links lead to from the starts, `each` of one kind; outside links are left alone."""
    waiting = [(start, "") for start in starts]
    seen: set[str] = set()
    kinds: Counter[str] = Counter()
    found: list[Found] = []
    while waiting and len(found) < most:
        path, origin = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        kind = kind_of(path)
        if kinds[kind] >= each:
            continue
        kinds[kind] += 1
        answer = get(path)
        found.append(Found(path, answer, origin))
        if answer.leads_to:
            waiting.append((inside(path, answer.leads_to), path))
        elif answer.kind == "text/html":
            waiting += [(link, path) for link in links_of(path, answer.text) if link not in seen]
    return found


def telling(pages: Iterable[str]) -> list[str]:
    """Of pages that differ only in how choices are combined those that show one which no earlier page showed."""
    shown: set[tuple[str, str]] = set()
    kept = []
    for path in pages:
        name, _, chosen = kind_of(path).partition("?")
        new = {(name, choice) for choice in chosen.split("&")} - shown
        if new:
            shown |= new
            kept.append(path)
    return kept


def links_of(path: str, text: str) -> list[str]:
    there = [inside(path, link) for link in Reader(text).links]
    return [link for link in dict.fromkeys(there) if link]


def inside(path: str, link: str) -> str:
    """The link as a path of this site; nothing for a link that leaves it."""
    target = urldefrag(urljoin(f"http://hub{path}", link)).url
    parts = urlsplit(target)
    if parts.netloc != "hub" or parts.scheme != "http":
        return ""
    return parts.path + (f"?{parts.query}" if parts.query else "")
