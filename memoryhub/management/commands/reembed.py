"""Make the vectors of long-term memory anew with another embedder, then switch to it: reembed [--to NAME] [--back]."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memoryhub.domain import reembedding, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import Space


class Command(HubCommand):
    help = (
        "Make vectors with another embedder; the old ones serve until all are there. Stopped, it goes on where it was."
    )
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--space", metavar="SLUG", help="one space; without it, every space")
        parser.add_argument("--to", metavar="NAME", help="the embedder; without it, the one of MEMORYHUB_EMBEDDER")
        parser.add_argument("--back", action="store_true", help="let the embedder before serve again")

    def run(self, **options: Any) -> dict[str, Any]:
        slug = options["space"]
        chosen = [spaces.by_slug(slug)] if slug else list(Space.objects.order_by("slug"))
        return {"spaces": [self.change(space, options) for space in chosen]}

    def change(self, space: Space, options: dict[str, Any]) -> dict[str, Any]:
        choice = reembedding.before(space) if options["back"] else options["to"] or settings.EMBEDDER
        result = reembedding.run(space, choice, Progress(space.slug, quiet=bool(options.get("json"))))
        return {"space": space.slug, "embedder": choice, **{key: result[key] for key in ("made", "checks", "failed")}}

    def say(self, answer: dict[str, Any]) -> str:
        return "\n".join(
            f"{one['space']}: {one['embedder']} serves, {one['made']:,} vectors made"
            + (f", {one['failed']} of {one['checks']} checks fail" if one.get("checks") else "")
            for one in answer["spaces"]
        )


class Progress:
    """A line that counts up where somebody looks on."""

    def __init__(self, slug: str, quiet: bool) -> None:
        self.slug, self.quiet = slug, quiet or not sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self.quiet:
            sys.stderr.write(f"\r{self.slug}: {done:,} of {total:,} chunks" + ("\n" if done >= total else ""))
