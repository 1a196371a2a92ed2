"""Words in any script, BM25, and one order from words and meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.domain.retrieval import (
    CONFIGURATIONS,
    Candidate,
    split_at_threshold,
    split_words,
    words_by_configuration,
)
from memoryhub.domain.retrieval.word_rank import Corpus, bm25, coverage, fuse

CORPUS = Corpus(documents=100, mean_length=10.0, frequencies={"refund": 4, "card": 40, "the": 99})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Card REFUNDS, export.py snake_case", ["card", "refunds", "export", "py", "snake", "case"]),
        ("退款需要十天", ["退款", "款需", "需要", "要十", "十天"]),
        ("ひらがなカタ", ["ひら", "らが", "がな", "なカ", "カタ"]),
        ("환불은 열흘", ["환불", "불은", "열흘"]),
        ("天", ["天"]),
        ("API网关v2", ["api", "网关", "v2"]),
        ("كلمة، أخرى", ["كلمة", "أخرى"]),
        ("क्षेत्र की रिपोर्ट।", ["क्षेत्र", "की", "रिपोर्ट"]),
        ("Ａ１ Straße", ["a1", "strasse"]),
        ("… — 😀", []),
    ],
)
def test_words(text, expected):
    assert split_words(text) == expected


def test_words_are_sorted_into_the_configuration_of_their_script():
    sorted_words = dict(
        zip(CONFIGURATIONS, words_by_configuration("refunds возврат الاسترداد 退款\x00 नियम"), strict=True)
    )
    assert sorted_words["english"] == "refunds"
    assert sorted_words["russian"] == "возврат"
    assert sorted_words["arabic"] == "الاسترداد"
    assert sorted_words["simple"] == "退款"
    assert sorted_words["hindi"] == "नियम"


@given(st.text())
def test_no_text_breaks_the_words(text):
    assert all(split_words(text))


def test_rare_words_weigh_more_and_repetition_wears_off():
    rare, common = (bm25({word: 1}, 10, [word], CORPUS) for word in ("refund", "card"))
    assert rare > common > 0
    once, ten = (bm25({"refund": n}, 10, ["refund"], CORPUS) for n in (1, 10))
    assert once < ten < 2.3 * once


def test_a_short_text_beats_a_long_one_and_strange_words_count_nothing():
    assert bm25({"refund": 1}, 5, ["refund"], CORPUS) > bm25({"refund": 1}, 50, ["refund"], CORPUS)
    assert bm25({"refund": 1}, 5, ["teal"], CORPUS) == 0


def test_a_value_by_hand():
    # weight = ln(1 + 96.5 / 4.5), tf part = 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 20 / 10))
    assert bm25({"refund": 2}, 20, ["refund"], CORPUS) == pytest.approx(3.11104 * 4.4 / 4.1, abs=1e-4)


def test_coverage_is_the_share_of_weight():
    assert coverage(["refund", "card"], ["refund", "card"], CORPUS) == pytest.approx(1.0)
    assert coverage(["the"], ["the", "refund"], CORPUS) < 0.01
    assert coverage([], [], CORPUS) == 0


def test_words_and_meaning_weigh_the_same():
    by_words, by_meaning, by_both = Candidate(1, 0.0, 8.0), Candidate(2, 0.9, 0.0), Candidate(3, 0.6, 6.0)
    assert [one.id for one in fuse([by_words, by_meaning, by_both])] == [3, 1, 2]
    assert fuse([by_both])[0].mixed == pytest.approx(0.5 + 0.3)
    assert [one.rank for one in fuse([by_words, by_meaning])] == [1, 2]


def test_without_vectors_the_words_alone_decide():
    assert [one.id for one in fuse([Candidate(1, None, 1.0), Candidate(2, None, 3.0)])] == [2, 1]


def test_the_threshold_cuts_unless_the_words_speak_for_a_text():
    kin, spoken_for, stranger = Candidate(1, 0.5), Candidate(2, 0.1, 4.0, 0.9), Candidate(3, 0.1, 0.2, 0.05)
    kept, cut = split_at_threshold([kin, spoken_for, stranger], 0.3, 5)
    assert ({one.id for one in kept}, {one.id for one in cut}) == ({1, 2}, {3})
    kept, cut = split_at_threshold([kin, spoken_for, stranger], 0.3, 5, strict=True)
    assert [one.id for one in kept] == [1]
    kept, cut = split_at_threshold([kin, spoken_for, stranger], 0.3, 5, uncut=True)
    assert ({one.id for one in kept}, cut) == ({1, 2, 3}, [])
    nothing = Candidate(4, 0.1)
    assert split_at_threshold([nothing], 0.3, 5, uncut=True) == ([], [nothing])
    assert split_at_threshold([kin, spoken_for], 0.3, 1)[0] == split_at_threshold([kin, spoken_for], 0.3, 5)[0][:1]
