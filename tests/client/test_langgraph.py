"""LangGraph: the store beside InMemoryStore, the recorder in a real graph, nodes that read memory."""

import asyncio
import time

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from memoryhub.client import Forbidden
from memoryhub.client.langgraph import MemoryHubRecorder, MemoryHubStore
from tests.client.conftest import away


def fill(store):
    store.put(("users", "1"), "prefs", {"theme": "dark", "size": 3, "nested": {"a": [1, 2]}})
    store.put(("users", "1"), "other", {"theme": "light", "size": 7})
    store.put(("users", "2"), "prefs", {"theme": "dark"})
    store.put(("docs", "team", "a/b"), "/AGENTS.md", {"content": "text", "encoding": "utf-8"})
    store.put(("docs", "team"), "ünï.json %2F", {"x": None})
    store.put(("users", "2"), "gone", {"x": 1})
    store.delete(("users", "2"), "gone")
    store.delete(("users", "9"), "never")
    store.put(("users", "1"), "other", {"theme": "blue", "size": 9})


def shape(item):
    return None if item is None else (item.namespace, item.key, item.value)


def shapes(items):
    return sorted(map(repr, map(shape, items)))


QUERIES = [
    lambda store: shape(store.get(("users", "1"), "prefs")),
    lambda store: shape(store.get(("users", "1"), "other")),
    lambda store: shape(store.get(("users", "2"), "gone")),
    lambda store: shape(store.get(("no", "where"), "x")),
    lambda store: shape(store.get(("docs", "team", "a/b"), "/AGENTS.md")),
    lambda store: shape(store.get(("docs", "team"), "ünï.json %2F")),
    lambda store: shapes(store.search(("users",))),
    lambda store: shapes(store.search(("users", "1"))),
    lambda store: shapes(store.search(())),
    lambda store: shapes(store.search(("use",))),
    lambda store: shapes(store.search(("users",), filter={"theme": "dark"})),
    lambda store: shapes(store.search(("users", "1"), filter={"size": {"$gte": 3, "$lt": 9}})),
    lambda store: shapes(store.search(("users", "1"), filter={"size": {"$gt": 5}})),
    lambda store: shapes(store.search(("users",), filter={"theme": {"$ne": "dark"}})),
    lambda store: shapes(store.search(("users",), filter={"nested": {"a": [1, 2]}})),
    lambda store: len(store.search((), limit=2)),
    lambda store: len(store.search((), limit=10, offset=3)),
    lambda store: [name for name in store.list_namespaces() if name != ("users", "9") and name != ("no", "where")],
    lambda store: store.list_namespaces(prefix=("users",), max_depth=1),
    lambda store: store.list_namespaces(prefix=("docs", "*"), max_depth=2),
    lambda store: store.list_namespaces(suffix=("a/b",)),
    lambda store: store.list_namespaces(prefix=("docs",), limit=1, offset=1),
]


@pytest.fixture
def both(trusted):
    stores = InMemoryStore(), MemoryHubStore(trusted.hub)
    for store in stores:
        fill(store)
    return stores


def test_the_store_answers_as_inmemorystore_does(both):
    stock, ours = both
    for number, query in enumerate(QUERIES):
        assert query(ours) == query(stock), number


def test_the_async_calls_too(both):
    async def asked(store):
        await store.aput(("a",), "k", {"v": 1})
        return shape(await store.aget(("a",), "k")), shapes(await store.asearch(("a",))), await store.alist_namespaces()

    stock, ours = both
    mine, theirs = asyncio.run(asked(ours)), asyncio.run(asked(stock))
    assert mine[:2] == theirs[:2]
    assert set(mine[2]) <= set(theirs[2])


def test_a_batch_reads_the_state_before_its_puts_and_the_last_put_wins(trusted):
    def batch(store):
        results = store.batch(
            [
                PutOp(("a",), "k", {"v": 1}),
                GetOp(("a",), "k"),
                SearchOp(("a",)),
                ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
                PutOp(("a",), "k", {"v": 2}),
            ]
        )
        return results, shape(store.get(("a",), "k"))

    (_, got, found, names, _), after = batch(MemoryHubStore(trusted.hub))
    assert (got, found, names) == (None, [], [])
    assert after == (("a",), "k", {"v": 2})


