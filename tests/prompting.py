"""Revisions and sources as the files room records them, with times of one's choosing."""

from __future__ import annotations

import hashlib

from django.utils import timezone

from memoryhub.models import File, Revision, Source, SourceChange

AGENTS, TONE = "/memories/AGENTS.md", "/memories/tone.md"


def put(space, path, text, *, at=None, thread=""):
    """A revision as the files room records it."""
    data = text.encode() if isinstance(text, str) else (text or b"")
    file, _ = File.objects.get_or_create(space=space, path=path, thread_id=thread)
    file.revision, file.is_deleted = file.revision + 1, text is None
    file.save()
    return Revision.objects.create(
        space=space, file=file, number=file.revision, path=path, content=data, size=len(data), is_deleted=text is None,
        sha256=hashlib.sha256(data).hexdigest(), created_at=at or timezone.now(), actor_kind="person", actor_name="rk",
    )  # fmt: skip


def lists(space, *paths, agent=None, at=None):
    for position, path in enumerate(paths):
        Source.objects.create(space=space, agent=agent, path=path, position=position, created_at=at or timezone.now())
    listed = [{"path": path, "is_on": True} for path in paths]
    SourceChange.objects.create(
        space=space, agent_key=agent.pk if agent else 0, sources=listed, created_at=at or timezone.now(),
        actor_kind="person", actor_name="rk",
    )  # fmt: skip
