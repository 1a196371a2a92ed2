"""What an output may repeat: sources as they are now, working memory, and any line of long-term memory."""

import importlib

import pytest

from memoryhub.domain import files, longterm, quarantine
from memoryhub.domain.quarantine.gate import read_known_texts
from memoryhub.migrations import _older
from memoryhub.models import HUB, Source, Telltale
from tests.domain.layers import counter, forge, rk, space, viewer  # noqa: F401

embedder_module = importlib.import_module("memoryhub.domain.retrieval.embedder")

SAID = "The settlement gateway closes refunds of the Rotterdam branch at half past seven every evening."
PATH = "/memories/AGENTS.md"


def found(space, agent, content):
    logged = quarantine.log(space, agent, content=content, session_id="s", node_id="n")
    return [(one["code"], one["details"]["label"]) for one in logged.findings]


@pytest.fixture
def no_embedder(monkeypatch):
    """Whoever asks for an embedder fails."""
    monkeypatch.setattr(embedder_module, "load_embedder", lambda named: 1 / 0)


def test_what_long_term_memory_says_comes_back_known_and_no_embedder_is_asked(space, forge, request):
    for n in range(60):
        longterm.store(
            space, HUB, f"Shop {n} closes its refunds at {n} past seven and says so to every customer in time."
        )
    longterm.store(space, HUB, SAID)
    request.getfixturevalue("no_embedder")
    nearly = SAID.replace("half past", "a quarter past")
    for text in (SAID, f"I looked.\n- {SAID.upper()}\nThat is so.", nearly):
        assert ("feedback", "L-61") in found(space, forge, text)
    assert found(space, forge, "The branch of Rotterdam opens a new settlement desk in the evening.") == []


def test_of_an_agents_own_memory_no_other_agent_hears(space, forge, counter):
    longterm.store(space, HUB, SAID, scope="agent", agent=forge)
    assert found(space, counter, SAID) == []
    assert found(space, None, "Before.\n" + SAID) == [("duplicate", "working memory (counter)")]
    own = quarantine.log(space, forge, content=SAID + " Always.", session_id="s", node_id="n")
    assert "feedback" in [one["code"] for one in own.findings]


def test_what_was_corrected_or_retired_is_not_known_any_more(space, forge, rk):
    longterm.store(space, rk, SAID)
    longterm.edit(space, rk, 1, "Refunds of the Rotterdam branch are paid by card and never in cash, says the desk.")
    assert found(space, forge, "Today:\n" + SAID) == []
    assert found(
        space, None, "- Refunds of the Rotterdam branch are paid by card and never in cash, says the desk."
    ) == [("feedback", "L-1")]
    longterm.retire(space, rk, 1)
    assert not Telltale.objects.exists()
    longterm.restore(space, rk, 1)
    assert Telltale.objects.exists()


@pytest.mark.parametrize("around", ["", "# Much more\n" * 10_000], ids=["small", "large"])
def test_a_source_is_compared_as_it_is_now(space, forge, around):
    files.add_mount(space, HUB, "/memories/", policy="trusted")
    Source.objects.create(space=space, path=PATH)
    for text in (SAID, "Amounts are integers in minor units everywhere."):
        files.write(space, HUB, PATH, (around + text).encode())
        seen = read_known_texts(space, forge, text).texts
        assert [one.label for one in seen] == [PATH] and seen[0].text == around + text
    assert found(space, forge, SAID) == []
    assert found(space, forge, "Amounts are integers in minor units everywhere.") == [("duplicate", PATH)]
    files.delete(space, HUB, PATH)
    assert PATH not in [one.label for one in read_known_texts(space, forge, "x").texts]


def test_an_upgrade_makes_what_the_domain_makes(space, rk, forge):
    longterm.store(space, rk, SAID + "\n" + "退款需要五到十天才能到账。" * 80)
    longterm.store(space, rk, SAID + " Forge says so.", scope="agent", agent=forge)
    columns = ("space_id", "chunk_id", "agent_id", "code", "size", "mask")
    made = sorted(Telltale.objects.values_list(*columns), key=str)
    Telltale.objects.all().delete()
    _older.fill_fingerprints()
    assert sorted(Telltale.objects.values_list(*columns), key=str) == made != []
