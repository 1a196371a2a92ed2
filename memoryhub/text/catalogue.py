"""A compiled catalogue of sentences, looked into without gettext functions around the sentence: also what an f-string made is
found, by the pattern of its sentence. It needs no Django, since some commands run without."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "locale"
PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]")
WORDS = {"wants", "policy", "reason", "what", "state", "does", "kind", "many", "script"}
COMMA = ", "
COUNT, COUNTED = "%(count)s %(things)s", re.compile(r"([\d,]+) (.+)")
WRITTEN = re.compile(r"%\((\w+)\)[sd]|%%")
LONGEST = 2000  # characters: no sentence of the hub is longer, texts of agents are
DEEPEST = 3  # parts in parts: texts of agents come here too, and “of of of of …” is a part of a part at every word


def engine() -> Any:
    """What finds patterns, RE2 mostly; where the client stands alone, with httpx and without the hub, Python's own."""
    try:
        # Inside: every command loads this module, and few look for a pattern; the client alone does without.
        from memoryhub.text import engine
    except ImportError:
        return re
    return engine


@dataclass(frozen=True)
class Pattern:
    """A sentence with places for values, and how to find them in a text."""

    msgid: str
    literals: tuple[str, ...]  # its pieces between values
    names: tuple[str, ...]

    @property
    def letters(self) -> int:
        """How many letters of its own the sentence has."""
        return sum(char.isalpha() for literal in self.literals for char in literal)

    def is_telling(self) -> bool:
        """Whether it is known by its own words: `%(first)s and %(last)s` would fit what anybody wrote."""
        return self.letters > 4 or bool(re.match(r"[^\W\d_]{2}", self.literals[0]))

    @cached_property
    def longest(self) -> str:
        return max(self.literals, key=len)

    @cached_property
    def expression(self) -> Any:
        return engine().compile("(?s)" + "".join(expression_parts(self.literals, self.names)))

    def values_in(self, text: str) -> dict[str, str] | None:
        # Most sentences are ruled out by their longest piece; only few have their expression ever made.
        if self.longest not in text:
            return None
        try:
            found = self.expression.fullmatch(text)
        except TimeoutError:  # never of RE2
            return None
        return found.groupdict() if found else None


class Catalogue:
    """What sentences are in another language, by their English; those with values have `%(name)s` in their place."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        self.messages = messages
        made = [pattern_of(msgid) for msgid in messages if PLACEHOLDER.search(msgid)]
        telling = [one for one in made if one.is_telling()]
        # Those with the most words of their own first.
        self.patterns = sorted(telling, key=lambda one: -sum(map(len, one.literals)))
        self.translated = lru_cache(maxsize=4096)(self._translated)

    def _translated(self, text: str) -> str:
        """The text in the language of the catalogue; as it is where the catalogue does not have all of it."""
        if not text or len(text) > LONGEST:
            return text
        if found := self.exact(text):
            return found
        parts = re.split(r"(?<=[.!?])\s+", text)
        each = [self.sentence(part) for part in parts] if len(parts) > 1 else [None]
        whole = "".join(part for part in each if part) if all(each) else self.sentence(text)
        return whole or self.listed(text) or text

    def exact(self, text: str) -> str | None:
        """The translation of a sentence without values; one that follows a colon elsewhere may begin with a small letter."""
        known = self.messages
        if found := known.get(text) or known.get(text[:1].lower() + text[1:]):
            return found
        doubled = known.get(text.replace("%", "%%")) if "%" in text else None
        return filled(doubled, {}) if doubled else None

    def sentence(self, text: str, inside: int = 0) -> str | None:
        """The translation of one sentence, or None; `inside` of so many others."""
        if found := self.exact(text):
            return found
        for pattern in self.patterns:
            if (values := pattern.values_in(text)) is not None:
                translated = {name: self.part(name, value, inside + 1) for name, value in values.items()}
                return filled(self.messages[pattern.msgid], translated)
        return None

    def part(self, name: str, value: str, inside: int) -> str:
        """A value of a sentence: where it has several words, it may be a part that the hub put in, such as a reason; a single word
        may be a name, unless the place is for a word of the hub."""
        if inside > DEEPEST or (" " not in value and name not in WORDS):
            return value
        bare = value.strip()
        return self.sentence(bare, inside) or self.counted(bare, inside) or self.listed(bare) or value

    def listed(self, value: str) -> str | None:
        """Several words of the hub with commas between them, or words with values: the base prompt, the persona; Reviewers: 2."""
        each = [self.exact(one) or self.named(one) for one in value.split(", ")]
        is_list = len(each) > 1 or ": " in value
        return self.messages.get(COMMA, COMMA).join(filter(None, each)) if is_list and all(each) else None

    def named(self, value: str) -> str | None:
        """A value behind its name: Reviewers: 2."""
        name, colon, rest = value.partition(": ")
        found = self.exact(name) if colon else None
        return f"{found}{self.messages.get(colon, colon)}{self.exact(rest) or rest}" if found else None

    def counted(self, value: str, inside: int) -> str | None:
        """A number with what it counts: 3 min, 3 zero-width characters."""
        found = COUNTED.fullmatch(value)
        if found and (words := self.messages.get(f"%(count)s {found[2]}")):
            return filled(words, {"count": found[1]})
        things = self.sentence(found[2], inside) if found else None
        return (
            filled(self.messages.get(COUNT, COUNT), {"count": found[1], "things": things}) if found and things else None
        )


def pattern_of(msgid: str) -> Pattern:
    pieces = PLACEHOLDER.split(msgid)  # text, name, text, name, …, text
    return Pattern(msgid, tuple(piece.replace("%%", "%") for piece in pieces[::2]), tuple(pieces[1::2]))


def filled(sentence: str, values: Mapping[str, str]) -> str:
    """The sentence with its values, each of them text as it was found: `%(n)d` takes "3" too, which `%` refuses."""
    return WRITTEN.sub(lambda place: values.get(place[1], place[0]) if place[1] else "%", sentence)


def expression_parts(texts: Iterable[str], names: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for text, name in zip(texts, [*names, ""], strict=True):
        yield engine().escape(text)
        if name:
            yield f"(?P<{name}>.*?)" if name not in seen else "(?:.*?)"
            seen.add(name)


@lru_cache(maxsize=8)
def load(locale: str) -> Catalogue:
    """The hub's catalogue of a locale such as `zh_Hans`, read once; an empty one where there is none."""
    found = getattr(gettext.translation("django", FOLDER, [locale], fallback=True), "_catalog", {})
    singular = {key if isinstance(key, str) else key[0]: text for key, text in found.items() if text}
    return Catalogue({key: text for key, text in singular.items() if key and "\x04" not in key})
