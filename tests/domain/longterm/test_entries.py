"""Long-term memory: stored in chunks, corrected with history, checked, retired and restored."""

import json
from datetime import date, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.domain import erasure, jobs, longterm, prompts, quarantine, retrieval, spaces, working
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import chunks, conflicts
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound
from memoryhub.models import (
    HUB,
    ActivityLine,
    Actor,
    Chunk,
    ChunkCount,
    Embedding,
    EntryPair,
    Job,
    Posting,
    Space,
    Telltale,
)
from tests.domain.layers import counter, forge, person, rk, space, viewer  # noqa: F401

REFUNDS = "Card refunds take 5 to 10 days to show at the bank; bank transfers take 2."


def found(space, query, **more):
    return [item.number for item in retrieval.retrieve(space, query, hot=0, **more).items]


def everything_that_finds(space):
    return [model.objects.within(space).count() for model in (Chunk, Posting, Embedding, Telltale)]


def test_an_entry_is_cut_listed_and_embedded(space, rk):
    text = " ".join(f"Sentence {n} about refunds of orders." for n in range(40))
    entry = longterm.store(space, rk, text, reason="asked often", session_id="c-1", record_id=7)
    chunks = list(Chunk.objects.within(space).order_by("position"))
    assert len(chunks) == Embedding.objects.within(space).count() > 1
    assert all(text[one.start : one.end] == one.text and len(one.text) <= 500 for one in chunks)
    assert (entry.number, entry.state, entry.actor_name, entry.session_id, entry.record_id) == (
        1,
        "active",
        "rk",
        "c-1",
        7,
    )
    counted = ChunkCount.objects.get(space_id=space.pk)
    assert (counted.chunks, counted.lexemes) == (len(chunks), sum(one.length for one in chunks))
    before = space.revision
    space.refresh_from_db()
    assert space.revision > before


def test_numbers_count_per_space(space, rk):
    other = spaces.create(HUB, "other")
    assert [longterm.store(one, HUB, "A fact.").number for one in (space, space, other)] == [1, 2, 1]


def test_a_correction_is_found_in_the_same_breath_and_the_old_text_stays(space, rk):
    entry = longterm.store(space, rk, REFUNDS)
    longterm.edit(space, rk, entry.number, "Invoices are sent on Mondays.", reason="it was wrong", seen_revision=1)
    assert found(space, "card refunds at the bank") == []
    assert found(space, "when are invoices sent") == [1]
    assert [(one.number, one.content) for one in longterm.history(entry)] == [
        (2, "Invoices are sent on Mondays."), (1, REFUNDS),
    ]  # fmt: skip
    with pytest.raises(Conflict, match="changed while you wrote"):
        longterm.edit(space, rk, entry.number, "Something else.", seen_revision=1)


def test_retiring_takes_an_entry_out_of_everything_and_restoring_brings_it_back(space, rk):
    entry = longterm.store(space, rk, REFUNDS)
    rows = everything_that_finds(space)
    longterm.retire(space, rk, entry.number, reason="outdated")
    assert everything_that_finds(space) == [0, 0, 0, 0]
    assert ChunkCount.objects.get(space_id=space.pk).chunks == 0
    assert found(space, "refunds") == []
    with pytest.raises(Conflict):
        longterm.retire(space, rk, entry.number)
    longterm.restore(space, rk, entry.number)
    assert everything_that_finds(space) == rows
    assert found(space, "refunds") == [1]


def test_an_agents_own_knowledge_never_becomes_the_groups_when_the_agent_goes(space, rk, forge, counter):
    own = longterm.store(space, rk, REFUNDS, scope="agent", agent=forge)
    prompts.delete_agent(forge, HUB)
    longterm.edit(space, rk, own.number, REFUNDS + " Ask the desk.")
    assert found(space, "card refunds at the bank", agent=counter) == found(space, "card refunds at the bank") == []
    longterm.retire(space, rk, own.number)
    assert everything_that_finds(space) == [0, 0, 0, 0]
    longterm.restore(space, rk, own.number)
    assert found(space, "card refunds at the bank", agent=counter) == []
    assert found(space, "card refunds", everyone=True) == [1]


