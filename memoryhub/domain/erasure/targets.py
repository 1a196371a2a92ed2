"""What a person can choose to erase, and whose right that is."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from memoryhub.domain.accounts import require, require_hub_owner
from memoryhub.errors import Invalid
from memoryhub.models import Actor, Erasure, Space
from memoryhub.stores import paths
from memoryhub.text import input_checks
from memoryhub.text.needles import MIN_TEXT

KINDS = {
    Erasure.SESSION: "a session",
    Erasure.PERSON: "a person's words",
    Erasure.AGENT: "an agent's words",
    Erasure.TEXT: "an exact text",
    Erasure.REVISION: "one revision",
}
MAX_TEXT = 20_000


@dataclass(frozen=True)
class Target:
    """What is to be erased: `what` is a session's id, a name, a text, or a path, then with the revision's `number`."""

    kind: str
    what: str
    number: int = 0
    on_disk: bool = True  # also in files of mounted directories

    @property
    def digest(self) -> str:
        """A keyed hash of what is erased: it can be compared by this hub, and guessed by nobody else."""
        return keyed_hash(f"{self.kind}\0{self.what}\0{self.number or ''}")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def keyed_hash(text: str) -> str:
    key = hashlib.sha256(b"memoryhub.erasure\0" + settings.SECRET_KEY.encode()).digest()
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def checked(target: Target) -> Target:
    """The target, refused where it names nothing or too little."""
    if target.kind not in KINDS:
        raise Invalid(f"Choose one of: {', '.join(KINDS)}.", code="invalid", field="kind")
    what = target.what if target.kind == Erasure.TEXT else target.what.strip()
    if not what.strip():
        raise Invalid("Say what is to be erased.", code="invalid", field="what")
    if target.kind == Erasure.TEXT:
        what = what.strip("\r\n").replace("\r\n", "\n")
        if len(what.strip()) < MIN_TEXT:
            raise Invalid(
                f"A text of fewer than {MIN_TEXT} characters stands in too many other words. Give more of it.",
                code="too_short", field="what",
            )  # fmt: skip
    if target.kind == Erasure.REVISION:
        what = paths.clean(what)
        if target.number < 1:
            raise Invalid("Say which revision of the file.", code="invalid", field="number")
    return Target(target.kind, input_checks.check_text(what, "what", MAX_TEXT), target.number, target.on_disk)


def require_right(space: Space | None, actor: Actor) -> None:
    """Owners erase in their space; in all spaces only the owner of the hub."""
    if space is None:
        require_hub_owner(actor, "erases in all spaces")
    else:
        require(actor, "manage")
