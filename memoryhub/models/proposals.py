from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.text.lines import text_of

from .agents import Agent
from .base import ByActor, Scoped
from .spaces import Space


class Proposal(models.Model):
    """A change that an agent proposed. `change` holds its arguments; the result is computed when it is read."""

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"
        OUTDATED = "outdated"
        EXPIRED = "expired"

    class Kind(models.TextChoices):
        EDIT = "edit"  # change: old_string, new_string, replace_all
        WRITE = "write"  # content: the whole text
        INSERT = "insert"  # change: line, text
        DELETE = "delete"
        MOVE = "move"  # change: to
        PROMOTION = "promotion"  # content: the digest; change: scope, record_id, session_id
        TEMPLATE = "template"  # content: the text; change: version, form

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="proposals", db_index=False)
    number = models.BigIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    kind = models.CharField(max_length=9, choices=Kind)
    path = models.CharField(max_length=1024, blank=True)
    change = models.JSONField(default=dict)
    content = models.BinaryField(null=True)
    # A digest of agent, kind, path and change: the same write again while pending gets the same number.
    same_as = models.CharField(max_length=64)
    agent = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="proposals", db_index=False)
    agent_name = models.CharField(max_length=150)
    thread_id = models.CharField(max_length=200, blank=True)
    tool_call_id = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=2000, blank=True)
    base_revision = models.BigIntegerField(null=True)
    base_sha256 = models.CharField(max_length=64, blank=True)
    stacked_on = models.BigIntegerField(null=True)  # number of the pending proposal it builds on
    findings = models.JSONField(default=list)
    # Of the two texts in the change of which no secret was found, and of the rules (`findings.checked_digest`).
    checked_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    risk = models.PositiveSmallIntegerField(default=0)  # 0 low, 1 mid, 2 high
    reviewers = models.PositiveSmallIntegerField(default=1)
    approvals = models.JSONField(default=list)  # of the first of two reviewers: who, when, sha256
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    warned_at = models.DateTimeField(null=True)  # when it was told that this one ends soon
    decided_at = models.DateTimeField(null=True)
    decided_by_id = models.BigIntegerField(null=True)
    decided_by_name = models.CharField(max_length=150, blank=True)
    note = models.CharField(max_length=2000, blank=True)
    from_disk = models.BooleanField(default=False, db_default=False)  # a change on disk that is held; it has no agent
    # A rejection that asks for another try. Programs read it as rejected, people as a state of its own.
    changes_requested = models.BooleanField(default=False, db_default=False)
    with_edits = models.BooleanField(default=False)
    applied_revision = models.BigIntegerField(null=True)
    undone_revision = models.BigIntegerField(null=True)
    entry_number = models.BigIntegerField(null=True)  # the long-term entry a promotion became

    objects = Scoped.as_manager()
    others_wait = False  # whether others waited for the same path when this instance was closed

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "number"], name="one_proposal_number"),
            models.UniqueConstraint(
                fields=["space", "same_as"], condition=models.Q(state="pending"), name="one_pending_of_a_kind"
            ),
        ]
        indexes = [
            models.Index(fields=["space", "state", "-risk", "created_at"], name="proposal_inbox"),
            models.Index(fields=["space", "state", "number"], name="proposal_state"),
            models.Index(fields=["space", "path", "state"], name="proposal_path"),
            models.Index(fields=["space", "agent", "state"], name="proposal_agent"),
            # Each prompt that is made anew asks whether its agent reported another template.
            models.Index(fields=["space", "agent"], name="proposal_template", condition=models.Q(kind="template")),
            # Every list asks for expired proposals first; decided ones are not in this index.
            models.Index(
                fields=["space", "expires_at"],
                name="proposal_ends",
                condition=models.Q(state__in=["pending", "outdated"]),
            ),
        ]

    @property
    def asker(self) -> str:
        """Who asks: disk, person or agent."""
        return "disk" if self.from_disk else "person" if "person" in self.change else "agent"

    @property
    def asked_before_write(self) -> bool:
        """Whether it is a write of an agent's own file tool that was refused before it landed."""
        return "asked_by" in self.change

    @property
    def shown_state(self) -> str:
        """The state as people are shown it: a request for changes is one of its own."""
        return "changes_requested" if self.changes_requested and self.state == self.State.REJECTED else self.state

    @property
    def thing(self) -> str:
        """What it changes, in words: a path, or what has none."""
        if self.kind == self.Kind.TEMPLATE:
            return f"the template of deepagents {self.change.get('version', '')}"
        return self.path or "long-term memory"

    @property
    def title(self) -> str:
        """The reason that the agent gave, as one line; without one what it does, in the reader's language, or the promoted text."""
        if reason := " ".join(self.reason.split()):
            return _shortened(reason.split(". ")[0].rstrip("."), at_word=True)
        if self.kind == self.Kind.TEMPLATE:
            return _("Use the template of deepagents %(version)s") % {"version": self.change.get("version", "")}
        if self.path:
            return KIND_SENTENCES[self.kind] % {"name": self.path.rsplit("/", 1)[-1]}
        return _shortened(text_of(bytes(self.content or b"")).strip().split("\n")[0].lstrip("#-* "))


KIND_SENTENCES = {
    "edit": gettext_lazy("Change %(name)s"), "insert": gettext_lazy("Change %(name)s"), "write": gettext_lazy("Write %(name)s"),
    "delete": gettext_lazy("Delete %(name)s"), "move": gettext_lazy("Move %(name)s"),
}  # fmt: skip


def _shortened(line: str, *, at_word: bool = False) -> str:
    """A line of at most 90 characters."""
    if len(line) <= 90:
        return line
    return (line[:89].rsplit(" ", 1)[0] if at_word else line[:89]) + "…"


class ProposalComment(ByActor):
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="comments")
    text = models.CharField(max_length=4000)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["created_at", "pk"]


class Webhook(models.Model):
    """A URL that gets notices of proposals and decisions, signed with its secret."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    secret = models.CharField(max_length=100)
    shape = models.CharField(max_length=8, default="hub", choices=[("hub", "hub"), ("slack", "slack")])
    events = models.JSONField(default=list)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()


class WebhookNotice(models.Model):
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="notices")
    event = models.CharField(max_length=64)
    body = models.JSONField(default=dict)
    tries = models.IntegerField(default=0)
    status = models.IntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space", "webhook", "-id"], name="webhook_notice")]
