"""A real deepagents agent that remembers something: `python -m memoryhub.client.example "what to remember"`.

Without `--model` a script plays the model, so no key is needed: it reads /memories/AGENTS.md and adds a line. What the
agent gets back, and the proposal in the hub, are the real thing.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .errors import HubError
from .hub import MemoryHub

try:
    from deepagents import create_deep_agent
    from deepagents.backends import CompositeBackend, StateBackend
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    from .deepagents import MemoryHubBackend, MemoryHubMiddleware

    HAS_DEEPAGENTS = True
except ImportError:
    HAS_DEEPAGENTS = False

AGENTS = "/memories/AGENTS.md"
FACT = "Answers start with the result, then the reasons."


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if not HAS_DEEPAGENTS:
        return failed("deepagents is not installed here: pip install 'deepagents>=0.7,<0.8'.")
    try:
        hub = MemoryHub.from_env()
        hub.list("/memories/")
    except (ValueError, HubError) as problem:
        return failed(str(problem))
    agent = create_deep_agent(
        options.model or scripted(options.fact),
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(hub)}),
        middleware=[MemoryHubMiddleware(hub)],
    )
    asked = {"messages": [("user", f"Remember for every later conversation: {options.fact}")]}
    for message in agent.invoke(asked)["messages"]:
        for call in getattr(message, "tool_calls", None) or []:
            print(f"agent calls {call['name']}({call['args'].get('file_path', '')})")
        if message.type in ("tool", "ai") and message.text:
            print(f"{'answer' if message.type == 'tool' else 'agent'}: {message.text}")
    return 0


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="python -m memoryhub.client.example", description=__doc__)
    parsed.add_argument("fact", nargs="?", default=FACT, help="what to remember")
    parsed.add_argument("--model", help="a real model instead, such as anthropic:claude-sonnet-5-5")
    return parsed


def scripted(fact: str) -> Any:
    """A chat model that does what a model does here: read the file, add a line, say so."""

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
            answers = sum(isinstance(message, ToolMessage) for message in messages)
            text, calls = turn(answers, fact)
            return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=calls))])

    return Scripted()


def turn(answers: int, fact: str) -> tuple[str, list[dict[str, Any]]]:
    """What the model says after so many answers of tools, and the tool it calls next."""
    if not answers:
        return "", [calling("read_file")]
    if answers == 1:
        return "", [addition(published(), fact)]
    return "I asked to remember it; it counts once a person has agreed.", []


def published() -> str:
    try:
        return str(MemoryHub.from_env().read(AGENTS))
    except HubError:
        return ""


def addition(text: str, fact: str) -> dict[str, Any]:
    """The call that adds a line: an edit of the last line where that stands once, else the whole file."""
    if not text:
        return calling("write_file", content=f"# Memory\n\n- {fact}\n")
    last = text.rstrip("\n").rsplit("\n", 1)[-1]
    if text.count(last) > 1:
        return calling("write_file", content=f"{text.rstrip()}\n- {fact}\n")
    return calling("edit_file", old_string=last, new_string=f"{last}\n- {fact}")


def calling(name: str, **more: str) -> dict[str, Any]:
    return {"name": name, "args": {"file_path": AGENTS, **more}, "id": f"call-{name}"}


def failed(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
