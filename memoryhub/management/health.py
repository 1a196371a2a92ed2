"""Health checks for `memoryhub doctor`: what is wrong, and how to fix it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import F, Q
from django.utils import timezone

from memoryhub.db import replica
from memoryhub.domain import files, nodes, notify, quarantine
from memoryhub.domain.files import is_inside
from memoryhub.errors import Invalid
from memoryhub.models import File, Job, Mount, Space, Webhook
from memoryhub.server.http.watchdog import ended_requests
from memoryhub.server.migrate import MIN_VECTOR, pending_migrations
from memoryhub.text import engine

MIN_POSTGRES = 15
MAX_CLOCK_SECONDS = 30  # of a node against the database
MIN_FREE_MB = 200  # megabytes


@dataclass(frozen=True)
class Finding:
    """The result of one check; `mend` says how to fix it if it is not ok."""

    name: str
    ok: bool
    says: str
    mend: str = ""


def examine() -> list[dict[str, Any]]:
    """Runs all checks; without the database only those that do not need it."""
    found = [data_dir(), database()]
    if found[-1].ok:
        found += [vector(), migrations()]
        if found[-1].ok:
            found += [finding for check in CHECKS for finding in check()]
    return [asdict(finding) for finding in found]


def data_dir() -> Finding:
    place = Path(settings.DATA_DIR)
    if not os.access(place, os.W_OK):
        return Finding("data directory", False, f"{place} is not writable.", "Change its owner or mode.")
    free = shutil.disk_usage(place).free // 2**20
    if free < MIN_FREE_MB:
        return Finding("data directory", False, f"{free} MB are free at {place}.", "Free some space on that disk.")
    return Finding("data directory", True, f"{place}, {free:,} MB free")


def database() -> Finding:
    where = "DATABASE_URL" if settings.DATABASE_URL else "embedded"
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        reason = " ".join(str(error).split())
        return Finding("database", False, f"It cannot be reached: {reason}", f"Check the server and {where}.")
    major = connection.pg_version // 10000
    if major < MIN_POSTGRES:
        return Finding("database", False, f"PostgreSQL {major} is too old.", f"Use PostgreSQL {MIN_POSTGRES} or newer.")
    return Finding("database", True, f"PostgreSQL {major} ({where})")


def vector() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    if row is None:
        return Finding("pgvector", False, "It is missing.", "Run CREATE EXTENSION vector as a superuser.")
    if tuple(int(part) for part in row[0].split(".")[:2]) < MIN_VECTOR:
        return Finding("pgvector", False, f"{row[0]} is too old.", "Install 0.8, then ALTER EXTENSION vector UPDATE.")
    return Finding("pgvector", True, row[0])


def migrations() -> Finding:
    missing = pending_migrations()
    if missing:
        return Finding("migrations", False, f"{len(missing)} are missing.", "Run memoryhub migrate, or memoryhub up.")
    return Finding("migrations", True, "all applied")


REPLICA_PROBLEMS = {
    "away": "It cannot be reached, so the primary is read.",
    "primary": "It is no replica any more, so the primary is read.",
    "alone": "It follows no primary, so the primary is read.",
}


def read_replica() -> Iterator[Finding]:
    """Whether the server of MEMORYHUB_REPLICA_URL can be read."""
    if settings.REPLICA_URL:
        is_well, problem, behind = replica.status()
        says = REPLICA_PROBLEMS.get(problem, f"{behind:,} bytes of log behind the primary")
        yield Finding("read replica", is_well, says, "" if is_well else "Check the server and MEMORYHUB_REPLICA_URL.")


def front_space() -> Finding:
    """Whether MEMORYHUB_FRONT_SPACE, to which `/` leads, exists. Unset, `/` leads to the space that `up` opened."""
    chosen = settings.FRONT_SPACE
    if chosen and not Space.objects.filter(slug=chosen).exists():
        have = ", ".join(Space.objects.order_by("pk").values_list("slug", flat=True)[:10]) or "none yet"
        says = f"MEMORYHUB_FRONT_SPACE is {chosen!r}; allowed is a space that exists: {have}."
        return Finding("front space", False, says, "Name one of these, or leave the variable out.")
    return Finding("front space", True, chosen or "not set")


def front_spaces() -> Iterator[Finding]:
    yield front_space()


def mounts() -> Iterator[Finding]:
    for mount in Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space").order_by("space", "prefix"):
        name = f"mount {mount.prefix} of {mount.space.slug}"
        if not files.is_mine(mount):
            yield node_of_mount(name, mount)
        elif not os.path.isdir(mount.directory):
            yield Finding(name, False, f"{mount.directory} does not exist.", "Make the folder, or change the mount.")
        elif not os.access(mount.directory, os.R_OK | os.W_OK | os.X_OK):
            yield Finding(name, False, f"{mount.directory} cannot be read and written.", "Change its owner or mode.")
        else:
            yield Finding(name, True, mount.directory)


def node_of_mount(name: str, mount: Mount) -> Finding:
    """A directory of another node, which alone can look at it."""
    node = nodes.listed().filter(pk=mount.next_node or mount.node).first()
    mend = f"Start that node, or run memoryhub mount assign {mount.prefix} --node NODE."
    if node is None:
        return Finding(name, False, f"No node has {mount.directory}: what is written there waits.", mend)
    if not node.is_running:
        return Finding(name, False, f"The node {node.name}, which writes {mount.directory}, is away.", mend)
    return Finding(name, True, f"{mount.directory} on the node {node.name}")


def clocks() -> Iterator[Finding]:
    """Nodes whose clock differs from the database's: what they record has wrong times."""
    wrong = [node for node in nodes.running() if abs(node.clock_ahead) > MAX_CLOCK_SECONDS]
    for node in wrong:
        says = f"The clock of the node {node.name} is {node.clock_ahead:+.0f} seconds off the database's."
        yield Finding("clocks", False, says, "Set the clocks by NTP.")
    if not wrong:
        yield Finding("clocks", True, "all nodes agree with the database")


