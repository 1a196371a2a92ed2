"""A whole deep agent with a scripted model: the system message it really received is the one the hub foretold."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from deepagents import create_deep_agent
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.middleware import memory as theirs
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoryhub.dialects import Ingredients, Source, deepagents, render

PATHS = ["/AGENTS.md", "/team/AGENTS.md", "/missing.md"]
BEFORE = "# Team <!-- for people -->\r\n- braces {here}\n</agent_memory>\n\n"
AFTER = "# Team\n- changed\n"


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to and keeps what it was given."""

    heard: list = []

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        self.heard.append(next(message for message in messages if isinstance(message, SystemMessage)).text)
        return super()._generate(messages, *args, **kwargs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    (tmp_path / "AGENTS.md").write_bytes(BEFORE.encode())
    (tmp_path / "team" / "AGENTS.md").write_bytes("\ufeffeyes  \n".encode())
    return tmp_path


def run(folder: Path, memory: list[str] | None, *, turns=({},), change=lambda turn: None) -> list[str]:
    model = Scripted(messages=iter([AIMessage("done")] * len(turns)), heard=[])
    agent = create_deep_agent(
        model,
        system_prompt="You keep books.",
        memory=memory,
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
        checkpointer=InMemorySaver(),
    )
    for number, turn in enumerate(turns):
        change(number)
        agent.invoke({"messages": ["hello"]}, {"configurable": {"thread_id": "t-1", **turn}})
    return model.heard


def foretold(folder: Path, base: str) -> str:
    listed = []
    for path in PATHS:
        file = folder / path[1:]
        text = file.read_bytes().decode() if file.exists() else None
        listed.append(Source(path, text, error="" if file.exists() else "file_not_found"))
    version = importlib.metadata.version("deepagents")
    memory = Ingredients(base=base, template=theirs.MEMORY_SYSTEM_PROMPT, sources=tuple(listed))
    return render(f"deepagents/{version}", memory).text


def test_the_model_received_what_the_hub_foretold(folder):
    base = run(folder, None)[0]
    assert base.startswith("You keep books.")
    assert run(folder, PATHS) == [foretold(folder, base)]


def test_a_running_thread_keeps_its_memory_and_the_next_one_gets_the_edit(folder):
    base = run(folder, None)[0]
    old = foretold(folder, base)

    def edit(turn: int) -> None:
        if turn == 1:
            (folder / "AGENTS.md").write_text(AFTER)

    heard = run(folder, PATHS, turns=({}, {}, {"thread_id": "t-2"}), change=edit)
    assert heard == [old, old, foretold(folder, base)]
    assert re.search("- changed", heard[2])


def test_the_installed_template_is_one_the_hub_knows():
    source = Path(theirs.__file__).read_text()
    assert deepagents.compare("deepagents/0.6.3", deepagents.read_template(source)).known
