"""Groups of texts are named by a phrase that stands in them."""

from __future__ import annotations

from collections import Counter

from memoryhub.text import key_phrases

TEXTS = [
    "The refund window is 14 days from delivery.",
    "The refund window is 30 days for shops on the plan Plus.",
    "A late refund needs the refund window of its order.",
    "Webhooks are retried 8 times over 26 hours.",
    "Webhooks are signed with X-Ledger-Signature.",
    "An endpoint of webhooks is switched off after 26 hours.",
    "Anna loves teal.",
    "Migrations run on Thursday.",
]
CHINESE = [
    "退款通常需要五到十个工作日才能到账。",
    "银行卡退款需要五天。",
    "退款申请要主管审批。",
    "周二部署生产环境。",
    "部署前先跑测试。",
    "生产环境部署要通知团队。",
]


def name_of(texts, members):
    found = [key_phrases.phrases(text) for text in texts]
    everywhere = Counter(key for one in found for key in one)
    return key_phrases.key_phrase([found[at] for at in members], everywhere, len(texts))


def test_a_group_has_the_phrase_that_its_texts_share():
    assert name_of(TEXTS, [0, 1, 2]) == "refund window"
    assert name_of(TEXTS, [3, 4, 5]) == "Webhooks"


def test_a_name_stands_literally_in_a_text():
    for members in ([0, 1, 2], [3, 4, 5]):
        assert any(name_of(TEXTS, members) in TEXTS[at] for at in members)


def test_chinese_texts_are_named_by_what_they_share():
    assert "退款" in name_of(CHINESE, [0, 1, 2])
    assert "部署" in name_of(CHINESE, [3, 4, 5]) or name_of(CHINESE, [3, 4, 5]) == "生产环境"


def test_a_group_that_shares_nothing_has_no_name():
    assert name_of(TEXTS, [0, 6, 7]) == ""
    assert name_of(["Alike here.", "Alike there.", "Alike too.", "Alike again."], [0, 1]) == ""  # as much in all others


def test_long_texts_of_one_run_are_no_burden():
    assert key_phrases.phrases("字" * 300 + " " + "a" * 5000) is not None
