"""A change of embedder: beside, then at once, and back; also large spaces, where an index takes over."""

import json

import pytest
from django.core.management import call_command, load_command_class
from django.db import connection

from memoryhub import embedders
from memoryhub.domain import jobs, longterm, retrieval, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.longterm import reembed
from memoryhub.domain.retrieval import vector_index
from memoryhub.errors import Conflict, Forbidden, Invalid, NotFound
from memoryhub.models import HUB, ActivityLine, Embedding, Space
from tests.domain.layers import counter, forge, rk, space, viewer  # noqa: F401
from tests.embedders.test_embedders import endpoint  # noqa: F401

FACTS = ["Card refunds take ten days.", "Anna loves teal.", "Migrations are announced in #ship."]


@pytest.fixture
def facts(space):
    made = [longterm.store(space, HUB, text) for text in FACTS]
    space.refresh_from_db()
    return made


def numbers(space, query):
    return [item.number for item in retrieval.retrieve(space, query, hot=0).cold]


def by(space):
    return dict(Embedding.objects.within(space).values_list("embedded_by").annotate(n=connection_count()))


def connection_count():
    from django.db.models import Count

    return Count("id")


def test_the_old_vectors_serve_until_the_switch_and_stay_for_the_way_back(space, facts):
    retrieval.save_check(space, HUB, "card refunds", [1])
    longterm.fill_vectors(space, retrieval.load_embedder("hashing"), lambda done, total: None)
    space.refresh_from_db()
    assert retrieval.embedder_choice(space) == "wordllama"
    result = longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    assert (retrieval.embedder_choice(space), space.settings["embedder_before"]) == ("hashing", "wordllama")
    assert result["checks"] == 1 and result["failed"] == 0
    assert by(space) == {"wordllama/l2_supercat_256": 3, "hashing/256": 3}
    assert numbers(space, "card refunds")[0] == 1
    longterm.switch_embedder_back(space, HUB)
    space.refresh_from_db()
    assert retrieval.embedder_choice(space) == "wordllama"


def test_begun_again_it_goes_on_where_it_stopped(space, facts, monkeypatch):
    embedder = retrieval.load_embedder("hashing")
    asked = []
    whole = type(embedder).embed

    def dies_after_two(self, texts, **more):
        asked.extend(texts)
        if len(asked) > 2:
            raise embedders.EmbedderUnavailable("The embedder is away.")
        return whole(self, texts, **more)

    monkeypatch.setattr(reembed, "BATCH", 1)
    monkeypatch.setattr(type(embedder), "embed", dies_after_two)
    with pytest.raises(embedders.EmbedderUnavailable):
        longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    assert retrieval.embedder_choice(space) == "wordllama" and numbers(space, "teal") == [2]
    monkeypatch.setattr(type(embedder), "embed", whole)
    assert longterm.run_reembedding(space, "hashing")["made"] == 1


def test_what_is_stored_after_the_switch_has_the_new_vectors_and_the_way_back_fills_the_gap(space, facts):
    longterm.run_reembedding(space, "hashing")
    longterm.store(space, HUB, "The desk closes at five.")
    assert by(space)["hashing/256"] == 4 and by(space)["wordllama/l2_supercat_256"] == 3
    space.refresh_from_db()
    longterm.switch_embedder_back(space, HUB)
    assert by(space)["wordllama/l2_supercat_256"] == 4


def test_a_server_with_another_model_under_the_same_name_counts_as_away(space, facts, endpoint, settings):
    settings.EMBEDDER_URL = endpoint.url
    longterm.run_reembedding(space, "openai_endpoint:m")
    space.refresh_from_db()
    endpoint.dimensions = 9
    found = retrieval.retrieve(space, "card refunds", hot=0)
    assert "9 dimensions where this space has 8" in found.warnings[0] and [one.number for one in found.cold] == [1]
    assert longterm.store(space, HUB, "The desk closes at five.").state == "waiting"
    assert "9 dimensions" in longterm.preview_promotion(space, "The desk closes at six.").warning
    endpoint.dimensions = 8
    assert retrieval.retrieve(space, "card refunds", hot=0).warnings == []
    endpoint.dimensions = 9
    assert longterm.run_reembedding(space, "openai_endpoint:m")["made"] == 4
    assert retrieval.retrieve(space, "card refunds", hot=0).embedded_by == "openai_endpoint/m"


def test_a_server_that_hangs_is_not_asked_for_its_dimensions_while_somebody_waits(space, facts, endpoint, settings):
    settings.EMBEDDER_URL = endpoint.url
    longterm.run_reembedding(space, "openai_endpoint:m")
    embedders._loaded.cache_clear()  # as in a process that has just begun
    space.refresh_from_db()
    endpoint.requests.clear()
    assert retrieval.serving_embedder(space).dimensions == 8 and endpoint.requests == []


