"""Texts as lines (pure). Bytes that are no UTF-8 survive: in through `text_of`, out through `bytes_of`."""

from __future__ import annotations


def text_of(content: bytes) -> str:
    """Bytes as text, undecodable ones kept apart as lone surrogates."""
    return content.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def split(text: str) -> list[str]:
    """Lines with their LF; the last one may have none."""
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    return [*result, last] if last else result
