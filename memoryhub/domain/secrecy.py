"""No secret becomes memory, whoever writes: a text that brings one in is refused, by the kind of the secret alone."""

from __future__ import annotations

from collections.abc import Iterable

from memoryhub import detectors
from memoryhub.detectors import Finding
from memoryhub.domain import spaces
from memoryhub.errors import Invalid
from memoryhub.models import Space


def check(space: Space, text: str, *, before: str = "") -> str:
    """The text, if it brings in no secret; what stood there before may stay."""
    found = detectors.find(text, only=["secrets"])
    refuse(space, (one for one in found if text[one.start : one.end] not in before))
    return text


def refuse(space: Space, found: Iterable[Finding]) -> None:
    """Refuses a text with a secret among its findings, unless the space chose otherwise."""
    chosen = spaces.get_setting(space, "detectors").get("secrets", "refuse")
    secret = next((one for one in found if one.code == "secrets"), None)
    if secret and chosen == "refuse":
        raise Invalid(
            f"There is a secret in line {secret.line} ({secret.kind}). It was not stored anywhere. Keep secrets in a vault, "
            "and write only the name under which they are found.",
            code="secret_found",
            kind=secret.kind,
            line=secret.line,
        )
