"""Every link of every page leads somewhere, for everybody who sees it; pages hide what one may not do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.db import transaction
from django.test import Client

from memoryhub.domain import accounts, demo, files, prompts, proposals, spaces
from memoryhub.models import HUB, Actor, Space
from tests import walking

pytestmark = pytest.mark.django_db
OTHER_DOORS = ("/api/", "/metrics")
ALWAYS_EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
WALKED: dict[str, list[walking.Found]] = {}  # by role: the pages of the demo, for tests that only read them


def get_with(client: Client):
    def get(path: str) -> walking.Answer:
        answer = client.get(path)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        text = content.decode("utf-8", "replace") if kind.startswith("text/") else ""
        return walking.Answer(answer.status_code, kind, text, answer.headers.get("Location", ""))

    return get


def signed_in(space: Space, role: str) -> Client:
    person = accounts.create_person(HUB, f"the-{role}")
    spaces.add_member(space, HUB, person, role)
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def busy() -> Space:
    return demo.make()


@pytest.fixture
def empty() -> Space:
    return spaces.create(HUB, "empty", "Empty")


OWN = ["/?all", "/account/"]


def pages_of(client: Client, space: Space, each: int = 1) -> list[walking.Found]:
    found = walking.walk(get_with(client), [space.get_absolute_url(), *OWN], each=each)
    return [page for page in found if not page.path.startswith(OTHER_DOORS)]


@pytest.fixture
def walked(request: pytest.FixtureRequest):
    """The pages of the demo that this role is led to."""

    def find(role: str) -> list[walking.Found]:
        if role not in WALKED:
            busy = request.getfixturevalue("busy")
            WALKED[role] = pages_of(signed_in(busy, role), busy)
        return WALKED[role]

    return find


def dead(found: list[walking.Found]) -> list[str]:
    return [
        f"{page.path} is {page.answer.status}, linked from {page.linked_from}"
        for page in found
        if page.answer.status not in (200, 302, 303)
    ]


@pytest.mark.parametrize("role", ["viewer", "owner"])
def test_every_link_of_an_empty_space_leads_somewhere(empty, role):
    faults = dead(pages_of(signed_in(empty, role), empty))
    assert not faults, "\n".join(faults)


# Owners see everything and viewers least; what lies between belongs to `make attack`.
@pytest.mark.parametrize(
    "role",
    ["viewer", *(pytest.param(one, marks=pytest.mark.attack) for one in ("editor", "reviewer")), "owner"],
)
def test_every_link_leads_somewhere_and_every_form_may_be_sent(busy, role):
    """A form as it stands, by each of its buttons, without a script: taken or told what to mend, never refused or lost."""
    client = signed_in(busy, role)
    client.handler.enforce_csrf_checks = True
    found = WALKED[role] = pages_of(client, busy)
    faults, tried = dead(found), 0
    for page in found:
        for form in walking.Reader(page.answer.text).forms if page.answer.status == 200 else ():
            if form.method == "post" and form.asks and not form.buttons and not form.is_blocked:
                faults.append(f"{page.path}: the form to {form.action} has no button to send it with")
            for target, sent in presses(page.path, form) if form.method == "post" else ():
                tried += 1
                status = press(client, target, sent)
                if status not in (200, 302, 303, 409, 422):
                    faults.append(f"{page.path}: the form to {target} answers {status}")
    assert len(found) > 20 and tried > 3
    assert not faults, "\n".join(dict.fromkeys(faults))


def presses(path: str, form: walking.Form) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each way to send a form: where to, and what."""
    for name, value, action in dict.fromkeys(form.buttons):
        target = walking.inside(path, action or form.action or path)
        yield target, [*form.fields, *([(name, value)] if name else [])]


def press(client: Client, target: str, sent: list[tuple[str, str]]) -> int:
    """Sends it, and takes back whatever it did."""
    data: dict[str, list[str]] = {}
    for name, value in sent:
        data.setdefault(name, []).append(value)
    with transaction.atomic():
        answer = client.post(target, data)
        transaction.set_rollback(True)
    return answer.status_code


