"""What says nothing to remember is told from short facts."""

from __future__ import annotations

import time

from memoryhub.detectors.coherence import says_nothing
from tests.cases import for_each
from tests.fixtures import held_out
from tests.fixtures.coherence_texts import COHERENT, COHERENT_HELD_OUT

NOTHING = [
    "ok", "OK.", "Done ✅", "Thank you very much!", "Got it, thanks.", "Sure, will do.", "👍🏽", "Everything looks good.", "Working on it now.",
    "LGTM", "The task is done.", "好的", "好的，没问题！", "收到，已处理", "任务已完成。", "谢谢你", "了解しました", "네, 알겠습니다", "Danke!", "готово", " yes\n",
]  # fmt: skip
FACTS = [
    "Deploys run on Tuesdays", "Use tabs.", "42", "Anna loves teal.", "main", "Never force-push", "prod is frozen", "Go is used", "IT works", "make works",
    "vegan", "Ask Anna", "Yes: refunds are allowed", "退款需要五到十天。", "周二部署", "不吃肉", "用户是素食者", "办公室在三楼", "Port 8080", "", "ok " * 60,
]  # fmt: skip


@for_each(NOTHING)
def test_acknowledgements_say_nothing(text):
    assert says_nothing(text)


@for_each(FACTS)
def test_a_short_fact_says_something(text):
    assert not says_nothing(text)


def test_honest_texts_are_left_alone():
    texts = [
        *COHERENT,
        *COHERENT_HELD_OUT,
        *strings_in([value for name, value in vars(held_out).items() if name.isupper()]),
    ]
    assert {text for text in texts if says_nothing(text)} <= {"好的", "Yes.", "ok", "yes", "👍", "OK, done.", "✔"}
    assert len(texts) > 300


def strings_in(values):
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from strings_in(value)


def test_words_that_can_be_read_in_two_ways_take_no_longer() -> None:
    start = time.process_time()
    assert not says_nothing("好的" * 38 + "龙")
    assert time.process_time() - start < 2
