"""Variables of the environment, read and checked. A wrong value stops the start with its name and what is allowed."""

from __future__ import annotations

import os

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def env(name: str, default: str = "", allowed: tuple[str, ...] = ()) -> str:
    """The variable's value; a value outside `allowed` stops the start with the name and what is allowed."""
    value = os.environ.get(name, default).strip() or default
    if allowed and value not in allowed:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed is one of: {', '.join(allowed)}.")
    return value


def env_bool(name: str, default: bool = False) -> bool:
    value = os.environ.get(name, "true" if default else "false").strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed is true or false.")
    return value in TRUE


def env_number(name: str, default: int, least: int, most: int) -> int:
    value = env(name, str(default))
    if not value.isascii() or not value.isdigit() or not least <= int(value[:9]) <= most:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed is a whole number from {least} to {most}.")
    return int(value)
