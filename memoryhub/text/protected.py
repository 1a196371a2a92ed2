"""Regions of a file that agents may not touch, between marks that people put there (pure)."""

from __future__ import annotations

import re
from collections import Counter

from memoryhub.errors import Forbidden

MARK = re.compile(rb"<!--\s*protected\b", re.I)
# Without the closing mark the region goes on to the end of the text.
REGION = re.compile(rb"<!--\s*protected\b.*?(?:<!--\s*/protected\s*-->|\Z)", re.I | re.S)


def regions(text: bytes | None) -> Counter[bytes]:
    """The protected regions of a text, each with its count; one that is not closed reaches to the end."""
    return Counter(REGION.findall(text)) if text and MARK.search(text) else Counter()


def check(before: bytes | None, after: bytes | None) -> None:
    """Refuses a change of an agent after which the text has not exactly the protected regions of before: none more, none less,
    none longer. So nobody appends to a region that was not closed, and closes it."""
    if before == after:
        return
    had, has = regions(before), regions(after)
    if had == has:
        return
    if had:
        says = (
            "This change touches a region that people protected. Leave everything between <!-- protected --> and "
            "<!-- /protected --> as it is (without the closing line, up to the end); do not retry this change."
        )
    else:
        says = "Only people protect regions: leave <!-- protected --> out of the text."
    raise Forbidden(says, code="protected_region")
