"""A search in LangGraph's store, page by page: beside InMemoryStore, and in long-term memory."""

from __future__ import annotations

import pytest
from langgraph.store.memory import InMemoryStore

from memoryhub.client.langgraph import MemoryHubStore
from memoryhub.domain import longterm
from memoryhub.models import HUB

WHERE = ("users", "1")


def pages(store, where, size, **asked):
    found = []
    for offset in range(0, 9, size):
        found.append([item.key for item in store.search(where, limit=size, offset=offset, **asked)])
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_page_has_the_next_items(trusted, size):
    stock, ours = InMemoryStore(), MemoryHubStore(trusted.hub)
    for store in (stock, ours):
        for number in range(5):
            store.put(WHERE, f"k{number}", {"kind": "note" if number % 2 else "fact", "n": number})
    assert pages(ours, WHERE, size) == pages(stock, WHERE, size)
    assert pages(ours, WHERE, size, filter={"kind": "fact"}) == pages(stock, WHERE, size, filter={"kind": "fact"})
    assert [key for page in pages(ours, WHERE, size) for key in page] == [f"k{number}" for number in range(5)]


def test_every_page_of_long_term_memory_has_the_next_entries(trusted):
    for number in range(5):
        longterm.store(trusted.space, HUB, f"Card refunds of kind {number} take {number + 5} days at the bank.")
    store = MemoryHubStore(trusted.hub)
    whole = [item.key for item in store.search(("long_term",), query="card refunds at the bank", limit=10)]
    assert len(whole) == 5
    turned = pages(store, ("long_term",), 2, query="card refunds at the bank")
    assert turned == [whole[:2], whole[2:4], whole[4:], [], []]
