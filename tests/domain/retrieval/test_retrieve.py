"""Retrieval: hot and cold as the protocol says, words and meaning together, walls on every path."""

import pytest

from memoryhub.domain import longterm, retrieval, spaces
from memoryhub.domain.retrieval import word_rank
from memoryhub.errors import Invalid
from memoryhub.models import HUB
from tests.domain.layers import counter, forge, rk, space  # noqa: F401
from tests.outputs import admit

FACTS = [
    "Card refunds take 5 to 10 days to show at the bank; bank transfers take 2.",
    "Migrations over 2 minutes are announced in #ship.",
    "The ledger export writes integers in minor units.",
    "Anna loves teal above all other colours.",
    "يغلق المكتب في الساعة الخامسة يوم الجمعة",
    "银行卡退款需要五到十天",
    "Банковский перевод занимает два дня",
]


@pytest.fixture
def facts(space):
    return [longterm.store(space, HUB, text) for text in FACTS]


def retrieve(space, query, **more):
    return retrieval.retrieve(space, query, **more).items


def cold(space, query, **more):
    return [item.number for item in retrieve(space, query, hot=0, **more)]


def test_hot_first_with_score_one_then_cold_by_likeness(space, facts):
    for n in range(12):
        admit(space, f"lately {n}")
    items = retrieve(space, "How long do card refunds take?")
    assert [item.source for item in items] == ["hot"] * 10 + ["cold"] * (len(items) - 10)
    assert [item.content for item in items[:2]] == ["lately 11", "lately 10"]
    assert {item.score for item in items[:10]} == {1.0}
    assert items[10].number == 1
    assert 0.3 < items[10].score < 1
    assert items[10].why["by"] == "words and meaning"
    assert items[10].why["rank"] == 1


def test_the_score_is_the_cosine(space, facts):
    query, text = retrieval.serving_embedder(space).embed(["card refunds", FACTS[0]])
    best = retrieve(space, "card refunds", hot=0)[0]
    assert best.score == pytest.approx(float(query @ text), abs=2e-3)  # half precision


def test_meaning_alone_and_words_alone_both_find(space, facts):
    by_meaning = retrieve(space, "money given back to the customer's credit cards", hot=0)
    assert by_meaning[0].number == 1
    assert cold(space, "teal")[0] == 4


@pytest.mark.parametrize(
    ("query", "number"), [("متى يغلق المكتب", 5), ("退款", 6), ("банковского перевода", 7), ("migration", 2)]
)
def test_every_script_is_found_by_its_words(space, facts, query, number):
    assert cold(space, query)[0] == number


def test_what_fits_nothing_gives_nothing(space, facts):
    assert cold(space, "quantum chromodynamics lattice") == []
    assert cold(space, "") == []
    assert cold(space, "…") == []


def test_a_given_threshold_is_kept_strictly(space, facts):
    items = retrieve(space, "teal migrations refunds", hot=0, threshold=0.3)
    assert all(item.score >= 0.3 for item in items)
    assert cold(space, "refunds", threshold=0.99) == []
    assert len(cold(space, "refunds", threshold=-1, cold=50)) == len(FACTS)
    found = retrieval.retrieve(space, "refunds", hot=0, threshold=0.99, show_cut=3)
    assert found.cut_off[0].number in (1, 6)


def test_limits_and_truncation(space, facts):
    admit(space, "x" * 600)
    hot, *rest = retrieve(space, "refunds", max_chars=10, cold=1)
    assert (hot.content, hot.is_truncated) == ("x" * 10, True)
    assert [len(item.content) for item in rest] == [10]
    assert retrieve(space, "refunds", hot=0, cold=0) == []


@pytest.mark.parametrize("wrong", [{"hot": 51}, {"cold": -1}, {"threshold": 2.0}, {"max_chars": 0}, {"scope": "all"}])
def test_wrong_numbers_are_refused(space, wrong):
    with pytest.raises(Invalid):
        retrieve(space, "x", **wrong)


def test_an_agents_own_experience_is_its_own(space, forge, counter):
    longterm.store(space, HUB, "The deploy key lies in the vault.")
    longterm.store(space, HUB, "The deploy needs the green light of ops.", scope="agent", agent=forge)
    assert sorted(cold(space, "deploy", agent=forge)) == [1, 2]
    assert cold(space, "deploy", agent=counter) == [1] == cold(space, "deploy")
    assert cold(space, "deploy", agent=forge, scope="agent") == [2]
    assert cold(space, "deploy", agent=forge, scope="group") == [1]
    assert cold(space, "deploy", scope="agent") == []


def test_no_other_space_is_ever_read(space, facts):
    other = spaces.create(HUB, "other")
    admit(space, "ours")
    assert retrieve(other, "card refunds at the bank", threshold=-1) == []
    longterm.store(other, HUB, "Nothing about that.")
    assert cold(other, "card refunds at the bank", threshold=-1) == [1]


