"""The receipt of an erasure: who, what kind, when, rows by table, what the search found, which backups still have it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from memoryhub.domain.erasure.targets import KINDS
from memoryhub.models import ActivityLine, Actor, Erasure, Space

BACKUP = "hub.backup"  # the verb of activity, one line for each backup


def backups_with(seen: datetime | None, until: datetime) -> list[dict[str, Any]]:
    """The backups made since the oldest row that had the words; where that is not known, all."""
    lines = ActivityLine.objects.filter(space_id=0, verb=BACKUP, at__lt=until).order_by("at")
    found = {one.thing: one.at for one in lines}
    for file in Path(settings.DATA_DIR).glob("before-restore-*.tar"):
        found[str(file)] = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return [
        {"file": file, "made_at": at.isoformat(timespec="seconds"), "is_there": Path(file).exists()}
        for file, at in found.items()
        if seen is None or at >= seen
    ]


def receipt(erasure: Erasure, actor: Actor) -> dict[str, Any]:
    """The receipt as a document. What stands in other spaces is for the owner of the hub alone."""
    space = Space.objects.filter(pk=erasure.space_id).values_list("slug", flat=True).first()
    document = {
        "receipt": erasure.pk,
        "space": space if erasure.space_id else None,
        "kind": KINDS[erasure.kind],
        "keyed_hash": f"hmac-sha256:{erasure.digest}",
        "by": erasure.actor_name,
        "asked_at": _moment(erasure.created_at),
        "confirmed_at": _moment(erasure.confirmed_at),
        "finished_at": _moment(erasure.ended_at),
        "files_on_disk": erasure.on_disk,
        "rows": erasure.rows,
        "search": {"columns": erasure.searched, "rows_found": erasure.found},
        "still_stands": erasure.problems,
        "backups": erasure.backups,
    }
    if sees_all(actor):
        document["search"]["rows_found_elsewhere"] = erasure.elsewhere
    return document


def sees_all(actor: Actor) -> bool:
    return actor.kind == "hub" or bool(actor.person and actor.person.is_hub_owner)


def _moment(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at else None
