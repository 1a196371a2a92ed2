"""List what waits for a decision."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import proposals, spaces
from memoryhub.management.base import HubCommand


class Command(HubCommand):
    help = "List what waits for a decision."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument(
            "--as", dest="as_user", default="", metavar="USER", help="taken for the sake of its siblings"
        )
        parser.add_argument("--state", default="pending", choices=["pending", "outdated", "decided"])
        parser.add_argument("--limit", type=int, default=200, metavar="N")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.by_slug(options["space"])
        found = proposals.filtered(space, view=options["state"]).select_related("space", "agent")
        chosen = found.order_by("-risk", "created_at")[: max(1, min(options["limit"], 1000))]
        return {"space": space.slug, "items": [proposals.as_json(one) for one in chosen]}

    def say(self, answer: dict[str, Any]) -> str:
        if not answer["items"]:
            return "Nothing waits."
        return "\n".join(line(one) for one in answer["items"])


def line(one: dict[str, Any]) -> str:
    """One proposal in one line, with the findings that want a look."""
    found = sorted({finding["code"] for finding in one["findings"]})
    told = f"  [{', '.join(found)}]" if found else ""
    reason = f"  “{one['reason'][:60]}”" if one["reason"] else ""
    return f"{one['number']:>5}  {one['agent']}: {one['kind']} {one['path'] or 'long-term memory'}{told}{reason}"
