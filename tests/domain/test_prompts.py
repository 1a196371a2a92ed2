"""The exact prompt of an agent: now, back then, and as it would be."""

from __future__ import annotations

import hashlib
import itertools
import random
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memoryhub.db import statements
from memoryhub.dialects import Entry, Ingredients, Source
from memoryhub.domain import longterm, prompts, spaces
from memoryhub.domain.files import GUIDELINES_PATH, POSITIONING_PATH, agents_reading
from memoryhub.domain.prompts import agents, framework_templates, inputs
from memoryhub.domain.prompts.assemble import first_change
from memoryhub.errors import Invalid, NotFound, TooLarge
from memoryhub.models import HUB, AgentChange, File, Mount, Proposal
from tests.outputs import admit
from tests.prompting import AGENTS, TONE, lists, put

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)


@pytest.fixture
def space():
    made = spaces.create(HUB, "books")
    Mount.objects.create(space=made, prefix="/memories/")
    return made


@pytest.fixture
def counter(space):
    made = prompts.create_agent(space, HUB, "counter", system_prompt="Base.")
    made.created_at = MONDAY - timedelta(days=1)
    made.save()
    return made


def plain(space, agent, **more):
    return prompts.assemble(space, agent, dialect="plain", **more)


def test_it_is_made_of_base_prompt_and_sources_in_their_order(space, counter):
    put(space, AGENTS, "one")
    put(space, TONE, "two")
    lists(space, TONE, AGENTS)
    prompt = plain(space, counter)
    assert prompt.text == "Base.\n\ntwo\n\none"
    assert prompt.sha256 == hashlib.sha256(prompt.data).hexdigest()
    assert [one["revision"] for one in prompt.sources] == [1, 1]
    assert prompt.revisions == {TONE: 1, AGENTS: 1}


def test_it_is_gathered_by_one_prepared_statement(space, counter, statements):
    put(space, AGENTS, "one")
    lists(space, AGENTS)
    with statements() as sent:
        plain(space, counter)
    assert len(sent) == 1
    for _ in range(6):
        plain(space, counter)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%WITH listed AS%%'")
        assert cursor.fetchone() == (1,)


@pytest.mark.parametrize("lately", [True, False])
def test_sources_are_looked_up_one_by_one_before_the_database_has_counted_its_tables(space, counter, uncounted, lately):
    """And neither all files of the space are walked for it, nor the history of one, nor all of working memory."""
    for number in range(40):
        put(space, f"/memories/{number}.md", "text")
    lists(space, "/memories/7.md", "/memories/8.md")
    given = {"space": space.pk, "agent": counter.pk, "thread": "", "guidelines": None, "positioning": None,
             "hot": 10, "max_chars": 500}  # fmt: skip
    plan = "\n".join(
        row[0] for row in statements.rows(f"EXPLAIN {inputs.inputs_statement(False, lately, lately, False)}", given)
    )
    assert "Join Filter" not in plan and "Hash" not in plan and "Merge Join" not in plan, plan
    assert "using one_file_per_path" in plan and "using one_revision_number" in plan, plan
    assert plan.count("using working_newest") == (2 if lately else 0), plan


def test_an_agent_with_sources_of_its_own_uses_those_alone(space, counter):
    put(space, AGENTS, "one")
    put(space, TONE, "two")
    lists(space, AGENTS)
    lists(space, TONE, agent=counter)
    other = prompts.create_agent(space, HUB, "other")
    assert plain(space, counter).text == "Base.\n\ntwo"
    assert plain(space, other).text == "one"
    assert agents_reading(space, AGENTS) == [other]
    assert agents_reading(space, TONE) == [counter]


def test_a_source_that_is_missing_deleted_or_broken_never_breaks_the_others(space, counter):
    put(space, AGENTS, "one")
    put(space, "/memories/gone.md", None)
    put(space, "/memories/raw.md", b"\xff\xfe")
    lists(space, "/memories/never.md", "/memories/gone.md", "/memories/raw.md", AGENTS)
    prompt = plain(space, counter)
    assert prompt.text == "Base.\n\none"
    assert [one["status"] for one in prompt.sources] == ["missing", "missing", "error", "included"]
    assert [one.code for one in prompt.warnings] == ["source_missing", "source_missing", "invalid_utf8"]


def test_a_source_under_no_mount_is_missing_until_one_leads_there_again(space, counter):
    put(space, AGENTS, "one")
    put(space, GUIDELINES_PATH, "Ours.")
    lists(space, AGENTS)
    Mount.objects.within(space).delete()
    assert plain(space, counter).text == "Base."
    assert [one["status"] for one in plain(space, counter).sources] == ["missing"]
    assert "Ours." not in prompts.assemble(space, counter).text
    Mount.objects.create(space=space, prefix="/memories/")
    assert plain(space, counter).text == "Base.\n\none"


