"""memoryhub prompt and memoryhub template import."""

from __future__ import annotations

import json
import zipfile
from io import StringIO

import pytest
from django.core.management import call_command

from memoryhub.domain import prompts, spaces
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import HUB, Agent, DialectTemplate, Mount
from tests.prompting import AGENTS, lists, put

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def counter():
    space = spaces.create(HUB, "main")
    Mount.objects.create(space=space, prefix="/memories/")
    put(space, AGENTS, "\ufeffone\r\n")
    lists(space, AGENTS)
    return prompts.create_agent(space, HUB, "The Counter", system_prompt="Base.")


def run(*arguments):
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_it_prints_the_exact_bytes_and_nothing_else():
    for name in ("the-counter", "The Counter"):
        assert run("prompt", "--agent", name, "--dialect", "plain") == "Base.\n\n\ufeffone\r\n"


def test_the_bytes_go_past_every_text_layer(capfdbinary):
    call_command("prompt", agent="the-counter", dialect="plain")
    assert capfdbinary.readouterr().out == "Base.\n\n\ufeffone\r\n".encode()


def test_json_on_request():
    body = json.loads(run("prompt", "--agent", "the-counter", "--dialect", "plain", "--json"))
    assert body["sources"][0]["path"] == AGENTS


def test_it_looks_back():
    Agent.objects.update(created_at="2000-12-31T00:00Z")
    assert run("prompt", "--agent", "the-counter", "--dialect", "plain", "--at", "2001-01-01") == "Base."
    with pytest.raises(NotFound, match="The Counter got no prompt then: it was made on 2000-12-31"):
        run("prompt", "--agent", "the-counter", "--at", "2000-12-30")


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [(["--agent", "nobody"], NotFound), (["--agent", "the-counter", "--space", "no"], NotFound),
     (["--agent", "the-counter", "--dialect", "no"], Invalid), (["--agent", "the-counter", "--at", "no"], Invalid)],
)  # fmt: skip
def test_refusals_are_one_sentence(arguments, refusal):
    with pytest.raises(refusal):
        run("prompt", *arguments)


def test_the_template_of_the_installed_library():
    said = run("template", "import", "deepagents")
    assert "serves deepagents/0.6.3: 5,122 bytes" in said
    assert "the published text" in said
    assert run("template", "import", "deepagents") == said
    assert DialectTemplate.objects.count() == 1
    assert "<agent_memory>" in run("prompt", "--agent", "the-counter", "--dialect", "deepagents")


def test_the_template_of_a_wheel(tmp_path):
    wheel = tmp_path / "deepagents-0.4.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("deepagents/middleware/memory.py", 'MEMORY_SYSTEM_PROMPT = "<m>{agent_memory}</m>"\n')
        archive.writestr(
            "deepagents-0.4.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: deepagents\nVersion: 0.4.5\n"
        )
    answer = json.loads(run("template", "import", "deepagents", "--wheel", str(wheel), "--json"))
    assert (answer["form"], answer["version"], answer["known"]) == ("deepagents/0.4.3", "0.4.5", False)
    with pytest.raises(NotFound):
        run("template", "import", "deepagents", "--wheel", str(tmp_path / "none.whl"))
