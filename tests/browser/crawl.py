"""The pages of the demo, found by following links as a browser without scripts would: once in a run, for all who look at them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import httpx

from tests import walking
from tests.browser.hub import Hub
from tests.running import made_once

# No pages for people to look at: machines read them.
NOT_PAGES = ("/api/", "/metrics", "/healthz", "/readyz")
EXTRA = ("/styleguide/", "/account/", "/shortcuts/", "/?all", "/s/demo/no-such-page/", "/s/no-such-space/")


def pages(hub: Hub) -> list[str]:
    """What the owner reaches from the overview, and what no link leads to. Every hub with the demo has the same pages."""
    found = made_once("pages", lambda file: file.write_text(json.dumps(_walked(hub))))
    return walking.telling(path for path in json.loads(Path(found).read_text()) if not path.startswith(NOT_PAGES))


def of_each_kind(paths: list[str], each: int = 1) -> list[str]:
    """The first page of each kind, whatever is chosen on it; of these each nth."""
    first: dict[str, str] = {}
    for path in paths:
        first.setdefault(walking.kind_of(path).partition("?")[0], path)
    return list(first.values())[::each]


def _walked(hub: Hub) -> list[str]:
    cookie = hub.cookie("owner")
    with httpx.Client(base_url=hub.url, timeout=30, cookies={cookie["name"]: cookie["value"]}) as client:
        found = walking.walk(cache(lambda path: _fetch(client, path)), [f"/s/{hub.space}/", *EXTRA], each=1)
    # Dead links are the matter of tests/web/test_links.py.
    shown = [page for page in found if page.answer.kind == "text/html" and not page.answer.leads_to]
    return [page.path for page in shown if page.answer.status == 200 or page.path in EXTRA]


def _fetch(client: httpx.Client, path: str) -> walking.Answer:
    answer = client.get(path)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    return walking.Answer(
        answer.status_code, kind, answer.text if kind == "text/html" else "", answer.headers.get("location", "")
    )
