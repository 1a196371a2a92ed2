"""Refusing texts with secrets, whoever writes them; the refusal names only the kind of the secret and its line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from memoryhub import detectors
from memoryhub.detectors import Finding, secrets
from memoryhub.domain.spaces.settings import get_setting
from memoryhub.errors import Invalid
from memoryhub.models import Space


def check_secrets(space: Space, text: str, *, before: str = "") -> str:
    """The text; refused if it has a secret that is not in `before`."""
    found = detectors.find(text, only=["secrets"])
    refuse_secrets(space, (finding for finding in found if text[finding.start : finding.end] not in before))
    return text


def refuse_secrets(space: Space, findings: Iterable[Finding]) -> None:
    """Raises Invalid if a secret is among the findings, unless the space chose to let secrets through."""
    chosen = get_setting(space, "detectors").get("secrets", "refuse")
    secret = next((finding for finding in findings if finding.code == "secrets"), None)
    if secret and chosen == "refuse":
        raise Invalid(
            f"There is a secret in line {secret.line} ({secret.kind}). It was not stored anywhere. Keep secrets in a vault, "
            "and write only the name under which they are found.",
            code="secret_found",
            kind=secret.kind,
            line=secret.line,
        )


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
