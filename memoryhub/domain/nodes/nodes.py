"""Nodes: each start registers itself, says every few seconds that it is there, and leaves when it stops.

What is compared are moments of the database's own clock: the clocks of nodes may differ.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.db.models import Case, F, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub import encryption
from memoryhub.db import statements
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Node, SharedKey

log = logging.getLogger("memoryhub")
BEAT_SECONDS = 5.0
STOP_SECONDS = 60.0  # that nodes have to stop when they are told to
AWAY_SECONDS = 20.0  # a node that was not seen for so long is away


def is_here(node: str) -> bool:
    """Whether a mount that names this node belongs to this process's.

    With the embedded database there is one node, so all are. Else a mount that names none is nobody's yet.
    """
    return not settings.SHARES_DATABASE or node == settings.NODE_ID


def this_node() -> str:
    return str(settings.NODE_ID)


def is_known(node: str) -> bool:
    return Node.objects.filter(pk=node).exists()


# ---- being there


REGISTER = """
INSERT INTO memoryhub_node (id, name, version, run, key_digest, started_at, seen_at, stopped_at, is_told_to_stop, clock_ahead)
VALUES (%s, %s, %s, %s, %s, clock_timestamp(), clock_timestamp(), NULL, false, 0)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, version = excluded.version, run = excluded.run,
  key_digest = excluded.key_digest, started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = NULL,
  is_told_to_stop = false
RETURNING id
"""
BEAT = """
UPDATE memoryhub_node SET seen_at = clock_timestamp(), stopped_at = NULL,
  clock_ahead = extract(epoch FROM %s::timestamptz - clock_timestamp())
WHERE id = %s AND run = %s RETURNING is_told_to_stop
"""


@dataclass
class Run:
    """One run of a hub on this node."""

    version: str = ""
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    was_doubled: bool = False

    def register(self) -> None:
        """Says that this node runs from now on."""
        values = [
            settings.NODE_ID,
            settings.NODE_NAME[:100],
            self.version[:40],
            self.mark,
            key_digest(settings.SECRET_KEY),
        ]
        statements.changed(REGISTER, values)

    def beat(self) -> bool:
        """Says that it still runs. Answers whether it was told to stop."""
        rows = statements.changed(BEAT, [timezone.now(), settings.NODE_ID, self.mark])
        if rows:
            return bool(rows[0][0])
        other = Node.objects.filter(pk=settings.NODE_ID).first()
        if other is None or other.stopped_at or not _is_running(other):  # a restore brought other rows
            self.register()
        elif not self.was_doubled:
            self.was_doubled = True
            log.error("Another hub uses the node id %s: give each its own MEMORYHUB_NODE.", settings.NODE_ID)
        return False

    def leave(self) -> None:
        """Says that it stopped in order."""
        Node.objects.filter(pk=settings.NODE_ID, run=self.mark).update(stopped_at=Now())


def _is_running(node: Node) -> bool:
    return running().filter(pk=node.pk).exists()


# ---- who is there


def running() -> QuerySet[Node]:
    """The nodes that were seen lately and did not stop."""
    return Node.objects.filter(stopped_at=None, seen_at__gt=Now() - timedelta(seconds=AWAY_SECONDS))


def listed() -> QuerySet[Node]:
    """All nodes, each with `is_running` and `seconds_away`, since when it was not seen."""
    is_running = When(stopped_at=None, seen_at__gt=Now() - timedelta(seconds=AWAY_SECONDS), then=Value(True))
    return Node.objects.annotate(is_running=Case(is_running, default=Value(False)), away=Now() - F("seen_at"))


def find_node(named: str) -> Node:
    """The node of this id, or of this name where only one has it."""
    by_id = Node.objects.filter(pk=named).first()
    found = [by_id] if by_id else list(Node.objects.filter(name=named))
    if len(found) != 1:
        have = ", ".join(f"{one.name} ({one.pk})" for one in Node.objects.all()[:20]) or _("none yet")
        raise NotFound(_("No one node is “{named}”. Name one of: {have}.").format(named=named, have=have))
    return found[0]


def forget_node(named: str) -> Node:
    """Removes a node that will not come back from the list."""
    node = find_node(named)
    if _is_running(node):
        raise Conflict(_("The node {name} is running: stop it first.").format(name=node.name))
    node.delete()
    return node


def require_none_running(*, besides: str = "") -> None:
    """Refuses where nodes run on this database; the one of the caller's own data directory does not count."""
    found = list(running().exclude(pk=besides))
    if found:
        names = ", ".join(one.name for one in found)
        raise Conflict(
            ngettext(
                "{count} node runs on this database: {names}. Stop it, or say --stop-nodes.",
                "{count} nodes run on this database: {names}. Stop them, or say --stop-nodes.",
                len(found),
            ).format(count=len(found), names=names),
            code="nodes_running",
        )


