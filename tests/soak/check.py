"""After a soak: is everything there that was acknowledged, and nothing that was refused? Each fault found is one sentence."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import psycopg

from memoryhub.server import postgres
from tests.running import command
from tests.soak.ledger import Entry, is_acknowledged, is_unknown, read_all, sha_of
from tests.soak.scene import AGENTS, Scene

CHANGES = ("write", "edit", "delete", "move", "moved away")
QUERIES = ({}, {"query": "Who looks after refunds?"}, {"query": "invoices in Oslo"})


class OwnFiles:
    """What the files that one actor alone changes may hold now: the last acknowledged text, or one of unknown fate."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.states: dict[str, set[str | None]] = {}
        for entry in entries:
            if entry["what"] in CHANGES and not entry.get("is_shared"):
                known = self.states.setdefault(entry["path"], {None})
                if is_acknowledged(entry):
                    self.states[entry["path"]] = {entry["sha"]}
                elif is_unknown(entry):
                    known.add(entry["sha"])


class Checker:
    """Looks at the ledgers, at the database itself and at every node."""

    def __init__(self, scene: Scene, windows: list[tuple[float, float, str]]) -> None:
        self.scene, self.windows = scene, windows
        self.entries = list(read_all(scene.logs))
        self.faults: list[str] = []

    def run(self) -> list[str]:
        with psycopg.connect(self.scene.cluster.direct()["DATABASE_URL"], autocommit=True) as self.database:
            for check in (
                self.answers, self.own_files, self.acknowledged_revisions, self.histories, self.logs, self.proposals,
                self.decisions, self.refused, self.disk, self.prompts, self.doctor,
            ):  # fmt: skip
                found = list(check())
                more = [f"… and {len(found) - 5} more of {check.__name__}"] if len(found) > 5 else []
                self.faults += [f"{check.__name__.replace('_', ' ')}: {one}" for one in found[:5]] + more
        return self.faults

    def rows(self, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.database.execute(statement, params).fetchall()

    def acknowledged(self, *what: str) -> Iterator[Entry]:
        return (one for one in self.entries if one["what"] in what and is_acknowledged(one))

    def in_window(self, entry: Entry, *kinds: str) -> bool:
        ended = entry["at"] + entry["took"]
        return any(
            begin <= ended and entry["at"] <= end for begin, end, kind in self.windows if not kinds or kind in kinds
        )

    # ---- while it ran

    def answers(self) -> Iterator[str]:
        """500 is never an answer; outside of faults nothing fails, and reads are never old."""
        for one in self.entries:
            at = f"{one['what']} {one.get('page', one.get('path', ''))} on {one['node']}"
            if one["status"] == 500:
                yield f"500 for {at}, {'during a fault' if self.in_window(one) else 'outside of faults'}: {one.get('said')}"
            elif is_unknown(one) and not self.in_window(one):
                yield f"{one['status']} {one.get('why', '')} for {at} outside of faults: {one.get('said')}"
            elif one.get("is_wrong"):
                yield f"{at} was {one['found']}, not {one['expected']} as acknowledged before"
            elif (
                one["what"] == "page" and one["status"] not in (200, 0, 503) and not self.in_window(one, "clock ahead")
            ):
                yield f"{one['status']} for {at}"
            elif one["what"] == "refused" and is_acknowledged(one):
                yield f"{at} was to be refused: {one}"

    # ---- files

    def own_files(self) -> Iterator[str]:
        there = {
            path: (sha, gone) for path, sha, gone in self.rows("SELECT path, sha256, is_deleted FROM memoryhub_file")
        }
        for path, states in OwnFiles(self.entries).states.items():
            sha, gone = there.get(path, (None, True))
            if (None if gone else sha) not in states:
                yield f"{path} is {None if gone else sha}, not {states}"

    def acknowledged_revisions(self) -> Iterator[str]:
        found = self.rows(
            "SELECT f.path, r.number, r.sha256, encode(sha256(r.content), 'hex'), r.is_deleted"
            " FROM memoryhub_revision r JOIN memoryhub_file f ON f.id = r.file_id"
        )
        shas = {(path, number): None if gone else sha for path, number, sha, _, gone in found}
        for path, number, sha, real, gone in found:
            if not gone and sha != real:
                yield f"revision {number} of {path} does not hold its bytes"
        for one in self.acknowledged("write", "edit", "move"):
            if one.get("revision") and shas.get((one["path"], one["revision"])) != one["sha"]:
                yield f"revision {one['revision']} of {one['path']}, acknowledged by {one['node']}, is lost"

    def histories(self) -> Iterator[str]:
        """Numbers of revisions and of proposals have no gaps, and nothing is decided before it was made."""
        broken = self.rows(
            "SELECT f.path, f.revision, count(r.id), max(r.number) FROM memoryhub_file f LEFT JOIN memoryhub_revision r"
            " ON r.file_id = f.id GROUP BY f.id HAVING count(r.id) <> f.revision OR max(r.number) <> f.revision"
        )
        for path, revision, count, newest in broken:
            if revision:
                yield f"{path} is at revision {revision}, and has {count} up to {newest}"
        for sha, newest in self.rows(
            "SELECT f.path, r.number FROM memoryhub_file f JOIN memoryhub_revision r ON r.file_id = f.id"
            " AND r.number = f.revision WHERE NOT f.is_deleted AND f.sha256 <> r.sha256"
        ):
            yield f"{sha} is not its newest revision {newest}"
        for space, count, newest in self.rows(
            "SELECT space_id, count(*), max(number) FROM memoryhub_proposal GROUP BY space_id HAVING count(*) <> max(number)"
        ):
            yield f"space {space} has {count} proposals, numbered up to {newest}"
        for (number,) in self.rows("SELECT number FROM memoryhub_proposal WHERE decided_at < created_at"):
            yield f"proposal {number} was decided before it was made"
        for (number,) in self.rows("SELECT number FROM memoryhub_proposal WHERE state = 'expired'"):
            yield f"proposal {number} expired within minutes"

    # ---- layers

    def logs(self) -> Iterator[str]:
        shas = "encode(sha256(convert_to(content, 'UTF8')), 'hex')"
        found = dict(self.rows(f"SELECT id, {shas} FROM quarantine.record"))
        for one in self.acknowledged("log"):
            if "sha" in one and found.get(one["id"]) != one["sha"]:
                yield f"record {one['id']}, acknowledged by {one['node']}, is lost"
        states = self.rows(
            "SELECT r.id, count(s.id) FROM quarantine.record r LEFT JOIN quarantine.state s ON s.record_id = r.id"
            " AND s.is_newest GROUP BY r.id HAVING count(s.id) <> 1"
        )
        for pk, count in states:
            yield f"record {pk} has {count} newest states"

    # ---- proposals

    def proposals(self) -> Iterator[str]:
        found = {number for (number,) in self.rows("SELECT number FROM memoryhub_proposal")}
        for one in self.acknowledged("propose", "promote"):
            if one["number"] and one["number"] not in found:
                yield f"proposal {one['number']}, acknowledged by {one['node']}, is lost"
        for number, state in self.rows(
            "SELECT p.number, p.state FROM memoryhub_proposal p WHERE p.state <> 'approved'"
            " AND EXISTS (SELECT FROM memoryhub_revision r WHERE r.space_id = p.space_id AND r.proposal = p.number)"
        ):
            yield f"proposal {number} is {state}, and in a file"

    def decisions(self) -> Iterator[str]:
        states = dict(self.rows("SELECT number, state FROM memoryhub_proposal"))
        made = defaultdict(set)
        for number, sha in self.rows("SELECT proposal, sha256 FROM memoryhub_revision WHERE proposal IS NOT NULL"):
            made[number].add(sha)
        decided = defaultdict(set)
        for one in self.acknowledged("approve", "reject"):
            decided[one["number"]].add(one["what"])
            wanted = "approved" if one["what"] == "approve" else "rejected"
            if states.get(one["number"]) != wanted:
                yield f"proposal {one['number']} is {states.get(one['number'])}; {one['node']} acknowledged {one['what']}"
            if one["what"] == "approve" and one["kind"] in ("write", "edit") and made[one["number"]] != {one["sha"]}:
                yield f"proposal {one['number']} made {made[one['number']]} of what was approved as {one['sha']}"
        yield from (f"proposal {number} was decided twice: {how}" for number, how in decided.items() if len(how) > 1)

    # ---- what must not be there

    def refused(self) -> Iterator[str]:
        """In no table at all: a dump of the whole database is looked through."""
        never = [one[name] for one in self.entries for name in ("never", "never_too") if one.get(name)]
        tool = postgres.binaries(postgres.account(self.scene.cluster.server)) / "pg_dump"
        sockets = str(postgres.socket_dir(self.scene.cluster.server))
        line = [str(tool), "-h", sockets, "-U", "postgres", "--inserts", "-O", "memoryhub"]
        done = postgres.run(line, postgres.account(self.scene.cluster.server), cwd=self.scene.cluster.place)
        assert done.returncode == 0, done.stdout[-500:]
        texts = done.stdout.lower()
        for word in never:
            if word.lower() in texts or word.encode().hex() in texts:
                yield f"{word} was refused or is a secret, and is in the database"

    # ---- nodes

    def disk(self) -> Iterator[str]:
        until = time.monotonic() + 60
        while (wrong := list(self._wrong_on_disk())) and time.monotonic() < until:
            time.sleep(1)
        yield from wrong

    def _wrong_on_disk(self) -> Iterator[str]:
        for path, sha, gone in self.rows(
            "SELECT path, sha256, is_deleted FROM memoryhub_file WHERE path LIKE '/notes/%%'"
        ):
            real = self.scene.cluster.place / "notes" / path.removeprefix("/notes/")
            text = sha_of(real.read_text()) if real.exists() else None
            if text != (None if gone else sha):
                yield f"{path} on disk is {text}, not {None if gone else sha}"

    def prompts(self) -> Iterator[str]:
        """Of every node they are those of a process that has cached nothing."""
        until = time.monotonic() + 30
        while (wrong := list(self._wrong_prompts())) and time.monotonic() < until:
            time.sleep(1)
        yield from wrong

    def _wrong_prompts(self) -> Iterator[str]:
        made, asked = self.scene.cluster, [(agent, params) for agent in AGENTS for params in QUERIES]
        lines = [
            ["prompt", f"--agent={agent}", *(f"--{key}={value}" for key, value in params.items())]
            for agent, params in asked
        ]
        for (agent, params), fresh in zip(asked, made.outputs("a", *lines), strict=True):
            for name in self.scene.names:
                token = {"Authorization": f"Bearer {made.tokens[agent]}"}
                for _ in range(4):  # of every worker
                    answer = httpx.get(f"{made.base(name)}/api/v1/prompt", params=params, headers=token, timeout=30)
                    if answer.status_code != 200 or answer.text != fresh:
                        yield f"that of {agent} for {params} on {name} ({answer.status_code}) is not a fresh one"
                        break

    def doctor(self) -> Iterator[str]:
        made = self.scene.cluster
        done = command("doctor", "--data-dir", str(made.place / "a"), **made.environment("a"))
        wrong = [line for line in done.stdout.splitlines() if line.strip().startswith("WRONG")]
        yield from (line for line in wrong if "slow requests" not in line)  # whose worker was stopped
