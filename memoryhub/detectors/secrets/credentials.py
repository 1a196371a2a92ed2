"""Keys whose shape says whose they are, and credentials that stand in links, headers, commands and sentences.

The beginning of a provider's key, and the words that a kind of credential cannot do without, are looked up first, and a pattern is
tried only where one stands: a hundred formats over 100 kB cost less than one general regular expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..finding import Lines
from ..patterns import Bounded, Found, bounded, escape, plain
from ..scanning import Needles, Words, offsets_of
from .formats import KEYS, MORE_KEYS, PASSWORD_HASHES, WEBHOOKS
from .values import PLACEHOLDER_IN_KEY, UUID, mixes_cases

Hit = tuple[int, int, str]  # start, end, kind
Key = tuple[str, str, Bounded]  # kind, prefix, pattern

MAX_PIECE = 9_000
_COMPILED: list[Key] = [
    (kind, prefix, bounded(escape(prefix) + rest, reach=MAX_PIECE))
    for kind, prefixes, rest in (*KEYS, *MORE_KEYS, *PASSWORD_HASHES, *WEBHOOKS)
    for prefix in prefixes.split("|")
]
_INSIDE_WORDS = (
    ".webhook.office.com/webhookb2/",
    ".atlasv1.",
    "sig=",
    "-----BEGIN ",
    "AccountKey=",
    "SharedAccessKey=",
    "/hooks/",
    ":aad3b435b51404eeaad3b435b51404ee:",
    "::",
    *(prefix for _, prefixes, _ in WEBHOOKS for prefix in prefixes.split("|")),
)
"""Prefixes that begin a key in the middle of a word as well."""
_ORDINARY = frozenset(["sk-", "key-", "pat", "pat-", "pypi-", "secret_", "live_", "access-", "API-", "sl.", "s."])
"""Prefixes that names of things have as well: after a hyphen they begin nothing."""
_WORDS = [one for one in _COMPILED if " " in one[2].pattern or "\\s" in one[2].pattern]
_ONE_WORD = [one for one in _COMPILED if one not in _WORDS]
_IN_WORDS, _IN_ONE_WORD = (Needles(prefix for _, prefix, _ in table) for table in (_WORDS, _ONE_WORD))
_EMPTY_PRIVATE_KEY = bounded(r"X{4,}|\.\.\.|…|<|\$\{|(?<![A-Za-z0-9])your")

_MIN_WORD = 14  # characters: nearly every key is one long word, and prose has few of those
_MIN_PREFIX = 4  # letters from which a prefix is no accident
_MAX_SPLIT_KEY = 320
_NEXT_NAME = bounded(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\s?=")
"""The next line gives another variable its value."""
_FIRST_PIECE, _MAX_SEAMS = plain(r"[^\s\"'`\\]*"), 4
_SEAM = bounded(
    r"[ \t]{0,40}+\\?[ \t]{0,40}\n[ \t>*#]{0,40}|[\"'`][ \t]{0,40}(?:\+[ \t\n]{0,40}|\\[ \t]{0,40}\n[ \t]{0,40})[\"'`]"
)
# The rest of a key: after a seam that says so, or a line of nothing but such signs.
_REST = bounded(
    r"[\"'`]?[ \t]{0,40}(?:\\[ \t]{0,40}\n[ \t]{0,40}|\+[ \t\n]{0,40})[\"'`]?[A-Za-z0-9+/=_-]{4,200}|"
    r"[ \t]{0,40}\n[ \t]{0,40}(?=[A-Za-z+/=_-]{0,60}\d)(?=[\d+/=_-]{0,60}[A-Za-z])[A-Za-z0-9+/=_-]{20,200}(?=\s|$)"
)


def keys_in(words: Words) -> list[Key]:
    """The kinds of keys that can stand in a text of these distinct words."""
    long_words = Words("\n".join([word for word in words.split("\n") if len(word) >= _MIN_WORD]))
    where = words if "+" in words or "\\" in words else long_words
    return [_ONE_WORD[at] for at in _IN_ONE_WORD.within(where)] + [_WORDS[at] for at in _IN_WORDS.within(words)]


def provider_keys(text: str, keys: Iterable[Key]) -> Iterator[Hit]:
    """Every key of these kinds."""
    for kind, prefix, pattern in keys:
        at = text.find(prefix)
        joined = 0  # nothing is put together twice
        while at >= 0:
            is_inside = _is_inside_word(text, at, prefix)
            match = _match(pattern, text, at) if prefix in _INSIDE_WORDS or not is_inside else None
            if match and not _is_placeholder(kind, match.group()[len(prefix) :]):
                yield at, _end_over_seams(text, match.end()), kind
            elif match is None and at >= joined and len(prefix) >= _MIN_PREFIX and not is_inside:
                joined = at + _MAX_SPLIT_KEY
                if end := _end_of_split_key(text, at, pattern, " " in pattern.pattern or "\\s" in pattern.pattern):
                    yield at, end, kind
            at = text.find(prefix, match.end() if match else at + 1)


def _match(pattern: Bounded, text: str, at: int) -> Found | None:
    """The key that begins here, whole: of a token that fills the piece that was looked at, a longer piece is."""
    match, size = pattern.match(text, at), MAX_PIECE
    while match and match.end() == at + size < len(text):
        size *= 8
        match = pattern.match_within(text, at, at + size)
    return match


def _is_placeholder(kind: str, rest: str) -> bool:
    return bool((_EMPTY_PRIVATE_KEY if kind in ("private key", "password hash") else PLACEHOLDER_IN_KEY).search(rest))


def _is_inside_word(text: str, at: int, prefix: str) -> bool:
    """Whether a prefix stands in the middle of a word (`task-…` has `sk-`), where it begins nothing."""
    before = text[at - 1 : at]
    is_joined = before in ("_", "-") and (prefix in _ORDINARY or len(prefix) < _MIN_PREFIX)
    return bool(before) and (before.isalnum() or is_joined)


def _end_over_seams(text: str, end: int) -> int:
    """The end of a key that goes on after its shape is full."""
    for _ in range(4):
        rest = _REST.match(text, end)
        if rest is None:
            break
        end = rest.end()
    return end


def _end_of_split_key(text: str, at: int, pattern: Bounded, has_blanks: bool) -> int:
    """Where a key ends that was cut by a line's end or put together from pieces; 0 where there is none."""
    piece = text[at : at + _MAX_SPLIT_KEY]
    first = _FIRST_PIECE.match(piece)
    if first and not has_blanks and not _SEAM.match(piece, first.end()):
        return 0  # the key's first word ends, and the key with it
    seams = [match.span() for match in islice(_SEAM.finditer(piece), _MAX_SEAMS)]
    whole = piece
    for start, end in reversed(seams):
        whole = whole[:start] + whole[end:]
    match = pattern.match(whole) if seams and not _NEXT_NAME.match(text, at + seams[0][1]) else None
    if match is None or PLACEHOLDER_IN_KEY.search(match.group()):
        return 0
    length = match.end()
    for start, end in seams:
        if start < length:
            length += end - start
    return at + length


