"""Owners of the hub, as the first start makes one."""

from __future__ import annotations

from typing import Any

from memoryhub.domain import accounts
from memoryhub.models import HUB, Person


def create_hub_owner(name: str, **more: Any) -> Person:
    person = accounts.create_person(HUB, name, **more)
    person.is_hub_owner = True
    person.save(update_fields=["is_hub_owner"])
    return person
