"""Encryption of what the database keeps by a key that it does not keep, so that a copy of the database alone does not tell it."""

from __future__ import annotations

import base64
import hashlib
from types import ModuleType


class WrongKeyError(Exception):
    """The text was encrypted with another key, or is damaged."""


def encrypt(text: str, key: bytes) -> str:
    """The text, encrypted with a key of any length."""
    return str(_fernet().Fernet(_derived(key)).encrypt(text.encode()).decode())


def decrypt(encrypted: str, key: bytes) -> str:
    """What `encrypt` was given; refused with WrongKeyError where the key was another."""
    try:
        return str(_fernet().Fernet(_derived(key)).decrypt(encrypted.encode()).decode())
    except _fernet().InvalidToken as error:
        raise WrongKeyError from error


def _derived(key: bytes) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(key).digest())


def _fernet() -> ModuleType:
    # Inside: over 1 MB of memory, for the few processes that check a code or share a key with other nodes.
    from cryptography import fernet

    return fernet
