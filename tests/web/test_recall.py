"""The pages of files that show memory, and pinning entries for them."""

import pytest

from memoryhub.domain import files, longterm, prompts
from memoryhub.models import HUB, Space
from tests.outputs import admit

pytestmark = pytest.mark.django_db


@pytest.fixture
def recall(house):
    files.add_mount(house.space, HUB, "/recall/", store="views")
    house.agent = prompts.create_agent(house.space, HUB, "forge")
    admit(house.space, "The gateway is slow <b>today</b>.")
    admit(house.space, "Forge tried it twice.", agent=house.agent, scope="agent")
    for text in ("Card refunds take 5 to 10 days.", "Anna likes teal.", "Tests run with make test."):
        longterm.store(house.space, HUB, text)
    return house


def page(client, path, **query):
    answer = client.get(f"/s/books/{path}", query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_each_file_has_a_page_with_its_entries(recall, as_role):
    client = as_role("viewer")
    shown = page(client, "files/recall/working.md")
    assert "The gateway is slow &lt;b&gt;today" in shown and "Edit" not in shown
    assert "Forge tried" not in page(client, "files/recall/own.md")
    assert "Forge tried" in page(client, "files/recall/own.md", agent="forge")
    assert "Without a query" in page(client, "files/recall/query.md")
    assert "/s/books/longterm/1/" in page(client, "files/recall/query.md", query="how long do card refunds take")
    assert client.get("/s/books/files/recall/none.md").status_code == 404
    listed = page(client, "files/recall/")
    assert "pinned.md" in listed and "years" not in listed
    assert client.get("/s/books/settings/").status_code == 200


def test_a_reviewer_pins_moves_and_unpins(recall, as_role):
    client = as_role("reviewer")
    for number in (1, 2, 3):
        client.post(f"/s/books/longterm/{number}/pin/")
    assert [one.number for one in longterm.pinned(recall.space)] == [1, 2, 3]
    client.post("/s/books/longterm/3/pin/", {"place": "1"})
    assert [one.number for one in longterm.pinned(recall.space)] == [3, 1, 2]
    client.post("/s/books/longterm/1/unpin/")
    assert [(one.number, one.pin) for one in longterm.pinned(recall.space)] == [(3, 1), (2, 2)]
    listed = client.get("/s/books/longterm/", {"show": "pinned"}, headers={"HX-Request": "true"}).content.decode()
    assert listed.index("Tests run") < listed.index("Anna likes") and "Card refunds" not in listed
    assert "pinned, number 1" in page(client, "longterm/3/")
    shown = page(client, "files/recall/pinned.md")
    assert shown.index("Tests run") < shown.index("Anna likes")


def test_a_retired_entry_is_not_shown_and_not_pinned(recall, as_role):
    client = as_role("reviewer")
    client.post("/s/books/longterm/1/pin/")
    longterm.retire(recall.space, HUB, 1)
    assert "Card refunds" not in page(client, "files/recall/pinned.md")
    longterm.unpin(recall.space, HUB, 1)
    assert client.post("/s/books/longterm/1/pin/").status_code in (302, 303, 409)
    assert longterm.pinned(recall.space) == []


def test_viewers_and_editors_pin_nothing(recall, as_role):
    for role in ("viewer",):
        assert as_role(role).post("/s/books/longterm/1/pin/").status_code == 403
    assert longterm.pinned(recall.space) == []


def test_an_owner_mounts_it_on_the_page(house, as_role):
    client = as_role("owner")
    client.post("/s/books/mounts/add/", {"prefix": "/recall/", "store": "views", "policy": "review"})
    assert Space.objects.get(slug="books").has_views
    assert "/recall/" in page(client, "settings/access/")
