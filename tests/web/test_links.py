"""Every link of every page leads somewhere, for everybody who sees it; pages hide what one may not do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client

from memoryhub.domain import demo, people, spaces
from memoryhub.domain.access import HUB
from memoryhub.models import Role, Space
from tests import walking

pytestmark = pytest.mark.django_db
OTHER_DOORS = ("/api/", "/metrics")


def get_with(client: Client):
    def get(path: str) -> walking.Answer:
        answer = client.get(path)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        text = content.decode("utf-8", "replace") if kind.startswith("text/") else ""
        return walking.Answer(answer.status_code, kind, text, answer.headers.get("Location", ""))

    return get


def signed_in(space: Space, role: str) -> Client:
    person = people.create(HUB, f"the-{role}")
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


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("which", ["busy", "empty"])
def test_every_link_leads_somewhere(request, which, role):
    space = request.getfixturevalue(which)
    found = walking.walk(get_with(signed_in(space, role)), [space.get_absolute_url(), "/?all"])
    assert len(found) > 5
    dead = [
        f"{page.path} is {page.answer.status}, linked from {page.linked_from}"
        for page in found
        if not page.path.startswith(OTHER_DOORS) and page.answer.status not in (200, 302, 303)
    ]
    assert not dead, "\n".join(dead)


def test_every_page_stands_on_its_own(busy):
    """A title, one heading, the language, ids used once: what a screen reader and a bookmark need."""
    for page in walking.walk(get_with(signed_in(busy, "owner")), [busy.get_absolute_url(), "/account/", "/?all"]):
        text = page.answer.text
        if page.answer.status != 200 or page.answer.kind != "text/html" or page.path.startswith(OTHER_DOORS):
            continue
        title = re.search(r"<title>(.*?)</title>", text, re.S)
        assert title and title[1].strip(" ·\n").removesuffix("· memoryhub").strip(), f"{page.path} has no title"
        assert len(re.findall(r"<h1\b", text)) == 1, f"{page.path} has {len(re.findall('<h1', text))} h1"
        assert re.search(r'<html[^>]*\slang="', text), page.path
        reader = walking.Reader(text)
        twice = {name for name in reader.ids if reader.ids.count(name) > 1}
        assert not twice, f"{page.path} uses ids twice: {sorted(twice)[:5]}"


def test_titles_tell_pages_apart(busy):
    titles: dict[str, str] = {}
    for page in walking.walk(get_with(signed_in(busy, "owner")), [busy.get_absolute_url()], each=1):
        found = re.search(r"<title>(.*?)</title>", page.answer.text, re.S)
        if found and page.answer.status == 200 and "?" not in page.path:
            assert found[1] not in titles, f"{page.path} and {titles.get(found[1])} are both {found[1]!r}"
            titles[found[1]] = page.path


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


@pytest.mark.parametrize("role", Role.values)
def test_every_form_that_is_shown_may_be_sent(busy, role):
    """As it stands, by each of its buttons, without a script: taken or told what to mend, never refused or lost."""
    client = signed_in(busy, role)
    client.handler.enforce_csrf_checks = True
    faults, tried = [], 0
    for page in walking.walk(get_with(client), [busy.get_absolute_url(), "/?all", "/account/"], each=1):
        for form in walking.Reader(page.answer.text).forms if page.answer.status == 200 else ():
            if form.method == "post" and form.asks and not form.buttons:
                faults.append(f"{page.path}: the form to {form.action} has no button to send it with")
            for target, sent in presses(page.path, form) if form.method == "post" else ():
                tried += 1
                status = press(client, target, sent)
                if status not in (200, 302, 303, 409, 422):
                    faults.append(f"{page.path}: the form to {target} answers {status}")
    assert tried > 3
    assert not faults, "\n".join(dict.fromkeys(faults))