def test_checked_and_due(space, rk):
    entry = longterm.store(space, rk, REFUNDS, review_by=date.today() - timedelta(days=1))
    assert [one.number for one in longterm.due(space)] == [1]
    longterm.verify(space, rk, entry.number, review_by=date.today() + timedelta(days=90))
    entry.refresh_from_db()
    assert (entry.checked_by, entry.checked_at.date()) == ("rk", timezone.now().date())
    assert not longterm.due(space)
    longterm.set_review_by(space, rk, entry.number, None)
    entry.refresh_from_db()
    assert entry.review_by is None


def test_a_new_entry_takes_the_place_of_others(space, rk):
    for text in (REFUNDS, "Bank transfers take 2 days.", "Stays."):
        longterm.store(space, rk, text)
    entry = longterm.store(space, rk, "Refunds by card take ten days.", replaces=[1], merges=[2])
    assert entry.content == "Refunds by card take ten days.\n\nBank transfers take 2 days."
    assert [one.state for one in longterm.entries_of(space).order_by("number")] == [
        "retired",
        "retired",
        "active",
        "active",
    ]
    assert longterm.history(longterm.get(space, 1)).first().reason == "replaced by L-4"


def test_only_reviewers_and_owners(space, viewer, forge):
    longterm.store(space, HUB, REFUNDS)
    editor = person(space, "ed", "editor")
    for actor in (viewer, editor, Actor.of_agent(forge)):
        for act in (
            lambda who: longterm.store(space, who, "x"),
            lambda who: longterm.edit(space, who, 1, "x"),
            lambda who: longterm.retire(space, who, 1),
            lambda who: longterm.restore(space, who, 1),
            lambda who: longterm.verify(space, who, 1),
            lambda who: longterm.set_review_by(space, who, 1, None),
            lambda who: longterm.settle(space, who, 1, "keep_both"),
        ):
            with pytest.raises(Forbidden):
                act(actor)


@pytest.mark.parametrize("content", ["", "  \n", "a\x00b", "\ud800"])
def test_bad_texts_leave_nothing_behind(space, rk, content):
    with pytest.raises(Invalid):
        longterm.store(space, rk, content)
    assert everything_that_finds(space) == [0, 0, 0, 0]


SECRET = "ghp_" + "aZ3kQ9xW7vB2nM5tR8yL1pC4sD6fG0hJ3kL9"


@pytest.mark.parametrize("door", ["store", "edit", "take_in", "add", "correct"])
def test_nobody_brings_a_secret_into_memory(space, rk, door):
    longterm.store(space, rk, REFUNDS)
    entry = working.add(space, rk, "The gateway is slow.")
    text = f"The bank's token\nis {SECRET}"
    doors = {
        "store": lambda: longterm.store(space, rk, text),
        "edit": lambda: longterm.edit(space, rk, 1, text),
        "take_in": lambda: longterm.import_entries(space, rk, json.dumps({"content": text}).encode()),
        "add": lambda: working.add(space, rk, text),
        "correct": lambda: working.edit(space, rk, entry.pk, text),
    }
    with pytest.raises(Invalid, match="secret in line 2") as refusal:
        doors[door]()
    assert refusal.value.code in ("secret_found", "invalid_content") and SECRET not in refusal.value.message
    assert nothing_says(space, SECRET)


def test_a_reason_loses_its_secret(space, rk, forge):
    longterm.store(space, rk, REFUNDS, reason=f"asked with {SECRET}")
    longterm.edit(space, rk, 1, REFUNDS + " Ask.", reason=f"says {SECRET}")
    longterm.retire(space, rk, 1, f"see {SECRET}")
    logged = quarantine.log(space, forge, content="The gateway is slow.", session_id="s", node_id="n")
    quarantine.discard(space, rk, logged.id, f"it is not {SECRET}")
    assert nothing_says(space, SECRET)
    assert longterm.get(space, 1).reason == "asked with [secret removed: GitHub token]"


