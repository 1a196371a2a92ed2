"""A rule for passwords: none that is little more than what everybody here would try first."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

WORDS = ("memoryhub", "memory hub", "agents.md")
MIN_BESIDE = 6  # characters that must be left without those words


class ContextWords:
    """Refuses a password that is short without the product's words and the name of the hub's host."""

    def validate(self, password: str, user: Any = None) -> None:
        host = re.sub(r"^https?://|[:/].*$", "", settings.PUBLIC_URL)
        words = [*WORDS, *(part for part in host.split(".") if len(part) > 3)]
        beside = re.sub("|".join(map(re.escape, words)), "", password, flags=re.IGNORECASE)
        if len(beside) < min(MIN_BESIDE, len(password)):
            raise ValidationError(_("This password is little more than the name of this hub. Choose another one."))

    def get_help_text(self) -> str:
        return _("Your password must not be little more than the name of this hub.")
