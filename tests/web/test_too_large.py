"""A request that says it is too large is refused before anybody reads it."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, prompts
from memoryhub.middleware import MAX_REQUEST_BYTES
from memoryhub.models import HUB

PAGE = "/s/books/files/upload/"


class Unread:
    """A body that must not be asked for."""

    def read(self, *_: int) -> bytes:
        raise AssertionError("the body was read")

    readline = read


def sent(client, path, size, **more):
    return client.generic("POST", path, content_type="multipart/form-data; boundary=x", **more, **{
        "CONTENT_LENGTH": str(size), "wsgi.input": Unread(),
    })  # fmt: skip


@pytest.mark.parametrize("role", ["owner", None])
def test_a_form_of_more_than_an_import_is_refused_unread(as_role, house, client, role):
    browser = as_role(role) if role else client
    answer = sent(browser, PAGE, MAX_REQUEST_BYTES + 1)
    assert answer.status_code == 413
    assert "40 MiB" in answer.content.decode()


def test_a_call_of_that_size_is_refused_in_the_one_shape(client, house):
    secret = accounts.create_token(house.space, HUB, agent=prompts.create_agent(house.space, HUB, "forge"))[1]
    answer = sent(client, "/api/v1/edits", MAX_REQUEST_BYTES + 1, headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
