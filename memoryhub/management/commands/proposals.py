"""List proposals, pending ones by default."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import proposals, spaces
from memoryhub.management.base import HubCommand
from memoryhub.management.deciding import finding_lines
from memoryhub.text.unseen import spelled_out

EMPTY_LIST_SENTENCES = {
    "pending": "No proposals are pending.",
    "outdated": "Nothing is outdated.",
    "decided": "Nothing was decided yet.",
}


class Command(HubCommand):
    help = "List proposals, pending ones by default."
    offers_json = True
    says: Callable[[list[dict[str, Any]]], str]

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "number", type=int, nargs="?", metavar="N", help="this one alone, with what it would change"
        )
        parser.add_argument("--space", default="main", metavar="SLUG", help="default: main")
        parser.add_argument("--as", dest="as_user", default="", metavar="USER", help=argparse.SUPPRESS)
        parser.add_argument("--state", default="pending", choices=["pending", "outdated", "decided"])
        parser.add_argument("--limit", type=int, default=200, metavar="N")

    def run(self, **options: Any) -> dict[str, Any]:
        space = spaces.get_by_slug(options["space"])
        if options["number"] is not None:
            one, found = proposals.refresh_state(proposals.get(space, options["number"]))
            self.says = lambda items: details(items[0])
            return {"space": space.slug, "items": [proposals.as_json(one, found)]}
        found = proposals.filtered(space, view=options["state"]).select_related("space", "agent")
        self.says = lambda items: "\n".join(map(summary_line, items)) or EMPTY_LIST_SENTENCES[options["state"]]
        by = ("-decided_at", "-pk") if options["state"] == "decided" else ("-risk", "created_at")
        chosen = found.order_by(*by)[: max(1, min(options["limit"], 1000))]
        return {"space": space.slug, "items": [proposals.as_json(one) for one in chosen]}

    def say(self, answer: dict[str, Any]) -> str:
        return self.says(answer["items"])


def summary_line(one: dict[str, Any]) -> str:
    """A proposal on one line, with the codes of its findings."""
    found = sorted({finding["code"] for finding in one["findings"]})
    codes = f"  [{', '.join(found)}]" if found else ""
    reason = f"  “{' '.join(one['reason'][:60].split())}”" if one["reason"] else ""
    by = f" by {one['decided_by']}" if one["decided_by"] else ""
    ended = f"  {one['state']}{by}" if one["state"] not in ("pending", "outdated") else ""
    thing = one["path"] or ("long-term memory" if one["kind"] == "promotion" else "")
    return spelled_out(f"{one['number']:>5}  {one['agent']}: {one['kind']} {thing}{codes}{reason}{ended}")


def details(one: dict[str, Any]) -> str:
    """A proposal with everything that is needed to decide on it."""
    lines = [summary_line(one).strip(), spelled_out(one["reason"])] if one["reason"] else [summary_line(one).strip()]
    lines += [
        f"{name} {spelled_out(one[key])}"
        for key, name in (("thread_id", "thread"), ("tool_call_id", "tool call"))
        if one[key]
    ]
    if one["stacked_on"]:
        lines.append(f"It builds on proposal {one['stacked_on']}.")
    lines += finding_lines(one)
    if one["note"]:
        lines.append(f"“{spelled_out(one['note'])}”")
    return "\n".join([*lines, "", spelled_out(one["diff"]).rstrip("\n")]).rstrip()