def mount_roots() -> Iterator[Finding]:
    """The roots below which owners of spaces may mount. Mounts elsewhere were made by whoever runs the hub."""
    roots = settings.MOUNT_ROOTS
    for root in (root for root in roots if not os.path.isdir(root)):
        yield Finding(
            "mount roots", False, f"{root} does not exist.", "Make the folder, or change MEMORYHUB_MOUNT_ROOTS."
        )
    if roots and all(map(os.path.isdir, roots)):
        real = [os.path.realpath(root) for root in roots]
        directories = Mount.objects.exclude(directory="").values_list("directory", flat=True)
        outside = sum(not any(is_inside(one, root) for root in real) for one in directories)
        yield Finding("mount roots", True, ", ".join(roots) + (f"; {outside} mounts lie elsewhere" if outside else ""))


def unwritten_revisions() -> Iterator[Finding]:
    """Revisions that are not on disk yet (promise 4), of files in filesystem mounts."""
    on_disk = Q()
    for space, prefix in Mount.objects.filter(store=Mount.Store.FILESYSTEM).values_list("space", "prefix"):
        on_disk |= Q(space=space, path__startswith=prefix)
    behind = Q(written_revision__lt=F("revision")) | Q(written_revision=None, revision__gt=0) | ~Q(problem="")
    files = File.objects.filter(on_disk, behind).select_related("space") if on_disk else File.objects.none()
    for file in files[:20]:
        says = f"Revision {file.revision} is not on disk. {file.problem}".strip()
        mend = "Open the file in the hub: it is written at the next touch, or shown as a conflict."
        yield Finding(f"file {file.path} of {file.space.slug}", False, says, mend)
    if not files:
        yield Finding("unwritten revisions", True, "none")


def failed_jobs() -> Iterator[Finding]:
    recently = timezone.now() - timedelta(days=1)
    failed = Job.objects.filter(state=Job.FAILED, ended_at__gt=recently).order_by("-id")[:5]
    for job in failed:
        yield Finding(f"job {job.pk} ({job.kind})", False, job.last_error, "Mend what it names, then ask for it again.")
    if not failed:
        yield Finding("jobs", True, "none failed since yesterday")


def outgoing_addresses() -> Iterator[Finding]:
    """Addresses that were entered before, or under another MEMORYHUB_OUTBOUND, and are refused now."""
    entered = [
        (f"webhook of {hook.space.slug}", hook.url)
        for hook in Webhook.objects.filter(is_on=True).select_related("space").order_by("pk")
    ]
    for space in Space.objects.order_by("pk"):
        judge = quarantine.judge_settings(space)
        entered += [(f"judge of {space.slug}", judge["url"])] if judge["is_on"] else []
    if settings.EMBEDDER.partition(":")[0] == "openai_endpoint":
        entered.append(("embedder", settings.EMBEDDER_URL))
    refused = [(name, why) for name, url in entered if (why := refusal_of_address(url))]
    for name, why in refused[:20]:
        yield Finding(name, False, f"Nothing is sent to it: {why}", "Set MEMORYHUB_OUTBOUND, or change the address.")
    if not refused:
        yield Finding("outgoing addresses", True, f"{len(entered)} entered, none is refused")


def refusal_of_address(url: str) -> str:
    """Why the hub would not connect to it; "" where it would, and where the name has no address just now."""
    try:
        notify.addresses_of(url)
    except Invalid as refusal:
        return refusal.message
    except (OSError, UnicodeError):
        return ""
    return ""


def pattern_engine() -> Iterator[Finding]:
    """What looks for secrets and injections in texts."""
    bounded = f"regex, {engine.SECONDS} s a search at most, since RE2 has no wheel for this Python"
    yield Finding("patterns", True, "RE2, in linear time" if engine.IS_LINEAR else bounded)


def slow_requests() -> Iterator[Finding]:
    """Requests that were ended with their worker since yesterday."""
    recently = (timezone.now() - timedelta(days=1)).isoformat()
    ended = [one for one in ended_requests(Path(settings.DATA_DIR)) if one["at"] > recently]
    if not ended:
        yield Finding("slow requests", True, "none was ended since yesterday")
        return
    last = ended[-1]
    says = (
        f"{len(ended)} since yesterday took over {settings.REQUEST_SECONDS} seconds and were ended, "
        f"the last at {last['at']}: {last['request']}."
    )
    yield Finding("slow requests", False, says, "The hub's log says where each one was; report it.")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    read_replica,
    front_spaces,
    clocks,
    mounts,
    mount_roots,
    unwritten_revisions,
    failed_jobs,
    outgoing_addresses,
    pattern_engine,
    slow_requests,
)
