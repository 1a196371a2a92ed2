from __future__ import annotations

from django.db import models
from django.utils import timezone

from memoryhub.stores.selection import SEPARATOR

from .agents import Agent
from .base import ByActor, Scoped
from .spaces import Space


class Policy(models.TextChoices):
    """What happens to a write by an agent."""

    TRUSTED = "trusted"
    REVIEW = "review"
    READ_ONLY = "read_only"


class OnDisk(models.TextChoices):
    """What a change on disk does."""

    APPLY = "apply"
    HOLD = "hold"


class Mount(models.Model):
    """A virtual prefix on a store. The longest prefix of whole segments wins."""

    class Store(models.TextChoices):
        FILESYSTEM = "filesystem"
        DATABASE = "database"
        THREAD = "thread"
        VIEWS = "views"

    class Takes(models.TextChoices):
        ALL = "all", "Every file"
        DOCUMENTS = "documents", "Memory and documents"

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="mounts", db_index=False)
    prefix = models.CharField(max_length=1024)  # "/memories/", or a text such as "~/.deepagents/"
    store = models.CharField(max_length=10, choices=Store, default=Store.DATABASE)
    directory = models.CharField(max_length=4096, blank=True)
    policy = models.CharField(max_length=9, choices=Policy, default=Policy.REVIEW)
    # Of a directory: what is taken in, and patterns as in .gitignore files, one a line.
    takes = models.CharField(max_length=9, choices=Takes, default=Takes.ALL, db_default=Takes.ALL)
    include = models.TextField(blank=True, default="", db_default="")
    exclude = models.TextField(blank=True, default="", db_default="")
    is_full = models.BooleanField(default=False, db_default=False)  # its directory has more files than the hub takes
    problem = models.CharField(max_length=300, blank=True)  # why its directory cannot be read just now
    on_disk = models.CharField(max_length=5, choices=OnDisk, default=OnDisk.APPLY, db_default=OnDisk.APPLY)
    put_back = models.BooleanField(default=False, db_default=False)  # what is held is also undone on disk
    put_back_elsewhere = models.BooleanField(default=False, db_default=False)  # another hub does that in this folder
    # Of files per thread: gone when the hub starts again, as the framework's own are with its run.
    ends_with_run = models.BooleanField(default=False, db_default=False)
    # Of a directory, the node that reads, watches and writes it (with a database that nodes share); empty: none yet.
    node = models.CharField(max_length=64, blank=True, default="", db_default="")
    next_node = models.CharField(max_length=64, blank=True, default="", db_default="")  # that takes it over
    # Since when its files were all taken in once: what is new on disk from then on is a change.
    taken_in_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["prefix"]
        constraints = [models.UniqueConstraint(fields=["space", "prefix"], name="one_prefix")]

    @property
    def puts_back(self) -> bool:
        """Whether this hub returns the approved text to the disk."""
        return self.put_back and not self.put_back_elsewhere

    @property
    def selection(self) -> str:
        """What it takes in, as one text that `stores.selection` understands and `fragments.SELECTION` reads."""
        if self.store != Mount.Store.FILESYSTEM:
            return ""
        return SEPARATOR.join((self.takes, self.include, self.exclude, "full" if self.is_full else ""))


class PolicyRule(models.Model):
    """An exception to a mount's policy, for a pattern, an agent, under conditions. The first that matches counts."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="policy_rules")
    position = models.IntegerField(default=0)
    pattern = models.CharField(max_length=1024)
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="policy_rules")
    policy = models.CharField(max_length=9, choices=Policy)
    # A trusting rule may be conditional: at most so many characters added, and no finding of any detector.
    max_added = models.PositiveIntegerField(null=True, blank=True)
    unless_findings = models.BooleanField(default=False)
    reviewers = models.PositiveSmallIntegerField(default=1)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["position", "pk"]


class File(models.Model):
    """A virtual path. Its text is that of the newest revision; the file on disk may be older, see `written_revision`."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="files", db_index=False)
    path = models.CharField(max_length=1024)
    thread_id = models.CharField(max_length=200, blank=True)  # of files in a thread store
    revision = models.BigIntegerField(default=0)  # number of the newest
    is_deleted = models.BooleanField(default=False)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)  # of the newest revision's bytes
    author_kind = models.CharField(max_length=8, blank=True)
    author_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    modified_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(default=timezone.now)  # thread files go after 24 hours without use
    # What the hub knows of the disk (promise 4).
    written_revision = models.BigIntegerField(null=True)  # the revision that was last written to disk; null: none
    # Of the bytes on disk, as last seen: their sha256, or where they hold a secret a keyed digest, which begins with "k".
    written_sha256 = models.CharField(max_length=64, blank=True)
    stat = models.JSONField(null=True)  # mtime_ns, size, inode of those bytes
    problem = models.CharField(max_length=300, blank=True)  # why it is not written or cannot be read
    # The secrets that the bytes on disk hold, where the hub has marks: their kind, line and the keyed digest of the value.
    disk_secrets = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    # What lies on disk and waits for a decision, or was rejected: "made", "changed" or "deleted", and in which proposal.
    held = models.CharField(max_length=7, blank=True, default="", db_default="")
    held_proposal = models.BigIntegerField(null=True)
    put_backs = models.PositiveSmallIntegerField(default=0, db_default=0)  # how often since the last decision
    put_back_at = models.DateTimeField(null=True)  # when last
    # Since when changes on disk count though the mount holds them: a program changed it again each time it was put back.
    applies_since = models.DateTimeField(null=True)
    # The revision before the first change on disk that counts and that nobody has looked at; null: there is none.
    unreviewed_from = models.BigIntegerField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [
            # Pattern order finds the files below a folder by index under any collation of the database.
            models.UniqueConstraint(
                fields=["space", "path", "thread_id"],
                opclasses=["int8_ops", "varchar_pattern_ops", "varchar_ops"],
                name="one_file_per_path",
            )
        ]
        indexes = [
            models.Index(fields=["space", "modified_at"], name="file_modified"),
            models.Index(
                fields=["space", "id"],
                condition=models.Q(written_revision__lt=models.F("revision")) | ~models.Q(problem=""),
                name="file_unwritten",
            ),
            models.Index(
                fields=["space", "id"], condition=models.Q(unreviewed_from__isnull=False), name="file_unreviewed"
            ),
            models.Index(fields=["space", "id"], condition=~models.Q(held=""), name="file_held"),
        ]


