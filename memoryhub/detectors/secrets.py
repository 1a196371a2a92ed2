"""Keys, tokens, passwords and connection strings: what must not become memory, nor be stored anywhere on the way.

Three looks, from sure to careful: formats that providers gave their keys (`secret_formats`), values given to a name such
as `password` or `api_key`, and random strings on a line that speaks of a secret. Whatever stands for a secret
(`<token>`, `${TOKEN}`, `your-key-here`, `xxxx`) is none.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .finding import Finding, Lines
from .known import Known
from .scanning import lowered, once, places
from .secret_formats import formats

CODE = "secrets"
MARK = "[secret removed: {kind}]"

Hit = tuple[int, int, str]

_STRONG = r"pass(?:word|wd|phrase|code)s?|pwd|pass|secret|token|api[ _-]?key|apikey|credential|private[ _-]?key"
_NAMES = re.compile(
    rf"{_STRONG}|(?:access|auth|secret|signing|encryption|license|master|account|session|webhook|service|storage|deploy|admin|"
    r"client|shared|app|hmac|root|db|database)[ _-]?key|bearer|creds|signature|cookie|\bpin\b|connection string|\bdsn\b|\blogin\b|\bsalt\b|\bpw\b|\blog\s?in\b|\bwifi\b"
)
_ROOTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "bearer",
    "signature",
    "cookie",
    "pin",
    "connection string",
    "dsn",
    "login",
    "salt",
)
_PASSWORDS = ("pass", "pwd", "pw", "pin", "cred", "login", "log in", "wifi")
_GIVEN = re.compile(
    r"[\w-]{0,24}[\"'`*\])]{0,4}(?:[ \t]+(?:for|of|to|on|in|at)[ \t]+(?:the[ \t]+)?[\w./@-]{2,30}(?:[ \t]+[\w./@-]{2,20}){0,2})?"
    r"[ \t]{0,3}(?P<sep>=>|:=|==?|:|->|→|\||\bis(?:[ \t]+(?:now|set[ \t]+to|changed[ \t]+to|currently))?:?|\bwas(?:[ \t]+(?:changed|set|reset)[ \t]+to)?\b|,)[ \t]{0,8}(?:\n[ \t]{0,8}(?=\S+[ \t]*(?:\n|$)))?"
    r"(?P<open>\*\*|[\"'`]{1,3}|)(?P<value>[^\s\"'`|]{4,512})"
)
_SPACE = re.compile(r"\s")
_NAMES_IN_WORD = 40  # `password=password=password=…` without end: each value reaches over the next sixty names
_BARE = re.compile(r"[ \t]+(?P<open>[\"'`]|)(?P<value>[^\s\"'`|]{6,200})")
_TOKEN = re.compile(r"[A-Za-z0-9+/_\-=.~]{16,256}")
_HASHES = re.compile(
    r"\b(?:sha\d*|md5|hash(?:es)?|commit|digest|checksum|revision|integrity|etag|fingerprint|blob|uuid)\b|sha\d{3}-|data:",
    re.I,
)

_PLACEHOLDER = re.compile(
    r"^[<{\[$%(]|\$\{|\{\{|\$\(|<[a-z]|\(\)|^\w+\(|\.\.\.|…|\*\*\*|xxx|your|example|placeholder|change.?me|dummy|redacted|removed|replace|"
    r"insert|foobar|^test|^fake|^sample|^mock|env[.\[(]|environ|getenv|process\.|config[.\[]|settings\.|secrets?[.\[]|vault:|op://|"
    r"^(?:\w+\.)+\w+$|^(?:https?|file)://|^--?[a-z]|[\w)]\(|^[./~]+[\w/.-]*$|^@|^[a-z]+://\w+$|->|=>|::|\\[wdsbn]|^\^|[{}<>]",
    re.I,
)
_ALGORITHMS = re.compile(
    r"^(?:sha|md|aes|hs|rs|es|ps|ed|p|x|argon|bcrypt|scrypt|oauth|base|utf|uuid|pbkdf|rfc|int|uint|float|pkcs|ipv|http|v|s|k|ec|node|py(?:thon)?|"
    r"part|step|phase|level|type|item|user|option|min|max|len|length|size|line|page|bearer|basic)[-_]?\d[\w.-]{0,8}$",
    re.I,
)
_COMMON = frozenset(
    [
        "password",
        "passwords",
        "passwd",
        "secret",
        "secrets",
        "token",
        "tokens",
        "string",
        "str",
        "null",
        "none",
        "true",
        "false",
        "undefined",
        "required",
        "optional",
        "bearer",
        "basic",
        "hidden",
        "value",
        "key",
        "keys",
        "text",
        "bytes",
        "bool",
        "any",
        "unknown",
        "empty",
        "invalid",
        "expired",
        "missing",
        "admin",
        "root",
        "user",
        "username",
        "postgres",
        "redis",
        "mysql",
    ]
)
_WORDY = re.compile(r"^[A-Za-z]+(?:[-_./][A-Za-z]+)*$")
_IDENTIFIER = re.compile(r"^[A-Za-z]{2,}(?:[-_.]?[A-Za-z]{2,})*[-_.]?\d{1,2}$")


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


def hits(text: str, words: str = "") -> list[Hit]:
    """Start, end and kind of each secret, without overlaps; where two looks agree, the surer one names it."""
    if not text:
        return []
    words = words or once(text)
    kept: list[Hit] = []  # in order, so that a text full of secrets is not compared each with each
    for hit in [*formats(text, words), *_named(text, words)]:
        at = bisect_left(kept, hit)
        is_free_before = at == 0 or kept[at - 1][1] <= hit[0]
        if is_free_before and (at == len(kept) or hit[1] <= kept[at][0]):
            kept.insert(at, hit)
    return kept


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
            value = bare["value"].rstrip(".,;:)]*\\")
            if _looks_random(value) or (name != "pass" and not name.startswith("bearer") and _clever(value)):
                yield bare.start("value"), bare.start("value") + len(value), _kind(name)
        return
    value = match["value"].rstrip(".,;:)]*\\")
    quoted = bool(match["open"])
    judge = _is_password if name.startswith(_PASSWORDS) else _is_key
    if (match["sep"] != "," or quoted) and judge(value, quoted):
        yield match.start("value"), match.start("value") + len(value), _kind(name)


def _kind(name: str) -> str:
    if name.startswith(("pass", "pwd", "cred", "login", "pin")):
        return "password"
    return {"bearer": "token", "cookie": "session cookie", "dsn": "connection string"}.get(
        name, name.replace("_", " ").replace("-", " ")
    )


def _random_on_line(text: str, start: int, end: int) -> Iterator[Hit]:
    for match in _TOKEN.finditer(text, start, end):
        value = match.group().strip("=.-/")
        if _looks_random(value) and not _in_link(text, match.start()):
            if _HASHES.search(text, start, end):  # asked last: few lines hold anything random
                return
            at = match.start() + match.group().index(value)
            yield at, at + len(value), "random string beside a name for secrets"


def _in_link(text: str, at: int) -> bool:
    word = max(text.rfind(space, 0, at) for space in " \t\n(<\"'`")
    return "://" in text[word + 1 : at + 12]


def _entropy(value: str) -> float:
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _stands_for_one(value: str) -> bool:
    """A placeholder, a variable, a call, a type: something that names a secret and is none."""
    low = value.lower()
    return low in _COMMON or bool(_PLACEHOLDER.search(value)) or len(set(low)) <= 2 or bool(_ALGORITHMS.match(value))


def _clever(value: str) -> bool:
    """Letters with digits or signs in a way that names of things do not have."""
    letters = any(char.isalpha() for char in value)
    digits = sum(char.isdigit() for char in value)
    signs = any(char in "!@#$%^&*+?~" for char in value)
    if _stands_for_one(value) or not letters:
        return False
    return (signs and (digits > 0 or len(value) >= 8)) or (digits > 0 and len(value) >= 6)


def _is_password(value: str, quoted: bool) -> bool:
    if len(value) < 5 or _stands_for_one(value) or value.endswith("("):
        return False
    if _WORDY.match(value):
        named = any(
            word in value.lower()
            for word in ("pass", "secret", "token", "key", "cred", "field", "input", "reset", "login")
        )
        return quoted and len(value) >= 12 and "." not in value and "/" not in value and not named and not _camel(value)
    if value.isdigit():
        return len(value) >= 6
    return _clever(value)


def _camel(value: str) -> bool:
    return bool(re.match(r"^[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)+$", value))


def _is_key(value: str, quoted: bool) -> bool:
    if len(value) < 8 or _stands_for_one(value) or _WORDY.match(value) or _IDENTIFIER.match(value):
        return False
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if not letters or not digits:
        return False
    return _looks_random(value) or (
        digits >= 2 and len(value) >= 10 and _entropy(value) >= 2.9 and _breaks(value) >= 0.2
    )


def _breaks(value: str) -> float:
    """How often the kind of sign changes: words and numbers seldom, random strings often."""
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "s" for char in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes / max(1, len(value) - 1)


_HEX = re.compile(r"^[0-9a-fA-F]{24,128}$")
_UUID = re.compile(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


_SYLLABLES = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_SLUG = re.compile(r"^[a-z0-9]+(?:[-_.][a-z0-9]+)+$")


def _wordlike(value: str) -> bool:
    """Names of things: mostly words, in CamelCase or between hyphens, with a number here and there."""
    spelled = sum(len(one) for one in _SYLLABLES.findall(value) if any(char in "aeiouyAEIOUY" for char in one))
    if spelled > 0.6 * len(value):
        return True
    return bool(_SLUG.match(value)) and all(part.isalpha() or len(part) <= 3 for part in re.split("[-_.]", value))


def _looks_random(value: str) -> bool:
    if len(value) < 16 or _stands_for_one(value) or _WORDY.match(value):
        return False
    if _wordlike(value):
        return False
    digits = sum(map(str.isdigit, value))
    if _HEX.match(value):
        return digits >= 4 and digits < len(value) and _entropy(value) >= 2.8
    if _UUID.match(value):
        return False
    if any(word in value for word in ("--", "__", "/-", "./")) or value.count("/") > 3:
        return False
    longest = max(map(len, re.findall(r"[a-z]+|[A-Z]+|\d+", value)), default=0)
    return digits >= 2 and _entropy(value) >= 3.3 and _breaks(value) >= 0.28 and longest <= 8