def test_dates_are_kept(trusted):
    store = MemoryHubStore(trusted.hub)
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    time.sleep(0.01)
    store.put(("a",), "k", {"v": 2})
    second = store.get(("a",), "k")
    assert first.created_at == first.updated_at == second.created_at < second.updated_at


def test_the_same_value_again_changes_nothing(trusted):
    store = MemoryHubStore(trusted.hub)
    for _ in range(3):
        store.put(("a",), "k", {"v": 1})
    assert trusted.hub.read("/memories/store/a/k.json").revision == 1


def requests_of(hub):
    """The requests that a client sends from now on."""
    sent, send = [], hub._http.handle_request

    def heard(request):
        sent.append((request.method, request.url.path))
        return send(request)

    hub._http.handle_request = heard
    return sent


def test_a_page_of_many_items_takes_two_requests_and_a_put_one_or_two(trusted):
    store = MemoryHubStore(trusted.hub)
    store.batch([PutOp(("many", str(number % 3)), f"k{number}", {"v": number}) for number in range(12)])
    sent = requests_of(trusted.hub)
    assert [item.value["v"] for item in store.search(("many",), limit=4)] == [0, 1, 2, 3]
    assert len(sent) == 2
    assert [item.value["v"] for item in store.search(("many",), limit=4, offset=8)] == [8, 9, 10, 11]
    assert [item.value["v"] for item in store.search(("many",), limit=2, filter={"v": {"$gt": 3}})] == [4, 5]
    assert store.search(("many",), limit=0) == []
    store.delete(("many", "0"), "k0")
    store.put(("many", "0"), "k0", {"v": 12})
    assert [item.value["v"] for item in store.search(("many",), limit=12)] == [*range(1, 13)]  # it is the newest now
    sent.clear()
    assert store.list_namespaces(prefix=("many",)) == [("many", "0"), ("many", "1"), ("many", "2")]
    assert len(sent) == 1
    sent.clear()
    store.put(("many", "0"), "new", {"v": 1})
    store.put(("many", "0"), "new", {"v": 2})
    assert [method for method, _ in sent] == ["POST", "PUT", "PUT"]
    sent.clear()
    store.put(("many", "0"), "new", {"v": 2})
    assert [method for method, _ in sent] == ["POST"]


def test_a_page_passes_by_files_that_are_no_items_and_goes_on_where_a_call_ends(trusted, monkeypatch):
    store = MemoryHubStore(trusted.hub)
    store.batch([PutOp(("a",), f"k{number}", {"v": number}) for number in range(5)])
    for number in range(3):
        trusted.hub.write(f"/memories/store/a/other-{number}.json", "{}")
    assert [item.value["v"] for item in store.search(("a",), limit=2)] == [0, 1]
    monkeypatch.setattr("memoryhub.domain.files.search.MAX_MATCHES", 2)
    assert [item.value["v"] for item in store.search(("a",), limit=5)] == [0, 1, 2, 3, 4]
    assert store.list_namespaces() == [("a",)]


def test_a_put_over_what_another_store_put_meanwhile_keeps_its_date(trusted):
    one, other = MemoryHubStore(trusted.hub), MemoryHubStore(trusted.hub)
    one.put(("a",), "k", {"v": 1})
    one.delete(("a",), "k")
    one.put(("a",), "k", {"v": 2})
    other.delete(("a",), "k")
    other.put(("a",), "k", {"v": 3})
    made = other.get(("a",), "k").created_at
    one.put(("a",), "k", {"v": 4})  # it knows an item that is gone
    assert (one.get(("a",), "k").value, one.get(("a",), "k").created_at) == ({"v": 4}, made)
    other.put(("a",), "k", {"v": 4})
    assert trusted.hub.read("/memories/store/a/k.json").revision == 6