class Revision(ByActor):
    """The whole content of a file at one moment. Never changed but by an erasure; a restore makes a new revision.

    The actor is the author: who wanted these words.
    """

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    file = models.ForeignKey(File, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.BigIntegerField()
    kind = models.CharField(max_length=8, default="write")  # create write edit delete move restore
    path = models.CharField(max_length=1024)  # of the file at that time
    content = models.BinaryField(default=b"")
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    is_deleted = models.BooleanField(default=False)
    added = models.IntegerField(default=0)  # lines
    removed = models.IntegerField(default=0)
    reason = models.CharField(max_length=1000, blank=True)
    proposal = models.BigIntegerField(null=True)  # number of the proposal that it came from
    restored_from = models.BigIntegerField(null=True)
    moved_from = models.CharField(max_length=1024, blank=True)
    # Who decided, where the author only asked for it. `db_default`: a process of an older version may still write.
    approver_kind = models.CharField(max_length=8, blank=True, default="", db_default="")
    approver_id = models.BigIntegerField(null=True)
    approver_name = models.CharField(max_length=150, blank=True, default="", db_default="")
    # Lines that the reviewer wrote: {"kind", "id", "name", "lines": [[first, last], …]}, counted from 1.
    reviewer_lines = models.JSONField(null=True)
    based_on = models.BigIntegerField(null=True)  # number of the revision that it changed, where not the one before
    merged_with = models.BigIntegerField(null=True)  # number of the revision whose changes it took in
    # Of a text from disk that equals a commit's: its author and id, as the repository has them.
    git_author = models.CharField(max_length=150, blank=True, default="", db_default="")
    git_commit = models.CharField(max_length=40, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now)
    # Some of its words were erased: when, by whom, and the number of the receipt.
    erased_at = models.DateTimeField(null=True)
    erased_by = models.CharField(max_length=150, blank=True, default="", db_default="")
    erasure = models.BigIntegerField(null=True)

    objects = Scoped.as_manager()
    is_new = False  # true only of the instance that a change has just made, not of one from a query

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "file", "number"], name="one_revision_number")]
        indexes = [
            models.Index(fields=["space", "created_at"], name="revision_created"),
            models.Index(fields=["space", "file", "created_at"], name="revision_at"),
        ]


class AllowedValue(ByActor):
    """A value that looks like a secret, of which a person said that it is none. Only a keyed digest of it is kept."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=100)
    path = models.CharField(max_length=1024, blank=True)  # where it stood
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "digest"], name="one_allowed_value")]


class Source(models.Model):
    """A virtual path that is injected into prompts, in order: for the whole space, or for one agent instead."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="sources")
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="sources")
    path = models.CharField(max_length=1024)
    printed = models.CharField(
        max_length=1024, blank=True, default="", db_default=""
    )  # as configured, where that differs
    position = models.IntegerField(default=0)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["position", "pk"]

    @property
    def shown(self) -> str:
        """The path as it was configured and as prompts print it."""
        return self.printed or self.path


class SourceChange(ByActor):
    """The whole ordered list after each change, needed to assemble prompts of the past."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    agent_key = models.BigIntegerField(default=0)  # 0: the space's list
    sources = models.JSONField(default=list)  # [{"path", "is_on"}]
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space", "agent_key", "created_at"], name="source_change_at")]


class Editing(models.Model):
    """A person has a file open in the editor. Shown to others; expires a minute after the last sign of life."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    path = models.CharField(max_length=1024)
    person = models.ForeignKey("memoryhub.Person", on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "path", "person"], name="one_editing")]
