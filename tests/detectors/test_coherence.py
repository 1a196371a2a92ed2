"""Incoherent texts of many languages, and knowledge about errors."""

from __future__ import annotations

from tests.cases import for_each
from tests.detectors import findings_of
from tests.fixtures.coherence_texts import COHERENT, COHERENT_HELD_OUT, INCOHERENT, INCOHERENT_HELD_OUT


@for_each([("empty", " \n\t"), ("gibberish", "xkcdq wrtzpl bvnmqw qwrtzp lkjhgf"), ("gibberish", "@@##!! ~~~ %%% ^^^ &&& ***"),
     ("repetition", "the same again " * 30), ("repetition", "- deploy is done\n" * 9), ("error-dump", 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no'),
     ("error-dump", "Error: 503 Service Unavailable"), ("error-dump", "ConnectionError: host is down"), ("refusal", "I'm sorry, but I can't help with that request."),
     ("refusal", "As an AI language model, I do not have opinions."), ("json", '{"a": 1, "b": [1, 2'), ("markdown", "Do this:\n```sh\nmake run\n"),
     ("truncated", "The refund is booked to the clearing account first, after that the bank confirms it and"), ("truncated", "Steps: one, two [truncated]")])  # fmt: skip
def test_incoherent_texts(kind: str, text: str) -> None:
    assert kind in [one.kind for one in findings_of("coherence", text)]


@for_each(["Card refunds take 5 to 10 days to show at the bank.", "ok", "42", '{"refunds": 3}', "[link](https://example.com)", "entry 17", "退款需要五到十天。",
     "When a job fails with ConnectionError, restart the tunnel and try again.", "```sh\nmake run\n```\n", "- a\n- b\n- c\n", "SELECT id FROM ledger WHERE paid"])  # fmt: skip
def test_knowledge_is_coherent(text: str) -> None:
    assert findings_of("coherence", text) == []


def test_incoherent_texts_of_many_languages_are_found_and_honest_ones_left_alone() -> None:
    kinds = [(kind, text) for kind, text in [*INCOHERENT, *INCOHERENT_HELD_OUT]]
    assert [pair for pair in kinds if pair[0] not in [one.kind for one in findings_of("coherence", pair[1])]] == []
    assert [text for text in [*COHERENT, *COHERENT_HELD_OUT] if findings_of("coherence", text)] == []


def test_an_error_with_an_explanation_is_knowledge() -> None:
    dump = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\nKeyError: 7\n'
    assert [one.kind for one in findings_of("coherence", f"It failed:\n\n{dump}")] == ["error-dump"]
    told = (
        "The importer meets a shop without a number here. Give the shop a number first, then start the importer again."
    )
    assert findings_of("coherence", f"{told}\n\n{dump}") == []


def test_a_stuck_model_is_found_where_it_began_to_repeat_itself() -> None:
    (one,) = findings_of("coherence", "Refunds take ten days. " + "And then we wait. " * 12)
    assert (one.kind, one.line) == ("repetition", 1) and 15 < one.start < 45


@for_each(["\n".join(f"shelf {n} holds {n * 7 % 11} boxes" for n in range(60)), "; ".join(f"shelf {n} holds {n * 7 % 11} boxes" for n in range(60)),
     "\n".join(f"- {n:02}:00 open" for n in range(24)), "\n".join(f"room {n} is free" for n in range(101, 160)), "\n".join(f"10.0.0.{n} printer" for n in range(40)),
     "\n".join(f"| A-{n} | paid | {n * 13} EUR |" for n in range(50)), "chapter 1 page 1, " + ", ".join(f"chapter {n} page {n * 12}" for n in range(2, 50))])  # fmt: skip
def test_a_listing_of_different_things_in_the_same_words_is_coherent(text: str) -> None:
    assert findings_of("coherence", text) == []


@for_each(["shelf 1 holds 3 boxes\n" * 60, "shelf 1 shelf 2 " * 40, "step 1 done " * 30, "item 1 and item 2 and " * 20])
def test_saying_the_same_again_is_no_listing(text: str) -> None:
    assert [one.kind for one in findings_of("coherence", text)] == ["repetition"]