def test_a_put_of_what_is_published_takes_back_what_waits(review):
    store = MemoryHubStore(review.hub)
    store.put(("a",), "k", {"v": 1})
    review.approve(1)
    store.put(("a",), "k", {"v": 2})
    store.put(("a",), "k", {"v": 1})
    assert (review.hub.proposals("pending"), store.get(("a",), "k").value) == ([], {"v": 1})


def test_any_name_holds_an_item(both):
    """Half a character, NUL, a device of some systems, nothing: InMemoryStore takes them all."""
    names = ["a\ud800", "\udfff", "a\x00b", "con", "NUL.x", "lpt1", "%", "%2E", "u\u0308"]
    labels = [name for name in names if not {".", "\x00"} & {*name}]  # LangGraph refuses these two in a namespace
    for store in both:
        for name in names:
            store.put(("of",), name, {"v": name})
        for label in labels:
            store.put((label, "of"), "key", {"v": label})
        store.put(("con",), "", {"v": "nothing"})
    stock, ours = both
    assert [ours.get(("of",), name).value for name in names] == [{"v": name} for name in names]
    assert [ours.get((label, "of"), "key").value for label in labels] == [{"v": label} for label in labels]
    assert ours.get(("con",), "").value == {"v": "nothing"}
    assert {*ours.list_namespaces()} == {*stock.list_namespaces()} - {("users", "9")}  # where nothing was deleted
    assert {(item.namespace, item.key) for item in ours.search((), limit=50)} == {
        (item.namespace, item.key) for item in stock.search((), limit=50)
    }


def test_words_find_items(trusted):
    store = MemoryHubStore(trusted.hub)
    store.put(("notes",), "a", {"text": "Refunds need a second person"})
    store.put(("notes",), "b", {"text": "Coffee is in the kitchen"})
    best = store.search(("notes",), query="refunds", limit=1)
    assert (best[0].key, best[0].score > 0) == ("a", True)


def test_puts_pass_the_gate(review):
    store = MemoryHubStore(review.hub)
    store.put(("users", "1"), "prefs", {"theme": "dark"})
    (proposal,) = store.pending
    mine = store.get(("users", "1"), "prefs").value
    assert mine == {"theme": "dark", "metadata": {"pending": True, "proposal": proposal.number}}
    assert store.search(("users",)) == []
    assert proposal.path == "/memories/store/users/1/prefs.json"
    review.approve(proposal.number)
    assert store.get(("users", "1"), "prefs").value == {"theme": "dark"}
    store.delete(("users", "1"), "prefs")
    assert store.get(("users", "1"), "prefs") is not None
    assert len(store.pending) == 2


def test_what_waits_is_the_agents_own_and_carries_no_mark_into_the_next_put(review):
    store = MemoryHubStore(review.hub)
    store.put(("users", "1"), "prefs", {"theme": "dark", "metadata": {"by": "rk"}})
    fresh = MemoryHubStore(review.hub).get(("users", "1"), "prefs")  # another process knows it as well
    assert fresh.value["metadata"] == {"by": "rk", "pending": True, "proposal": 1}
    store.put(("users", "1"), "prefs", {**fresh.value, "theme": "light"})
    assert store.get(("users", "1"), "prefs").value["metadata"]["proposal"] == 2
    review.approve(2)
    assert store.get(("users", "1"), "prefs").value == {"theme": "light", "metadata": {"by": "rk"}}


def test_the_same_put_again_is_the_same_proposal(review):
    store, value = MemoryHubStore(review.hub), {"theme": "dark"}
    for theme in ("dark", "dark", "light", "light"):
        value["theme"] = theme
        store.put(("users", "1"), "prefs", value)
    assert [proposal.number for proposal in store.pending] == [1, 1, 2, 2]
    for seats in ({1: "rk", "b": "an"}, {"b": "an", 1: "rk"}):
        store.put(("users", "1"), "prefs", {"seats": seats})
    assert [proposal.number for proposal in store.pending][4:] == [3, 3]


