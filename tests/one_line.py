"""A page as tests compare it: how its template is broken into lines makes no difference."""

from __future__ import annotations

import re

from django.http import HttpResponse

BOXES = (
    "article|aside|body|dd|details|div|dl|dt|fieldset|footer|form|h[1-6]|head|header|legend|li|main|nav|ol|option|p"
    "|section|select|summary|svg|table|tbody|td|text|th|thead|title|tr|ul"
)
AROUND = re.compile(rf" ?(</?(?:{BOXES})\b[^>]*>) ?")
AS_IS = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
INSIDE = re.compile(r"(<(?:a|b|button|label|span)\b[^>]*>) | (</(?:a|b|button|label|span)>)")


def one_line(page: HttpResponse | str) -> str:
    """The HTML with each run of white space as one blank, and none at the edges of its boxes; texts stay as they are."""
    text = page if isinstance(page, str) else page.content.decode()
    parts = AS_IS.split(text)  # every second one
    parts[::2] = [_one_line(part) for part in parts[::2]]
    return "".join(parts)


def _one_line(text: str) -> str:
    text = re.sub(r"\s+", " ", text).replace(" >", ">").replace(" />", "/>")
    return INSIDE.sub(lambda found: found[1] or found[2], AROUND.sub(r"\1", text))
