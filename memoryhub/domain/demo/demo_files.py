"""The demo's files: a team's memory with a history, by people, agents and the disk, with a conflict and a missing source."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memoryhub.domain import files, prompts
from memoryhub.domain.demo.start import Cast
from memoryhub.models import HUB, Actor, File, Revision, SourceChange

AGENTS = "/memories/AGENTS.md"
PROJECT = "/project/AGENTS.md"
MISSING = "/memories/counter/holidays.md"


def make(cast: Cast) -> None:
    """Mounts, files with their past, and the sources of the prompts."""
    files.add_mount(cast.space, cast.ops, "/memories/", store="database", policy="review")
    files.add_mount(cast.space, cast.ops, "/scratch/", store="thread", policy="trusted")
    files.add_mount(cast.space, cast.ops, "/recall/", store="views")
    # By the hub itself: nobody else may mount what lies in its data directory.
    files.add_mount(
        cast.space, HUB, "/project/", store="filesystem", directory=project_directory(cast), policy="review"
    )
    agents_md(cast)
    others(cast)
    project(cast)
    for path in (AGENTS, MISSING):
        prompts.add_source(cast.space, cast.ops, path)
    for path in (AGENTS, "/memories/forge/notes.md", PROJECT):
        prompts.add_source(cast.space, cast.ops, path, agent=cast.forge)
    SourceChange.objects.within(cast.space).update(created_at=timezone.now() - timedelta(days=30))


def project_directory(cast: Cast) -> str:
    """A directory of the demo's own, below the data directory."""
    path = Path(settings.DATA_DIR) / "demo" / f"project-{cast.space.pk}"
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def agents_md(cast: Cast) -> None:
    """The file the team lives by: made by ops, grown by an agent and by rk, once restored."""
    forge = Actor.of_agent(cast.forge)
    past: list[tuple[Actor, float, str, str]] = [
        (cast.ops, 240, "First text", FIRST),
        (cast.rk, 200, "Money, by hand", FIRST + MONEY),
        (forge, 150, "Tapes instead of the gateway", FIRST.replace("## Deploying", TAPES + "## Deploying") + MONEY),
        (cast.rk, 90, "Webhooks", _now_but("- The same event may come twice; the id decides.\n")),
        (cast.jt, 60, "Shorter", FIRST),
    ]
    for actor, days, reason, text in past:
        dated(files.write(cast.space, actor, AGENTS, text.encode(), reason=reason), days)
    dated(files.restore(cast.space, cast.rk, AGENTS, 4, reason="Too short: the money rules are needed"), 59)
    dated(files.write(cast.space, cast.ops, AGENTS, NOW.encode(), reason="Events can come twice"), 12)


def _now_but(line: str) -> str:
    return NOW.replace(line, "")


def others(cast: Cast) -> None:
    for path, text in OTHERS.items():
        dated(files.write(cast.space, cast.ops, path, text.encode(), reason="First version"), 100)
    moved = files.move(
        cast.space, cast.rk, "/memories/style.md", "/memories/team/style.md", reason="Team things together"
    )
    dated(moved, 30)


def project(cast: Cast) -> None:
    """On a real directory: changed by another program, and once from both sides at one moment."""
    directory = Path(files.resolve_path(cast.space, PROJECT).mount.directory)
    dated(files.write(cast.space, cast.rk, PROJECT, PROJECT_TEXT.encode(), reason="First version"), 20)
    changed = PROJECT_TEXT.replace("Python 3.11", "Python 3.12")
    time.sleep(0.02)
    (directory / "AGENTS.md").write_text(changed)
    files.read(cast.space, PROJECT)
    place = files.resolve_path(cast.space, PROJECT)
    with transaction.atomic():
        # As after a crash: the revision is committed, the disk has not got it yet, and somebody else was quicker there.
        file = files.lock_file(cast.space, PROJECT)
        ours = changed.replace("Run `make`", "Run `make check`").encode()
        dated(files.record_revision(cast.space, file, cast.rk, ours, kind="edit", reason="Check, not only build"), 3)
    (directory / "AGENTS.md").write_text(changed.replace("Run `make`", "Run `tox`"))
    files.sync_file(cast.space, PROJECT, place)


def dated(revision: Revision, days: float) -> None:
    """Sets the date of a revision back by so many days."""
    when = timezone.now() - timedelta(days=days)
    Revision.objects.filter(pk=revision.pk).update(created_at=when)
    File.objects.filter(pk=revision.file_id, created_at__gt=when).update(created_at=when)
    File.objects.filter(pk=revision.file_id, revision=revision.number).update(modified_at=when)


FIRST = """# books-api

Ledgerline keeps the books of small shops. This repository is the ledger service.

<!-- Kept short on purpose: every line here is paid for on every call. ops -->

## Testing

- Run the tests with `pytest -q`.

## Deploying

- Staging deploys from `main` by itself.
- Production: ask in #ship, then `make release`.
- Migrations run before the new version starts; they must work for both.
"""
TAPES = "- Never call the card gateway from a test; use the recorded answers in `tests/tapes/`.\n\n"
MONEY = """
## Money

- Amounts are integers in cents, never floats.
- Round once, at the end, half to even.
"""
NOW = (
    FIRST.replace("pytest -q`.\n\n", "pytest -q`.\n" + TAPES)
    + MONEY
    + """
## Webhooks

- Verify `X-Ledger-Signature` before parsing the body.
- Answer 200 within 2 seconds, work in the queue.
- The same event may come twice; the id decides.
"""
)
OTHERS = {
    files.POSITIONING_PATH: "Ledgerline keeps the books of small shops. Numbers are never guessed: say what is missing instead.\n",
    "/memories/style.md": "# Style\n\n- Short sentences.\n- British spelling in texts for customers.\n- [ ] Decide on the serial comma\n",
    "/memories/team/glossary.md": "# Words\n\n| word | meaning |\n|---|---|\n| ledger | the book of all bookings |\n| tape | a recorded answer of the gateway |\n",
    "/memories/runbooks/deploy.md": "# Deploy\n\n1. Ask in #ship.\n2. `make release`\n3. Watch the queue for ten minutes.\n",
}
PROJECT_TEXT = (
    "# books-api on disk\n\n- Python 3.11\n- Run `make` before a push.\n- The queue worker is `books worker`.\n"
)
