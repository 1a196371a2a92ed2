"""Sources: an ordered list, kept whole at each change, harmless when missing."""

import json
import unicodedata

import pytest
from django.core.management import call_command
from django.utils import timezone

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.errors import Forbidden, HubError, Invalid
from memoryhub.models import HUB, ActivityLine, Actor, SourceChange

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    space = spaces.create(HUB, "ledger")
    files.add_mount(space, HUB, "/memories/")
    return space


def listed(space, agent=None):
    return [source.path for source in prompts.sources_of(space, agent)]


def test_sources_keep_their_order_and_may_be_missing_or_twice(space):
    files.write(space, HUB, "/memories/a.md", b"a")
    for path in ("/memories/a.md", "/memories/b.md", "~/x/AGENTS.md", "/memories/a.md"):
        prompts.add_source(space, HUB, path)
    rows = prompts.check_sources(space, prompts.sources_of(space))
    assert [(r.source.path, r.status, r.is_repeated) for r in rows] == [
        ("/memories/a.md", "included", False),
        ("/memories/b.md", "missing", False),
        ("~/x/AGENTS.md", "missing", False),
        ("/memories/a.md", "included", True),
    ]
    assert rows[2].mount is None


def test_a_source_moves_switches_and_goes(space):
    a, b, c = (prompts.add_source(space, HUB, f"/memories/{x}.md") for x in "abc")
    prompts.reorder_source(space, HUB, c.pk, 1)
    assert listed(space) == ["/memories/c.md", "/memories/a.md", "/memories/b.md"]
    prompts.switch_source(space, HUB, a.pk, False)
    prompts.remove_source(space, HUB, b.pk)
    last = SourceChange.objects.latest("pk")
    assert last.sources == [{"path": "/memories/c.md", "is_on": True}, {"path": "/memories/a.md", "is_on": False}]
    assert ActivityLine.objects.latest("id").verb == "sources.remove"


def test_a_source_that_is_no_text_is_an_error(space):
    files.write(space, HUB, "/memories/old.md", b"caf\xe9")
    prompts.add_source(space, HUB, "/memories/old.md")
    (row,) = prompts.check_sources(space, prompts.sources_of(space))
    assert (row.status, row.size, row.problem) == ("error", 4, "It is not valid UTF-8: prompts leave it out.")


def take_over(space, text, **more):
    return prompts.take_over_configuration(space, HUB, prompts.read_configuration(text), **more)


def test_a_configuration_is_taken_over(space):
    prompts.add_source(space, HUB, "/memories/old.md")
    forge = prompts.create_agent(space, HUB, "forge", system_prompt="Old.")
    text = json.dumps(
        {"memory_files": ["/memories/AGENTS.md", "./.deepagents/AGENTS.md"], "react_prompt": "You build."}
    )
    take_over(space, text, prompt_of=forge)
    assert listed(space) == ["/memories/AGENTS.md", "./.deepagents/AGENTS.md"]
    forge.refresh_from_db()
    assert forge.system_prompt == "You build."
    take_over(space, '{"react_prompt": "Another.", "model": "x"}', agent=forge, prompt_of=forge)
    forge.refresh_from_db()
    assert (forge.system_prompt, len(listed(space))) == ("Another.", 2)
    take_over(space, '{"memory_files": ["/memories/forge.md"]}', agent=forge)
    assert [one.shown for one in prompts.sources_of(space, forge)] == ["/memories/forge.md"] and len(listed(space)) == 2


