"""Random values right behind a telling word, with no sign between them: `acme TOKEN 5us4rjh9ebx…`, `<secret>…</secret>`.

A blank joins ordinary words, too, so the value has to be one that nobody writes as a word: mixed from letters and digits, or a UUID.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..patterns import bounded, linear
from ..scanning import lowered, offsets_of
from .provider_keys import Hit
from .values import UUID, is_random_word

_ROOTS = ("key", "token", "secret", "private", "access", "credential", "auth", "pass")
_LOOSE = bounded(
    r"(?i:key|token|secret|private|access|credential|auth|password|passwd)s?(?:[ _-]?(?i:key|token|secret|access|id|uuid))?[\"'`]?"
    r"(?:[ \t]{1,3}(?:(?:is|was|of|=|:)[ \t]{1,3})?|-|>[ \t]{0,3}\{?[ \t]{0,3}(?:[\w.-]{2,24}[ \t]{1,2}){0,2})[\"'`({\[]{0,2}"
    r"(?P<value>[A-Za-z0-9+/_=.~-]{16,200})(?=[\s\"'`,;)}<\]]|\.?$|\.\s)",
    reach=400,
)
_LEAD = bounded(r"([A-Za-z0-9]+)[ \t_.-]{0,2}$", reach=60)
_ORDINARY = frozenset([
    "a", "an", "any", "cache", "commit", "composite", "content", "each", "every", "foreign", "hash", "idempotency", "index", "its", "job",
    "natural", "node", "object", "order", "partition", "primary", "public", "record", "row", "s3", "sort", "storage", "this", "translation", "unique",
])  # fmt: skip
"""Words before a key that opens nothing."""
_NO_SECRET = linear(
    r"(?i)\b(?:sha\d*|md5|hash(?:es)?|commit|digest|checksum|revision|integrity|etag|fingerprint|blob|image|tag|version|branch|file|path|id)\b|sha\d{3}-|data:"
)
_UUID = linear(rf"(?i)^{UUID}$")
_SURE = ("token", "secret", "private", "credential", "auth")


def loose_values(text: str, words: str) -> Iterator[Hit]:
    """Every such value; the same stretch is looked at once."""
    lower = lowered(text)
    done = -1
    for at in sorted(set(offsets_of(lower, _ROOTS, lowered(words)))):
        if at < done or not (match := _LOOSE.match(text, at)):
            continue
        start, end = match.span("value")
        value = match["value"].rstrip(".=-")
        done = start
        lead = _LEAD.search(text, max(0, at - 40), at)
        before = lead.group(1).lower() if lead else ""
        line = text.rfind("\n", max(0, at - 24), at) + 1
        if before in _ORDINARY or _NO_SECRET.search(text, max(line, at - 24), at):
            continue
        is_sure = match.group().lower().startswith(_SURE) or (
            bool(before) and before not in ("the", "key", "with", "by")
        )
        if is_random_word(value) or (is_sure and _UUID.match(value)):
            done = end
            yield start, start + len(value), "token"
