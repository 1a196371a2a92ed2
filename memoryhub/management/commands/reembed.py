"""Recreate the vectors of long-term memory with another embedder, then switch to it; or see and delete what is left of others."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from memoryhub.domain import longterm, spaces
from memoryhub.management.base import HubCommand
from memoryhub.models import HUB, Space


class Command(HubCommand):
    help = "Create vectors with another embedder; the old ones are used until all are there. If stopped, it continues where it was."
    offers_json = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--space", metavar="SLUG", help="one space; without it, every space")
        parser.add_argument("--to", metavar="NAME", help="the embedder; without it, the one of MEMORYHUB_EMBEDDER")
        parser.add_argument("--back", action="store_true", help="switch back to the previous embedder")

        parser.add_argument(
            "--kept", action="store_true", help="list the vectors by embedder and what they are for; changes nothing"
        )
        parser.add_argument(
            "--drop", metavar="MADE_BY", help="delete the vectors of an embedder that is no longer used"
        )

    def run(self, **options: Any) -> dict[str, Any]:
        slug = options["space"]
        chosen = [spaces.get_by_slug(slug)] if slug else list(Space.objects.order_by("slug"))
        if options["drop"]:
            return {"dropped": self.drop(chosen, options["drop"]), "of": options["drop"]}
        if options["kept"]:
            return {
                "kept": [
                    {"space": space.slug, **asdict(one)}
                    for space in chosen
                    for one in longterm.embedders_with_vectors(space)
                ]
            }
        return {"spaces": [self.change(space, options) for space in chosen]}

    def change(self, space: Space, options: dict[str, Any]) -> dict[str, Any]:
        choice = longterm.embedder_before(space) if options["back"] else options["to"] or settings.EMBEDDER
        result = longterm.run_reembedding(space, choice, Progress(space.slug, quiet=bool(options.get("json"))))
        return {"space": space.slug, "embedder": choice, **{key: result[key] for key in ("made", "checks", "failed")}}

    def drop(self, chosen: list[Space], embedded_by: str) -> int:
        made_by = {space: [one.embedded_by for one in longterm.embedders_with_vectors(space)] for space in chosen}
        having = [space for space in chosen if embedded_by in made_by[space]]
        if not having:
            raise CommandError(
                no_vectors_sentence(embedded_by, sorted({one for some in made_by.values() for one in some})),
                returncode=2,
            )
        return sum(self.drop_in(space, embedded_by) for space in having)

    def drop_in(self, space: Space, embedded_by: str) -> int:
        longterm.drop_vectors_of(space, HUB, embedded_by)
        return longterm.drop_all_vectors(space, embedded_by, Progress(space.slug, quiet=True))

    def say(self, answer: dict[str, Any]) -> str:
        if "of" in answer:
            return f"{answer['dropped']:,} vectors of {answer['of']} deleted"
        if "kept" in answer:
            return "\n".join(
                f"{one['space']}: {one['embedded_by']}, {one['vectors']:,} vectors, about {one['size']:,} bytes, "
                + (one["use"] or "kept for comparing alone")
                for one in answer["kept"]
            )
        return "\n".join(
            f"{one['space']}: {one['embedder']} serves, {one['made']:,} vectors made"
            + (f", {one['failed']} of {one['checks']} checks fail" if one.get("checks") else "")
            for one in answer["spaces"]
        )


def no_vectors_sentence(embedded_by: str, others: list[str]) -> str:
    there = f"There are vectors of {', '.join(others)}." if others else "There are no vectors at all."
    return f"No vectors here were made by {embedded_by!r}; nothing was deleted. {there}"


class Progress:
    """Prints progress on a terminal."""

    def __init__(self, slug: str, quiet: bool) -> None:
        self.slug, self.quiet = slug, quiet or not sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self.quiet:
            sys.stderr.write(f"\r{self.slug}: {done:,} of {total:,} chunks" + ("\n" if done >= total else ""))
