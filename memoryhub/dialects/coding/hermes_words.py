"""What Hermes takes for an attack in a text and blocks: hidden characters, and the wordings that its release 0.19.0 looks for.

Each wording is a name that it prints and one or several phrases with anything between them on a line. In a phrase a blank is white
space, `…` up to eight words, `_` white space inside an alternative; what stands behind `%` is a pattern. Phrases are looked for one by
one, so that no text keeps this busy, and only in a text that has a word of the first.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

LONGEST = 65_536  # characters of a text that it looks at
HIDDEN = frozenset(
    "\u200b\u200c\u200d\u2060\u2062\u2063\u2064\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
CHANGES = "update|modify|edit|write|change|append|add_to"
AS_SMALL = str.maketrans({"\u0130": "i", "\u0131": "i"})  # what a pattern takes for an i, and `lower` does not
KEYS = r"%\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|API)"


@dataclass(frozen=True)
class Wording:
    """What is looked for; `is_strict` in memory alone. Between phrases stand at most `most` characters, none of them `never`.

    One of `words`, in small letters, stands in every text that fits; of a phrase that is no pattern they are those it begins with.
    """

    name: str
    phrases: tuple[str, ...]
    is_strict: bool = False
    most: int = 2_048
    never: str = "\n"
    words: tuple[str, ...] = ()

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """The words without which nothing is looked for."""
        first = next(one for one in self.phrases[0].split(" ") if one)
        return self.words or tuple(one.partition("_")[0] for one in first.lower().split("|"))


def _one(name: str, phrase: str, *words: str, is_strict: bool = False) -> Wording:
    return Wording(name, (phrase,), is_strict, words=words)


WORDINGS = (
    _one("prompt_injection", "ignore … previous|all|above|prior … instructions"),
    _one("sys_prompt_override", "system prompt override"),
    _one("disregard_rules", "disregard … your|all|any … instructions|rules|guidelines"),
    _one("bypass_restrictions", "act as if|though … you … have_no|don't_have … restrictions|limits|rules"),
    Wording(
        "html_comment_injection",
        ("%<!--", "ignore|override|system|secret|hidden", "%-->"),
        most=512,
        never=">",
        words=("<!--",),
    ),
    Wording("hidden_div", (r"%<\s*div\s+style\s*=\s*[\"']", r"%display\s*:\s*none"), never=">", words=("style",)),
    Wording("translate_execute", ("translate ", " into ", " and execute|run|eval"), most=512),
    _one("deception_hide", "do not … tell … the user"),
    _one("role_hijack", "you are … now a|an|the "),
    _one("role_pretend", "pretend … you_are|to_be "),
    _one("leak_system_prompt", "output … system|initial prompt"),
    _one("remove_filters", "respond|answer|reply without … restrictions|limitations|filters|safety"),
    _one("fake_update", "you have been … updated|upgraded|patched to"),
    _one("identity_override", r"%\bname\s+yourself\s+\w", "name"),
    _one("c2_node_registration", r"%register\s+(?:as\s+)?a?\s*node", "register"),
    _one("c2_heartbeat", r"%(?:heartbeat|beacon|check[\s-]?in)\s+(?:to|with)\s", "heartbeat", "beacon", "check"),
    _one("c2_task_pull", r"%pull\s+(?:down\s+)?(?:new\s+)?task(?:ing|s)?\b", "pull"),
    _one("c2_network_connect", r"%connect\s+to\s+the\s+network\b", "network"),
    _one("forced_action", r"%you\s+must\s+(?:\w+\s+){0,3}(?:register|connect|report|beacon)\b", "must"),
    _one("anti_forensic_oneliner", r"%only\s+use\s+one[\s-]?liners?\b", "liner"),
    _one("anti_forensic_disk", "never … create|write … script|file … disk"),
    _one("env_var_unset_agent", r"%unset\s+\w*(?:CLAUDE|CODEX|HERMES|AGENT|OPENAI|ANTHROPIC)", "unset"),
    _one(
        "known_c2_framework",
        r"%\b(?:cobalt\s*strike|sliver|havoc|mythic|metasploit|brainworm)\b",
        "cobalt",
        "sliver",
        "havoc",
        "mythic",
        "metasploit",
        "brainworm",
    ),
    _one("c2_explicit", r"%\bc2\s+(?:server|channel|infrastructure|beacon)\b", "c2"),
    _one("c2_explicit_long", r"%\bcommand\s+and\s+control\b", "command"),
    Wording("exfil_curl", ("curl ", KEYS)),
    Wording("exfil_wget", ("wget ", KEYS)),
    Wording("read_secrets", ("cat ", r"%\.env|credentials|\.netrc|\.pgpass|\.npmrc|\.pypirc")),
    Wording("send_to_url", ("send|post|upload|transmit ", r" to|at %https?://"), is_strict=True),
    _one(
        "context_exfil",
        "include|output|print|share … conversation|chat_history|previous_messages|full_context|entire_context",
        is_strict=True,
    ),
    _one("ssh_backdoor", "%authorized_keys", "authorized_keys", is_strict=True),
    _one("ssh_access", r"%\$HOME/\.ssh|~/\.ssh", "/.ssh", is_strict=True),
    _one("hermes_env", r"%\$HOME/\.hermes/\.env|~/\.hermes/\.env", "/.hermes", is_strict=True),
    Wording("agent_config_mod", (f"{CHANGES} ", r"%AGENTS\.md|CLAUDE\.md|\.cursorrules|\.clinerules"), is_strict=True),
    Wording("hermes_config_mod", (f"{CHANGES} ", r"%\.hermes/(?:config\.yaml|SOUL\.md)"), is_strict=True),
    _one(
        "hardcoded_secret",
        r"%(?:api[_-]?key|token|secret|password)\s*[=:]\s*[\"'][A-Za-z0-9+/=_-]{20,}",
        "key",
        "token",
        "secret",
        "password",
        is_strict=True,
    ),
)


def findings_in(text: str, *, is_strict: bool = False) -> list[str]:
    """The names of what it finds in a context file, or by the longer list that it has for memory, in the order in which it prints."""
    looked_at = text[:LONGEST]
    hidden = [f"invisible_unicode_U+{ord(one):04X}" for one in sorted(HIDDEN & set(looked_at))]
    plain = unicodedata.normalize("NFKC", looked_at)
    small = plain.translate(AS_SMALL).lower()
    found = [one.name for one in _looked_for(small, is_strict=is_strict) if _stands_in(plain, one)]
    return [*hidden, *found]


def _looked_for(small: str, *, is_strict: bool) -> Iterator[Wording]:
    """The wordings of which a text in small letters has a word."""
    for one in WORDINGS:
        if (is_strict or not one.is_strict) and any(word in small for word in one.signs):
            yield one


@dataclass(frozen=True)
class _Phrase:
    """A phrase as a pattern, and whether white space has to stand before or behind it."""

    pattern: re.Pattern[str]
    before: bool
    after: bool

    def places(self, text: str) -> Iterator[tuple[int, int, int, int]]:
        """Where it begins, at the earliest and the latest, and where it ends: white space around it may belong to it or not."""
        for found in self.pattern.finditer(text):
            start, end = found.span()
            first, last = (
                _blank_before(text, start) if self.before else start,
                _blank_behind(text, end) if self.after else end,
            )
            yield first, start - 1 if self.before else start, end + 1 if self.after else end, last


def _blank_before(text: str, at: int) -> int:
    while at and text[at - 1].isspace():
        at -= 1
    return at


def _blank_behind(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


@lru_cache(maxsize=len(WORDINGS) * 3)
def _phrase(phrase: str) -> _Phrase:
    if phrase.startswith("%"):
        return _Phrase(re.compile(phrase[1:], re.IGNORECASE), before=False, after=False)
    words = phrase.split(" ")
    pattern = r"\s+".join(_word(one) for one in words if one).replace(r"…\s+", r"(?:\w+\s+){0,8}")
    pattern = ("" if words[0] else r"(?<=\s)") + pattern + ("" if words[-1] else r"(?=\s)")
    return _Phrase(re.compile(pattern, re.IGNORECASE), before=not words[0], after=not words[-1])


def _word(word: str) -> str:
    return word[1:] if word.startswith("%") else word if word == "…" else f"(?:{word.replace('_', chr(92) + 's+')})"


def _stands_in(text: str, wording: Wording) -> bool:
    """Whether the phrases follow each other near enough. The nearest place before one is the best, as it leaves least between."""
    ends: list[tuple[int, int]] | None = None  # of the phrases so far: the earliest and the latest end of each place
    for phrase in wording.phrases:
        places = _phrase(phrase).places(text)
        ends = [place[2:] for place in places if ends is None or _follows(text, wording, ends, place)]
        if not ends:
            return False
    return True


def _follows(text: str, wording: Wording, ends: list[tuple[int, int]], place: tuple[int, int, int, int]) -> bool:
    first, latest, _, _ = place
    at = bisect_right(ends, (latest, len(text))) - 1
    if at < 0:
        return False
    end = min(ends[at][1], latest)
    start = max(first, end)
    return start - end <= wording.most and wording.never not in text[end:start]