@pytest.mark.parametrize(
    "bad",
    ["{", "[]", "{}", '{"model": "x"}', '{"memory_files": "x"}', '{"memory_files": [1]}', '{"memory_files": ["../x"]}',
     '{"react_prompt": 1}', '{"react_prompt": "\\ud800"}', '{"memory_files": ["../x"], "react_prompt": "New."}'],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_changes_nothing(space, bad):
    prompts.add_source(space, HUB, "/memories/old.md")
    forge = prompts.create_agent(space, HUB, "forge", system_prompt="Old.")
    with pytest.raises(HubError):
        take_over(space, bad, prompt_of=forge)
    with pytest.raises(HubError):
        prompts.read_configuration(bad)  # which is all that --dry-run does
    forge.refresh_from_db()
    assert (listed(space), forge.system_prompt) == (["/memories/old.md"], "Old.")


def test_only_owners_change_sources(space):
    rk = Actor.of_person(accounts.create_person(HUB, "rk"), "reviewer")
    with pytest.raises(Forbidden):
        prompts.add_source(space, rk, "/memories/a.md")
    with pytest.raises(Invalid):
        prompts.add_source(space, HUB, "/memories/../a.md")


def test_commands(space, tmp_path, capsys):
    prompts.create_agent(space, HUB, "forge")
    call_command(
        "mount", "add", "/project/", "--dir", str(tmp_path), "--space", "ledger", "--policy", "trusted", "--json"
    )
    assert json.loads(capsys.readouterr().out)["policy"] == "trusted"
    call_command("source", "add", "/project/AGENTS.md", "--space", "ledger", "--agent", "forge")
    assert "missing" in capsys.readouterr().out
    (tmp_path / "c.json").write_text("\ufeff" + '{"memory_files": ["/project/AGENTS.md"]}')  # as Windows begins files
    call_command("import", str(tmp_path / "c.json"), "--space", "ledger")
    assert "/project/AGENTS.md" in capsys.readouterr().out


def test_the_command_takes_a_base_prompt_and_says_what_it_leaves(space, tmp_path, capsys):
    forge = prompts.create_agent(space, HUB, "forge", system_prompt="Old.")
    config = tmp_path / "config.json"
    config.write_text(
        '{"memory_files": ["/project/AGENTS.md"], "react_prompt": "You build.", "model": "m", "tools": []}'
    )

    def taken(*arguments: str) -> str:
        call_command("import", str(config), "--space", "ledger", *arguments)
        forge.refresh_from_db()
        return capsys.readouterr().out

    says = taken("--agent", "forge", "--dry-run")
    assert "Would take react_prompt as the base prompt of forge." in says and "model, tools" in says
    assert (forge.system_prompt, listed(space)) == ("Old.", [])
    says = taken()
    assert "Name the agent" in says and (forge.system_prompt, listed(space)) == ("Old.", ["/project/AGENTS.md"])
    answer = json.loads(taken("--agent", "forge", "--json"))
    assert (answer["base_prompt_of"], answer["not_taken"]) == ("forge", ["model", "tools"])
    assert (
        forge.system_prompt == "You build."
        and [one.shown for one in prompts.sources_of(space, forge)] == answer["sources"]
    )


@pytest.mark.parametrize("given", ["memories/rel.md", unicodedata.normalize("NFD", "/memories/Café.md")])
def test_a_source_is_printed_as_it_was_configured(space, given):
    where = unicodedata.normalize("NFC", given if given.startswith("/") else "/" + given)
    files.write(space, HUB, where, b"crema\n")
    agent = prompts.create_agent(space, HUB, "counter")
    asked_at = []
    for configure in (
        lambda: prompts.add_source(space, HUB, given),
        lambda: take_over(space, json.dumps({"memory_files": [given]})),
    ):
        configure()
        assert [(row.source.shown, row.status) for row in prompts.check_sources(space, prompts.sources_of(space))] == [
            (given, "included")
        ]
        for dialect in ("hub", "plain", "deepagents/0.5.0"):
            prompt = prompts.assemble(space, agent, dialect=dialect)
            assert [one["path"] for one in prompt.sources] == [given]
            assert prompt.sources[0]["status"] == "included"
            assert [part.label for part in prompt.parts if part.kind == "source"] in ([given], [])
            assert prompt.revisions == {where: 1}
        assert f"## {given}\n" in prompts.assemble(space, agent, dialect="hub").text
        assert "milk" in prompts.assemble(space, agent, changes={where: b"milk"}).text
        asked_at.append(timezone.now())
    for at in asked_at:
        then = prompts.assemble(space, agent, dialect="hub", at=at)
        assert f"## {given}\n" in then.text and "crema" in then.text
    assert files.agents_reading(space, where) == [agent]


def test_at_a_terminal_the_command_asks_for_the_agent(space, tmp_path, capsys, monkeypatch):
    forge = prompts.create_agent(space, HUB, "forge", system_prompt="Old.")
    config = tmp_path / "config.json"
    config.write_text('{"react_prompt": "You build."}')
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked = []
    for answer, base in (("", "Old."), ("forge", "You build.")):
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: asked.append(question) or answer)
        call_command("import", str(config), "--space", "ledger")
        forge.refresh_from_db()
        assert forge.system_prompt == base
    assert "forge" in asked[0]
