"""No secret becomes memory, whoever writes: a text that brings one in is refused, by the kind of the secret alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from memoryhub import detectors
from memoryhub.detectors import Finding, secrets
from memoryhub.domain.spaces.settings import get_setting
from memoryhub.errors import Invalid
from memoryhub.models import Space


def check_secrets(space: Space, text: str, *, before: str = "") -> str:
    """The text, if it brings in no secret; what stood there before may stay."""
    found = detectors.find(text, only=["secrets"])
    refuse_secrets(space, (one for one in found if text[one.start : one.end] not in before))
    return text


def refuse_secrets(space: Space, found: Iterable[Finding]) -> None:
    """Refuses a text with a secret among its findings, unless the space chose otherwise."""
    chosen = get_setting(space, "detectors").get("secrets", "refuse")
    secret = next((one for one in found if one.code == "secrets"), None)
    if secret and chosen == "refuse":
        raise Invalid(
            f"There is a secret in line {secret.line} ({secret.kind}). It was not stored anywhere. Keep secrets in a vault, "
            "and write only the name under which they are found.",
            code="secret_found",
            kind=secret.kind,
            line=secret.line,
        )


SEPARATOR = "\n.\n"  # no value, word or line reads on over it
BATCH_CHARACTERS = 200_000  # characters looked through together
SPANNING_SIGNS = ("```", "-----BEGIN")  # what may change how a later text is read


def secret_suspects(texts: Iterable[str]) -> set[int]:
    """Which of many texts may hold a secret, by their places: many are looked through in one go, at a fraction of the cost of
    each alone. Who keeps the others for a while still looks at each before it becomes memory."""
    found: set[int] = set()
    together: list[str] = []
    start = length = 0
    for at, text in enumerate(texts):
        if any(one in text for one in SPANNING_SIGNS):
            found.add(at)
            text = ""
        together.append(text)
        length += len(text)
        if length >= BATCH_CHARACTERS:
            found |= {start + place for place in _texts_with_hits(together)}
            together, start, length = [], at + 1, 0
    return found | {start + place for place in _texts_with_hits(together)}


def _texts_with_hits(texts: Sequence[str]) -> set[int]:
    begins, at = [], 0
    for text in texts:
        begins.append(at)
        at += len(text) + len(SEPARATOR)
    return {bisect_right(begins, start) - 1 for start, _, _ in secrets.hits(SEPARATOR.join(texts))}