def test_another_space_is_never_read(space, counter):
    other = spaces.create(HUB, "other")
    put(other, AGENTS, "secret")
    lists(other, AGENTS)
    lists(space, AGENTS)
    assert "secret" not in plain(space, counter).text


def test_short_term_files_are_those_of_the_thread(space, counter):
    Mount.objects.create(space=space, prefix="/short/", store="thread")
    put(space, "/short/notes.md", "of t-1", thread="t-1")
    lists(space, "/short/notes.md")
    assert plain(space, counter, thread="t-1").text == "Base.\n\nof t-1"
    assert plain(space, counter, thread="t-2").text == "Base."


def test_base_prompt_and_task_of_one_call(space, counter):
    put(space, AGENTS, "one")
    lists(space, AGENTS)
    prompt = prompts.assemble(space, counter, system_prompt="Mine.", task="Count.")
    assert prompt.text.startswith("Mine.\n\n")
    assert prompt.text.endswith("# Task\nCount.")
    assert prompts.assemble(space, counter, system_prompt="").text.startswith("# What the team knows")


def test_a_space_writes_guidelines_of_its_own_like_any_file(space, counter):
    put(space, GUIDELINES_PATH, "# Ours <!-- since May -->")
    assert prompts.assemble(space, counter).text == "Base.\n\n# Ours"
    assert prompts.assemble(space, counter, changes={GUIDELINES_PATH: b"# New"}).text == "Base.\n\n# New"
    assert [agent.slug for agent in agents_reading(space, GUIDELINES_PATH)] == ["counter"]


def test_a_space_has_a_positioning_of_its_own_before_the_base_prompt(space, counter):
    before = timezone.now()
    put(space, POSITIONING_PATH, "We sell books. <!-- since May -->\n")
    put(space, GUIDELINES_PATH, "# Ours")
    found = prompts.assemble(space, counter)
    assert found.text == "We sell books.\n\nBase.\n\n# Ours"
    assert [part.kind for part in found.parts] == ["positioning", "base", "guidelines"]
    assert found.fragment == "We sell books.\n\n# Ours"
    assert prompts.assemble(space, counter, system_prompt="").text == "We sell books.\n\n# Ours"
    assert prompts.assemble(space, counter, changes={POSITIONING_PATH: None}).text == "Base.\n\n# Ours"
    assert prompts.assemble(space, counter, changes={POSITIONING_PATH: b"New."}).text.startswith("New.\n\nBase.")
    assert prompts.assemble(space, counter, dialect="plain").text == "Base."
    assert "We sell books." in prompts.assemble(space, counter, at=timezone.now()).text
    if before >= counter.created_at:
        assert "We sell books." not in prompts.assemble(space, counter, at=before).text
    assert [agent.slug for agent in agents_reading(space, POSITIONING_PATH)] == ["counter"]
    put(space, POSITIONING_PATH, "<!-- nothing for models -->")
    assert prompts.assemble(space, counter).text == "Base.\n\n# Ours"


def test_memory_off(space, counter):
    put(space, AGENTS, "one")
    lists(space, AGENTS)
    counter = prompts.change_agent(counter, HUB, memory_is_on=False)
    prompt = prompts.assemble(space, counter, task="Count.")
    assert prompt.text == "Base."
    assert [one.code for one in prompt.warnings] == ["memory_off"]
    assert agents_reading(space, AGENTS) == []


def test_the_version_its_client_reported_is_the_one_it_gets(space, counter):
    counter = agents.report_agent(
        prompts.change_agent(counter, HUB, dialect="deepagents"), {"library": "deepagents", "version": "0.3.5"}
    )
    assert prompts.assemble(space, counter).placement == "prepend"
    assert prompts.assemble(space, counter, dialect="deepagents/0.7.1").dialect == "deepagents/0.6.3"
    counter = agents.report_agent(counter, {"library": "deepagents", "version": "of my own"})
    assert prompts.assemble(space, counter).dialect == "deepagents/0.6.3"


def test_proposals_that_wait_for_a_source_are_named(space, counter):
    put(space, AGENTS, "one")
    lists(space, AGENTS)
    for number, path, state in ((4, AGENTS, "pending"), (5, TONE, "pending"), (6, AGENTS, "rejected")):
        Proposal.objects.create(
            space=space, number=number, path=path, state=state, kind="edit", same_as=str(number), agent_name="forge"
        )
    assert plain(space, counter).pending == (4,)


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"query": "a\x00b"}, Invalid),
        ({"task": "\ud800"}, Invalid),
        ({"thread": "t" * 201}, Invalid),
        ({"dialect": "nonsense"}, Invalid),
        ({"at": datetime(2999, 1, 1, tzinfo=UTC)}, Invalid),
        ({"system_prompt": "x" * (1024 * 1024 + 1)}, TooLarge),
    ],
)
def test_what_cannot_be_is_refused(space, counter, asked, refusal):
    with pytest.raises(refusal):
        prompts.assemble(space, counter, **asked)


