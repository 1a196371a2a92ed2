"""Take over sources and a base prompt from a configuration file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts, spaces
from memoryhub.errors import Invalid
from memoryhub.languages import translated
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Agent, Space


class Command(HubCommand):
    help = 'Take over a configuration: {"memory_files": ["/memories/AGENTS.md", …], "react_prompt": "…"}.'
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("config", metavar="CONFIG.json")
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument(
            "--agent", metavar="NAME", help="gets the sources as its own list, and react_prompt as its base prompt"
        )
        parser.add_argument("--dry-run", action="store_true", help="only list what would be imported")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        config = prompts.read_configuration(text_of(options["config"]))
        agent = prompts.agent_by_name(space, options["agent"]) if options["agent"] else None
        prompt_of = agent
        if config.react_prompt is not None and not agent and not options["json"] and sys.stdin.isatty():
            prompt_of = ask_for_agent(space)
        if options["dry_run"]:
            listed = config.memory_files or []
        else:
            made = prompts.take_over_configuration(space, HUB, config, agent=agent, prompt_of=prompt_of)
            listed = [source.shown for source in made]
        has_prompt = config.react_prompt is not None
        return {
            "space": space.slug, "agent": agent.slug if agent else None, "dry_run": options["dry_run"],
            "sources": None if config.memory_files is None else listed,
            "base_prompt_of": prompt_of.slug if prompt_of and has_prompt else None,
            "not_taken": [*(["react_prompt"] if has_prompt and not prompt_of else []), *config.other],
        }  # fmt: skip

    def say(self, answer: dict[str, Any]) -> str:
        would = "Would take" if answer["dry_run"] else "Took"
        whose = answer["agent"] or answer["space"]
        lines = []
        if answer["sources"] is not None:
            lines += [f"{would} the sources of {whose}, in this order:", *answer["sources"]]
        if answer["base_prompt_of"]:
            lines.append(f"{would} react_prompt as the base prompt of {answer['base_prompt_of']}.")
        if "react_prompt" in answer["not_taken"]:
            lines.append("Not taken: react_prompt. Name the agent whose base prompt it is with --agent NAME.")
        if other := [name for name in answer["not_taken"] if name != "react_prompt"]:
            lines.append(f"Not taken, as the hub has no such setting: {', '.join(other)}.")
        return "\n".join(lines)


def text_of(path: str) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror or error}.", code="no_config") from None
    except UnicodeDecodeError:
        raise Invalid(f"{path} cannot be read: it is not UTF-8.", code="no_config") from None


def ask_for_agent(space: Space) -> Agent | None:
    """The agent that the person at the terminal names for the base prompt; none where the answer is empty."""
    known = ", ".join(one.slug for one in prompts.agents_of_space(space)[:20])
    if not known:
        return None
    question = translated(f"Which agent gets react_prompt as its base prompt? ({known}; empty: none)")
    answer = input(f"{question} ").strip()
    return prompts.agent_by_name(space, answer) if answer else None
