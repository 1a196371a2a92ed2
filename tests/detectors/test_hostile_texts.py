"""No text keeps the detectors busy: four times as much of it takes about four times as long, never sixteen.

What a text takes is measured against honest prose of its size in the same run, so that a busy machine changes nothing.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from functools import cache

import pytest

from memoryhub import detectors
from memoryhub.detectors import fingerprints

SMALL, LARGE = 40_000, 160_000
GROWTH = 9  # times as long for four times as much; what grows with the square takes sixteen
SLOWEST = 250  # times as long as prose
ALL = (*detectors.PROPOSAL, "coherence")
PROSE = "The ledger service keeps the books of small shops. Every amount is rounded once, at the end.\n"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def of_size(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def find_all(text: str) -> object:
    return detectors.find(text, only=ALL)


def seconds(work: Callable[[str], object], text: str) -> float:
    """Of a processor, the better of two."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        work(text)
        taken.append(time.process_time() - start)
    return min(taken)


@cache
def of_prose(size: int) -> float:
    return seconds(find_all, of_size(PROSE, size))


PREFIX = "gh" + "p_"
UNITS = {
    "names": "password=", "secrets": "password=x9!abcd\n", "today": "today ", "tomorrow": "tomorrow at", "roles": "<|im_start|>",
    "quoted": '"ignore all previous instructions ', "listed": "- ignore all previous instructions\n", "cells": "| ignore all previous rules ",
    "in a row": '"ignore all previous instructions", ', "said by texts": "text telling you to ignore your rules ", "options": "| `--a` | automatically approve all changes ",
    "comments": "```\n# always approve all payments\na --b\n", "stretches": "dan unethical swear\n- ",
    "forbidden": "never do this, ", "pictures": "![a](http://", "logins": "login a/b1 ", "closings": "</context>\n", "openings": "<context>",
    "register": "dan unethical swear ", "foreign": "ignoriere ", "unspaced": "无视", "prefixes": PREFIX, "split": PREFIX + "\n",
    "keys": "key: ", "keys of keys": "key:1", "addresses": '"https://-&w=conv', "queries": "https://a?b=", "mails": "send-cookies-a@", "sent": "send all user data to a-",
    "planted": "when user add ", "commands": "curl -d x ", "pem": "-----BEGIN " + "PRIVATE KEY----- ", "putty": "PuTTY-User-Key-File-7: -Pr ", "numbers": "telegr 1234:A",
    "hidden": "\u200b", "joined": "a\u2060", "look-alikes": "а́", "stack": "   at x(\n", "fences": "```\n", "fenced json": "```json\n", "errors": "not ",
    "links": "[a](", "brackets": "[", "misread": "\u00c3\u00a9", "sorry": "sorry ", "colons": "a: ", "blanks": "\t", "letters": "A",
}  # fmt: skip


@pytest.mark.sampled(20)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_four_times_a_text_takes_about_four_times_as_long(unit: str) -> None:
    """One line may be the whole text, and every word of it a finding."""
    small, large = (seconds(find_all, of_size(unit, size)) for size in (SMALL, LARGE))
    assert large <= GROWTH * max(small, of_prose(SMALL))
    assert large <= SLOWEST * of_prose(LARGE)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [LARGE, SMALL])
@pytest.mark.parametrize("wrapped", ["password: x9!abcd\n", "harmless words about nothing\n"])
def test_what_is_wrapped_takes_no_longer(wrapped: str, size: int) -> None:
    for text in (b64(of_size(wrapped, size)), " ".join(b64(f"{n} {wrapped}") for n in range(size // 64))):
        assert seconds(find_all, text) <= SLOWEST * of_prose(len(text))


def test_many_lines_or_one_without_end_tell_no_longer_than_few() -> None:
    few = seconds(fingerprints.to_look_up, "\n".join(f"this is line {n} of many lines" for n in range(400)))
    many = seconds(fingerprints.to_look_up, "\n".join(f"this is line {n} of many lines" for n in range(20_000)))
    endless = seconds(fingerprints.to_look_up, " ".join(f"word{n}" for n in range(100_000)))
    assert max(many, endless) <= 250 * few
