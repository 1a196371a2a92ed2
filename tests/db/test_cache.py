"""Caches: bounded, the least recently used out first, nothing under another mark; and all of them in the documents."""

import importlib
import pkgutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memoryhub
from memoryhub.db import cache

DOCUMENT = Path(memoryhub.__file__).parents[1] / "docs/develop/performance.md"


@pytest.fixture
def made(monkeypatch):
    """A cache that is not listed after the test."""
    monkeypatch.setattr(cache, "caches", {})
    return lambda **bound: cache.Cache("made", key="k", invalidated_by="i", saves="s", **bound)


def test_the_least_recently_used_goes_first(made):
    one = made(max_items=2)
    one.put("a", 1), one.put("b", 2)
    assert one.get("a") == 1
    one.put("c", 3)
    assert (one.get("a"), one.get("b"), one.get("c"), one.size) == (1, None, 3, 2)


def test_to_list_what_is_held_is_no_use_of_it(made):
    one = made(max_items=2)
    one.put("a", 1), one.put("b", 2), one.get("a")
    assert sorted(one.items()) == [("a", 1), ("b", 2)]
    one.put("c", 3)
    assert one.get("b") is None


def test_a_value_counts_under_its_mark_alone(made):
    one = made(max_items=2)
    one.put("a", 1, mark=7)
    assert (one.get("a", 7), one.get("a", 8), one.get("a")) == (1, None, 1)
    one.put("a", 2, mark=8)
    assert (one.get("a", 7), one.get("a", 8), one.size) == (None, 2, 1)


def test_many_values_of_one_mark_at_once(made):
    one = made(max_items=9)
    one.put(("s", 1), "a", 7), one.put(("s", 2), "b", 8), one.put(("t", 3), "c", 7)
    assert one.get_each("s", [1, 2, 3], 7) == {1: "a"}


def test_values_may_be_weighed_and_what_is_too_large_is_not_kept(made):
    one = made(max_bytes=10, size_of=len)
    one.put("a", "12345"), one.put("b", "1234")
    assert one.size == 9
    one.put("b", "123456")
    assert (one.get("a"), one.size) == (None, 6)
    one.put("b", "12345678901")
    assert (one.get("b"), one.size) == (None, 0)


def test_threads_at_once_leave_it_whole(made):
    one = made(max_items=50)

    def use(seed):
        for number in range(3000):
            one.put((number * seed) % 97, number)
            one.get(number % 97)

    threads = [threading.Thread(target=use, args=[seed]) for seed in (1, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.size == len(one.items()) == 50


def test_who_reads_while_another_puts_stops_neither(made):
    one, until, often = made(max_items=50), time.monotonic() + 1, sys.getswitchinterval()

    def put():
        while time.monotonic() < until:
            for number in range(200):
                one.put(number, number)

    def get():
        while time.monotonic() < until:
            for number in range(200):
                one.get(number)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor() as threads:
            for done in [threads.submit(act) for act in (put, get, get)]:
                done.result()
    finally:
        sys.setswitchinterval(often)
    assert one.size == len(one.items()) == 50


def test_texts_of_a_key_count_as_well(made):
    one = made(max_bytes=10_000, size_of=len)
    for number in range(9):
        one.put((1, f"{number}" * 4000), "12345")
    assert len(one.items()) == 2 and 8000 < one.size < 10_000
    one.put((1, "9" * 10_000), "")
    assert one.get((1, "9" * 10_000)) is None and len(one.items()) == 2


def test_every_cache_stands_in_the_documents():
    for module in pkgutil.walk_packages(memoryhub.__path__, "memoryhub."):
        if ".domain." in module.name:
            importlib.import_module(module.name)
    text = DOCUMENT.read_text()
    for one in cache.caches.values():
        assert f"| {one.name} | {one.key} | {one.bound} | {one.invalidated_by} | {one.saves} |" in text, one.name