def test_vectors_to_compare_are_made_without_a_change(space, facts):
    longterm.prepare_reembedding(space, HUB, "hashing")
    with pytest.raises(Conflict):
        longterm.start_reembedding(space, HUB, "hashing")
    queue.run_waiting()
    space.refresh_from_db()
    assert retrieval.embedder_choice(space) == "wordllama" and "embedder_before" not in space.settings
    assert longterm.vector_counts(space, retrieval.load_embedder("hashing")) == (3, 0)
    longterm.store(space, HUB, "The desk closes at five.")
    assert longterm.vector_counts(space, retrieval.load_embedder("hashing")) == (3, 1)


def test_each_change_and_the_way_back_stand_in_the_activity_and_run_the_checks(space, facts):
    check = retrieval.save_check(space, HUB, "card refunds", [1])

    def checked_by():
        check.refresh_from_db()
        return check.last_result["embedded_by"]

    longterm.run_reembedding(space, "hashing")
    assert checked_by() == "hashing/256"
    space.refresh_from_db()
    longterm.switch_embedder_back(space, HUB)
    assert checked_by() == "wordllama/l2_supercat_256"
    told = ActivityLine.objects.within(space).filter(verb="retrieval.reembed").order_by("id")
    assert [f"{one.says} {one.thing}" for one in told] == [
        "changed the embedder to hashing", "went back to the embedder wordllama",
    ]  # fmt: skip


def test_a_way_back_that_lacks_many_vectors_is_a_change_in_the_background(space, facts, monkeypatch):
    longterm.run_reembedding(space, "hashing")
    monkeypatch.setattr(reembed, "BATCH", 2)
    for n in range(3):
        longterm.store(space, HUB, f"Shelf {n}.")
    space.refresh_from_db()
    longterm.switch_embedder_back(space, HUB)
    assert retrieval.embedder_choice(space) == "hashing"
    queue.run_waiting()
    space.refresh_from_db()
    assert (retrieval.embedder_choice(space), space.settings["embedder_before"]) == ("wordllama", "hashing")


def test_a_new_setting_alone_switches_nothing(space, facts, settings):
    settings.EMBEDDER = "hashing"
    assert retrieval.embedder_choice(space) == "wordllama"
    assert numbers(space, "teal") == [2]


def test_only_owners_and_only_embedders(space, facts, rk):
    for act in (
        lambda: longterm.start_reembedding(space, rk, "hashing"),
        lambda: longterm.switch_embedder_back(space, rk),
    ):
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(Invalid):
        longterm.start_reembedding(space, HUB, "nosuch")
    with pytest.raises(Conflict):
        longterm.switch_embedder_back(space, HUB)


def test_the_job_and_the_command(space, facts, capsys):
    longterm.start_reembedding(space, HUB, "hashing")
    queue.run_waiting()
    job = jobs.latest(space, longterm.REEMBEDDING_JOB)
    assert (job.state, job.result["made"], job.done, job.total) == ("done", 3, 3, 3)
    call_command("reembed", "--space", space.slug, "--to", "wordllama", "--json")
    assert json.loads(capsys.readouterr().out)["spaces"][0]["embedder"] == "wordllama"
    call_command("reembed", "--space", space.slug, "--back")
    assert "hashing serves" in capsys.readouterr().out


# ---- what nobody needs any more


def stored_vectors(space):
    return {one.embedded_by: (one.vectors, one.use) for one in longterm.embedders_with_vectors(space)}


WORDLLAMA, HASHING = "wordllama/l2_supercat_256", "hashing/256"


def test_what_vectors_take_and_what_they_are_kept_for(space, facts):
    longterm.run_reembedding(space, "hashing", switches=False)
    assert stored_vectors(space) == {WORDLLAMA: (3, "serves"), HASHING: (3, "")}
    assert all(3 * 512 < one.size < 3 * 1024 for one in longterm.embedders_with_vectors(space))
    longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    assert stored_vectors(space) == {WORDLLAMA: (3, "the way back"), HASHING: (3, "serves")}
    assert longterm.embedders_with_vectors(spaces.create(HUB, "elsewhere")) == []