# As it would be


def test_if_approved_shows_the_change_and_changes_nothing(space, counter):
    put(space, AGENTS, "one\ntwo\n")
    lists(space, AGENTS, TONE)
    before = plain(space, counter)
    after = plain(space, counter, changes={AGENTS: b"one\n2\n", TONE: b"new", "/elsewhere.md": b"x"})
    assert after.text == "Base.\n\none\n2\n\n\nnew"
    assert first_change(before.data, after.data) == len("Base.\n\none\n")
    assert plain(space, counter, changes={AGENTS: None}).text == "Base."
    assert plain(space, counter).text == before.text


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [(b"", b"", None), (b"a", b"a", None), (b"", b"a", 0), (b"ab", b"a", 1), (b"abc", b"axc", 1)],
)
def test_the_first_byte_that_changes(before, after, first):
    assert first_change(before, after) == first


# Back then


@pytest.mark.parametrize("edits", [50, pytest.param(200, marks=pytest.mark.attack)])
def test_time_travel_equals_a_replay_of_random_edits(space, counter, edits):
    random.seed(4)
    paths = [f"/memories/{name}.md" for name in "abcd"]
    counter.__class__.objects.update(created_at=MONDAY)
    now = MONDAY
    lists(space, *paths, at=now)
    texts, history = {}, []
    for _ in range(edits):
        now += timedelta(seconds=random.randint(1, 500))
        path = random.choice(paths)
        text = None if random.random() < 0.1 else f"text {random.random()}\n"
        put(space, path, text, at=now)
        texts[path] = text
        history.append((now, "\n\n".join(texts[one] for one in paths if texts.get(one))))
    spaces.mark_setup(space)
    AgentChange.objects.update(created_at=MONDAY)
    for moment, expected in history:
        assert plain(space, counter, at=moment, system_prompt="").text == expected
    for (moment, expected), (following, _) in itertools.pairwise(history):
        between = moment + (following - moment) / 2
        assert plain(space, counter, at=between, system_prompt="").text == expected
    assert plain(space, counter, at=MONDAY, system_prompt="").text == ""


def test_a_file_that_moved_is_where_it_was_then(space, counter):
    put(space, AGENTS, "one", at=MONDAY)
    file = File.objects.get()
    file.path = TONE
    file.save()
    put(space, TONE, "one", at=MONDAY + timedelta(hours=1))
    lists(space, AGENTS, at=MONDAY)
    assert plain(space, counter, at=MONDAY + timedelta(minutes=1), system_prompt="").text == "one"
    assert plain(space, counter, at=MONDAY + timedelta(hours=2), system_prompt="").text == ""


def test_settings_sources_and_dialect_of_the_past(space, counter):
    put(space, AGENTS, "one")
    put(space, TONE, "two")
    lists(space, AGENTS)
    then = timezone.now()
    prompts.change_agent(counter, HUB, system_prompt="Other.", persona="Kind.")
    lists(space, TONE)
    assert plain(space, counter, at=then).text == "Base.\n\none"
    counter.refresh_from_db()
    assert plain(space, counter).text.startswith("Other.")


def test_before_the_agent_was_made_it_got_no_prompt(space, counter):
    before = counter.created_at - timedelta(microseconds=1)
    assert plain(space, counter, at=counter.created_at).text == "Base."
    with pytest.raises(NotFound, match="counter got no prompt then: it was made on 2026-11-15") as refused:
        plain(space, counter, at=before)
    assert refused.value.code == "before_agent"
    compared = prompts.compare_moments(space, counter, before, None, dialect="plain")
    assert (compared.before.text, compared.after.text) == ("", "Base.")
    assert compared.unsure == [refused.value.message]


# Templates

TEMPLATE = "<m>{agent_memory}</m>"


def deep(space, agent, **more):
    return prompts.assemble(space, agent, dialect="deepagents", system_prompt="", **more)


def test_a_template_from_any_version_serves_its_form_and_the_newer_wins(space, counter):
    put(space, AGENTS, "one")
    lists(space, AGENTS)
    assert deep(space, counter).text == f"{AGENTS}\n\none"
    framework_templates.keep_template(0, HUB, "0.7.9", "<9>{agent_memory}</9>", "wheel a")
    framework_templates.keep_template(0, HUB, "0.7.10", TEMPLATE, "wheel b")
    framework_templates.keep_template(0, HUB, "0.7.2", "<2>{agent_memory}</2>", "wheel c")
    assert deep(space, counter).text == f"<m>{AGENTS}\n\none</m>"
    assert prompts.chosen_template(space.pk, "deepagents/0.6.3").version == "0.7.10"
    assert prompts.templates_for(space.pk).count() == 3


