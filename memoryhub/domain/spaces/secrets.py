"""Refusing texts with secrets, whoever writes them; the refusal names only the kind of the secret and its line."""

from __future__ import annotations

import hmac
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from memoryhub import detectors
from memoryhub.detectors import Finding, costs, secrets
from memoryhub.detectors.secrets import in_bytes
from memoryhub.errors import Invalid
from memoryhub.models import AllowedValue, Space


def check_secrets(space: Space, text: str, *, before: str = "") -> str:
    """The text; refused if it has a secret that is not in `before`."""
    found = detectors.find(text, only=["secrets"])
    refuse_secrets(
        space, [one for one in found if one.code == detectors.COST or text[one.start : one.end] not in before], text
    )
    return text


def refuse_secrets(space: Space, findings: Iterable[Finding], text: str | None = None) -> list[Finding]:
    """Raises Invalid if a secret is among the findings, unless the space chose to let secrets through or a person said of its
    value that it is none; answers those with such a value. `text` is the one that the findings count in. TooCostly
    where not all of the text could be looked at."""
    findings = list(findings)
    if any(finding.code == detectors.COST for finding in findings):
        raise costs.TooCostly
    found = [finding for finding in findings if finding.code == "secrets"]
    if not found or not refuses_secrets(space):
        return []
    values = {} if text is None else {one: text[one.start : one.end] for one in found}
    allowed = allowed_values(space, values.values())
    secret = next((one for one in found if values.get(one) not in allowed), None)
    if secret:
        raise secret_error(secret.kind, secret.line)
    return found


def secret_error(kind: str, line: int) -> Invalid:
    return Invalid(
        f"There is a secret in line {line} ({kind}). It was not stored anywhere. Keep secrets in a vault, "
        "and write only the name under which they are found.",
        code="secret_found",
        kind=kind,
        line=line,
    )


def refuses_secrets(space: Space) -> bool:
    """Whether the space keeps secrets out, as it does unless its owner chose otherwise."""
    return space.settings["detectors"].get("secrets", "refuse") == "refuse"


# ---- what a person said is no secret


def value_digest(space: Space, value: str) -> str:
    """The keyed digest under which a value is known: nobody without the hub's key can try values against it."""
    keyed = f"no secret\0{space.pk}\0{value}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.SECRET_KEY.encode(), keyed, "sha256").hexdigest()


def allowed_values(space: Space, values: Iterable[str]) -> set[str]:
    """Those of the values of which a person said that they are no secrets."""
    by_digest = {value_digest(space, value): value for value in values}
    if not by_digest:
        return set()
    rows = AllowedValue.objects.within(space).filter(digest__in=list(by_digest))
    return {by_digest[digest] for digest in rows.values_list("digest", flat=True)}


# ---- secrets in files, which are replaced instead of refused


@dataclass(frozen=True)
class MarkedSecret:
    """A secret that was replaced by a mark: its kind, the line of the text as it was, and the keyed digest of its value."""

    kind: str
    line: int
    digest: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class MarkedBytes:
    """The bytes of a file with its secrets replaced by marks, and what was replaced, in order."""

    content: bytes
    secrets: tuple[MarkedSecret, ...] = ()
    found: tuple[in_bytes.ByteSecret, ...] = ()  # with the values, so never stored


def mark_secrets(space: Space, content: bytes) -> MarkedBytes:
    """The content as the hub may store it. A value of which a person said that it is no secret stays."""
    found = in_bytes.find_in_bytes(content) if refuses_secrets(space) else []
    if not found:
        return MarkedBytes(content)
    allowed = allowed_values(space, {one.value for one in found})
    replaced = tuple(one for one in found if one.value not in allowed)
    marks = tuple(MarkedSecret(one.kind, one.line, value_digest(space, one.value)) for one in replaced)
    return MarkedBytes(in_bytes.mark_bytes(content, replaced), marks, replaced)


def bytes_digest(content: bytes) -> str:
    """A keyed digest of a whole file, 64 characters that no sha256 in hexadecimal digits equals."""
    return "k" + hmac.new(settings.SECRET_KEY.encode(), b"on disk\0" + content, "sha256").hexdigest()[:63]


SEPARATOR = "\n.\n"  # no match of a detector goes on over it
BATCH_CHARACTERS = 200_000  # texts are joined up to this length and searched at once
SPANNING_SIGNS = ("```", "-----BEGIN")  # signs that may change how a later text is read


def secret_suspects(texts: Iterable[str]) -> set[int]:
    """The places of those texts that may hold a secret. Many are joined and searched at once, at a fraction of the cost of
    each alone; a text that is stored must still be checked alone."""
    found: set[int] = set()
    joined: list[str] = []
    start = length = 0
    for at, text in enumerate(texts):
        if any(sign in text for sign in SPANNING_SIGNS):
            found.add(at)
            text = ""
        joined.append(text)
        length += len(text)
        if length >= BATCH_CHARACTERS:
            found |= {start + place for place in _texts_with_hits(joined)}
            joined, start, length = [], at + 1, 0
    return found | {start + place for place in _texts_with_hits(joined)}


def _texts_with_hits(texts: Sequence[str]) -> set[int]:
    starts, at = [], 0
    for text in texts:
        starts.append(at)
        at += len(text) + len(SEPARATOR)
    return {bisect_right(starts, start) - 1 for start, _, _ in secrets.hits(SEPARATOR.join(texts))}
