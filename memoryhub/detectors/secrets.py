"""Keys, tokens, passwords and connection strings: what must not become memory, nor be stored anywhere on the way.

Three looks, from sure to careful: formats that providers gave their keys (`secret_formats`), values given to a name such
as `password` or `api_key`, and random strings on a line that speaks of a secret. Whatever stands for a secret
(`<token>`, `${TOKEN}`, `your-key-here`, `xxxx`) is none.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from .finding import Finding, Lines
from .known import Known
from .scanning import lowered, once, places
from .secret_formats import formats
from .secret_values import (
    COUNTS,
    HYPHENED,
    NAMES_ITSELF,
    NUMBER_OF_A_KEY,
    SLUG,
    WORDY,
    is_clever,
    is_key,
    is_password,
    is_random_beside,
    looks_random,
)

CODE = "secrets"
RANDOM = "random string beside a name for secrets"
MARK = "[secret removed: {kind}]"

Hit = tuple[int, int, str]

_STRONG = r"pass(?:word|wd|phrase|code)s?|pwd|pass(?!through|ed\b|es\b|ing\b|age|eng|iv|port|ion)|secret|api[ _-]?token|token|api[ _-]?key|apikey|credential|private[ _-]?key"
_NAMES = re.compile(
    rf"(?<!by)(?<!com)(?<!sur)(?:{_STRONG})|(?:access|auth|secret|signing|encryption|license|master|account|session|webhook|service|storage|deploy|admin|"
    r"client|shared|app|hmac|root|db|database)[ _-]?key|bearer|creds|cookie|\bpin\b|connection string|\bdsn\b|\blogin\b|\bsalt\b|\bpw\b|\blog\s?in\b|\bwifi\b"
)
_ROOTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "bearer",
    "cookie",
    "pin",
    "connection string",
    "dsn",
    "login",
    "salt",
)
_NO_SECRETS = frozenset(
    [
        "public",
        "primary",
        "foreign",
        "cache",
        "partition",
        "sort",
        "object",
        "idempotency",
        "unique",
        "composite",
        "natural",
        "surrogate",
        "index",
        "lookup",
        "hash",
        "row",
        "column",
        "map",
        "dict",
        "json",
        "query",
        "file",
        "message",
        "event",
        "entity",
        "group",
        "react",
        "list",
        "item",
        "config",
        "registry",
        "redis",
        "i18n",
        "locale",
        "translation",
        "prop",
    ]
)
"""Keys that open nothing."""
_NAME_BEFORE = re.compile(r"(?:([a-z0-9]+)[_-]?)?$")
_PASSWORDS = ("pass", "pwd", "pw", "pin", "cred", "login", "log in", "wifi")
_GIVEN = re.compile(
    r"[\w-]{0,24}[\"'`*\])]{0,4}(?:[ \t]+(?:for|of|to|on|in|at)[ \t]+(?:the[ \t]+)?[\w./@-]{2,30}(?:[ \t]+[\w./@-]{2,20}){0,2})?"
    r"[ \t]{0,3}(?P<sep>=>|:=|==?|:|->|→|\||\bis(?:[ \t]+(?:now|set[ \t]+to|changed[ \t]+to|currently))?:?|\bwas(?:[ \t]+(?:changed|set|reset)[ \t]+to)?\b|,)[ \t]{0,8}(?:\n[ \t]{0,8}(?=\S+[ \t]*(?:\n|$)))?"
    r"(?P<open>\*\*|[\"'`]{1,3}|)(?P<value>[^\s\"'`|]{4,512})"
)
_SPACE = re.compile(r"\s")
_NAMES_IN_WORD = 40  # `password=password=password=…` without end: each value reaches over the next sixty names
_KEYS_IN_VALUE = 4  # `key:key:key:…`: the same
_BARE = re.compile(r"[ \t]+(?P<open>[\"'`]|)(?P<value>[^\s\"'`|]{6,200})")
_IMAGE = re.compile(
    r"[a-z][a-z0-9./-]+:\d[\w.-]*$"
)  # `neo4j:5-community` after a password is the next word of a command
_TOKEN = re.compile(r"[A-Za-z0-9+/_\-=.~]{16,256}")
_HASHES = re.compile(
    r"\b(?:sha\d*|md5|hash(?:es)?|commit|digest|checksum|revision|integrity|etag|fingerprint|blob|uuid)\b|sha\d{3}-|data:",
    re.I,
)


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """Every secret with its kind and line; the message never holds the secret."""
    return [_finding(lines, *hit) for hit in hits(text, lines.words)]


def redact(text: str) -> tuple[str, list[Finding]]:
    """The text with every secret replaced by a mark that names its kind, and what was found where in the text as sent."""
    found = find(text, Lines(text))
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], MARK.format(kind=one.kind)]
        at = one.end
    return "".join([*parts, text[at:]]), found


_ENDING = re.compile(r"\.[A-Za-z]\w{0,4}$")


def in_name(name: str) -> str:
    """The kind of a secret in a name (of a file, a thread, a call), or nothing; names are often random themselves."""
    bare = "\n".join(_ENDING.sub("", part) for part in name.split("/"))
    return next((kind for _, _, kind in [*hits(name), *hits(bare)] if kind != RANDOM), "")


def hits(text: str, words: str = "") -> list[Hit]:
    """Start, end and kind of each secret, without overlaps; where two looks agree, the surer one names it."""
    if not text:
        return []
    if not text.isascii() and _UNSEEN.search(text):
        return _hits_unseen(text)
    words = words or once(text)
    kept: list[Hit] = []  # in order, so that a text full of secrets is not compared each with each
    for hit in [*formats(text, words), *_named(text, words), *_keys(text, words), *_wrapped(text, words)]:
        at = bisect_left(kept, hit)
        is_free_before = at == 0 or kept[at - 1][1] <= hit[0]
        if is_free_before and (at == len(kept) or hit[1] <= kept[at][0]):
            kept.insert(at, hit)
    return kept


_UNSEEN = re.compile(
    r"(?<=[\w+/=.-])[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+(?=[\w+/=.-])"
)


def _hits_unseen(text: str) -> list[Hit]:
    """The same where characters that nobody sees stand inside of words: they are looked past."""
    places: list[int] = []
    at = 0
    for match in _UNSEEN.finditer(text):
        places += range(at, match.start())
        at = match.end()
    places += range(at, len(text))
    return [(places[start], places[end - 1] + 1, kind) for start, end, kind in hits(_UNSEEN.sub("", text))]


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{28,8000}={0,2}")


def _wrapped(text: str, words: str) -> Iterator[Hit]:
    """Base64 of something that holds a secret; all of it is put together, so that one look is enough."""
    runs = [run for word in words.split("\n") if len(word) >= 28 for run in _BASE64.findall(word)]
    unwrapped = [(run, plain) for run in dict.fromkeys(runs) if (plain := _plain(run))]
    starts, at = [], 0
    for _, plain in unwrapped:
        starts.append(at)
        at += len(plain) + 1
    whole = "\n".join(plain for _, plain in unwrapped)
    if not whole:
        return
    inside = once(whole)
    found = {
        unwrapped[bisect_right(starts, start) - 1][0]: kind
        for start, _, kind in sorted({*formats(whole, inside), *_named(whole, inside)}, reverse=True)
    }
    for run, kind in found.items():
        at = text.find(run)
        while at >= 0:
            yield at, at + len(run), f"{kind} in base64"
            at = text.find(run, at + len(run))


def _plain(run: str) -> str:
    """What the base64 says, if it says something that can be read."""
    try:
        plain = base64.b64decode(
            run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4), altchars=b"-_" if "-" in run or "_" in run else None
        )
        said = plain.decode("ascii")
    except ValueError:
        return ""
    return said if said.replace("\n", "").replace("\t", "").isprintable() else ""


def _finding(lines: Lines, start: int, end: int, kind: str) -> Finding:
    number = lines.number(start)
    message = f"A secret ({kind}) in line {number}. Secrets do not belong in memory: keep it in a vault and write its name here."
    return Finding(CODE, "high", start, end, number, message, kind)


def _named(text: str, words: str) -> Iterator[Hit]:
    """Values given to a telling name, then random strings elsewhere on such a line."""
    lower = lowered(text)
    lines = Lines(text)
    word_end = line_end = in_word = 0
    for match in _names(lower, lowered(words)):
        in_word += 1
        if match.start() >= word_end:
            space = _SPACE.search(text, match.start())
            word_end, in_word = space.start() if space else len(text), 0
        if in_word < _NAMES_IN_WORD:
            yield from _given(text, match.end(), match.group())
        if match.start() >= line_end:
            start, line_end = lines.around(match.start())
            yield from _random_on_line(text, start, min(line_end, start + 4000))


def _keys(text: str, words: str) -> Iterator[Hit]:
    """Random values of anything called a key: `SHOP_KEY=`, `"mapKey":`, `?key=`."""
    lower = lowered(text)
    done = reach = in_value = 0
    for at in places(lower, ["key"], lowered(words)):
        in_value = in_value + 1 if at < reach else 0
        if in_value > _KEYS_IN_VALUE:
            continue
        of = _NAME_BEFORE.search(lower, max(0, at - 24), at)
        match = _GIVEN.match(text, at + 3) if at >= done and lower[at + 3 : at + 5] != "bo" else None
        if not match or not of or of[1] in _NO_SECRETS or match["sep"] not in (":", "=", "=>", ":="):
            continue
        value = match["value"].rstrip(".,;:)]}*\\").partition("&")[0]
        reach = max(reach, match.start("value") + len(value)) if not in_value else reach
        line = text.rfind("\n", max(0, at - 200), at) + 1
        if (of[1] or len(value) >= 24) and looks_random(value) and not _HASHES.search(text, max(line, at - 60), at):
            done = match.end()
            yield match.start("value"), match.start("value") + len(value), "key"


def _names(lower: str, words: str) -> list[re.Match[str]]:
    """The telling names in order; each is looked for only where its rarest part stands."""
    found = {}
    for at in places(lower, _ROOTS, words):
        match = _NAMES.search(lower, max(0, at - 14), at + 20)
        while match:
            found[match.start()] = match
            match = _NAMES.search(lower, match.end(), at + 20) if match.end() < at else None
    return [found[at] for at in sorted(found)]


def _given(text: str, at: int, name: str) -> Iterator[Hit]:
    match = _GIVEN.match(text, at)
    if match is None:
        if name.startswith(("pass", "pwd", "bearer", "pin")) and (bare := _BARE.match(text, at)):
            value = bare["value"].rstrip(".,;:)]*\\!?")
            if _IMAGE.match(value):
                return
            if looks_random(value) or (
                name != "pass"
                and not name.startswith(("bearer", "pin"))
                and is_clever(value)
                and not HYPHENED.match(value)
            ):
                yield bare.start("value"), bare.start("value") + len(value), _kind(name)
        return
    value = match["value"].rstrip(".,;:)]*\\")
    quoted = bool(match["open"])
    judge = is_password if name.startswith(_PASSWORDS) else is_key
    if match["sep"] == ",":
        judge = is_random_beside
    elif match["sep"] == "|" and "|" not in text[max(text.rfind("\n", max(0, at - 400), at), 0) : at]:
        return  # no table, but one command that feeds another
    if (
        (name == "login" and "=" in value)
        or (name == "pass" and "/" in value)
        or (name == "pin" and not value.isdigit())
    ):
        return
    if name in ("pass", "login") and (SLUG.match(value) or WORDY.match(value)):
        return  # `PASS: spec-1`, `login: user-name`
    is_number = quoted and name.startswith(("api", "secret")) and NUMBER_OF_A_KEY.match(value)
    if (
        (is_number or judge(value, quoted))
        and not _is_example(text, match, value)
        and not (name == "login" and "@" in value)
    ):
        yield match.start("value"), match.start("value") + len(value), _kind(name)


_GOES_ON = re.compile(r"[\"'`]?(?:\.\.\.|…)")


def _is_example(text: str, match: re.Match[str], value: str) -> bool:
    """`password: "SecurePass123!"` in code shows how to call something; it opens no door."""
    if match["value"].endswith(("...", "…")) or _GOES_ON.match(text, match.end("value")):
        return True
    if not NAMES_ITSELF.match(value):
        return bool(COUNTS.search(value))
    if match["open"] in ("'", '"') and text[match.end("value") : match.end("value") + 1] == match["open"]:
        return True
    before = text[max(0, match.start() - 2000) : match.start()]
    return before.count("```") % 2 == 1


def _kind(name: str) -> str:
    if name.startswith(("pass", "pwd", "cred", "login", "pin")):
        return "password"
    return {"bearer": "token", "cookie": "session cookie", "dsn": "connection string"}.get(
        name, name.replace("_", " ").replace("-", " ")
    )


def _random_on_line(text: str, start: int, end: int) -> Iterator[Hit]:
    for match in _TOKEN.finditer(text, start, end):
        value = match.group().rstrip("=.-/").rpartition("=")[2].strip("=.-/")
        if (
            looks_random(value)
            and not _in_link(text, match.start())
            and not _OTHER_NAME.search(text, max(start, match.start() - 40), match.start())
        ):
            if _HASHES.search(text, start, end):  # asked last: few lines hold anything random
                return
            at = match.start() + match.group().rindex(value)
            yield at, at + len(value), RANDOM


_OTHER_NAME = re.compile(
    r"\b(?:id|uuid|guid|serial|device|commit|sha\d*|version|model|address|contract|name|file|path|url|image|colou?r|network|chain)[\"'`*]{0,3}\s?[:=]\s?[\"'`*]{0,3}$",
    re.I,
)
"""What such a string is called instead, on a line that also speaks of a secret."""


def _in_link(text: str, at: int) -> bool:
    word = max(text.rfind(space, 0, at) for space in " \t\n(<\"'`")
    return "://" in text[word + 1 : at + 12]
