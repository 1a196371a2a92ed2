from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

name_rule = RegexValidator(r"^[\w.@+-]{1,64}$", _("Use letters, digits and . @ + - _ (64 at most)."))


class PersonManager(BaseUserManager):
    def get_by_natural_key(self, username: str) -> Person:
        return self.get(username__iexact=username)


class Person(AbstractBaseUser):
    """A person who signs in. Their role in each space says what they may do."""

    username = models.CharField(max_length=64, unique=True, validators=[name_rule])
    email = models.EmailField(blank=True)
    # Whether whoever runs the hub noted the address: one that the person or an owner of a space wrote proves nothing.
    email_is_given = models.BooleanField(default=False, db_default=False)
    is_active = models.BooleanField(default=True)
    # The owner of the hub: the one-time link of each start signs them in; they may make spaces.
    is_hub_owner = models.BooleanField(default=False)
    last_space = models.ForeignKey(
        "memoryhub.Space", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Of pages and mails; empty: as the browser asks, for mails as the hub has it.
    language = models.CharField(max_length=12, blank=True, default="", db_default="")
    # Things chosen for oneself: theme, density.
    preferences = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []
    objects = PersonManager()

    class Meta:
        constraints = [models.UniqueConstraint(models.functions.Lower("username"), name="one_username")]

    def __str__(self) -> str:
        return self.username


class SignInLink(models.Model):
    """A link that signs one person in once, within 15 minutes or as long as its maker chose; only its digest is kept."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="links")
    digest = models.CharField(max_length=64, unique=True)
    leads_to = models.CharField(max_length=200, blank=True)
    made_by = models.CharField(max_length=150, blank=True)
    # Whether they may still make it is asked again when it is used; none for the hub itself.
    maker = models.ForeignKey(Person, null=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class SignIn(models.Model):
    """A signed-in browser of a person, listed on the account page, where it can be ended."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.GenericIPAddressField(null=True)
    browser = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)


class FailedTry(models.Model):
    """Failed sign-ins of one name or address: after five the next must wait."""

    key = models.CharField(max_length=100, unique=True)
    failures = models.IntegerField(default=0)
    last_at = models.DateTimeField(default=timezone.now)
    blocked_until = models.DateTimeField(null=True)