_IN_LINK = bounded(r"(?<=://)(?P<user>[^\s:/\"'`<>]{0,80}):(?P<secret>[^\s@\"'`<>]{3,200})@(?P<host>[\w.\-\[\]]+)")
_PORT = bounded(r"\d{2,5}(?:\W|$)")
_WELL_KNOWN = frozenset([
    "password", "passwd", "pass", "pwd", "secret", "postgres", "root", "admin", "user", "username", "test", "guest", "mysql",
    "redis", "rabbitmq", "mongo", "mongodb", "minio", "minioadmin", "dev", "changeme", "example", "token", "local",
    "localhost",
])  # fmt: skip
_MAX_PATTERN = 400
SEED = "seed phrase"

# kind, words that the pattern needs, how far before them it may begin, the pattern
_KINDS: tuple[tuple[str, tuple[str, ...], int, Bounded], ...] = (
    ("authorization header", ("authorization",), 0,
     bounded(r"authorization[\"'`]?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:basic|bearer|token|digest)\s+(?P<secret>[A-Za-z0-9+/=_.~-]{12,})", "i")),
    ("authorization header", ("authorization",), 0,
     bounded(r"authorization[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?P<secret>(?=[A-Za-z_-]{0,40}\d)(?=[^\s]{0,60}[A-Za-z])[A-Za-z0-9+/=_.~-]{32,300})(?=[\"'`\s\\]|$)", "i")),
    ("registry password", ('auth"', 'auth\\"'), 0,
     bounded(r"auth\\{0,4}\"\s{0,3}:\s{0,3}\\{0,4}\"(?P<secret>[A-Za-z0-9+/_=-]{20,300})\\{0,4}\"")),
    ("password", (" -u ", " -u=", "--user ", "--user="), 1,
     bounded(r"(?:\s|^)(?:-u|--user)[ =][\"']?[\w.@+-]{1,60}:(?P<secret>(?!//|\d{1,6}(?:\s|$))[^\s\"'`]{4,100})")),
    ("Mailchimp key", ("-us",), 33,
     bounded(r"\b(?P<secret>[0-9a-f]{32}-us\d{1,2})")),
    ("Telegram bot token", (":aa", "telegr"), 17,
     bounded(r"\b(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,34}|\d{5,16}:A[A-Za-z0-9_-]{34}(?![\w-]))")),
    ("Azure secret", ("q~",), 4,
     bounded(r"(?<![\w.~-])(?P<secret>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})")),
    ("DeepL key", (":fx",), 36,
     bounded(rf"\b(?P<secret>{UUID}:fx)\b")),
    ("Discord bot token", ("discord", "bot token", "bot_token"), 0,
     bounded(r"\b(?P<secret>[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})")),
    ("JFrog key", ("x-jfrog-art-api",), 0,
     bounded(r"x-jfrog-art-api[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?P<secret>[A-Za-z0-9]{20,})", "i")),
    ("connection string", ("oracle:thin:", "oracle:oci"), 0,
     bounded(r"oracle:(?:thin|oci8?):\w{1,40}/(?P<secret>[^@\s\"'<>{}$]{4,80})@", "i")),
    (SEED, ("seed", "mnemonic", "recovery"), 0,
     bounded(r"(?:seed|mnemonic|recovery)(?:[ _-]?(?:phrase|words))?[\"'`*]{0,3}\s*(?:is|=|:)\s*[\"'`]?(?P<secret>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})", "i")),
    ("password", ("identified by",), 0,
     bounded(r"identified by\s+[\"'](?P<secret>[^\"'\s]{4,100})[\"']", "i")),
    ("password", ("identified by", "identified with"), 0,
     bounded(r"identified (?:by|with \S{1,40} (?:by|as))\s+(?:password\s+)?[\"']?(?P<secret>(?!\{|<|\$|%|:)(?=\S*\d)(?=\S*[A-Za-z])[^\s\"';\\)]{6,100})", "i")),
    ("Azure key", ("jqqj99",), 84,
     bounded(r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9+/]{20,30}={0,2})")),
    ("Mailgun key", ("mailgun", "mg_", "key-"), 40,
     bounded(r"(?<![\w-])(?P<secret>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?![\w-])")),
    ("New Relic key", ("nral",), 36,
     bounded(r"(?<![A-Za-z0-9])(?P<secret>(?:[0-9a-f]{36}|eu01x[0-9a-f]{31})NRAL)(?!\w)")),
    ("Facebook token", tuple(f"{digit}|" for digit in range(10)), 18,
     bounded(r"(?<!\w)(?P<secret>\d{13,17}\|(?=[\w-]{0,26}\d)(?=[\w-]{0,26}[A-Z])[\w-]{27})(?![\w-])")),
    ("password", ("credential", "creds ", "log in", "login ", "sign in"), 0,
     bounded(r"(?:credentials?|creds|log\s?in|sign\s?in|access|account)\b[^\n]{0,40}?\b[\w.@-]{2,40}\s?[:/]\s?(?P<secret>(?=[^\s]*\d)(?=[^\s]*[A-Za-z])(?![\w.-]{1,60}\.(?:mdx?|txt|json|ya?ml|toml|py|tsx?|jsx?|rs|go|sh)\b)[^\s/:,;`\"'*]{7,60})(?=[\s,;`\"']|\*\*|$)", "i")),
    ("password", ("password=", "pwd="), 60,
     bounded(r"(?:user\s?id|uid|user|username)=[^;\s]+;\s?(?:password|pwd)=(?P<secret>[^;\s\"']{4,80})", "i")),
    ("connection string", (";password=", "; password=", ";pwd=", "; pwd=", ";password ="), 200,
     bounded(r"\b(?:server|data ?source|host(?:name)?|provider|driver|addr(?:ess)?|database|initial catalog|user ?id|uid|user(?:name)?|port)\s?=[^;\n]{1,80};(?:[^;\n=]{1,40}=[^;\n]{0,80};){0,8}\s?(?:password|pwd)\s?=\s?(?P<secret>[^;\s\"'<>{}$#%]{4,80})", "i")),
    ("password", ("psexec", " -p "), 60,
     bounded(r"psexec(?:\.exe)?\s[^\n]{0,80}-u\s+\S{1,60}\s+-p\s+(?P<secret>[^\s\"'%$<>][^\s\"'<>]{3,60})", "i")),
    ("token", ("sonar",), 0,
     bounded(r"sonar[\w.]{0,20}(?:login|token)[\"']?\s?[:=]\s?[\"']?(?P<secret>[0-9a-f]{40})", "i")),
    ("password", ("machine ",), 0,
     bounded(r"machine\s+[\w.-]+\s+login\s+\S{1,60}\s+password\s+(?P<secret>[^\s\"'<>]{4,80})", "i")),
    ("password", ("securestring",), 12,
     bounded(r"ConvertTo-SecureString\s+(?:-String\s+)?[\"'](?P<secret>[^\"'\s$<>{}]{6,100})[\"']", "i")),
    ("unseal key", ("unseal",), 0,
     bounded(r"unseal(?:\s+key)?(?:\s+\d)?\s?:?\s+(?P<secret>[A-Za-z0-9+/]{40,48}={0,2})(?![A-Za-z0-9+/])", "i")),
    ("password", ("mysql",), 0,
     bounded(r"\bmysql(?:dump|admin)?\s(?:[^\n]{0,60}?\s)?-p(?P<secret>[^\s\"'`-][^\s\"'`]{3,60})")),
)  # fmt: skip