def test_a_put_takes_the_place_of_the_one_that_waits(review):
    store = MemoryHubStore(review.hub)
    for theme in ("dark", "light", "warm"):
        store.put(("users", "1"), "prefs", {"theme": theme})
    waiting = review.hub.proposals("pending")
    assert [one.number for one in waiting] == [3]
    review.approve(3)
    assert store.get(("users", "1"), "prefs").value == {"theme": "warm"}


def test_a_delete_takes_back_what_nobody_decided_on(review):
    store = MemoryHubStore(review.hub)
    store.put(("users", "1"), "prefs", {"theme": "dark"})
    MemoryHubStore(review.hub).delete(("users", "1"), "prefs")
    assert store.get(("users", "1"), "prefs") is None
    assert [one.state for one in review.hub.proposals()] == ["withdrawn"]
    store.delete(("users", "1"), "prefs")


def test_a_put_says_which_thread_asks(review):
    store = MemoryHubStore(review.hub)

    def remember(state):
        store.put(("users", "1"), "prefs", {"theme": "dark"})
        store.put(("long_term",), "k", {"content": "Tills close at nine."})

    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember").compile()
    graph.invoke({"messages": []}, {"configurable": {"thread_id": "t-5"}})
    assert [proposal.thread_id for proposal in store.pending] == ["t-5", "t-5"]


def test_a_refused_put_says_so(review):
    from memoryhub.domain import files
    from memoryhub.models import HUB

    files.change_mount(
        review.space, HUB, files.get_mount(review.space, files.mounts_of_space(review.space)[0].pk), policy="read_only"
    )
    with pytest.raises(Forbidden):
        MemoryHubStore(review.hub, root=files.mounts_of_space(review.space)[0].prefix).put(("a",), "k", {"v": 1})


def test_long_term_memory_is_a_namespace(review):
    from memoryhub.domain import longterm

    longterm.store(review.space, review.rk, "Refunds above 500 euros need a second person.")
    store = MemoryHubStore(review.hub)
    (found,) = store.search(("long_term",), query="who confirms refunds?", limit=3)
    assert "second person" in found.value["content"]
    assert found.namespace == ("long_term",)
    store.put(("long_term",), "new", {"content": "Invoices are sent on Mondays."})
    assert store.pending[0].kind == "promotion"
    assert "the file" not in review.hub.promote(content="Tills close at nine.", reason="asked").message


def test_deepagents_store_backend_works_on_it(trusted):
    from deepagents.backends.store import StoreBackend

    backend = StoreBackend(store=MemoryHubStore(trusted.hub), namespace=lambda _: ("filesystem",))
    assert backend.write("/notes/a.md", "one\ntwo\n").error is None
    assert backend.edit("/notes/a.md", "two", "2").error is None
    assert backend.read("/notes/a.md").file_data["content"].strip() == "one\n2"
    assert [match["line"] for match in backend.grep("2").matches] == [2]


# The recorder


class State(TypedDict):
    question: str
    memory: str
    answer: str


def graph():
    builder = StateGraph(State)
    builder.add_node("think", lambda state: {"answer": f"I thought about {state['question']} for a while."})
    builder.add_node("check", lambda state: {"answer": "The claim about refunds holds, page 3."})
    builder.add_node("quiet", lambda state: None)
    builder.add_edge(START, "think")
    builder.add_edge("think", "check")
    builder.add_edge("check", "quiet")
    builder.add_edge("quiet", END)
    return builder.compile()


def records(real):
    from memoryhub.models import Record

    return list(Record.objects.within(real.space).order_by("pk"))


def test_every_node_is_recorded_with_session_node_kind_and_scope(review):
    with MemoryHubRecorder(review.hub, kinds={"check": "fact_check"}, scopes={"think": "agent"}) as recorder:
        graph().invoke({"question": "refunds"}, {"callbacks": [recorder], "configurable": {"thread_id": "t-5"}})
    found = [(one.session_id, one.node_id, one.node_kind, one.scope, one.content) for one in records(review)]
    assert found == [
        ("t-5", "think", "agent", "agent", "I thought about refunds for a while."),
        ("t-5", "check", "fact_check", "group", "The claim about refunds holds, page 3."),
    ]
    assert recorder.sent == 2


