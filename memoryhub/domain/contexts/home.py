"""The home whose coding agents a space shows: set by `memoryhub laptop` on the machine of its person, and nowhere else."""

from __future__ import annotations

from django.db import transaction

from memoryhub.domain import files, spaces
from memoryhub.domain.accounts import may
from memoryhub.errors import Forbidden
from memoryhub.models import Actor, Space

SETTING = "home"


@transaction.atomic
def set_home(space: Space, actor: Actor, home: str) -> None:
    """Says whose home on this machine the space shows; empty takes it back. Only who runs the hub may: it reads settings there."""
    if not files.is_hub_operator(actor):
        raise Forbidden("Only who runs the hub says which home on its machine a space shows.")
    spaces.change_settings(space, actor, {SETTING: home})


def home_for(space: Space, actor: Actor) -> str:
    """The home that this person may see agents of; empty for who does not manage the space."""
    return str(spaces.get_setting(space, SETTING)) if may(actor.role, "manage") else ""
