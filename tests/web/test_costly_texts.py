"""Every page of a space stays quick, whatever its texts are made of: a megabyte of shapes that are hard on parsers, wherever a
text can stand, and every page and part that links lead to."""

from __future__ import annotations

import html
import re
import time
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import resolve

from memoryhub.domain import accounts, files, longterm, prompts, proposals, quarantine, working
from memoryhub.errors import HubError
from memoryhub.models import HUB, Actor
from tests.fixtures.shapes import SHAPES, gap

pytestmark = pytest.mark.django_db
PATH = "/memories/AGENTS.md"
HERE = f"/s/books/files{PATH}"
SECONDS = 3.0  # of a busy machine; a quiet one takes a third
HARD = {  # the first one is the sample: it takes a third of what a megabyte does
    "a link with a tail": gap("a link", "closing", 240_000),
    **{name: SHAPES[name] for name in ("comment opened", "many lines", "wide table", "zero width")},
    "rendered": SHAPES["stars"][:240_000],
    "a line of blanks": gap("a heading", "blanks", 240_000),
}


def fill(house, text: str) -> None:
    """Puts the text wherever a text can stand. In some places the hub refuses it, which is well."""
    space, owner = house.space, house.owner
    files.add_mount(space, HUB, "/memories/", policy="review")
    agent = prompts.create_agent(space, HUB, "forge")
    prompts.add_source(space, HUB, PATH)
    _, secret = accounts.create_token(space, HUB, agent=agent)
    whole = text.encode()[: 1 << 20]
    lines = text.split("\n")
    changed = "\n".join(line if at % 3 else f"x{line}" for at, line in enumerate(lines)).encode()[: 1 << 20]
    wish = files.ChangeRequest("write", PATH, content=changed, reason=text[:2000])
    call = {"query": text[:3000], "thread_id": "t"}
    steps: list[Callable[[], object]] = [
        lambda: files.write(space, HUB, PATH, whole),
        lambda: files.write(space, owner, PATH, changed),
        lambda: files.write(space, owner, PATH, whole),
        lambda: proposals.submit(space, Actor.of_agent(agent), wish),
        lambda: proposals.comment(space, owner, 1, text[:10_000]),
        lambda: quarantine.log(space, agent, content=text, session_id=text[:200].strip() or "s", node_id="n"),
        lambda: quarantine.log(space, agent, content=f"a{text[:-1]}", session_id="s", node_id="n"),
        lambda: working.add(space, owner, text),
        lambda: longterm.store(space, owner, text, reason=text[:2000]),
        lambda: longterm.store(space, owner, f"{text[: len(text) // 2]} and more", reason=text[:2000]),
        lambda: proposals.propose_promotion(space, agent, content=f"{text[:-1]}b", reason=text[:2000]),
        lambda: proposals.report_template(agent, "9.9.9", f"{text[:199_000]}{{agent_memory}}"),
        lambda: prompts.change_agent(agent, owner, persona=text[:50_000], system_prompt=text[:200_000]),
        lambda: Client().get("/api/v1/prompt", call, headers={"Authorization": f"Bearer {secret}"}),
    ]
    for step in steps:
        try:
            step()
        except HubError:
            continue


def kind_of(address: str) -> tuple[str, ...]:
    """Pages of one kind have the same view and the same names in their query."""
    path, _, query = address.partition("?")
    return resolve(path).view_name, *re.findall(r"(?:^|&)(\w+=[a-z]*)", query)


def slow_pages(client: Client, start: list[str]) -> tuple[list[tuple[str, float]], set[str]]:
    """Follows every link, once for each kind of page: those that took too long, and the names of all."""
    waiting, kinds, slow = list(start), Counter(map(kind_of, start)), []
    while waiting:
        address = waiting.pop(0)
        began = time.thread_time()
        answer = client.get(address)
        page = answer.getvalue().decode("utf-8", "replace")
        taken = time.thread_time() - began
        assert answer.status_code < 400, (address, answer.status_code)
        if taken > SECONDS:
            slow.append((address[:120], round(taken, 2)))
        if not answer.get("Content-Type", "").startswith("text/html"):
            continue
        for found in map(html.unescape, re.findall(r'(?:href|hx-get)="(/s/books/[^"#]*)', page[:3_000_000])):
            if not kinds[kind_of(found)]:
                kinds[kind_of(found)] += 1
                waiting.append(found)
    return slow, {view for view, *_ in kinds}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", HARD)
def test_every_page_stays_quick(house, as_role, name):
    text = HARD[name]
    fill(house, text)
    client = as_role("owner")
    client.get("/s/books/")  # templates are read once
    words = text[:400]
    start = [HERE, *(f"{HERE}?view={view}" for view in ("source", "edit", "history", "blame", "diff"))]
    start += ["/s/books/", "/s/books/proposals/1/", "/s/books/proposals/1/?view=split", "/s/books/prompt/forge/"]
    start += [f"/s/books/search/?{urlencode({'q': words})}", "/s/books/search/?q=a"]
    start += [
        f"/s/books/retrieval/?{urlencode({'query': text[:3000]})}",
        f"/s/books/activity/?{urlencode({'q': words})}",
    ]
    slow, seen = slow_pages(client, start)
    assert slow == []
    if name == "many lines":  # which no place refuses
        assert seen >= {"quarantine.record", "longterm.entry", "promotions.page", "prompts.delivered"}
