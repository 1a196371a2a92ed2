"""Whether a value is a key, a password or a random string, or only stands in the place of one.

Words and names of things can be pronounced; random strings cannot, and change between letters, digits and cases at every step.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from itertools import pairwise

from ..cjk import CJK
from ..patterns import bounded, linear, plain

_PLACEHOLDER = linear(
    r"^[<{\[$%(«‹⟨【]|^HTTP/|^CVE-|\$\{|\{\{|\$\(|<[a-z]|\(\)|^\w+\(|\.\.\.|…|\*\*\*|xxx|your|example|placeholder|change.?me|dummy|redacted|removed|replace|"
    r"insert|foobar|^test|^fake|^sample|^mock|env[.\[(]|environ|getenv|process\.|config[.\[]|settings\.|secrets?[.\[]|vault:|op://|"
    r"^(?:\w+\.)+\w+$|^(?:https?|file)://|^--?[a-z]|[\w)]\(|\]\?|\bsys\.|\w\[\d|^\d{1,4}-[a-z]+$|^[./~]+[\w/.-]*$|^@|^[a-z]+://\w+$|->|=>|::|\\[wdsbn]|^\^|[{}<>]|"
    r"^[\w./-]{1,80}\.[a-z]{1,5}:\d+(?:-\d+)?$|^[a-z]{2}-[a-z]+-\d:|^arn:aws[a-z-]*:|^sk_test_\d{1,8}$|^[a-z][a-z0-9]*(?:_[a-z0-9]+)*_(?:key|token|secret|password|passwd|pat)$|^[\w.+-]+@[\w-]+(?:\.[a-z]+)+$|^[\w.-]+@\d+(?:\.\d+){3}$|^[A-Z][A-Z0-9_]*=|^0x[0-9a-f]{40}$|abc-def1234ghikl|^[\w./-]{1,80}\.(?:mdx?|txt|tsx?|jsx?|py|go|rs|json|ya?ml|toml|sh|html)$|^\w+!\(|^[a-z]+-20\d\d-\d\d-\d\d$|\]\(https?:|^[a-z]=|^\*{1,2}[a-z]+\*{0,2}$|^[a-z]+\d?(?:/[a-z]+\d?)+$|://(?:user(?:name)?|usr):(?:pass(?:word)?|pwd|secret)@",
    "i",
)
PLACEHOLDER_IN_KEY = bounded(
    r"^[a-z_]{2,20}=\w|(?i:^(?:in)?valid-|^fake-|^dummy-)|^(?:[a-z]{2,12}-){1,5}\d{1,6}$|^[a-z]+\d?(?:_[a-z]+)+$|^[A-Z]+(?:_[A-Z]+)+$|(?i:^[a-z_-]{0,40}(?:password|passwd|secret|token|key)$)|^\[|^env\.|\^|^[a-z]+(?:-[a-z]+)+$|^(?:v\d-)?[a-z]+\d?(?:-[a-z]+\d?)+$|^[xX*.•0_-]+$|x{6,}|X{6,}|FAKE|DO[_-]NOT[_-]USE|ABC-DEF1234ghIkl|\*{3,}|(?<![A-Za-z0-9])your|YOUR|abc_?123|example|placeholder|<|\.\.\.|\$\{|^\$|^%|\{"
)
"""What stands for a key in its own place: `sk-your-key-here`, `ghp_xxxx`."""
_ALGORITHMS = linear(
    r"^(?:sha|md|cl|aes|hs|rs|es|ps|ed|p|x|argon|x?salsa|x?chacha|poly|curve|blake|secp|bcrypt|scrypt|oauth|base|utf|uuid|pbkdf|rfc|int|uint|float|pkcs|ipv|http|v|s|k|ec|node|py(?:thon)?|"
    r"part|step|phase|level|type|item|user|option|min|max|len|length|size|line|page|bearer|basic)[-_]?\d[\w.-]{0,16}$",
    "i",
)
_COMMON = frozenset([
    "password", "passwords", "passwd", "secret", "secrets", "token", "tokens", "string", "str", "null", "none", "true",
    "false", "undefined", "required", "optional", "bearer", "basic", "hidden", "value", "key", "keys", "text", "bytes", "bool",
    "any", "unknown", "empty", "invalid", "expired", "missing", "admin", "root", "user", "username", "postgres", "redis",
    "mysql", "hunter2",
])  # fmt: skip
SELF_DESCRIBING = linear(
    r"^[\W_]*(?:my|a|the|new|old|some|test|demo|user|admin|app|very|super|secure|strong|safe|good|bad|weak|wrong|your|db|root|dummy|sample|local|dev|jwt|auth|review|not|[\W_])*"
    r"(?:pass(?:word|wd|phrase|code)?|pwd|p[a@][s$]{2}w[o0]rd|secret|token|key)(?:[\W_]|pass|word|secret|key|token|here|confirm|hash|value)*\d{0,6}[\W_]*$",
    "i",
)
"""A value that says what it is, with a number at its end."""
TEST_VALUE = linear(
    r"abc_?123|123_?abc|^(?:wrong|invalid|incorrect|bad|test|sample|fake|dummy)[\w!@#$-]{0,6}(?:pass(?:word)?|pwd)[\w!@#$-]{0,8}$|^(?:test|demo|foo|bar|session|example)[\w.=!-]*$|^[A-Z]{2,8}_?123$",
    "i",
)
HYPHENED = linear(r"^[A-Za-z][A-Za-z0-9]*(?:[-+.][A-Za-z0-9]+)+$")
WORDS = linear(r"^[A-Za-z]+(?:[-_./][A-Za-z]+)*$")
_FIELD_WORDS = ("pass", "secret", "token", "key", "cred", "field", "input", "reset", "login")
_CAMEL_CASE = linear(r"^(?:[A-Za-z]?[a-z]+|[A-Z]{1,6}[a-z]{2,})(?:[A-Z][a-z]+)+$")
_SNAKE_CASE = linear(r"^[a-z]{2,}(?:_[a-z]{2,})+$")
_IDENTIFIER = linear(r"^[A-Za-z]{2,}(?:[-_.]?[A-Za-z]{2,})*[-_.]?\d{1,2}$")
KEY_OF_DIGITS = bounded(r"(?!(\d)\1+$)\d{14,40}$")
_WORDS_AND_NUMBER = linear(r"[a-z]{2,12}(?:[-_][a-z]{2,12}){0,8}[-_]?\d{0,5}$")
_SECRET_WORD = linear(r"(?:^|[-_])(?:pass(?:word|wd)?|secret|token|key)(?:[-_]|\d|$)")
"""Words and a number, one of them what it is: `valid-token-123`."""
_PART = linear(r"(?:[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|[A-Z]+)\d{0,2}$|[a-z]\d{3}$|\d{1,3}$")
_SERIES = linear(r"abc_?123|123_?abc|abcdef|1a2b3c|a1b2c3|def_?456|xyz_?789|12345678|deadbeef", "i")
"""Series that stand in the keys of examples; a long key may hold one by chance."""
_HEX = linear(r"^[0-9a-fA-F]{24,128}$")
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_UUID = linear(f"^{UUID}$", "i")
_BASE64 = linear(r"^[A-Za-z0-9+/]+={0,2}$")
_CONTENT_ADDRESS = linear(r"^(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{56})$")
"""What names a text by its hash, in IPFS."""
_PATH = linear(r"^[A-Za-z][\w.-]{1,40}(?:/[A-Za-z][\w.-]{1,40})+$|^[\w.-]+(?:/[\w.-]+)+\.[a-z]\w{0,4}$")
"""`vendor/model-7b-v2`, `o200k_base/cl100k_base`: parts that begin with a letter, none of them long."""
_SCALE = linear(r"^[a-z]+(?:-[a-z]+)*-\d{1,4}(?:/\d{1,3})?$|^[A-Za-z]{1,12}(?:[-/_.]\d{1,5})+$")
"""`bg-yellow-500/10`: a step on a scale; `ERC-20/721/1155`: numbers of standards."""
_NUMBER = linear(r"^[\d_.,-]+$")
_UNSPELLABLE = bounded(r"[bcdfghjklmnpqrstvwxz]{5,}|q(?!u)|[jqvxz][bcdfgjkmpqvwxz]|[bcdfgkmpqvw]x[bcdfg]", "i")
_SYLLABLES = plain(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_NUMBERED = linear(r"(?:[a-z]+\d{0,4}|[A-Z]+\d{0,2}|\d+[a-z]?)$")
_JOINTS = plain("[-_.+]")
_KINDS_OF_SIGN = plain(r"[a-z]+|[A-Z]+|\d+")
SLUG = linear(r"^[A-Za-z0-9]+(?:[-_.+][A-Za-z0-9]+)+$")


def is_random_in_list(value: str, quoted: bool) -> bool:
    """After a comma stands the next of a list more often than what the name is given."""
    return quoted and (
        looks_random(value) or (mixes_signs(value) and not _is_word_like(value) and not HYPHENED.match(value))
    )


def _entropy(value: str) -> float:
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _is_placeholder(value: str) -> bool:
    """A placeholder, a variable, a call, a type: something that names a secret and is none."""
    low = value.strip("*_").lower()
    if CJK.search(low):
        return True  # a sentence in a script without blanks
    if _WORDS_AND_NUMBER.match(low) and _SECRET_WORD.search(low):
        return True
    if low in _COMMON or bool(_PLACEHOLDER.search(value)) or len(set(low)) <= 2 or bool(_ALGORITHMS.match(value)):
        return True
    return _mostly_one_sign(value) or bool(_CONTENT_ADDRESS.match(value)) or _is_placeholder_in_base64(value)


def _mostly_one_sign(value: str) -> bool:
    """`1x0000000000000000AA`: a form is shown, with nothing in it."""
    return len(value) >= 16 and max(Counter(value).values()) > 0.6 * len(value)


def _is_placeholder_in_base64(value: str) -> bool:
    """A manifest's `cGFzc3dvcmQxMjM=` says `password123`."""
    value += "=" * (-len(value) % 4)
    if not 8 <= len(value) <= 64 or not _BASE64.match(value):
        return False
    try:
        inside = base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        return False
    return inside.isprintable() and bool(SELF_DESCRIBING.match(inside) or TEST_VALUE.search(inside))


