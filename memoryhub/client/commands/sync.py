"""Keep a directory equal to the published files; local edits can become proposals (no database needed)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from memoryhub.client import HubError, HubUnavailable, MemoryHub
from memoryhub.client.syncing import LocalCopy, Report


def main(arguments: list[str]) -> int:
    """One pass, or one every few seconds with --watch; settings are MEMORYHUB_URL and MEMORYHUB_TOKEN."""
    options = parser().parse_args(arguments)
    try:
        with MemoryHub.from_env() as hub:
            copy = LocalCopy(hub, options.directory, options.prefix, propose=options.propose, new=options.new)
            if options.watch:
                return watch(copy, options)
            report = copy.run()
            print_report(report, as_json=options.json)
            return 1 if report.problems else 0
    except (ValueError, HubError) as problem:
        print(problem, file=sys.stderr)
    except OSError as problem:
        print(f"{options.directory}: {problem.strerror or problem}", file=sys.stderr)
    except KeyboardInterrupt:
        return 0
    return 1


def watch(copy: LocalCopy, options: argparse.Namespace) -> int:
    last_problem = ""
    while True:
        try:
            print_report(copy.run(), as_json=options.json, quiet=True)
            last_problem = ""
        except HubUnavailable as problem:  # it may come back; say it once
            if last_problem != (last_problem := str(problem)):
                print(problem, file=sys.stderr, flush=True)
        time.sleep(options.interval)


def print_report(report: Report, *, as_json: bool, quiet: bool = False) -> None:
    lines = report.lines()
    did = (report.updated, report.removed, report.proposed, report.applied, report.only_here, report.problems)
    if quiet and not any(did):
        return
    if as_json:
        print(json.dumps(asdict(report)), flush=True)
    else:
        same = report.unchanged + len(report.updated)
        print("\n".join([*lines, f"{same} {'file is' if same == 1 else 'files are'} as published"]), flush=True)


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="memoryhub sync", description=__doc__)
    parsed.add_argument("directory", type=Path, metavar="DIR", help="the local copy; made when it is missing")
    parsed.add_argument("--prefix", default="/memories/", help="what of the hub to copy (default: /memories/)")
    parsed.add_argument("--propose", action="store_true", help="propose what was edited here")
    parsed.add_argument("--new", action="store_true", help="with --propose: propose files that only exist here, too")
    parsed.add_argument("--watch", action="store_true", help="go on until Ctrl-C")
    parsed.add_argument("--interval", type=float, default=2.0, metavar="SECONDS", help="pause of --watch (default: 2)")
    parsed.add_argument("--json", action="store_true", help="one JSON document per pass")
    return parsed
