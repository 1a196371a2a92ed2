"""What each index finds is what plain sums over every chunk give: in any script, with ties and with words that all share."""

import json
import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from memoryhub.db import statements
from memoryhub.domain import longterm, retrieval
from memoryhub.domain.retrieval import Candidate, SearchOptions, query_words, word_rank
from memoryhub.domain.retrieval.index import MIN_WEIGHT
from memoryhub.domain.retrieval.word_rank import Corpus
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.models import HUB
from tests.domain.layers import INDEXES, answer_from, rank_module, space  # noqa: F401

VOCABULARIES = {
    "latin": "refund card bank teal order ship parcel invoice desk noon receipt ledger ten days Größe über naïve 2024 v1.2",
    "arabic": "بطاقة بنك استرداد عشرة أيام المكتب يغلق الجمعة الطلب فاتورة إيصال التسليم يوم مال",
    "chinese": "退款 银行卡 需要 五天 十天 订单 发票 收据 关闭 办公室 星期五 交付 客户",
    "mixed": "refund 退款 возврат بنك कार्ड bank банк 카드 환불 เงิน card κάρτα 10 ten",
}
SHARED = {"latin": "memory", "arabic": "ذاكرة", "chinese": "记忆", "mixed": "memory"}
NEARLY = 1e-5  # half the sums are of half precision
SHOWN = 5e-4  # of values that are shown with four digits


def corpus_of(script, rng):
    """Texts of few words, some common and some rare; some texts twice, and one word in all of them."""
    words = VOCABULARIES[script].split()
    weights = [1 / (n + 1) for n in range(len(words))]
    made = [" ".join(rng.choices(words, weights, k=rng.randint(1, 12))) for _ in range(40)]
    return [f"{SHARED[script]} {text}" for text in [*made, *rng.sample(made, 8)]]


def questions(script, rng):
    words = VOCABULARIES[script].split()
    yield SHARED[script]
    yield "nothing-of-this-kind zzqq"
    for size in (1, 2, 3, 5, 9):
        yield " ".join(rng.choices([*words, SHARED[script], "zzqq"], k=size))


class Plain:
    """Every chunk of a space, and slow sums over them."""

    def __init__(self, space):
        self.counts = defaultdict(dict)
        found = "SELECT c.id, u.lexeme, cardinality(u.positions) FROM memoryhub_chunk c, unnest(c.words) u WHERE c.space_id = %s"
        for chunk, lexeme, count in statements.rows(found, [space.pk]):
            self.counts[chunk][lexeme] = count
        self.lengths = {chunk: sum(counts.values()) for chunk, counts in self.counts.items()}
        held = Counter(lexeme for counts in self.counts.values() for lexeme in counts)
        self.corpus = Corpus(len(self.counts), sum(self.lengths.values()) / len(self.counts), held)
        stored = "SELECT chunk_id, vector::text FROM memoryhub_embedding WHERE space_id = %s"
        self.vectors = {chunk: np.array(json.loads(vector)) for chunk, vector in statements.rows(stored, [space.pk])}

    def by_words(self, query):
        asked = query_words.lexemes_of(query)
        weights = {one: self.corpus.weight(one) for one in asked}
        known = [one for one in asked if self.corpus.frequencies.get(one)]
        heaviest = max((weights[one] for one in known), default=0)
        counted = [one for one in known if weights[one] >= MIN_WEIGHT * heaviest]
        whole = sum(weights.values())
        found = {}
        for chunk, counts in self.counts.items():
            if mine := [one for one in counted if one in counts]:
                words = word_rank.bm25(counts, self.lengths[chunk], mine, self.corpus)
                found[chunk] = words, sum(weights[one] for one in mine) / whole
        return found

    def by_meaning(self, query, embedder):
        asked = np.array(embedder.embed([query])[0], np.float16).astype(float)
        size = np.linalg.norm(asked) or 1.0
        return {chunk: float(asked @ one) / size / (np.linalg.norm(one) or 1.0) for chunk, one in self.vectors.items()}

    def candidates(self, query, embedder, wanted):
        """Whoever may be one, and who is one for sure: at the last places of words and of meaning several may be as good."""
        words = self.by_words(query)
        cosines = self.by_meaning(query, embedder) if embedder else {}
        scores = {chunk: found[0] for chunk, found in words.items()}
        (may, sure), (near, nearest) = best(scores, SearchOptions(wanted).by_words), best(cosines, wanted)
        found = [Candidate(chunk, cosines.get(chunk), *words.get(chunk, (0.0, 0.0))) for chunk in may | near]
        share = word_rank.HALF if embedder is None or retrieval.reads(embedder, query) else word_rank.MOST
        return {one.id: one for one in word_rank.fuse(found, share)}, sure | nearest


def best(scores, wanted):
    last = sorted(scores.values(), reverse=True)[:wanted][-1:] if len(scores) > wanted else [-math.inf]
    may = {chunk for chunk, score in scores.items() if score >= last[0] - NEARLY}
    return may, may if len(may) <= wanted else {chunk for chunk in may if scores[chunk] > last[0] + NEARLY}


def check(space, plain, query, embedder, limit):
    """The items have the values that plain sums give, and nothing that is better was left out."""
    found = retrieval.retrieve(space, query, hot=0, cold=limit, threshold=-1).items
    may, sure = plain.candidates(query, embedder, limit)
    for item in found:
        one = may[item.id]
        told = [item.why[name] or 0.0 for name in ("words", "coverage", "mixed", "cosine")]
        assert told == pytest.approx([one.words, one.coverage, one.mixed, one.cosine or 0.0], abs=SHOWN)
        assert (item.why["cosine"] is None) == (one.cosine is None)
        assert one.cosine is not None or one.words > 0
    mixed = [item.why["mixed"] for item in found]
    assert mixed == sorted(mixed, reverse=True)
    left = [may[one] for one in sure - {item.id for item in found} if may[one].cosine is not None or may[one].words > 0]
    assert len(found) == limit or not left
    assert all(one.mixed <= mixed[-1] + SHOWN for one in left)
    if embedder:
        assert [item.why["rank"] for item in found] == list(range(1, len(found) + 1))


@pytest.fixture(params=["wordllama", "hashing"])
def embedder(request, space):
    space.settings["embedder"] = request.param
    space.save()
    return retrieval.load_embedder(request.param)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("script", VOCABULARIES)
def test_an_index_finds_what_plain_sums_find(space, embedder, script, index, monkeypatch):
    answer_from(index, monkeypatch)
    rng = random.Random(script + index)
    for text in corpus_of(script, rng):
        longterm.store(space, HUB, text)
    for gone in (3, 4):  # nothing is kept at first, and much later on
        plain = Plain(space)
        for query in questions(script, rng):
            for limit in (1, 5, 20):
                check(space, plain, query, embedder, limit)
        longterm.retire(space, HUB, gone)
        longterm.edit(space, HUB, gone + 4, VOCABULARIES[script][:40])


@pytest.mark.parametrize("script", VOCABULARIES)
@pytest.mark.parametrize("index", ["memory", "database"])
def test_by_words_alone_too(space, script, index, monkeypatch):
    answer_from(index, monkeypatch)
    rng = random.Random(script)
    for text in corpus_of(script, rng):
        longterm.store(space, HUB, text)

    def away(space):
        raise EmbedderUnavailable("The embedder does not answer.")

    monkeypatch.setattr(rank_module, "serving_embedder", away)
    plain = Plain(space)
    for query in questions(script, rng):
        for limit in (1, 5, 20):
            check(space, plain, query, None, limit)