def nothing_says(space, secret):
    """Whether no table holds it, read as the text of whole rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables "
                       "WHERE schemaname IN ('public', 'quarantine', 'activity')")  # fmt: skip
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} AS one WHERE strpos(one::text, %s) > 0", [secret])
            if cursor.fetchone() != (0,):
                return False
    return True


def test_what_an_entry_says_already_may_stay(space, rk):
    """An entry from before the rule can still be corrected."""
    entry = longterm.store(space, rk, REFUNDS)
    longterm.entries_of(space).update(content=f"Old: {SECRET}")
    longterm.edit(space, rk, entry.number, f"Old: {SECRET} of May")
    with pytest.raises(Invalid):
        longterm.edit(space, rk, entry.number, f"Old: {SECRET} and new: {SECRET.swapcase().replace('GHP', 'ghp')}")


def test_a_foreign_agent_or_number_is_refused(space, rk):
    other = spaces.create(HUB, "other")
    longterm.store(other, HUB, REFUNDS)
    from memoryhub.domain import prompts

    stranger = prompts.create_agent(other, HUB, "stranger")
    with pytest.raises(Invalid):
        longterm.store(space, rk, "x", scope="agent", agent=stranger)
    with pytest.raises(NotFound):
        longterm.edit(space, rk, 1, "x")


def test_likeness_and_contradiction_are_shown_in_pairs_and_a_person_settles(space, rk):
    longterm.store(space, rk, "Card refunds take 5 to 10 days to show at the bank.")
    longterm.store(space, rk, "Card refunds take 5 to 10 days until they show at the bank.")
    longterm.store(space, rk, "Card refunds take 21 days to show at the bank.")
    longterm.store(space, rk, "Anna loves teal.")
    queue.run_waiting()
    shown = {
        (one.older.number, one.newer.number): one.kind
        for one in longterm.conflicts_with_entries(space, longterm.open_conflicts(space))
    }
    assert shown == {(1, 2): "duplicate", (1, 3): "contradiction", (2, 3): "contradiction"}
    longterm.settle(space, rk, EntryPair.objects.get(kind="duplicate").pk, "retire_older")
    assert longterm.get(space, 1).state == "retired"
    last = longterm.open_conflicts(space).get()
    longterm.settle(space, rk, last.pk, "keep_both")
    assert not longterm.open_conflicts(space)
    with pytest.raises(Conflict):
        longterm.settle(space, rk, last.pk, "keep_both")
    assert {"longterm.settle", "longterm.retire"} <= set(ActivityLine.objects.values_list("verb", flat=True))


def test_pairs_are_looked_for_in_the_background_and_what_was_settled_stays_so(space, rk):
    for days in (5, 21):
        longterm.store(space, rk, f"Card refunds take {days} days to show at the bank.")
    assert not longterm.open_conflicts(space)
    queue.run_waiting()
    longterm.settle(space, rk, EntryPair.objects.get().pk, "keep_both")
    jobs.enqueue(conflicts.DETECT, {"entry": longterm.get(space, 2).pk}, space=space)  # as after a crash
    queue.run_waiting()
    assert EntryPair.objects.get().verdict == "keep_both"
    longterm.edit(space, rk, 2, "Card refunds take 22 days to show at the bank.")
    assert not EntryPair.objects.exists()
    queue.run_waiting()
    assert longterm.open_conflicts(space).get().kind == "contradiction"


def test_what_is_retired_or_erased_before_the_look_has_no_pairs(space, rk):
    for n, text in enumerate((REFUNDS, REFUNDS + " ", REFUNDS + "  ")):
        longterm.store(space, rk, text, session_id=f"s-{n}")
    longterm.retire(space, rk, 2)
    erasure.erase_now(space, HUB, erasure.Target("session", "s-2"))
    queue.run_waiting()
    assert set(Job.objects.values_list("kind", "state")) == {(conflicts.DETECT, "done")}
    assert not EntryPair.objects.exists()


def test_a_promotion_is_one_statement_and_needs_no_transaction(space, rk, statements):
    with statements() as sent:
        for text in (REFUNDS, REFUNDS * 20):
            longterm.store(space, rk, text)
    assert len(sent) == 2


def test_the_first_promotion_of_a_space_writes_down_its_embedder(space, rk, settings):
    longterm.store(Space.objects.get(pk=space.pk), rk, REFUNDS)
    settings.EMBEDDER = "hashing"
    longterm.store(space, rk, REFUNDS)  # by a process that read the space before
    assert space.settings == Space.objects.get(pk=space.pk).settings == {"embedder": "wordllama"}
    assert len(set(Embedding.objects.values_list("embedded_by", flat=True))) == 1


def test_an_entry_is_never_stored_with_vectors_of_an_embedder_that_no_longer_serves(space, rk):
    longterm.store(space, rk, REFUNDS)
    before = Space.objects.get(pk=space.pk)
    longterm.run_reembedding(space, "hashing")
    entry = longterm.store(before, rk, "The desk closes at five.")
    made_by = retrieval.load_embedder("hashing").embedded_by
    assert [one.embedded_by for one in vectors_of(entry)] == [made_by]
    assert entry.number == 2 and longterm.entries_of(space).count() == 2


def vectors_of(entry):
    return Embedding.objects.filter(chunk_id__in=[one.pk for one in chunks.chunks_of(entry)])


def test_what_an_entry_takes_in_is_taken_as_it_stands_at_last(space, rk, monkeypatch):
    longterm.store(space, rk, "The desk closes at five.")
    whole, corrections = chunks.cut_chunks, iter(["The desk closes at six."])

    def meanwhile(space, text, **how):
        for content in corrections:
            longterm.edit(space, rk, 1, content)
        return whole(space, text, **how)

    monkeypatch.setattr(chunks, "cut_chunks", meanwhile)
    entry = longterm.store(space, rk, "It opens at nine.", merges=[1])
    assert entry.content == "It opens at nine.\n\nThe desk closes at six." and entry.number == 2
    assert longterm.get(space, 1).state == longterm.RETIRED


def test_a_promotion_into_a_space_that_is_gone_is_refused(space, rk):
    gone = Space.objects.get(pk=space.pk)
    spaces.erase(space, HUB)
    with pytest.raises(NotFound, match="no such space"):
        longterm.store(gone, rk, REFUNDS)


def test_counts_of_words_change_in_place(space, rk):
    longterm.store(space, rk, REFUNDS)
    before = counts_changed()
    longterm.store(space, rk, REFUNDS)
    changed, in_place = (now - then for now, then in zip(counts_changed(), before, strict=True))
    assert changed == in_place > 5


def counts_changed():
    asked = ("updated", "hot_updated")
    calls = ", ".join(f"pg_stat_get_xact_tuples_{one}('memoryhub_lexemecount'::regclass)" for one in asked)
    return statements.rows(f"SELECT {calls}")[0]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Refunds take 5 days", "Refunds take 9 days", True),
        ("The desk is open on Sundays", "The desk is never open on Sundays", True),
        ("Refunds take 5 days", "Refunds take 5 days by card", False),
        ("退款需要五天时间", "退款不需要五天时间", True),
    ],
)
def test_disagree(one, other, expected):
    assert conflicts.contradict(one, other) is expected


def test_while_the_embedder_is_away_an_entry_waits_and_is_found_by_words(space, rk, settings):
    settings.EMBEDDER, settings.EMBEDDER_URL = "openai_endpoint", "http://127.0.0.1:9"
    from memoryhub.domain import retrieval
    from memoryhub.domain.jobs import queue

    assert retrieval.embedder_choice(space) == "openai_endpoint"
    entry = longterm.store(space, rk, REFUNDS)
    space.refresh_from_db()
    assert (entry.state, space.settings["embedder"]) == ("waiting", "openai_endpoint")
    assert found(space, "card refunds") == [1]
    space.settings["embedder"] = "wordllama"
    space.save()
    queue.run_waiting()
    entry.refresh_from_db()
    assert entry.state == "active"
    assert Embedding.objects.within(space).get().embedded_by == "wordllama/l2_supercat_256"


def test_a_name_on_the_map_has_room_beside_the_edge_for_the_letters_of_a_phone():
    from memoryhub.domain.longterm import map, projection

    named = [projection.Region("days, bank", [1], 0.99, 0.5, 0.6, (0.0, 0.0, 1.0, 1.0))]
    (label,) = map._labels(named, projection.WHOLE)
    assert label.x + 19 * 0.29 * len("days, bank") <= map.WIDTH


def test_a_list_has_short_entries_whole_and_of_long_ones_the_beginning(space, rk):
    for text in ("Ä" * 1000, "Ä" * 1001, "x" * 2000):
        longterm.store(space, rk, text)
    assert [len(entry.content) for entry in longterm.newest(space, 20)] == [2000, 400, 1000]


def test_a_promotion_and_a_record_write_into_no_index_that_nothing_reads(space):
    of = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass"
    here = {table: {row[0] for row in statements.rows(of, [table])} for table in WITH_FEW_INDEXES}
    assert here == WITH_FEW_INDEXES


WITH_FEW_INDEXES = {
    "memoryhub_posting": {"posting_best"},
    "memoryhub_telltale": {"telltale_word"},
    "memoryhub_longtermentry": {
        "memoryhub_longtermentry_pkey", "one_entry_number", "entry_state", "entry_review_due", "entry_agent",
        "entry_pinned",
    },
    "quarantine.record": {
        "quarantine.record_pkey", "quarantine.record_space", "quarantine.record_session", "quarantine.record_created",
        "quarantine.record_findings", "quarantine.record_words",
    },
}  # fmt: skip


def test_what_is_due_is_found_by_the_index_of_dates(space, rk):
    sql, params = longterm.due(space).values("pk").query.sql_with_params()
    with transaction.atomic():
        statements.rows("SET LOCAL enable_seqscan = off")
        statements.rows("SET LOCAL enable_bitmapscan = off")
        plan = "\n".join(row[0] for row in statements.rows(f"EXPLAIN {sql}", params))
    assert "entry_review_due" in plan


def test_the_parts_of_the_map_are_named_once_while_memory_stays_as_it_is(space, monkeypatch):
    from memoryhub.domain import longterm
    from memoryhub.domain.longterm import projection

    for n in range(6):
        longterm.store(space, HUB, f"Card refunds of branch {n} take {n + 3} working days.")
        longterm.store(space, HUB, f"Database migrations are announced in channel {n} before they run.")
    real, named = projection.regions, []
    monkeypatch.setattr(projection, "regions", lambda *args: named.append(args) or real(*args))

    def drawn(part=""):
        space.refresh_from_db()
        return longterm.draw_map(space, part)

    first = drawn()
    assert first.labels and drawn() == first and len(named) == 1
    assert drawn(first.labels[0].part).labels != first.labels and len(named) == 2
    longterm.store(space, HUB, "Card refunds of branch 9 take 12 working days.")
    assert drawn().whole == 13 and len(named) == 3


def test_the_counts_of_the_list_are_those_of_its_filters(space, rk):
    texts = [REFUNDS, "Invoices are numbered per shop.", "Parcels leave at noon.", REFUNDS.replace("take 2", "take 3")]
    first, second, third, *_ = [longterm.store(space, rk, text) for text in texts]
    longterm.retire(space, rk, second.number, "no longer so")
    longterm.set_review_by(space, rk, first.number, timezone.localdate())
    longterm.pin(space, rk, third.number)
    everything = longterm.entries_of(space)
    assert longterm.counts_by_filter(space) == {
        "live": everything.filter(state__in=longterm.LIVE).count(),
        "pinned": len(longterm.pinned(space)),
        "due": longterm.due(space).count(),
        "retired": 1,
        "waiting": everything.filter(state=longterm.WAITING).count(),
        "duplicate": longterm.open_conflicts(space, "duplicate").count(),
        "contradiction": longterm.open_conflicts(space, "contradiction").count(),
    }
    assert longterm.counts_by_filter(space)["due"] == longterm.counts_by_filter(space)["pinned"] == 1