@pytest.fixture
def odd(empty) -> Space:
    """A space whose files have signs in their names that mean something in a URL, each on the pages that show paths."""
    files.add_mount(empty, HUB, "/memories/", policy="review")
    agent = prompts.create_agent(empty, HUB, "forge")
    token = accounts.create_token(empty, HUB, agent=agent)[1]
    for name in ("100%41 a?b#c.md", "{%de}&amp;'<x>.md"):
        path = f"/memories/{name}"
        files.write(empty, HUB, path, b"needle one\n")
        prompts.add_source(empty, HUB, path)
        Client().get("/api/v1/prompt", {"thread": name}, headers={"Authorization": f"Bearer {token}"})
        files.write(empty, HUB, path, b"needle two\n")
        proposals.submit(empty, Actor.of_agent(agent), files.ChangeRequest("write", path, content=b"needle three\n"))
    files.add_mount(empty, HUB, "/thread/", store="thread", policy="trusted")
    proposals.submit(
        empty, Actor.of_agent(agent), files.ChangeRequest("write", "/thread/a.md", content=b"needle", thread_id="t")
    )
    return empty


def test_links_to_odd_names_lead_to_their_pages(odd):
    client = signed_in(odd, "owner")
    starts = [
        odd.get_absolute_url() + one
        for one in ("", "files/memories/", "search/?q=needle", "prompt/forge/", "activity/")
    ]
    found = walking.walk(get_with(client), starts, each=4)
    faults = dead([page for page in found if page.path.startswith("/s/")])
    assert not faults, "\n".join(faults)


def test_every_page_stands_on_its_own(walked):
    """A title that no other page has, one heading, the language, ids used once: for screen readers and bookmarks."""
    titles: dict[str, str] = {}
    faults = []
    for page in walked("owner"):
        text = page.answer.text
        if page.answer.status != 200 or page.answer.kind != "text/html":
            continue
        title = re.search(r"<title>(.*?)</title>", text, re.S)
        said = title[1].strip() if title else ""
        if not said.removesuffix("· memoryhub").strip():
            faults.append(f"{page.path} has no title")
        if "?" not in page.path and titles.setdefault(said, page.path) != page.path:
            faults.append(f"{page.path} and {titles[said]} are both {said!r}")
        # Headings of a rendered file have names; the page's own has none.
        if len(re.findall(r"<h1\b(?![^>]*\sid=)", text)) != 1:
            faults.append(f"{page.path} has not one h1 of its own")
        if not re.search(r'<html[^>]*\slang="', text):
            faults.append(f"{page.path} names no language")
        ids = walking.Reader(text).ids
        if twice := {name for name in ids if ids.count(name) > 1}:
            faults.append(f"{page.path} uses ids twice: {sorted(twice)[:5]}")
    assert not faults, "\n".join(faults)


class Primary(HTMLParser):
    """The primary actions that are shown when a page opens, by their words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.folded: list[str] = []  # the elements around, from the outermost that is not shown on
        self.is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ALWAYS_EMPTY:
            return
        is_away = tag in ("dialog", "noscript") or "popover" in given or "hidden" in given
        if self.folded or is_away or (tag == "details" and "open" not in given):
            self.folded.append(tag)
        elif "main-act" in (given.get("class") or "").split():
            self.found.append("")
            self.is_inside = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Shapes of drawings hold nothing."""

    def handle_endtag(self, tag: str) -> None:
        if tag in self.folded:
            while self.folded.pop() != tag:
                pass
        if tag in ("button", "a"):
            self.is_inside = False

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.found[-1] += data.strip()


@pytest.mark.parametrize("role", ["owner", pytest.param("reviewer", marks=pytest.mark.attack)])
def test_a_page_has_one_primary_action(walked, role):
    """What is folded away, or waits in a dialog or a menu, does not count."""
    faults: dict[str, str] = {}
    for page in walked(role):
        found = Primary(page.answer.text).found
        if len(found) > 1:
            faults.setdefault(walking.kind_of(page.path), f"{page.path}: {found}")
    assert not faults, "\n".join(faults.values())
