"""Regions of a file that agents may not touch, between marks that people put there (pure)."""

from __future__ import annotations

import re
from collections import Counter

from memoryhub.errors import Forbidden

MARK = re.compile(rb"<!--\s*protected\b", re.I)
# Without the closing mark the region goes on to the end of the text.
REGION = re.compile(rb"<!--\s*protected\b.*?(?:<!--\s*/protected\s*-->|\Z)", re.I | re.S)


def check(before: bytes | None, after: bytes | None) -> None:
    """Refuses a change of an agent unless every protected region of `before` is in `after` too, byte for byte."""
    if not before or before == after or not MARK.search(before):
        return
    regions, after = Counter(REGION.findall(before)), after or b""
    # Counting a region goes through the whole text, so those that are found as regions again are left out.
    if any(after.count(region) < regions[region] for region in regions - Counter(REGION.findall(after))):
        raise Forbidden(
            "This change touches a region that people protected. Leave everything between <!-- protected --> and "
            "<!-- /protected --> as it is; do not retry this change.",
            code="protected_region",
        )
