"""A soak: actors at work on a cluster, faults by a seeded plan, and the checker.

    python -m tests.soak [--minutes 15] [--seed N] [--nodes 2] [--faults "fail over,disk full"] [--pause 0.05]

Exit code 0: nothing was lost and nothing was there that had been refused. Else it prints the command that repeats it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from dataclasses import dataclass, field

from tests.running import TREE, clean
from tests.soak import faults
from tests.soak.check import Checker
from tests.soak.ledger import Entry, is_acknowledged, is_unknown
from tests.soak.scene import AGENTS, PEOPLE, Scene, made_scene, wait_until_ready

QUIET_FIRST = 4.0  # seconds of work before the first fault
RECOVERY = 60.0  # seconds after a fault within which every node is ready again
AFTERWARDS = 4.0  # seconds that still belong to a fault: connections in pools are replaced as they are used


@dataclass
class Outcome:
    windows: list[tuple[float, float, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--nodes", type=int, default=2, choices=range(1, 6), metavar="N")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two calls of an actor, on average")
    parser.add_argument(
        "--faults", default="", help="only these, separated by commas: " + ", ".join(sorted(faults.KINDS))
    )
    parser.add_argument(
        "--keep", default="", metavar="DIR", help="keep what actors noted and nodes said in this folder"
    )
    options = parser.parse_args(arguments)
    chosen = [name.strip() for name in options.faults.split(",") if name.strip()]
    if unknown := set(chosen) - set(faults.KINDS):
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    return soak(options, chosen)


def soak(options: argparse.Namespace, chosen: list[str]) -> int:
    began, outcome = time.time(), Outcome()
    with made_scene(options.nodes) as scene:
        say(
            f"seed {options.seed}: {options.nodes} nodes after {time.time() - began:.0f} s, {options.minutes:g} minutes of work"
        )
        processes = start_actors(scene, options)
        try:
            break_things(scene, options, chosen, outcome)
        finally:
            stop_actors(processes, outcome)
        outcome.wrong += [f"node {name} is not ready at the end" for name in wait_until_ready(scene, RECOVERY)]
        checker = Checker(scene, outcome.windows)
        scene.cluster.keep_errors(scene.logs)
        if options.keep:
            subprocess.run(["cp", "-r", str(scene.logs), options.keep], check=False)
        outcome.wrong += checker.run()
        table(checker.entries, checker)
    for line in outcome.lines:
        say(line)
    for line in outcome.wrong:
        say(f"WRONG  {line}")
    if outcome.wrong:
        only = f" --faults '{options.faults}'" if options.faults else ""
        say(f"{len(outcome.wrong)} faults found. Again: python -m tests.soak --minutes {options.minutes:g} --seed {options.seed}"
            f" --nodes {options.nodes} --pause {options.pause:g}{only}")  # fmt: skip
    else:
        say(f"Nothing was lost (seed {options.seed}).")
    return 1 if outcome.wrong else 0


def start_actors(scene: Scene, options: argparse.Namespace) -> list[subprocess.Popen[str]]:
    nodes = {name: scene.cluster.base(name) for name in scene.names}
    started = []
    for kind, names in (("agent", AGENTS), ("person", PEOPLE)):
        for name in names:
            spec = {
                "name": name, "kind": kind, "seed": options.seed, "nodes": nodes, "token": scene.cluster.tokens[name],
                "link": scene.links.get(name, ""), "log": str(scene.logs / f"{name}.jsonl"), "pause": options.pause,
            }  # fmt: skip
            line = [sys.executable, "-m", "tests.soak.actors", json.dumps(spec)]
            started.append(subprocess.Popen(line, cwd=TREE, env=clean(), text=True, stderr=subprocess.PIPE))
    return started


def break_things(scene: Scene, options: argparse.Namespace, chosen: list[str], outcome: Outcome) -> None:
    end = time.monotonic() + options.minutes * 60
    time.sleep(min(QUIET_FIRST, options.minutes * 60))
    for fault in faults.plan(options.seed, scene.names, chosen):
        if time.monotonic() + fault.pause >= end:
            break
        time.sleep(fault.pause)
        if not one_fault(scene, fault, outcome):
            return
    time.sleep(max(0.0, end - time.monotonic()))


def one_fault(scene: Scene, fault: faults.Fault, outcome: Outcome) -> bool:
    """False where what follows would tell nothing new."""
    began = time.time()
    try:
        told = fault.inject(scene)
    except Exception as error:
        traceback.print_exc()
        outcome.wrong.append(f"{fault.name} on {fault.node}: {type(error).__name__}: {str(error)[:2000]}")
        told = "failed"
    injured = time.time()
    late = wait_until_ready(scene, RECOVERY)
    ready = time.time()
    outcome.windows.append((began, ready + AFTERWARDS, fault.name))
    outcome.lines.append(
        f"{fault.name:20} {fault.node}  {injured - began:5.1f} s  ready {ready - injured:5.1f} s later  {told}".rstrip()
    )
    say(outcome.lines[-1])
    outcome.wrong += [f"node {name} is not ready {RECOVERY:.0f} s after: {fault.name} on {fault.node}" for name in late]
    return not late


def stop_actors(processes: list[subprocess.Popen[str]], outcome: Outcome) -> None:
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            _, said = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        if process.returncode:
            outcome.wrong.append(f"an actor ended with {process.returncode}: {said[-1500:]}")


def table(entries: list[Entry], checker: Checker) -> None:
    by_kind: dict[str, list[Entry]] = defaultdict(list)
    for one in entries:
        by_kind[one["what"]].append(one)
    say(
        f"\n{'call':12} {'sent':>7} {'done':>7} {'refused':>8} {'no answer':>10} {'median ms':>10} {'p95 ms':>8} {'longest s':>10}"
    )
    for what, found in sorted(by_kind.items()):
        quiet = sorted(one["took"] for one in found if not checker.in_window(one)) or [0.0]
        done, unknown = sum(map(is_acknowledged, found)), sum(map(is_unknown, found))
        middle, late = quiet[len(quiet) // 2] * 1e3, quiet[int(len(quiet) * 0.95)] * 1e3
        longest = max(one["took"] for one in found)
        say(
            f"{what:12} {len(found):7} {done:7} {len(found) - done - unknown:8} {unknown:10}"
            f" {middle:10.1f} {late:8.1f} {longest:10.1f}"
        )
    changes = [one for one in entries if one["what"] not in ("read", "prompt", "page", "inbox", "retrieve", "search")]
    say(
        f"{sum(map(is_acknowledged, changes))} changes acknowledged, {len(checker.windows)} faults; medians and p95 outside of faults\n"
    )


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
