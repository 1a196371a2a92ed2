"""Check database, pgvector, migrations, mounts and unwritten revisions; says how to mend what is wrong."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from memoryhub.errors import HubError
from memoryhub.languages import translated
from memoryhub.management import health
from memoryhub.management.base import HubCommand, as_json
from memoryhub.management.database import database


class ChecksFailed(HubError):
    """A check failed; makes the command exit with status 1 after its list."""


class Command(HubCommand):
    help = "Check the hub. Changes nothing."
    offers_json = True
    needs_database = False  # it must not migrate, and an unreachable database is a finding

    def run(self, **options: Any) -> None:
        with database():
            found = health.examine()
        wrong = [finding for finding in found if not finding["ok"]]
        if options.get("json"):
            self.stdout.write(as_json({"ok": not wrong, "checks": found}))
        else:
            for finding in found:
                self.stdout.write(finding_line(finding))
        if wrong:
            raise ChecksFailed(f"{len(wrong)} of {len(found)} checks found something to mend.")


def finding_line(finding: dict[str, Any]) -> str:
    if finding["ok"]:
        return f"ok     {translated(finding['name'])}: {translated(finding['says'])}"
    says, mend = translated(finding["says"]), translated(finding["mend"])
    return f"{_('WRONG')}  {translated(finding['name'])}: {says} {mend}"
