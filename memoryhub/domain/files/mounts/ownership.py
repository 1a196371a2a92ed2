"""Which node a mounted directory belongs to, where hubs share a database: that one alone reads, watches and writes it.

The others serve the last revision and leave what is to be written to it. A mount that no node has yet is taken by the first
that has the folder; whoever runs the hub can put another node in charge.
"""

from __future__ import annotations

import os

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from memoryhub.domain import activity, nodes, spaces
from memoryhub.domain.files.mounts.directories import is_hub_operator
from memoryhub.errors import Conflict, Forbidden
from memoryhub.models import Actor, File, Mount, Node, Space
from memoryhub.stores import paths

SAMPLE = 20  # files that are looked for in a folder, to see whether it is the mount's


def is_mine(mount: Mount) -> bool:
    """Whether this node reads and writes the mount's directory."""
    return nodes.is_here(mount.node)


def first_node() -> str:
    """The node that a directory belongs to which this process has just seen. None where a command runs beside the hubs, nor
    with the embedded database, which has one."""
    return nodes.this_node() if settings.SHARES_DATABASE and nodes.is_known(nodes.this_node()) else ""


def why_waiting(mount: Mount) -> str:
    """Why a revision of a file in a directory of another node is not on disk yet."""
    named = mount.next_node or mount.node
    node = nodes.listed().filter(pk=named).first() if named else None
    if node is None:
        return _("It waits for a node that has the directory {directory}.").format(directory=mount.directory)
    if not node.is_running:
        return _("It waits for the node {name}, which is away.").format(name=node.name)
    return _("It waits for the node {name}, which writes it.").format(name=node.name)


def mounts_with_nodes() -> list[Mount]:
    """All mounted directories, each with `in_charge`: the id of its node, or of the one that takes it over."""
    found = list(Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space").order_by("space", "prefix"))
    for mount in found:
        mount.in_charge = mount.next_node or mount.node or ("" if settings.SHARES_DATABASE else nodes.this_node())  # type: ignore[attr-defined]
    return found


@transaction.atomic
def put_in_charge(space: Space, actor: Actor, mount: Mount, named: str) -> Node:
    """Makes another node write a mount's directory from now on: on its own disk, at the same path.

    It first brings the folder to what the hub has; what lies there and is another text becomes a revision before.
    """
    if not is_hub_operator(actor):
        raise Forbidden(_("Only who runs the hub puts a node in charge of a directory."))
    mount = Mount.objects.select_for_update().get(pk=mount.pk, space_id=space.pk)
    if mount.store != Mount.Store.FILESYSTEM:
        raise Conflict(_("{prefix} is no directory: it belongs to no node.").format(prefix=mount.prefix))
    node = nodes.find_node(named)
    if settings.SHARES_DATABASE and (mount.node, mount.next_node) != (node.pk, ""):
        hand_over(mount, node.pk)
        spaces.mark_setup(space)
        activity.record(
            space, actor, "mounts.assign", "put in charge of", mount.prefix, url="mounts/", adds=f"the node {node.name}"
        )
    return node


def hand_over(mount: Mount, node: str) -> None:
    """Leaves a mount to a node, which takes it over when it looks next; until then nobody writes its directory."""
    mount.node, mount.next_node = "", node
    mount.save(update_fields=["node", "next_node"])


def leave_to_its_node(mount: Mount) -> None:
    """After a restore: a directory of another node is brought to what the hub has by that node, when it looks next. One of no
    known node is this one's, where it is here."""
    if mount.node and nodes.is_known(mount.node):
        hand_over(mount, mount.node)
    elif os.path.isdir(mount.directory):
        hand_over(mount, nodes.this_node())


def claim(mount: Mount) -> bool:
    """Takes a mount that no node has, where this one has its folder; answers whether this node has it now."""
    if mount.node or mount.next_node or not settings.SHARES_DATABASE:
        return is_mine(mount)
    if not os.path.isdir(mount.directory) or not (_has_its_files(mount) or _is_alone()):
        return False
    taken = Mount.objects.filter(pk=mount.pk, node="", next_node="").update(node=nodes.this_node())
    if taken:
        mount.node = nodes.this_node()
        spaces.mark_setup(mount.space_id)
    return bool(taken)


def _is_alone() -> bool:
    return not nodes.running().exclude(pk=nodes.this_node()).exists()


def _has_its_files(mount: Mount) -> bool:
    """Whether one of the files that the hub knows lies there, or it knows none: an empty folder of that name is another."""
    known = File.objects.within(mount.space_id).filter(
        path__startswith=mount.prefix, is_deleted=False, thread_id="", written_revision__gt=0
    )
    found = list(known.order_by("path").values_list("path", flat=True)[:SAMPLE])
    return not found or any(os.path.lexists(mount.directory + paths.strip(mount.prefix, path)) for path in found)


def reclaim(mount: Mount) -> bool:
    """Takes a mount of a node that is gone, where this one runs alone since its start and the folder is the very one: its files
    are those that the other wrote, down to their inodes. So a container that lost its name goes on. Answers whether it did."""
    other = nodes.listed().filter(pk=mount.node).first()
    me = nodes.listed().filter(pk=nodes.this_node()).first()
    if me is None or (other is not None and (other.is_running or other.seen_at > me.started_at)):
        return False
    if not _is_alone() or not _is_very_folder(mount):
        return False
    taken = Mount.objects.filter(pk=mount.pk, node=mount.node).update(node=nodes.this_node())
    if taken:
        spaces.mark_setup(mount.space_id)
    return bool(taken)


def _is_very_folder(mount: Mount) -> bool:
    known = File.objects.within(mount.space_id).filter(
        path__startswith=mount.prefix, is_deleted=False, thread_id="", stat__isnull=False
    )
    for path, mark in known.order_by("-modified_at").values_list("path", "stat")[:SAMPLE]:
        try:
            found = os.lstat(mount.directory + paths.strip(mount.prefix, path))
        except (OSError, ValueError):
            continue
        if mark == [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]:
            return True
    return False
