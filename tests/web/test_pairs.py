"""Pairs that may say the same or the opposite: a person settles each, and each verdict has a way back."""

import html
import importlib
import re

import pytest

from memoryhub.domain import longterm
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB, EntryPair
from tests.one_line import one_line

promote_module = importlib.import_module("memoryhub.domain.longterm.promote")

pytestmark = pytest.mark.django_db
OLD = "Card refunds take 5 to 10 days to show at the bank."
NEW = "Card refunds take 21 days to show at the bank."


@pytest.fixture
def pair(house):
    longterm.store(house.space, HUB, OLD), longterm.store(house.space, HUB, NEW)
    queue.run_waiting()
    return EntryPair.objects.get().pk


@pytest.fixture
def reviewer(as_role):
    return as_role("reviewer")


def post(client, path, **data):
    answer = client.post(path if path.startswith("/") else f"/s/books/longterm/{path}", data, follow=True)
    assert answer.status_code == 200, one_line(answer)[:400]
    return html.unescape(one_line(answer))


def undo_in(page):
    return re.search(r'<form method="post" action="([^"]+)">[^\n]*Undo', page)[1]


def states(space):
    return list(longterm.entries_of(space).order_by("number").values_list("state", flat=True))


@pytest.mark.parametrize(
    ("verdict", "says", "left"),
    [
        ("keep_both", "Kept both, L-1 and L-2.", ["active", "active"]),
        ("retire_older", "Kept L-2; L-1 is retired.", ["retired", "active"]),
        ("retire_newer", "Kept L-1; L-2 is retired.", ["active", "retired"]),
    ],
)
def test_each_verdict_can_be_taken_back(house, reviewer, pair, verdict, says, left):
    page = post(reviewer, f"pairs/{pair}/", verdict=verdict)
    assert says in page and states(house.space) == left and not longterm.open_conflicts(house.space)
    post(reviewer, undo_in(page))
    queue.run_waiting()  # of what comes back, pairs are looked for again
    assert states(house.space) == ["active", "active"]
    assert longterm.open_conflicts(house.space).get().kind == "contradiction"


def test_a_pair_is_merged_and_parted_again(house, reviewer, pair):
    page = html.unescape(one_line(reviewer.get(f"/s/books/longterm/promote/?pair={pair}")))
    assert f">{OLD}\n\n{NEW}</textarea>" in page and "Merge L-1 and L-2" in page
    for number in (1, 2):
        assert re.search(rf'name="near-{number}" value="replace"[^>]* checked', page)
    assert states(house.space) == ["active", "active"]  # nothing happened yet
    both = "Card refunds take 5 to 21 days to show at the bank."
    chosen = {"near-1": "replace", "near-2": "replace", "pair": pair, "content": both}
    page = post(reviewer, "promote/now/", **chosen)
    assert states(house.space) == ["retired", "retired", "active"] and longterm.get(house.space, 3).content == both
    assert reviewer.post("/s/books/longterm/promote/now/", chosen).status_code == 404  # a second click
    post(reviewer, undo_in(page))
    assert states(house.space) == ["active", "active", "retired"]


def test_a_pair_can_be_merged_while_the_embedder_is_away(house, reviewer, pair, monkeypatch):

    monkeypatch.setattr(promote_module, "_neighbours", lambda space, content: ([], 0, 0.0, "It is away.", None))
    page = one_line(reviewer.get(f"/s/books/longterm/promote/?pair={pair}"))
    assert "It is away." in page and all(f'name="near-{one}" value="replace"' in page for one in (1, 2))


def test_who_may_not_promote_settles_nothing(house, as_role, pair):
    editor = as_role("editor")
    assert "Merge…" not in editor.get("/s/books/longterm/?show=pairs").content.decode()
    assert editor.get(f"/s/books/longterm/promote/?pair={pair}").status_code == 403
    assert editor.post(f"/s/books/longterm/pairs/{pair}/unsettle/").status_code == 403


def test_only_a_verdict_that_stands_is_taken_back(house, reviewer, pair):
    assert reviewer.post(f"/s/books/longterm/pairs/{pair}/unsettle/").status_code == 404
    assert reviewer.get("/s/books/longterm/promote/?pair=987654").status_code == 404
