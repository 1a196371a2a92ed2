"""The git author of texts from disk, where the directory is a repository and the text equals a commit's."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.detectors import secrets
from memoryhub.domain import jobs
from memoryhub.domain.files.mounts import find_mount, is_mine, mounts_of_space
from memoryhub.models import DISK, Mount, Revision, Space
from memoryhub.stores import paths
from memoryhub.stores.git_history import Author, History, repository_of

SECONDS_PER_LOOK = 0.15  # for a page; what takes longer is left to the background process
SECONDS_PER_ROUND = 20.0
LOOKED_BACK = timedelta(days=7)  # a text that is committed later than that has no git author
MAX_PER_ROUND = 2000
_looked_at: OrderedDict[tuple[int, str], None] = OrderedDict()  # revisions without one, as of a HEAD
_MAX_REMEMBERED = 20_000


def find_git_authors(space: Space, path: str) -> int:
    """Note the git authors of the newest texts from disk at this path; answers how many were found."""
    mount = find_mount(mounts_of_space(space), path)
    if mount is None or mount.store != Mount.Store.FILESYSTEM or not is_mine(mount):
        return 0
    return _find(mount, _without_author(space).filter(path=path)[:5], SECONDS_PER_LOOK)


def _without_author(space: Space) -> QuerySet[Revision]:
    since = timezone.now() - LOOKED_BACK
    rows = Revision.objects.within(space).filter(
        actor_kind=DISK.kind, git_commit="", is_deleted=False, created_at__gte=since
    )
    return rows.order_by("-pk")


def _find(mount: Mount, rows: Iterable[Revision], seconds: float) -> int:
    repository = repository_of(mount.directory)
    if repository is None:
        return 0
    git, inside = repository
    history = History(git, seconds)
    try:
        head = history.head() or ""
    except (OSError, ValueError):
        return 0
    found = 0
    for revision in rows:
        if (revision.pk, head) in _looked_at:
            continue
        relative = f"{inside}/{paths.strip(mount.prefix, revision.path).lstrip('/')}"
        author = history.author_of(relative, bytes(revision.content))
        if history.is_over and author is None:
            break
        if author is None:
            _remember(revision.pk, head)
        else:
            found += _note(revision, author)
    return found


def _remember(pk: int, head: str) -> None:
    _looked_at[pk, head] = None
    while len(_looked_at) > _MAX_REMEMBERED:
        _looked_at.popitem(last=False)


def _note(revision: Revision, author: Author) -> int:
    """A commit says who its author is, and anybody may write anything there: it stands beside the disk, not in its place."""
    name = secrets.redact(author.name)[0][:150] or "unknown"
    return Revision.objects.filter(pk=revision.pk, git_commit="").update(git_author=name, git_commit=author.commit)


@jobs.periodic("files.git_authors", every=timedelta(minutes=1))
def find_all_git_authors() -> int:
    """Looks for the git authors of new texts from disk; a commit may come after its text."""
    found = 0
    for mount in Mount.objects.filter(store=Mount.Store.FILESYSTEM).select_related("space"):
        if is_mine(mount) and repository_of(mount.directory):
            mine = _without_author(mount.space).filter(path__startswith=mount.prefix)[:MAX_PER_ROUND]
            found += _find(mount, mine.iterator(chunk_size=50), SECONDS_PER_ROUND)
    return found
