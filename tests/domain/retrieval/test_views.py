"""Files that show memory: read as files, and in prompts of every dialect; fresh, for their reader alone, read-only."""

import pytest
from django.utils import timezone

from memoryhub.domain import accounts, files, longterm, prompts, retrieval, spaces
from memoryhub.domain.working import entries
from memoryhub.errors import Forbidden, HubError, Invalid
from memoryhub.models import HUB, Mount, Space
from tests.api.calling import Caller
from tests.domain.layers import counter, forge, space  # noqa: F401
from tests.outputs import admit

WORKING, OWN, PINNED, QUERY = (f"/recall/{name}.md" for name in ("working", "own", "pinned", "query"))


@pytest.fixture
def recall(space, forge, counter):
    files.add_mount(space, HUB, "/recall/", store="views")
    admit(space, "The gateway is slow\ntoday.")
    admit(space, "Forge tried it twice.", agent=forge, scope="agent")
    admit(space, "Counter counted.", agent=counter, scope="agent")
    longterm.store(space, HUB, "Card refunds take 5 to 10 days.")
    longterm.store(space, HUB, "Anna likes teal.")
    longterm.store(space, HUB, "Forge builds at night.", scope="agent", agent=forge)
    return Space.objects.get(pk=space.pk)


@pytest.fixture
def call(client, recall, forge):
    return Caller(client, accounts.create_token(recall, HUB, agent=forge)[1])


def text(call, path):
    answer = call("GET", f"files{path}", Accept="text/plain")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def prompt(call, dialect, **more):
    answer = call("POST", "prompt", {"dialect": dialect, **more}, Accept="text/plain")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_an_agent_reads_them_like_files(recall, call):
    longterm.pin(recall, HUB, 2)
    longterm.pin(recall, HUB, 1)
    lines = text(call, WORKING).splitlines()
    assert lines[0].endswith("The gateway is slow") and lines[1:] == ["  today."]
    own = text(call, OWN)
    assert "Forge tried it twice." in own and "Forge builds at night. [L-3]" in own and "Counter" not in own
    assert text(call, PINNED) == "- Anna likes teal. [L-2]\n- Card refunds take 5 to 10 days. [L-1]\n"
    assert text(call, QUERY) == ""
    listed = call("GET", "files?prefix=/recall/").json()["entries"]
    assert [one["path"] for one in listed] == sorted([WORKING, OWN, PINNED, QUERY])
    assert {one["path"]: one["size"] for one in listed}[PINNED] == len(text(call, PINNED).encode())
    found = call("GET", "grep?pattern=teal").json()["matches"]
    assert [(one["path"], one["line"]) for one in found] == [(PINNED, 1)]
    assert PINNED in [one["path"] for one in call("GET", "glob?pattern=/recall/*.md").json()["matches"]]
    batch = call("POST", "batch", {"paths": [PINNED, "/recall/none.md"]}).json()["files"]
    assert (batch[0]["revision"], batch[1]["error"]) == (0, "file_not_found")


def test_the_etag_is_that_of_what_stands_there_now(recall, call):
    first = call("GET", f"files{WORKING}", Accept="text/plain")
    assert call("GET", f"files{WORKING}", Accept="text/plain", If_None_Match=first["ETag"]).status_code == 304
    admit(recall, "Another thing.")
    assert call("GET", f"files{WORKING}", Accept="text/plain", If_None_Match=first["ETag"]).status_code == 200


@pytest.mark.parametrize("dialect", ["hub", "plain", "synaptic", "deepagents"])
def test_every_dialect_has_them_as_sources_and_they_are_fresh(recall, call, forge, dialect):
    prompts.import_installed_template()
    prompts.add_source(recall, HUB, WORKING)
    prompts.add_source(recall, HUB, PINNED)
    assert "The gateway is slow" in prompt(call, dialect)
    assert prompt(call, dialect) == prompt(call, dialect)
    added = admit(recall, "Another thing.")
    assert "Another thing." in prompt(call, dialect)
    space = Space.objects.get(pk=recall.pk)
    assert prompt(call, dialect) == prompts.assemble(space, forge, dialect=dialect).text
    entries.remove(space, HUB, added if isinstance(added, int) else added.pk)
    assert "Another thing." not in prompt(call, dialect)
    if dialect != "synaptic":  # it takes one file
        longterm.pin(recall, HUB, 2)
        assert "Anna likes teal. [L-2]" in prompt(call, dialect)
        longterm.edit(recall, HUB, 2, "Anna likes red.")
        assert "Anna likes red. [L-2]" in prompt(call, dialect)
        longterm.unpin(recall, HUB, 2)
        assert "Anna" not in prompt(call, dialect)


@pytest.mark.parametrize("dialect", ["hub", "plain", "deepagents"])
def test_the_query_of_a_call_is_shown_in_its_place(recall, call, dialect):
    prompts.import_installed_template()
    prompts.add_source(recall, HUB, QUERY)
    assert "[L-1]" not in prompt(call, dialect)
    assert "- Card refunds take 5 to 10 days. [L-1]" in prompt(call, dialect, query="How long do card refunds take?")
    assert "[L-2]" in prompt(call, dialect, query="What does Anna like?")
    assert "[L-1]" not in prompt(call, dialect)


