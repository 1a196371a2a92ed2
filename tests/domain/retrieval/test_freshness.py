"""What processes keep of long-term and working memory is never served once it changed, whoever changed it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from memoryhub.domain import accounts, erasure, exchange, longterm, prompts, quarantine, retrieval, spaces, working
from memoryhub.domain.longterm import indexing
from memoryhub.domain.prompts import PromptRequest, inputs, serve
from memoryhub.domain.prompts.memory import now as memory_now
from memoryhub.domain.retrieval import query_words
from memoryhub.domain.retrieval.in_memory import postings
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.models import HUB, LexemeCount, Space, WorkingEntry
from tests.domain.layers import (  # noqa: F401
    asked,
    bound,
    caches_of_this_process,
    clear_caches,
    counter,
    forge,
    rank_module,
    rk,
    space,
    take_caches,
)
from tests.outputs import admit

QUERY = "how long does a card refund take"


@pytest.fixture
def facts(space):
    for text in ("A card refund takes ten days.", "Anna loves teal.", "The bank closes at noon."):
        longterm.store(space, HUB, text, session_id="s-1")
    return space


def cold(space, query=QUERY):
    return [item.content for item in retrieval.retrieve(space, query, hot=0).cold]


def mark(space):
    return Space.objects.values_list("longterm_mark", flat=True).get(pk=space.pk)


def embed_waiting(space):
    entry = longterm.get(space, 1)
    indexing.set_state(entry, longterm.WAITING)
    assert indexing.embed_waiting(space) == 1


def switch_back(space):
    longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    longterm.switch_embedder_back(space, HUB)


def restore(space):
    longterm.retire(space, HUB, 1)
    before = mark(space)
    longterm.restore(space, HUB, 1)
    assert mark(space) != before


CHANGES = {
    "store": lambda space: longterm.store(space, HUB, "Refunds need a receipt."),
    "store in place of another": lambda space: longterm.store(space, HUB, "A refund takes two days.", replaces=[1]),
    "store with others": lambda space: longterm.store(space, HUB, "On money:", merges=[1, 3]),
    "edit": lambda space: longterm.edit(space, HUB, 1, "A card refund takes five days."),
    "verify": lambda space: longterm.verify(space, HUB, 1),
    "retire": lambda space: longterm.retire(space, HUB, 1),
    "restore": restore,
    "embed what waits": embed_waiting,
    "erase a session": lambda space: erasure.erase_now(space, HUB, erasure.Target("session", "s-1")),
    "another embedder": lambda space: longterm.run_reembedding(space, "hashing"),
    "and back": switch_back,
    "a backup restored": lambda space: exchange.note_restore("today"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_long_term_memory_moves_its_mark_and_the_revision(facts, change):
    before, revision = mark(facts), Space.objects.get(pk=facts.pk).revision
    CHANGES[change](facts)
    assert mark(facts) != before
    assert Space.objects.get(pk=facts.pk).revision > revision


@pytest.mark.parametrize("change", ["store", "store in place of another", "edit", "retire", "erase a session"])
def test_what_another_process_changed_is_seen(facts, change):
    cold(facts)
    elsewhere = caches_of_this_process()
    CHANGES[change](facts)
    told = cold(facts)
    take_caches(elsewhere)
    assert cold(facts) == told == cold(facts)
    clear_caches()
    assert cold(facts) == told


def test_a_word_asked_for_before_a_change_is_weighed_anew_after_it(facts):
    cold(facts), cold(facts, "teal")
    elsewhere = caches_of_this_process()
    longterm.store(facts, HUB, "Teal, teal and teal again.")
    take_caches(elsewhere)
    cold(facts)  # brings the space's mark of now
    assert cold(facts, "teal") == ["Teal, teal and teal again.", "Anna loves teal."]
    found = retrieval.retrieve(facts, "teal", hot=0).cold
    assert all(item.why["words"] > 0 for item in found)


def test_all_that_new_words_need_comes_in_one_statement(facts, asked):
    cold(facts)
    query_words.lexemes_of("Anna at noon")  # which another query had
    asked.clear()
    assert cold(facts, "Anna at noon") == ["Anna loves teal.", "The bank closes at noon."]
    assert len(asked) == 2
    asked.clear()
    cold(facts, "noon, Anna")
    assert [sql for sql, *_ in asked] == [postings.MARK]


def test_a_call_that_has_read_the_mark_of_the_space_does_not_ask_for_it_again(facts, asked):
    def told(space):
        return [one.content for one in retrieval.retrieve(space, QUERY, hot=0, mark=space.longterm_mark).cold]

    cold(facts)
    before = Space.objects.get(pk=facts.pk)
    asked.clear()
    assert told(before) == ["A card refund takes ten days."]
    assert not asked
    elsewhere = caches_of_this_process()
    longterm.edit(facts, HUB, 1, "A card refund takes five days.")
    take_caches(elsewhere)
    assert told(Space.objects.get(pk=facts.pk)) == ["A card refund takes five days."]
    take_caches(elsewhere)
    assert told(facts) == told(before) == ["A card refund takes five days."]  # marks of before are asked about


def test_what_was_rolled_back_is_not_remembered(facts):
    before = cold(facts)
    with transaction.atomic():
        longterm.edit(facts, HUB, 1, "A card refund takes five days.")
        assert cold(facts) != before
        transaction.set_rollback(True)
    assert cold(facts) == before
    longterm.edit(facts, HUB, 1, "A card refund takes a long time.")
    assert cold(facts)[0] == "A card refund takes a long time."


def test_each_lexeme_of_a_changed_text_gets_another_mark(facts):
    def marks():
        return dict(LexemeCount.objects.within(facts).values_list("lexeme", "mark"))

    before = marks()
    longterm.edit(facts, HUB, 1, "A card refund takes five days.")
    changed = {lexeme for lexeme, mark in marks().items() if before.get(lexeme) != mark}
    assert {"card", "refund", "ten", "five", "day"} <= changed
    assert not {"teal", "bank", "noon"} & changed


def test_the_kept_postings_are_bounded(facts, monkeypatch):
    bound(postings, "postings", 700, monkeypatch)
    told = [cold(facts, query) for query in (QUERY, "anna teal", "the bank at noon", QUERY)]
    assert told[0] == told[3] != []
    assert 0 < postings.postings.size <= 700


# In prompts


def calling(secret):
    """The caller, as a prompt with a query needs it."""
    return accounts.authenticate(secret, beside=serve.WORKING_IDS)


@pytest.fixture
def ask(facts, counter):
    secret = accounts.create_token(facts, HUB, agent=counter)[1]

    def ask(query=QUERY):
        told = prompts.prompt_for(calling(secret), PromptRequest(query=query)).text
        assert told == prompts.assemble(Space.objects.get(pk=facts.pk), counter, query=query).text
        return told

    return ask


def test_a_file_that_changed_does_not_ask_long_term_memory_again(facts, counter, ask, monkeypatch):
    asked = []
    retrieve = retrieval.retrieve
    monkeypatch.setattr(retrieval, "retrieve", lambda *args, **more: asked.append(more) or retrieve(*args, **more))
    assert "takes ten days" in ask()
    before = [one for one in asked if one.get("hot") == 0]
    prompts.change_agent(counter, HUB, persona="Calm.")
    assert "Calm." in ask() and "takes ten days" in ask()
    assert [one for one in asked if one.get("hot") == 0] == before


@pytest.mark.parametrize("change", ["edit", "retire", "erase a session", "store in place of another"])
def test_a_prompt_shows_long_term_memory_as_it_is_now(facts, ask, change):
    assert "takes ten days" in ask()
    CHANGES[change](facts)
    assert "takes ten days" not in ask()


def test_a_prompt_shows_working_memory_as_people_left_it(facts, ask):
    number = admit(facts, "The till is open.")
    assert "The till is open." in ask()
    working.edit(facts, HUB, number, "The till is shut.")
    assert "The till is shut." in ask()
    working.remove(facts, HUB, number)
    assert "The till" not in ask()
    working.put_back(facts, HUB, number)
    assert "The till is shut." in ask()


def test_a_prompt_loses_what_a_person_discards(facts, counter, rk, ask):
    record = quarantine.log(facts, counter, content="The till opens at eight.", session_id="s-2", node_id="answer").id
    assert "The till opens at eight." in ask()
    quarantine.discard(facts, rk, record, "not so")
    assert "The till" not in ask()
    quarantine.undo(facts, rk, record)
    assert "The till opens at eight." in ask()


def test_a_caller_comes_with_the_ids_of_the_newest_that_an_agent_may_read(facts, counter, forge):
    secret = accounts.create_token(facts, HUB, agent=counter)[1]

    def known():
        return calling(secret).beside

    ids = [admit(facts, f"Order {number}.", agent=counter, scope="agent") for number in range(3)]
    assert known() == "{" + ",".join(map(str, reversed(ids))) + "}"
    admit(facts, "Forge alone reads this.", agent=forge, scope="agent")
    assert known() == "{" + ",".join(map(str, reversed(ids))) + "}"
    WorkingEntry.objects.filter(pk=ids[1]).update(expires_at=timezone.now() - timedelta(hours=1))
    assert known() == f"{{{ids[2]},{ids[0]}}}"
    assert accounts.authenticate(secret).beside is None


def test_another_task_or_question_gathers_nothing_anew(facts, counter, monkeypatch):
    secret = accounts.create_token(facts, HUB, agent=counter)[1]
    gathered = []
    now = inputs.current_inputs
    monkeypatch.setattr(inputs, "current_inputs", lambda *args, **more: gathered.append(more) or now(*args, **more))

    def told(**asked):
        caller = calling(secret) if asked.get("query") else accounts.authenticate(secret)
        text = prompts.prompt_for(caller, PromptRequest(**asked)).text
        count = len(gathered)
        assert text == prompts.assemble(Space.objects.get(pk=facts.pk), counter, **asked).text
        del gathered[count:]
        return text

    assert "takes ten days" in told(query=QUERY) and "loves teal" in told(query="Anna teal", task="Say it.")
    assert len(gathered) == 1
    told(task="One."), told(task="Two.")
    assert len(gathered) == 2  # without a question no working memory is looked at
    told(query=QUERY, dialect="plain"), told(query="Anna teal", dialect="plain")
    assert len(gathered) == 3
    admit(facts, "The till is open.")
    assert "The till is open." in told(query=QUERY, task="Three.") and "The till" not in told(task="Three.")
    assert len(gathered) == 4
    prompts.change_agent(counter, HUB, persona="Calm.")
    assert "Calm." in told(query=QUERY, task="Four.") and "Calm." in told(task="Four.")
    assert len(gathered) == 6


def test_what_came_after_the_caller_was_known_and_went_again_is_not_cached(facts, counter, rk):
    secret = accounts.create_token(facts, HUB, agent=counter)[1]

    def ask(task, meanwhile=lambda: None):
        caller = calling(secret)
        meanwhile()
        return prompts.prompt_for(caller, PromptRequest(query=QUERY, task=task)).text

    admit(facts, "The bell rang.")
    late = []
    assert "The till is open." in ask("One.", lambda: late.append(admit(facts, "The till is open.")))
    WorkingEntry.objects.filter(pk=late[0]).update(removed_at=timezone.now())  # as a discarded record's entry is
    assert "The till" not in ask("One.") and "The till" not in ask("Two.")


def test_without_the_embedder_nothing_is_kept_for_later(facts, ask, settings):
    spaces.change_settings(facts, HUB, {"embedder": "openai_endpoint"})
    settings.EMBEDDER_URL = ""
    memory_now._longterm_cache.clear()
    assert "takes ten days" in ask()
    assert not memory_now._longterm_cache.items()


def test_a_prompt_says_that_the_embedder_is_away_and_is_made_anew_when_it_is_back(facts, counter, monkeypatch):
    secret = accounts.create_token(facts, HUB, agent=counter)[1]
    memory_now._longterm_cache.clear()

    def answer():
        prompt = prompts.prompt_for(calling(secret), PromptRequest(query="the time for money to return"))
        return [one.code for one in prompt.warnings], prompt.text

    def away(space):
        raise EmbedderUnavailable("The embedder does not answer.")

    with monkeypatch.context() as patched:
        patched.setattr(rank_module, "serving_embedder", away)
        codes, by_words = answer()
        assert codes == ["embedder_away"] and answer() == (codes, by_words)
    assert answer()[0] == [] and "card refund" in answer()[1] and "card refund" not in by_words
