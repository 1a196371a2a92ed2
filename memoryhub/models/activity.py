from __future__ import annotations

from django.db import models
from django.utils import timezone

from memoryhub.stores import paths

from .base import ByActor, Scoped


class ActivityLine(ByActor):
    """A line of the activity log: a sentence after the actor's name. A trigger refuses UPDATE and DELETE.

    No foreign key leaves this table: it holds ids and names as they were. `space_id` 0 is the hub itself.
    The sentence is `says`, then `thing` (a link to `url`, below the space's address), then `adds`; `aside` stands at the end of the row.
    """

    space_id = models.BigIntegerField()
    at = models.DateTimeField(default=timezone.now)
    verb = models.CharField(max_length=64)  # the domain function: proposals.approve
    says = models.CharField(max_length=200)
    thing = models.CharField(max_length=300, blank=True)
    url = models.CharField(max_length=1200, blank=True)
    adds = models.CharField(max_length=600, blank=True)
    aside = models.CharField(max_length=100, blank=True)
    path = models.CharField(max_length=1100, blank=True)
    details = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)

    objects = Scoped.as_manager()

    class Meta:
        db_table = '"activity"."line"'
        indexes = [
            models.Index(fields=["space_id", "-id"], name="activity_space"),
            models.Index(fields=["space_id", "actor_kind", "-id"], name="activity_kind"),
            models.Index(fields=["space_id", "at"], name="activity_at"),
        ]

    @property
    def address(self) -> str:
        """`url` as a link has it. A path is stored in it as it is: an erasure finds the words in it."""
        for at in (f"files/{self.path.lstrip('/')}", f"files{self.path}"):
            if self.path and self.url.startswith(at):
                return paths.page_of(self.path, self.url.removeprefix(at).removeprefix("?"))
        return self.url

    @property
    def ending(self) -> str:
        """What follows the thing, with a blank before it unless it begins with punctuation; "" if nothing does."""
        return self.adds if not self.adds or self.adds.startswith((";", ":", ",", ".")) else f" {self.adds}"