def mixes_cases(value: str) -> bool:
    """Small and large letters and digits: what encodes bytes."""
    return any(map(str.isdigit, value)) and any(map(str.isupper, value)) and any(map(str.islower, value))


def mixes_signs(value: str) -> bool:
    """Letters with digits or signs in a way that names of things do not have."""
    has_digits = any(map(str.isdigit, value))
    has_signs = any(char in "!@#$%^&*+?~" for char in value)
    if _is_placeholder(value) or not any(map(str.isalpha, value)):
        return False
    return (has_signs and (has_digits or len(value) >= 8)) or (has_digits and len(value) >= 6)


def is_password(value: str, quoted: bool) -> bool:
    if len(value) < 5 or _is_placeholder(value) or value.endswith("("):
        return False
    if WORDS.match(value):
        return _is_password_of_letters(value, quoted)
    if value.isdigit():
        return len(value) >= 6
    return mixes_signs(value)


def _is_password_of_letters(value: str, quoted: bool) -> bool:
    if any(word in value.lower() for word in _FIELD_WORDS) or _CAMEL_CASE.match(value) or _SNAKE_CASE.match(value):
        return False
    if quoted and len(value) >= 12 and "." not in value and "/" not in value:
        return True
    if len(value) < 8 or not value.isalpha() or value.isupper() or value.islower():
        return False
    return _pronounceable(value) < 0.5 * len(value) or (len(value) >= 10 and _switch_rate(value) >= 0.33)