def test_a_langchain_agent_is_recorded_too(review):
    model = GenericFakeChatModel(messages=iter([AIMessage("Refunds above 500 need a second person.")]))
    with MemoryHubRecorder(review.hub, session="s-1") as recorder:
        create_agent(model, []).invoke({"messages": [("user", "refunds?")]}, {"callbacks": [recorder]})
    assert [(one.session_id, one.node_id, one.content) for one in records(review)] == [
        ("s-1", "model", "Refunds above 500 need a second person.")
    ]


def test_an_async_graph_is_recorded(review):
    async def story(recorder):
        await graph().ainvoke({"question": "refunds"}, {"callbacks": [recorder]})

    with MemoryHubRecorder(review.hub) as recorder:
        asyncio.run(story(recorder))
    assert len(records(review)) == 2


def test_nothing_is_lost_while_the_hub_is_away_and_the_graph_does_not_wait(review):
    review.hub.settings.__dict__["retries"] = 0
    recorder = MemoryHubRecorder(review.hub)
    with away(review.hub):
        start = time.monotonic()
        for number in range(3):
            graph().invoke({"question": f"question {number}"}, {"callbacks": [recorder]})
        assert time.monotonic() - start < 1
        assert not recorder.flush(timeout=0.3)
    assert recorder.flush(timeout=20)
    assert len(records(review)) == 6
    assert recorder.dropped == 0


def test_the_queue_is_bounded_and_says_what_it_dropped(review):
    recorder = MemoryHubRecorder(review.hub, size=2)
    recorder._ensure_thread = lambda: None  # nobody takes anything out
    for number in range(5):
        recorder.record(f"text {number}", node="n", session="s")
    assert recorder.dropped == 3
    del recorder._ensure_thread
    assert recorder.flush(20)


def test_a_refusal_does_not_stop_the_others(review):
    recorder = MemoryHubRecorder(review.hub, kinds={"bad": "no such kind"})
    recorder.record("one", node="bad", session="s")
    recorder.record("two is a whole sentence.", node="good", session="s")
    assert recorder.flush(20)
    assert [one.node_id for one in records(review)] == ["good"]
    assert len(recorder.refused) == 1


def test_a_node_puts_what_is_remembered_into_the_state(review):
    review.hub.log("Refunds above 500 need a second person.", session_id="s", node_id="n")
    recorder = MemoryHubRecorder(review.hub, kinds={"recall": "memory_retrieval"}, skip={"recall"})
    builder = StateGraph(State)
    builder.add_node("recall", recorder.retrieval_node(query="question", into="memory"))
    builder.add_node("answer", lambda state: {"answer": f"Given: {state['memory']}"})
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "answer")
    builder.add_edge("answer", END)
    answer = builder.compile().invoke({"question": "refunds"})
    assert "second person" in answer["memory"]
    with away(review.hub):
        assert builder.compile().invoke({"question": "refunds"})["memory"] == ""


def test_the_last_message_is_the_query_by_default(review):
    review.hub.log("Refunds above 500 need a second person.", session_id="s", node_id="n")
    node = MemoryHubRecorder(review.hub).retrieval_node()
    state = MessagesState(messages=[AIMessage("hello"), AIMessage("what about refunds?")])
    assert "second person" in node(state)["memory"]


def test_a_fact_check_gets_evidence_from_long_term_memory(review):
    from memoryhub.domain import longterm

    longterm.store(review.space, review.rk, "Refunds above 500 euros need a second person.")
    recorder = MemoryHubRecorder(review.hub)
    (evidence,) = recorder.evidence("Refunds of 700 euros need nobody")
    assert evidence.source == "cold"
    with away(review.hub):
        assert recorder.evidence("x") == []
