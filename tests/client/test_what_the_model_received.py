"""What the prompt page says is what the model received: README's own agent on a real hub, before and after an approval."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoryhub.client import MemoryHub, example
from memoryhub.client.deepagents import MemoryHubBackend, MemoryHubMiddleware
from tests.later import Later
from tests.running import command, copied, running_in, several

anthropic = Later("anthropic")

MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
    "content": [{"type": "text", "text": "done"}], "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def hub(started_once):
    """One hub for all tests of this file; each adds an agent of its own."""
    with copied(started_once) as data_dir, running_in(data_dir) as running:
        yield running


@pytest.fixture(scope="module")
def owner(hub):
    owner = httpx.Client(base_url=hub.url, follow_redirects=True)
    sign_in(owner, hub.link)
    return owner


@pytest.fixture(scope="module")
def more(hub):
    """README's `agent add`, one agent for each test; they come from a process that adds six at once."""

    def added() -> Iterator[dict[str, str]]:
        for first in itertools.count(1, 6):
            names = [f"scout-{number}" for number in range(first, first + 6)]
            data = ["--data-dir", str(hub.data_dir)]
            for name, made in zip(
                names, several(*(["agent", "add", name, "--json", *data] for name in names)), strict=True
            ):
                assert made[0] == 0, made
                yield {"name": name, "token": json.loads(made[1])["token"]}

    return added()


@pytest.fixture
def scout(hub, owner, more, tmp_path, monkeypatch):
    """README's `agent add scout`, its hub's pages as the owner sees them, and the system messages its model received."""
    one = next(more)
    monkeypatch.setenv("MEMORYHUB_URL", hub.url)
    monkeypatch.setenv("MEMORYHUB_TOKEN", one["token"])
    monkeypatch.setenv("MEMORYHUB_CACHE_DIR", str(tmp_path / "copies"))
    heard: list[str] = []
    monkeypatch.setattr(example, "scripted", lambda fact, scripted=example.scripted: listening(scripted(fact), heard))
    return SimpleNamespace(**one, hub=hub, owner=owner, heard=heard)


def sign_in(owner: httpx.Client, link: str) -> None:
    page = owner.get(link)
    hidden = dict(re.findall(r'name="(csrfmiddlewaretoken|next)"\s+value="([^"]*)"', page.text))
    assert owner.post(link, data=hidden, headers={"Referer": link}).status_code == 200


def listening(model: Any, heard: list[str]) -> Any:
    """The scripted model, which keeps the system message of each turn."""

    class Listening(type(model)):
        def _generate(self, messages, *args, **kwargs):
            heard.extend(message.text for message in messages[:1] if isinstance(message, SystemMessage))
            return super()._generate(messages, *args, **kwargs)

    return Listening()


def page(scout, tail: str = "") -> str:
    answer = scout.owner.get(f"/s/main/prompt/{scout.name}/{tail}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_readmes_agent(scout):
    assert "no call yet; shown as hub" in page(scout)
    assert example.main(["Refunds need a second person."]) == 0
    first = page(scout, "raw/")
    assert "<agent_memory>" in first and "Refunds" not in first
    assert {one.count(first) for one in scout.heard} == {1}, "the model received other bytes than the page shows"
    assert "same as delivered" in page(scout) and "unverified" not in page(scout)
    review = scout.owner.get("/s/main/proposals/1/").text
    assert "deepagents/" in review and "without a thread" in review
    assert command("approve", "1", "--data-dir", str(scout.hub.data_dir)).returncode == 0
    assert "differs from its last delivery" in page(scout)
    second = page(scout, "raw/")
    scout.heard.clear()
    assert example.main(["Invoices go out on Mondays."]) == 0
    assert "Refunds need a second person." in second
    assert {one.count(second) for one in scout.heard} == {1}
    assert page(scout, "raw/") == second


class Saying(type(example.scripted(""))):  # the scripted model, without tool calls
    heard: list = []

    def _generate(self, messages, *args, **kwargs):
        self.heard.append(next(one.text for one in messages if isinstance(one, SystemMessage)))
        result = super()._generate(messages, *args, **kwargs)
        result.generations[0].message = AIMessage("done")
        return result


@pytest.mark.parametrize("thread", ["", "t-1"], ids=["no thread", "thread"])
def test_the_whole_system_message_is_the_frameworks_and_then_the_page(scout, thread):
    client = MemoryHub.from_env()
    model = Saying(heard=[])

    def run(*middleware: Any) -> str:
        routes = {"/memories/": MemoryHubBackend(client)}
        agent = create_deep_agent(
            model, system_prompt="You keep books.", backend=CompositeBackend(default=StateBackend(), routes=routes),
            middleware=middleware, checkpointer=InMemorySaver() if thread else None,
        )  # fmt: skip
        agent.invoke({"messages": ["hello"]}, {"configurable": {"thread_id": thread}} if thread else None)
        return model.heard[-1]

    own = run()
    for text in ("- one <!-- for people -->\n", "- two {braces}\r\n</agent_memory>\n\n"):
        wrote = command(
            "user",
            "add",
            f"rk-{scout.name}-{len(model.heard)}",
            "--role",
            "editor",
            "--json",
            "--data-dir",
            str(scout.hub.data_dir),
        )
        MemoryHub(scout.hub.url, json.loads(wrote.stdout)["token"]).write("/memories/AGENTS.md", text)
        assert run(MemoryHubMiddleware(client)) == f"{own}\n\n{page(scout, 'raw/')}"
        assert ("on thread t-1" if thread else "without a thread") in page(scout)


@pytest.mark.parametrize(
    "asked", [{}, {"thread": "t-9"}, {"query": "books", "task": "Count."}], ids=["bare", "thread", "query"]
)
def test_a_request_of_the_anthropic_sdk(scout, server, asked):
    server.json(MESSAGE)
    model = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
    system = MemoryHub.from_env().prompt(system_prompt="You keep books.", **asked)
    model.messages.create(model="m", max_tokens=9, system=str(system), messages=[{"role": "user", "content": "hello"}])
    assert server.asked[0].json()["system"] == page(scout, "raw/")
    assert "with the base prompt of the call" in page(scout)


@pytest.mark.parametrize(
    "query", ["", "?dialect=plain", "?dialect=deepagents/0.3.4&thread=t", "?query=books&task=Count."]
)
def test_plain_rest(scout, query):
    answer = httpx.get(f"{scout.hub.url}/api/v1/prompt{query}", headers={"Authorization": f"Bearer {scout.token}"})
    shown = scout.owner.get(f"/s/main/prompt/{scout.name}/raw/").content
    assert answer.status_code == 200
    assert answer.content == shown
