from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memoryhub import dialects

from .base import Scoped
from .spaces import Space, slug_rule


class Scope(models.TextChoices):
    """What a token allows. No scope allows deciding: only people do that."""

    PROMPT = "prompt"
    FILES = "files"
    PROPOSE = "propose"
    INGEST = "ingest"
    RETRIEVE = "retrieve"


class Agent(models.Model):
    """An AI agent in a space, with its dialect and what its prompt contains besides memory."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="agents")
    slug = models.CharField(max_length=64, validators=[slug_rule])
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=500, blank=True)
    dialect = models.CharField(max_length=64, default=dialects.AUTO)
    # What its last call named; "" where it named none. Written when it changes, read with every call.
    asked_dialect = models.CharField(max_length=200, blank=True, default="", db_default="")
    system_prompt = models.TextField(blank=True)
    persona = models.TextField(blank=True)
    is_on = models.BooleanField(default=True)  # off: its tokens are refused
    stored_bytes = models.BigIntegerField(default=0, db_default=0)  # by it, as a job counts them (domain/quotas)
    memory_is_on = models.BooleanField(default=True)  # off: it gets its base prompt alone
    template = models.TextField(blank=True)  # its own, with one {agent_memory} slot
    budget = models.PositiveIntegerField(null=True, blank=True)  # tokens
    gives_way = ArrayField(
        models.CharField(max_length=16), default=list, blank=True
    )  # the order in which parts are cut
    retrieval = models.JSONField(default=dict, db_default={}, blank=True)  # limits in place of the space's
    reported = models.JSONField(default=dict, blank=True)  # library and version, as its client said
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["space", "slug"], name="one_agent_slug")]

    def __str__(self) -> str:
        return self.name

    @property
    def own_dialect(self) -> dialects.Dialect:
        """What a call gets that names no dialect."""
        return dialects.of_agent("", self.dialect, self.reported or {})

    @property
    def fetched_dialect(self) -> dialects.Dialect:
        """What its last call got; before the first call, what one would get that names none."""
        return dialects.of_agent(self.asked_dialect, self.dialect, self.reported or {})

    @property
    def asks_for_another(self) -> bool:
        """Whether its last call named a dialect that makes other bytes than the fixed one of its settings."""
        is_fixed = self.dialect != dialects.AUTO and bool(self.asked_dialect)
        return is_fixed and not dialects.same_bytes(self.own_dialect, self.fetched_dialect)


class Token(models.Model):
    """A token for the API, of an agent or of a person in a space. Only the digest of its secret is stored."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="tokens")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.CASCADE, related_name="tokens")
    person = models.ForeignKey("memoryhub.Person", null=True, on_delete=models.CASCADE, related_name="tokens")
    label = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=90)  # what logs and pages show: mh_forge_1Bc4
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the whole token
    scopes = ArrayField(models.CharField(max_length=16), default=list)
    made_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_from = models.GenericIPAddressField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(agent__isnull=True) ^ models.Q(person__isnull=True), name="token_of_agent_or_person"
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"
