"""Print the exact prompt of an agent: its bytes on stdout, nothing else."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import prompts, spaces
from memoryhub.management.base import HubCommand


class Command(HubCommand):
    help = "Print the exact prompt of an agent."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--agent", required=True, metavar="NAME")
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument(
            "--dialect", default="", metavar="D", help="such as deepagents/0.7.1; default: the agent's own"
        )
        parser.add_argument(
            "--query", default="", metavar="Q", help="adds what retrieval finds, where there is a place for it"
        )
        parser.add_argument("--task", default="", metavar="T")
        parser.add_argument("--thread", default="", metavar="ID", help="shows the short-term files of this thread")
        parser.add_argument("--at", default="", metavar="TIME", help="a past moment, such as 2026-11-18T14:02Z")

    def run(self, **options: Any) -> dict[str, Any] | None:
        space = spaces.get_by_slug(options["space"])
        agent = prompts.agent_by_name(space, options["agent"])
        words = {name: options[name] for name in ("dialect", "query", "task", "thread")}
        prompt = prompts.assemble(space, agent, **words, at=prompts.parse_time(options["at"]))
        if options["json"]:
            return prompts.as_json(prompt)
        write_bytes(self, prompt.data)
        return None


def write_bytes(command: HubCommand, data: bytes) -> None:
    """Writes bytes without the text layer, which would translate line ends and refuse some characters."""
    command.stdout.flush()
    if command.stdout._out is sys.stdout and hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        command.stdout.write(data.decode(), ending="")