def _is_name(value: str) -> bool:
    """Words with versions: `MiniMax-M2.7`."""
    return bool(SLUG.match(value)) and _pronounceable(value) >= 4 and all(map(_PART.match, _JOINTS.split(value)))


def _is_series(value: str) -> bool:
    return len(value) < 24 and bool(_SERIES.search(value))


def is_key(value: str, quoted: bool) -> bool:
    if len(value) < 8 or _is_placeholder(value) or (WORDS.match(value) and not value.isalpha()):
        return False
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if not letters or _is_name(value) or (value.islower() and value.count("/") > 1 and _PATH.match(value)):
        return False
    if _is_random_letters(value, digits):
        return True
    if not digits or _IDENTIFIER.match(value):
        return False
    if looks_random(value):
        return True
    is_random = len(value) >= 16 and value.isalnum() and _pronounceable(value) < 0.5 * len(value)
    if is_random and digits and len(value) >= 20:
        return True
    return digits >= 2 and len(value) >= 10 and _entropy(value) >= 2.9 and (_switch_rate(value) >= 0.2 or is_random)


def _is_random_letters(value: str, digits: int) -> bool:
    """Random letters with few digits or none: large and small in turns, and nothing that one could pronounce."""
    is_mixed = not value.isupper() and not value.islower()
    if len(value) < 12 or not value.isalnum() or _is_series(value) or not (is_mixed or digits):
        return False
    return _pronounceable(value) < 0.4 * len(value) and _switch_rate(value) >= (0.33 if is_mixed else 0.12)


