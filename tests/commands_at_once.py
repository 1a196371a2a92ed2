"""Several commands of the hub in one new process, which is quicker than one for each where a machine is busy.

    python -m tests.commands_at_once '[["user", "add", "olga", "--role", "owner", "--json"], …]'

prints a JSON list of what they printed.
"""

from __future__ import annotations

import io
import json
import sys

import django
from django.core.management import call_command


def outputs(lines: list[list[str]]) -> list[str]:
    found = []
    for line in lines:
        out = io.StringIO()
        call_command(*line, stdout=out)
        found.append(out.getvalue())
    return found


if __name__ == "__main__":
    django.setup()
    json.dump(outputs(json.loads(sys.argv[1])), sys.stdout)
