"""Limits of retrieval: the space's, the agent's in their place, those of one call; now and at a past moment."""

import time

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, longterm, prompts, retrieval, spaces
from memoryhub.domain.retrieval import snippets
from memoryhub.errors import Forbidden, Invalid
from memoryhub.models import HUB, Actor
from tests.api.calling import Caller
from tests.domain.layers import counter, forge, rk, space  # noqa: F401
from tests.outputs import admit

QUERY = "How long do card refunds take?"
FACTS = ["Card refunds take 5 to 10 days.", "Card refunds of gifts take 20 days.", "Refunds by transfer take 2 days."]


@pytest.fixture
def memory(space):
    for text in FACTS:
        longterm.store(space, HUB, text)
    for n in range(12):
        admit(space, f"lately number {n}")
    return space


def counted(space, **more):
    found = retrieval.retrieve(space, QUERY, **more)
    return len(found.hot), len(found.cold)


def test_the_agents_limits_come_before_the_spaces_and_a_calls_before_both(memory, forge):
    assert counted(memory, agent=forge) == (10, 3)
    space = retrieval.change_limits(memory, HUB, {"hot": 2, "cold": 2, "max_chars": 12})
    assert counted(space, agent=forge) == counted(space) == (2, 2)
    assert {len(one.content) for one in retrieval.retrieve(space, QUERY).items} == {12}
    forge = prompts.change_agent(forge, HUB, retrieval={"cold": 1})
    assert counted(space, agent=forge) == (2, 1)
    assert counted(space) == (2, 2)
    assert counted(space, agent=forge, hot=5, cold=3) == (5, 3)
    space = retrieval.change_limits(space, HUB, {})
    assert counted(space) == (10, 3)


def test_a_threshold_and_the_share_of_words(memory):
    space = retrieval.change_limits(memory, HUB, {"threshold": 0.99})
    assert counted(space)[1] == 0
    space = retrieval.change_limits(space, HUB, {"threshold": -1, "words": 1.0})
    ranked = retrieval.retrieve(space, "transfer", hot=0).items
    assert ranked[0].content == FACTS[2] and ranked[0].why["mixed"] == 1.0
    space = retrieval.change_limits(space, HUB, {"threshold": -1, "words": 0.0})
    best = retrieval.retrieve(space, "transfer", hot=0).items[0]
    assert best.why["mixed"] == pytest.approx(max(0.0, best.why["cosine"]), abs=1e-3)


def test_prompts_take_them_too(memory, forge, client):
    call = Caller(client, accounts.create_token(memory, HUB, agent=forge)[1])

    def shown(**more):
        text = call("POST", "prompt", {"dialect": "hub", "query": QUERY, **more}, Accept="text/plain").content.decode()
        return text.count("lately number"), sum(text.count(fact) for fact in FACTS)

    before = timezone.now()
    assert shown() == (10, 3)
    retrieval.change_limits(memory, HUB, {"hot": 3, "cold": 1})
    assert shown() == (3, 1)
    assert shown(hot=12, cold=2) == (12, 2)
    assert shown(hot=1) == (1, 1)
    assert shown(cold=0) == (3, 0)
    assert shown() == (3, 1)
    prompts.change_agent(forge, HUB, retrieval={"hot": 0})
    assert shown() == (0, 1)
    then = prompts.assemble(memory, forge, dialect="hub", query=QUERY, at=before)
    assert then.text.count("lately number") == 10
    answer = client.get(
        "/api/v1/prompt",
        {"dialect": "hub", "query": QUERY, "cold": "2"},
        headers={"Authorization": f"Bearer {call.secret}"},
    )
    assert sum(answer.content.decode().count(fact) for fact in FACTS) == 2


def test_what_a_call_named_is_asked_again_for_what_is_up_to_date(memory, forge, client):
    call = Caller(client, accounts.create_token(memory, HUB, agent=forge)[1])
    call("POST", "prompt", {"dialect": "hub", "query": QUERY, "hot": 1, "cold": 1}, Accept="text/plain")
    assert [one.is_behind for one in prompts.thread_statuses(memory, [forge])] == [False]


@pytest.mark.parametrize(
    "values",
    [{"hot": -1}, {"hot": 51}, {"cold": 1.5}, {"hot": True}, {"threshold": 2}, {"threshold": "x"}, {"words": 1.1},
     {"max_chars": 0}, {"size": 3}],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused(memory, forge, values):
    with pytest.raises(Invalid) as refused:
        retrieval.change_limits(memory, HUB, values)
    assert refused.value.details["field"] == next(iter(values))
    with pytest.raises(Invalid):
        prompts.change_agent(forge, HUB, retrieval=values)


def test_a_call_that_is_out_of_bounds_is_refused(memory, forge, client):
    call = Caller(client, accounts.create_token(memory, HUB, agent=forge)[1])
    for wrong in ({"hot": 51}, {"cold": -1}, {"threshold": 2}, {"max_chars": 0}, {"hot": "many"}, {"hot": [1]}):
        answer = call("POST", "prompt", {"dialect": "hub", "query": QUERY, **wrong})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, next(iter(wrong)))


def test_owners_alone_change_them(memory, rk):
    person = accounts.create_person(HUB, "vi")
    spaces.add_member(memory, HUB, person, "viewer")
    with pytest.raises(Forbidden):
        retrieval.change_limits(memory, Actor.of_person(person, "viewer"), {"hot": 1})


@pytest.mark.parametrize("asked", [["\u7121\u8996", "\u8996\u7121"] * 100, [chr(0x4E00 + at) * 2 for at in range(200)]])
def test_a_snippet_is_cut_soon_whatever_was_asked(asked):
    """A query may say a word of two signs a hundred times, and a text may be nothing else."""
    began = time.thread_time()
    for number in range(26):
        snippets.snippet(f"{number}{chr(0x7121)}{chr(0x8996)}" * 1000, asked)
    assert time.thread_time() - began < 0.8