_NEEDLES = Needles({needle for _, needles, _, _ in _KINDS for needle in needles})


_DISCORD_TOKEN = bounded(r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w.-])")
_LENGTH_OF_DISCORD_TOKEN = 58


def credentials(lines: Lines) -> Iterator[Hit]:
    """Every credential of one of these kinds."""
    text = lines.text
    yield from _passwords_in_links(text)
    yield from _discord_tokens(text, lines.words)
    there = _NEEDLES.there(lines.lower_words)
    for kind, needles, reach, pattern in _KINDS if there else ():
        if there.isdisjoint(needles):
            continue
        looked = 0  # nothing begins before it: a needle in every word is no reason to look at the same stretch again
        for at in sorted(set(offsets_of(lines.lower, needles, lines.lower_words))):
            if at + reach < looked:
                continue
            match = pattern.search(text, max(0, at - reach), at + _MAX_PATTERN)
            looked = match.end() if match else at + _MAX_PATTERN // 2
            if match and _is_secret(match["secret"][:80]) and not (kind == SEED and _is_known_seed(match["secret"])):
                yield *match.span("secret"), kind


def _discord_tokens(text: str, words: str) -> Iterator[Hit]:
    """Three parts of known lengths, which nothing else announces."""
    for word in words.split("\n"):
        if len(word) >= _LENGTH_OF_DISCORD_TOKEN and word.count(".") >= 2 and _DISCORD_TOKEN.search(word):
            at = text.find(word)
            match = _DISCORD_TOKEN.search(text, at, at + len(word)) if at >= 0 else None
            if match and mixes_cases(match.group()):
                yield *match.span(), "Discord bot token"


def _is_known_seed(phrase: str) -> bool:
    """The seed phrases that tools for tests have, which everybody knows: one word again and again."""
    return len(set(phrase.split())) < 4


_NAME = bounded(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z0-9]+(?:_[a-z0-9]+)*_(?:key|token|secret|password|id|url)|[\w.+-]+@[\w-]+(?:\.[a-z]+)+"
)
"""A variable, the name of a file, an address: where a secret is kept, or whose it is."""


def _is_secret(value: str) -> bool:
    return not PLACEHOLDER_IN_KEY.search(value) and value.lower() not in _WELL_KNOWN and not _NAME.fullmatch(value)


def _passwords_in_links(text: str) -> Iterator[Hit]:
    """The password in `scheme://user:password@host`."""
    at = text.find("://")
    while at >= 0:
        match = _IN_LINK.match(text, at + 3)
        is_example = match and (
            match["host"] == "host" or match["secret"] == match["user"] or _PORT.match(match["secret"])
        )
        if match and not is_example and _is_secret(match["secret"]):
            yield *match.span("secret"), "connection string"
        at = text.find("://", at + 3)