def test_a_template_of_ones_own_comes_before_all(space, counter):
    framework_templates.keep_template(0, HUB, "0.7.1", TEMPLATE, "wheel")
    counter = prompts.change_agent(counter, HUB, template="[{agent_memory}]")
    assert deep(space, counter).text == "[(No memory loaded)]"


def test_a_template_that_came_later_was_not_there_then(space, counter):
    then = timezone.now()
    framework_templates.keep_template(0, HUB, "0.7.1", TEMPLATE, "wheel")
    assert deep(space, counter, at=then).text == "(No memory loaded)"


def test_a_new_template_makes_every_space_fresh(space):
    before = space.revision
    framework_templates.keep_template(0, HUB, "0.7.1", TEMPLATE, "wheel")
    space.refresh_from_db()
    assert space.revision > before


def test_the_installed_library_is_read_without_running_it(space, counter):
    kept = prompts.import_installed_template()
    assert (kept.form, kept.is_known, kept.came_from) == ("deepagents/0.6.3", True, "installed library")
    assert len(kept.text.encode()) == 5122
    assert "template_unknown" not in [one.code for one in deep(space, counter).warnings]
    # The form before it shipped the same text, so it is served as well.
    assert "template_unknown" not in [
        one.code for one in prompts.assemble(space, counter, dialect="deepagents/0.6.2").warnings
    ]


def test_a_file_that_is_no_wheel_is_refused(tmp_path):
    (tmp_path / "x.whl").write_bytes(b"no zip")
    with pytest.raises(Invalid, match="no wheel of deepagents"):
        prompts.import_template_wheel(tmp_path / "x.whl")


@pytest.mark.parametrize(
    ("module", "meta"),
    [(b" " * 3_000_000, b"Version: 0.6.3"), (b"x = 1", b" " * 3_000_000), (b"x = 1", None)],
    ids=["module", "metadata", "none"],
)
def test_a_wheel_that_unfolds_is_refused(tmp_path, module, meta):
    with zipfile.ZipFile(tmp_path / "x.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(framework_templates.MEMORY_MODULE, module)
        if meta:
            archive.writestr("deepagents-0.6.3.dist-info/METADATA", meta)
    with pytest.raises(Invalid, match="no wheel of deepagents"):
        prompts.import_template_wheel(tmp_path / "x.whl")


# Retrieval and what the gate's eyes see


def test_a_query_adds_working_and_long_term_memory_where_the_dialect_has_a_place(space, counter):
    other = prompts.create_agent(space, HUB, "other")
    admit(space, "The card gateway is slow today.", agent=other)
    admit(space, "Own note.", agent=counter, scope="agent")
    admit(space, "Of another.", agent=other, scope="agent")
    with transaction.atomic():
        longterm.store(space, HUB, "Refunds take five to ten days to show at the bank.")
    asked = prompts.assemble(space, counter, query="how long does a refund take at the bank?")
    assert "The card gateway is slow today." in asked.text
    assert "Own note." in asked.text
    assert "Of another." not in asked.text
    assert "Refunds take five to ten days" in asked.text
    assert {part.kind for part in asked.parts} >= {"working", "longterm"}
    assert "gateway" not in prompts.assemble(space, counter).text
    assert "gateway" not in plain(space, counter, query="gateway").text


def test_secrets_and_hidden_characters_are_pointed_at(space, counter):
    put(space, AGENTS, "ä\nkey: ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\nwi\u200bll do\n")
    lists(space, AGENTS)
    prompt = plain(space, counter)
    found = {one.code: one for one in prompt.all_warnings}
    assert set(found) == {"secret_like", "hidden_characters"}
    assert "ghp_a1B2" not in found["secret_like"].message
    assert prompt.data[found["hidden_characters"].at :].startswith("\u200b".encode())
    assert prompt.data[found["secret_like"].at :].startswith(b"ghp_")


def test_all_texts_of_inputs_count_against_their_cache():
    made = Ingredients(
        positioning="a" * 1, base="b" * 20, persona="c" * 300, guidelines="d" * 4000, template="e" * 50_000,
        sources=(Source("/memories/AGENTS.md", "ö", size=2),), working=(Entry(1, "f" * 600_000, MONDAY),),
    )  # fmt: skip
    assert inputs.PromptInputs(made).bytes == 654_323
    assert inputs.PromptInputs(Ingredients()).bytes == 0
