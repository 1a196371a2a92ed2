"""Compare every tree with the real programs; --record keeps the hashes for `make test`, which needs no download."""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from memoryhub.dialects import coding
from tests.conformance.coding_agents import programs, trees

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "coding_agents.json"
COUNT = 60  # random trees for each agent


def cases(agent: str, count: int) -> list[trees.Case]:
    return [*trees.hand_made(agent), *(trees.random_case(agent, seed) for seed in range(count))]


def ours(agent: str, case: trees.Case, root: Path) -> str:
    """Our text, as `programs` gives theirs."""
    found = coding.context_of(agent, str(root / case.start), str(root / "home")).text.decode("utf-8", "replace")
    if agent == "claude-code":
        return programs.after_heading(found)
    return found.rstrip("\n") if agent == "copilot-cli" else found


def digest(text: str, root: Path) -> str:
    """The hash of a text in which the root's path does not matter."""
    return hashlib.sha256(text.replace(str(root), trees.ROOT).encode("utf-8", "surrogatepass")).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--agent", action="append", choices=list(programs.PROGRAMS))
    parser.add_argument("--count", type=int, help="random trees for each agent")
    options = parser.parse_args()
    failed = 0
    for agent in options.agent or programs.PROGRAMS:
        found, wrong = {}, 0
        for case in cases(agent, options.count or COUNT):
            root = Path(tempfile.mkdtemp(prefix="coding-agents-")).resolve()
            trees.build(case, root)
            mine = ours(agent, case, root)  # first: programs write into a home
            theirs = programs.PROGRAMS[agent](root / case.start, root / "home")
            found[case.name] = digest(theirs, root)
            if mine != theirs:
                wrong += 1
                print(f"{agent}, {case.name}: differs")
                print(
                    "".join(
                        list(
                            difflib.unified_diff(theirs.splitlines(True), mine.splitlines(True), "theirs", "ours", n=1)
                        )[:20]
                    )
                )
            shutil.rmtree(root, ignore_errors=True)
        print(f"{agent} {programs.PACKAGES[agent][1]}: {len(found) - wrong} of {len(found)} trees equal", flush=True)
        failed += wrong
        if options.record:
            recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
            recorded[agent] = {"version": programs.PACKAGES[agent][1], "sha256": found}
            RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    return 1 if failed else 0


raise SystemExit(main())