def _switch_rate(value: str) -> float:
    """How often the kind of sign changes: words and numbers seldom, random strings often."""
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "s" for char in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes / max(1, len(value) - 1)


def _is_word_like(value: str) -> bool:
    """Names of things: mostly words, in CamelCase or between hyphens, with a number here and there."""
    if _pronounceable(value) > 0.6 * len(value):
        return True
    return bool(SLUG.match(value)) and all(len(part) <= 4 or _NUMBERED.match(part) for part in _JOINTS.split(value))


def _pronounceable(value: str) -> int:
    """How many letters stand in something that one could pronounce."""
    parts = _SYLLABLES.findall(value)
    return sum(len(one) for one in parts if any(c in "aeiouyAEIOUY" for c in one) and not _UNSPELLABLE.search(one))


def is_random_word(value: str) -> bool:
    """Letters and digits, mixed as no name of a thing has them; for values that nothing but a telling word announces."""
    if len(value) < 16 or _is_placeholder(value) or _is_series(value) or value.startswith("0x"):
        return False
    if _PATH.match(value) or _SCALE.match(value):
        return False
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if digits < 3 or letters < 3 or any(word in value for word in ("--", "__", "/-", "./", "..")):
        return False
    if _HEX.match(value):
        return _entropy(value) >= 2.8
    if value.count("/") > 3 or (SLUG.match(value) and all(map(_PART.match, _JOINTS.split(value)))):
        return False
    if value.isalnum() and len(value) >= 24 and digits >= 4 and not TEST_VALUE.search(value):
        return _entropy(value) >= 3.0
    is_alike = _pronounceable(value) >= 0.5 * len(value)
    return not is_alike and _entropy(value) >= 3.2 and _switch_rate(value) >= 0.18


def is_random_letters(value: str) -> bool:
    """Letters in large and small that nobody could pronounce, and no words in CamelCase."""
    return (
        16 <= len(value) <= 128
        and not _is_placeholder(value)
        and _is_random_letters(value, sum(map(str.isdigit, value)))
    )


def is_uuid(value: str) -> bool:
    return bool(_UUID.match(value))


def looks_random(value: str) -> bool:
    if len(value) < 16 or _is_placeholder(value) or WORDS.match(value):
        return False
    if _is_word_like(value) or _is_series(value) or (value.startswith("eyJhbGciOi") and "." not in value):
        return False
    digits = sum(map(str.isdigit, value))
    if _HEX.match(value):
        return digits >= 4 and digits < len(value) and _entropy(value) >= 2.8
    if _UUID.match(value) or value.startswith("0x") or any(one.match(value) for one in (_PATH, _NUMBER, _SCALE)):
        return False
    if any(word in value for word in ("--", "__", "/-", "./", "..")) or value.count("/") > 3:
        return False
    longest = max(map(len, _KINDS_OF_SIGN.findall(value)), default=0)
    return digits >= 2 and _entropy(value) >= 3.3 and _switch_rate(value) >= 0.28 and longest <= 8