def stop_all() -> list[str]:
    """Tells all nodes to stop and waits for them; answers their names. Conflict names those that did not stop in time."""
    found = list(running())
    Node.objects.filter(pk__in=[one.pk for one in found]).update(is_told_to_stop=True)
    until = time.monotonic() + STOP_SECONDS
    while running().exists() and time.monotonic() < until:
        time.sleep(0.3)
    require_none_running()
    return [one.name for one in found]


# ---- the key that they share


def key_digest(key: str) -> str:
    """What is kept of a SECRET_KEY to compare it with another."""
    return hmac.new(b"memoryhub node key", key.encode(), hashlib.sha256).hexdigest()


def _seal() -> bytes:
    """What the shared key is encrypted with: the address of the database, with its password."""
    return b"memoryhub:" + settings.DATABASE_URL.encode()


def shared_key(*, was_given: bool) -> str:
    """The SECRET_KEY that this node has to use so that sessions hold on every node of its database.

    `was_given`: it comes from the environment; then it stays, and is refused where a running node has another. Else it is the
    one that the first node left in the database, encrypted. Called by one starting node at a time.
    """
    own = settings.SECRET_KEY
    if was_given:
        _refuse_another_key(own)
        return own
    kept = SharedKey.objects.filter(pk=1).first()
    if kept is None or (not running().exclude(pk=settings.NODE_ID).exists() and not _opened(kept)):
        _refuse_another_key(own)
        SharedKey.objects.update_or_create(pk=1, defaults=_sealed(own))
        return own
    if key_digest(own) == kept.digest:
        return own
    if key := _opened(kept):
        _refuse_another_key(key)
        return key
    raise _another_key()


def key_of_all(*, was_given: bool) -> str:
    """The SECRET_KEY that a backup has to hold: that of the nodes; empty where they have one that this process cannot open.

    `was_given`: this process has its key from the environment, as nodes then have.
    """
    kept = SharedKey.objects.filter(pk=1).first() if settings.DATABASE_URL and not was_given else None
    if kept is None or key_digest(settings.SECRET_KEY) == kept.digest:
        return str(settings.SECRET_KEY)
    return _opened(kept)


def _sealed(key: str) -> dict[str, str]:
    return {"digest": key_digest(key), "sealed": encryption.encrypt(key, _seal())}


def _opened(kept: SharedKey) -> str:
    """The key of the row, empty where the address of the database is another by now."""
    try:
        return encryption.decrypt(kept.sealed, _seal())
    except encryption.WrongKeyError:
        return ""


def _refuse_another_key(key: str) -> None:
    if running().exclude(pk=settings.NODE_ID).exclude(key_digest=key_digest(key)).exists():
        raise _another_key()


def _another_key() -> Conflict:
    return Conflict(
        _(
            "Another node of this database signs sessions with another key: set SECRET_KEY to the same value on every node."
        ),
        code="another_key",
    )
