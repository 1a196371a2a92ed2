"""Approve a proposal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from memoryhub.domain import files, proposals, spaces
from memoryhub.errors import Conflict
from memoryhub.management import deciding
from memoryhub.management.base import HubCommand
from memoryhub.models import Proposal
from memoryhub.text.unseen import spelled_out


class Command(HubCommand):
    help = "Approve a proposal: its diff is printed with the answer."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("--note", default="", metavar="TEXT", help="a note for the agent")
        parser.add_argument("--seen", default="", metavar="SHA256", help="only if the result is still this one")
        parser.add_argument(
            "--no-secret",
            action="store_true",
            help="what looks like a secret in the result is none; noted in the activity",
        )
        deciding.add_arguments(parser)

    def run(self, **options: Any) -> dict[str, Any]:
        space, actor = deciding.space_and_actor(options)
        proposal = proposals.get(space, options["number"])
        if not options["seen"]:
            check_not_grave(proposal)
        found = proposals.result(proposal)
        seen = options["seen"] or found.seen
        if options["no_secret"] and found.after and seen == found.seen:
            values = [one.digest for one in spaces.mark_secrets(space, found.after).secrets]
            files.allow_in_text(space, actor, proposal.path, found.after, values)
        done = proposals.approve(space, actor, proposal.number, seen=seen, note=options["note"])
        return {"proposal": proposals.as_json(done), "revision": done.applied_revision}

    def say(self, answer: dict[str, Any]) -> str:
        one = answer["proposal"]
        if one["state"] == "pending":
            return f"Your approval is recorded. Proposal {one['number']} waits for a second person."
        where = f", revision {answer['revision']}" if answer["revision"] else ""
        return f"{spelled_out(one['diff'])}Approved proposal {one['number']}{where}."


def check_not_grave(proposal: Proposal) -> None:
    """`Conflict` for a proposal with grave findings, which must be approved with --seen (on its page they are ticked)."""
    grave = sorted({one["code"] for one in proposal.findings if one["severity"] == "high"})
    waits = proposal.state in (Proposal.State.PENDING, Proposal.State.OUTDATED)
    if grave and waits:
        seen = proposals.result(proposal).seen
        raise Conflict(
            f"It has serious findings ({', '.join(grave)}). Review it with `memoryhub proposals "
            f"{proposal.number} --space {proposal.space.slug}`, then approve what you saw with --seen {seen}",
            code="needs_a_look",
        )