def test_a_space_gets_all_it_has_up_to_the_limit(space):
    for n in range(3):
        longterm.store(space, HUB, f"Refund rule {n}.")
    assert len(cold(space, "refund rule", threshold=-1)) == 3


def test_the_database_reckons_as_the_formula_does(space, facts):
    asked = "card refunds bank"
    found = retrieve(space, asked, hot=0)
    from memoryhub.models import Chunk, ChunkCount, Posting

    counted = ChunkCount.objects.get(space_id=space.pk)
    postings = Posting.objects.within(space).filter(lexeme__in=["card", "refund", "bank"])
    held = {}
    for one in postings:
        held[one.lexeme] = held.get(one.lexeme, 0) + 1
    corpus = word_rank.Corpus(counted.chunks, counted.lexemes / counted.chunks, held)
    chunk = Chunk.objects.within(space).get(entry_id=facts[0].pk)
    counts = {one.lexeme: one.count for one in postings.filter(chunk_id=chunk.pk)}
    assert found[0].why["words"] == pytest.approx(word_rank.bm25(counts, chunk.length, counts, corpus), abs=1e-3)
    assert found[0].why["coverage"] == pytest.approx(1.0)


def test_without_the_embedder_words_still_find_and_say_so(space, facts, settings):
    space.settings["embedder"] = "openai_endpoint"
    settings.EMBEDDER_URL = ""
    found = retrieval.retrieve(space, "card refunds", hot=0)
    assert [item.number for item in found.cold] == [1]
    assert found.cold[0].why["by"] == "words"
    assert "by words alone" in found.warnings[0]


MANY = "which merchant terminal prints receipts when banks refuse the refunds that travellers of airlines asked for"


def test_without_the_embedder_no_words_are_cut_off(space, facts, settings):
    with_it = cold(space, MANY)
    space.settings["embedder"] = "openai_endpoint"
    settings.EMBEDDER_URL = ""
    found = retrieval.retrieve(space, MANY, hot=0, show_cut=5)
    assert 1 in [item.number for item in found.cold] and found.cut_off == []
    assert set(with_it) <= {item.number for item in found.cold}
    assert retrieval.retrieve(space, MANY, hot=0, threshold=0.9).cold, "a threshold of meaning cuts nothing either"


def test_a_threshold_of_nothing_cuts_no_words_off(space, facts):
    for one in ("hashing", "wordllama"):
        embedder = retrieval.load_embedder(one)
        found = retrieval.retrieve(space, MANY, hot=0, threshold=0, embedder=embedder, show_cut=5)
        assert [item.number for item in found.cut_off if item.why["words"]] == []
        assert 1 in [item.number for item in found.cold]
    assert retrieval.retrieve(space, MANY, hot=0, threshold=0.99).cold == []


@pytest.mark.parametrize("named", ["wordllama", "hashing"])
def test_words_decide_where_the_embedder_cannot_read(space, named):
    texts = [
        "退款需要十个工作日到账。",
        "发票在发货后三天内开出。",
        "退货地址是宁波仓库三号门。",
        "客服工作时间是早九点到晚六点。",
    ]
    for text in texts:
        longterm.store(space, HUB, text)
    embedder = retrieval.load_embedder(named)
    assert retrieval.reads(embedder, "card refunds 退款") and not retrieval.reads(embedder, "退款什么时候到账？ (app)")
    mixed = retrieval.retrieve(space, "退款什么时候到账？", hot=0, embedder=embedder)
    words = retrieval.retrieve(space, "退款什么时候到账？", hot=0, embedder=embedder, threshold=0, words=1.0)
    spoken_for = [item.number for item in words.cold if item.why["words"]]
    assert {item.number for item in mixed.cold} >= set(spoken_for)
    assert mixed.cold[0].number == spoken_for[0] == 1
    best = max(item.why["words"] or 0 for item in mixed.cold)
    for item in mixed.cold:
        assert item.why["mixed"] == pytest.approx(
            0.8 * (item.why["words"] or 0) / best + 0.2 * max(0, item.score), abs=1e-3
        )
    chosen = retrieval.retrieve(space, "退款什么时候到账？", hot=0, embedder=embedder, words=0.25).cold[0].why
    assert chosen["mixed"] == pytest.approx(0.25 + 0.75 * max(0, chosen["cosine"] or 0), abs=1e-3)


def test_a_summary_to_put_into_a_prompt(space, facts):
    admit(space, "first line\nsecond line")
    text = retrieval.as_text(retrieve(space, "card refunds", cold=1))
    assert text == (
        "Recent (working memory, newest first):\n- first line\n  second line\n\n"
        f"Known (long-term memory, best match first):\n- {FACTS[0]} [L-1]\n"
    )
    assert retrieval.as_text([]) == "Nothing in memory fits.\n"