def test_each_agent_sees_its_own(recall, client, counter, forge):
    prompts.add_source(recall, HUB, OWN)
    for agent, word, other in ((forge, "Forge tried", "Counter"), (counter, "Counter counted", "Forge")):
        call = Caller(client, accounts.create_token(recall, HUB, agent=agent)[1])
        shown = prompt(call, "plain")
        assert word in shown and other not in shown
        assert other not in text(call, OWN)


def test_a_budget_cuts_them_first(recall, forge):
    files.add_mount(recall, HUB, "/memories/", store="database")
    files.write(recall, HUB, "/memories/AGENTS.md", b"# Rules\n")
    prompts.add_source(recall, HUB, WORKING)
    prompts.add_source(recall, HUB, "/memories/AGENTS.md")
    forge = prompts.change_agent(forge, HUB, budget=1)
    found = prompts.assemble(recall, forge, dialect="hub", query="card refunds")
    cut = [one.path for one in found.warnings if one.code == "cut" and one.path]
    assert cut == [WORKING, "/memories/AGENTS.md"]
    whole = prompts.assemble(recall, prompts.change_agent(forge, HUB, budget=None), dialect="hub")
    less = prompts.change_agent(forge, HUB, budget=whole.tokens - 1)
    found = prompts.assemble(recall, less, dialect="hub")
    assert [one.path for one in found.warnings if one.code == "cut"] == [WORKING] and "# Rules" in found.text


def test_a_limit_of_the_space_holds_here_too(recall, call):
    for n in range(4):
        admit(recall, f"note {n}")
    retrieval.change_limits(recall, HUB, {"hot": 2})
    assert text(call, WORKING).count("- ") == 2


def test_nobody_writes_them(recall, call):
    for method, path, body in (
        ("PUT", f"files{WORKING}", {"content": "x"}),
        ("POST", "edits", {"path": PINNED, "old_string": "a", "new_string": "b"}),
        ("DELETE", f"files{OWN}", None),
        ("PUT", "files/recall/new.md", {"content": "x"}),
    ):
        answer = call(method, path, body)
        assert answer.status_code == 403, (method, path, answer.content)
    with pytest.raises(Forbidden):
        files.write(recall, HUB, WORKING, b"x")
    files.add_rule(recall, HUB, pattern="/recall/**", policy="trusted", confirmed=True)
    assert call("PUT", f"files{WORKING}", {"content": "x"}).status_code == 403
    mount = Mount.objects.within(recall).get(prefix="/recall/")
    assert files.change_mount(recall, HUB, mount, policy="trusted").policy == "read_only"
    with pytest.raises(Invalid):
        files.change_mount(recall, HUB, mount, store="database")


def test_a_token_that_may_not_retrieve_reads_no_memory_through_them(recall, client, forge):
    call = Caller(client, accounts.create_token(recall, HUB, agent=forge, scopes=["files"])[1])
    answer = call("GET", f"files{WORKING}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    assert call("GET", "grep?pattern=gateway").json()["matches"] == []
    assert call("POST", "batch", {"paths": [WORKING]}).json()["files"][0]["error"] == "scope_missing"


def test_they_are_gone_with_the_mount(recall, call):
    prompts.add_source(recall, HUB, WORKING)
    assert "gateway" in prompt(call, "plain")
    files.remove_mount(recall, HUB, Mount.objects.within(recall).get(prefix="/recall/"))
    assert "gateway" not in prompt(call, "plain")
    assert not Space.objects.get(pk=recall.pk).has_views
    with pytest.raises(HubError):
        files.read(recall, WORKING)


def test_another_spaces_memory_never_shows(recall, client):
    other = spaces.create(HUB, "other")
    files.add_mount(other, HUB, "/recall/", store="views")
    agent = prompts.create_agent(other, HUB, "spy")
    call = Caller(client, accounts.create_token(other, HUB, agent=agent)[1])
    assert {text(call, path) for path in (WORKING, OWN, PINNED)} == {""}


def test_a_line_of_a_prompt_leads_to_its_entry(recall, forge):
    for path in (WORKING, OWN, QUERY):
        prompts.add_source(recall, HUB, path)
    found = prompts.assemble(recall, forge, dialect="plain", query="How long do card refunds take?")
    origins = {}
    for number, line in enumerate(found.text.split("\n"), 1):
        origins[line.partition(" [")[0][-8:]] = prompts.line_origin(
            recall, forge, found, number, "How long do card refunds take?"
        )
    assert "gateway" in origins[" is slow"].hot.content and "gateway" in origins["  today."].hot.content
    assert "twice" in origins["t twice."].hot.content
    assert origins["t night."].cold.number == 3 and origins["10 days."].cold.number == 1


def test_they_show_a_past_moment(recall, forge):
    for path in (WORKING, OWN, PINNED, QUERY):
        prompts.add_source(recall, HUB, path)
    longterm.pin(recall, HUB, 2)
    then = timezone.now()
    admit(recall, "Later thing.")
    longterm.pin(recall, HUB, longterm.store(recall, HUB, "Later knowledge.").number)
    found = prompts.assemble(recall, forge, dialect="plain", query="How long do card refunds take?", at=then)
    assert "gateway" in found.text and "Forge tried" in found.text and "Counter" not in found.text
    assert "Anna likes teal. [L-2]" in found.text and "10 days. [L-1]" in found.text and "Later" not in found.text
    assert "views_then" in [one.code for one in found.warnings]