def test_vectors_that_nobody_needs_are_deleted_and_no_others(space, facts, rk, monkeypatch):
    monkeypatch.setattr(reembed, "DROP_SIZE", 2)
    other = spaces.create(HUB, "elsewhere")
    longterm.store(other, HUB, "Theirs.")
    longterm.run_reembedding(other, "hashing", switches=False)
    longterm.run_reembedding(space, "hashing", switches=False)
    with pytest.raises(Forbidden):
        longterm.drop_vectors(space, rk, HASHING)
    with pytest.raises(NotFound):
        longterm.drop_vectors(space, HUB, "hashing/512")
    with pytest.raises(Conflict, match="They serve"):
        longterm.drop_vectors(space, HUB, WORDLLAMA)
    before = Space.objects.get(pk=space.pk).longterm_mark
    longterm.drop_vectors(space, HUB, HASHING)
    queue.run_waiting()
    assert (stored_vectors(space), stored_vectors(other)) == (
        {WORDLLAMA: (3, "serves")},
        {WORDLLAMA: (1, "serves"), HASHING: (1, "")},
    )
    assert Space.objects.get(pk=space.pk).longterm_mark != before  # what processes keep of them counts no more
    assert ActivityLine.objects.filter(says="deleted the vectors of", thing=HASHING).exists()
    assert numbers(space, "card refunds")[0] == 1


def test_the_way_back_stays_and_so_do_vectors_in_the_making(space, facts):
    longterm.run_reembedding(space, "hashing")
    space.refresh_from_db()
    with pytest.raises(Conflict, match="way back"):
        longterm.drop_vectors(space, HUB, WORDLLAMA)
    Space.objects.filter(pk=space.pk).update(settings={"embedder": "wordllama"})
    space.refresh_from_db()
    longterm.prepare_reembedding(space, HUB, "hashing")
    with pytest.raises(Conflict, match="being made"):
        longterm.drop_vectors(space, HUB, HASHING)


def test_what_begins_to_serve_meanwhile_stays(space, facts):
    """Asked for while nobody needed them, done when they serve."""
    longterm.run_reembedding(space, "hashing", switches=False)
    job = longterm.drop_vectors(space, HUB, HASHING)
    reembed.switch_embedder(space, "hashing", retrieval.load_embedder("hashing"))
    queue.run_waiting()
    job.refresh_from_db()
    assert job.state == job.FAILED and "They serve" in job.last_error
    space.refresh_from_db()
    assert stored_vectors(space)[HASHING] == (3, "serves")


def test_an_embedder_that_is_configured_no_more_keeps_its_vectors(space, facts, settings):
    Embedding.objects.update(embedded_by="openai_endpoint/some-model")
    Space.objects.filter(pk=space.pk).update(settings={"embedder": "openai_endpoint"})
    settings.EMBEDDER_URL = ""
    space.refresh_from_db()
    assert stored_vectors(space) == {"openai_endpoint/some-model": (3, "serves")}


def test_an_index_goes_with_the_last_vectors_of_its_embedder(space, facts, monkeypatch):
    def stands():
        with connection.cursor() as cursor:
            cursor.execute("SELECT relname FROM pg_class WHERE relname LIKE 'embedding\\_%%\\_128'")
            return {name for (name,) in cursor.fetchall()}

    other = spaces.create(HUB, "elsewhere")
    longterm.store(other, HUB, "Theirs.")
    for one in (space, other):
        longterm.run_reembedding(one, "hashing", switches=False)
    monkeypatch.setattr(vector_index, "MOST_OWN", 1)
    for one in (space, other):
        vector_index.make_vector_index(one, retrieval.load_embedder("hashing"))
    own, shared = vector_index.index_names(space.pk, HASHING)[:2]
    assert stands() == {own, shared}
    longterm.drop_all_vectors(space, HASHING)
    assert stands() == {shared}
    longterm.drop_all_vectors(other, HASHING)
    assert not stands()


def test_the_command_tells_and_deletes_what_is_left_of_other_embedders(space, facts, capsys):
    longterm.run_reembedding(space, "hashing", switches=False)
    call_command("reembed", "--kept")
    said = capsys.readouterr().out
    assert f"{space.slug}: {WORDLLAMA}, 3 vectors, about" in said
    assert f"{space.slug}: {HASHING}, 3 vectors" in said and "kept for comparing alone" in said
    with pytest.raises(Conflict):
        call_command("reembed", "--drop", WORDLLAMA)
    call_command("reembed", "--drop", HASHING)
    assert f"3 vectors of {HASHING} deleted" in capsys.readouterr().out
    assert stored_vectors(space) == {WORDLLAMA: (3, "serves")}


def test_to_delete_the_vectors_of_an_unknown_embedder_is_a_wrong_argument(space, facts, capsys):
    spaces.create(HUB, "elsewhere")
    command = load_command_class("memoryhub", "reembed")
    for more, there in (
        ([], f"There are vectors of {WORDLLAMA}."),
        (["--space", "elsewhere"], "There are no vectors at all."),
    ):
        with pytest.raises(SystemExit) as left:
            command.run_from_argv(["memoryhub", "reembed", "--drop", "wordlama", *more])
        told = capsys.readouterr()
        assert left.value.code == 2 and told.out == ""
        assert told.err == f"No vectors here were made by 'wordlama'; nothing was deleted. {there}\n"
    assert stored_vectors(space) == {WORDLLAMA: (3, "serves")}
