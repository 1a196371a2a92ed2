"""One actor of a soak in a process of its own: an agent or a person who calls all nodes in turn until told to stop.

python -m tests.soak.actors SPEC      (JSON: name, kind, seed, nodes, token, link, log, pause)
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.running import sign_in_by_link
from tests.soak.ledger import Ledger, is_unknown, sha_of

TOPICS = ("refunds", "invoices", "deployments", "the warehouse", "the support desk", "backups", "the crawler")
PLACES = ("Lisbon", "Oslo", "Turin", "Gdansk", "Porto", "Graz")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FIXED, NO_ANSWER_SECONDS = "/fixed/rules.md", 40.0


class Actor:
    """Calls by weight; each notes what came of it."""

    CALLS: dict[str, int] = {}

    def __init__(self, spec: dict[str, Any]) -> None:
        self.name, self.dice = spec["name"], random.Random(f"{spec['seed']} {spec['name']}")
        self.ledger = Ledger(Path(spec["log"]))
        self.pause, self.count, self.link = spec["pause"], 0, spec.get("link", "")
        self.bases: dict[str, str] = spec["nodes"]
        token = {"Authorization": f"Bearer {spec['token']}"}
        self.clients = {
            node: httpx.Client(base_url=f"{base}/api/v1", headers=token, timeout=NO_ANSWER_SECONDS)
            for node, base in self.bases.items()
        }
        self.is_over = False
        self.prepare()

    def prepare(self) -> None: ...

    def run(self) -> None:
        calls, weights = list(self.CALLS), list(self.CALLS.values())
        while not self.is_over:
            getattr(self, self.dice.choices(calls, weights)[0])()
            time.sleep(self.dice.random() * 2 * self.pause)

    def sentence(self) -> tuple[str, str]:
        """A fact that occurs once, and the word by which it is found."""
        self.count += 1
        mark = f"{self.name}{self.count:05d}x"
        topic, place, day = self.dice.choice(TOPICS), self.dice.choice(PLACES), self.dice.choice(DAYS)
        return mark, f"The team in {place} looks after {topic} each {day}, as ticket {mark} says.\n"

    def call(self, what: str, method: str, path: str, *, node: str = "", **more: Any) -> tuple[dict[str, Any], Any]:
        """One request to one node: the entry for the ledger, which the caller completes and notes, and the answer if any."""
        noted, node = more.pop("noted", {}), node or self.dice.choice(list(self.clients))
        began = time.time()
        try:
            answer = self.clients[node].request(method, path, **more)
        except httpx.HTTPError as error:
            answer = None
            noted = {**noted, "why": type(error).__name__}
        took = time.time() - began
        status = answer.status_code if answer is not None else 0
        entry = {"what": what, "node": node, "at": began, "took": round(took, 4), "status": status, **noted}
        if status >= 400:
            entry["said"] = answer.text[:300]
        if status in (0, 503):
            time.sleep(0.2)
        return entry, answer if answer is not None and status < 400 else None


class Agent(Actor):
    CALLS = {
        "write": 12, "edit": 5, "delete": 2, "move": 2, "write_on_disk": 4, "propose": 6, "propose_edit": 2, "log": 14,
        "log_a_secret": 1, "promote": 2, "prompt": 12, "retrieve": 5, "search": 3, "working": 2, "grep": 1, "refused": 3,
    }  # fmt: skip

    def prepare(self) -> None:
        self.files: dict[
            str, str
        ] = {}  # what this actor's files hold; a file of which that is not certain is left alone
        self.records: list[int] = []

    # ---- its own files

    def new_path(self) -> str:
        self.count += 1
        return f"/own/{self.name}/{self.count:05d}.md"

    def some_file(self) -> str:
        return self.dice.choice(sorted(self.files)) if self.files else ""

    def changed(self, entry: dict[str, Any], path: str, text: str | None, before: str | None) -> None:
        """Notes a change of an own file and looks at it through another node. `before`: None where there was no file."""
        sha = None if text is None else sha_of(text)
        self.ledger.note(**entry, path=path, sha=sha, before=None if before is None else sha_of(before))
        if is_unknown(entry):
            self.files.pop(path, None)
        elif entry["status"] < 300:
            self.files.pop(path, None) if text is None else self.files.update({path: text})
            self.check_read(path, sha, entry["node"])

    def check_read(self, path: str, sha: str | None, written_by: str) -> None:
        """What one node acknowledged is what another answers."""
        others = [node for node in self.clients if node != written_by] or [written_by]
        asked = self.call(
            "read", "GET", f"/files{path}", node=self.dice.choice(others), headers={"Accept": "text/plain"}
        )
        entry, answer = asked
        found = sha_of(answer.text) if answer is not None else None
        known = entry["status"] in (200, 404)
        self.ledger.note(**entry, path=path, expected=sha, found=found, is_wrong=known and found != sha)

    def write(self) -> None:
        path = self.some_file() if len(self.files) > 12 and self.dice.random() < 0.8 else self.new_path()
        text = "".join(self.sentence()[1] for _ in range(self.dice.choice((1, 3, 20))))
        self.put(path, text)

    def put(self, path: str, text: str) -> None:
        before = self.files.get(path)
        entry, answer = self.call("write", "PUT", f"/files{path}", json={"content": text})
        self.changed(entry | body_of(answer, "revision", "on_disk"), path, text, before)

    def write_on_disk(self) -> None:
        mine = [path for path in self.files if path.startswith("/notes/")]
        path = self.dice.choice(mine) if len(mine) > 5 else f"/notes/{self.name}-{self.count:05d}.md"
        self.put(path, self.sentence()[1])

    def edit(self) -> None:
        if not (path := self.some_file()):
            return
        old = self.dice.choice(self.files[path].splitlines(keepends=True))
        new = self.sentence()[1]
        body = {"path": path, "old_string": old, "new_string": new}
        entry, answer = self.call("edit", "POST", "/edits", json=body)
        before = self.files[path]
        self.changed(entry | body_of(answer, "revision"), path, before.replace(old, new), before)

    def delete(self) -> None:
        if path := self.some_file():
            entry, answer = self.call("delete", "DELETE", f"/files{path}")
            self.changed(entry | body_of(answer, "revision"), path, None, self.files[path])

    def move(self) -> None:
        mine = [path for path in self.files if path.startswith("/own/")]
        if not mine:
            return
        path, to = self.dice.choice(mine), self.new_path()
        entry, answer = self.call("move", "POST", "/moves", json={"from": path, "to": to})
        text = self.files[path]
        self.changed(entry | body_of(answer, "revision"), to, text, None)
        self.ledger.note(**{**entry, "what": "moved away"}, path=path, sha=None, before=sha_of(text))
        self.files.pop(path, None) if entry["status"] < 300 or is_unknown(entry) else None

    # ---- what people decide

    def propose(self) -> None:
        mark, text = self.sentence()
        path = f"/memories/{self.name}-{self.count % 30:02d}.md"
        entry, answer = self.call(
            "propose", "PUT", f"/files{path}", json={"content": text, "reason": f"Ticket {mark}."}
        )
        self.ledger.note(**entry, path=path, sha=sha_of(text), number=number_of(answer))

    def propose_edit(self) -> None:
        _, text = self.sentence()
        body = {"path": "/memories/AGENTS.md", "old_string": "# Rules\n", "new_string": f"# Rules\n{text}"}
        entry, answer = self.call("propose", "POST", "/edits", json=body)
        self.ledger.note(**entry, path=body["path"], number=number_of(answer))

    def promote(self) -> None:
        body = {"reason": "It is asked again and again."}
        if self.records and self.dice.random() < 0.6:
            body["quarantine_id"] = self.dice.choice(self.records)  # type: ignore[assignment]
        else:
            body["content"] = self.sentence()[1]
        entry, answer = self.call("promote", "POST", "/promotions", json=body)
        self.ledger.note(**entry, number=number_of(answer))

    # ---- output

    def log(self) -> None:
        _, text = self.sentence()
        entry, answer = self.call(
            "log", "POST", "/quarantine", json={"content": text, "session_id": f"s-{self.count % 9}"}
        )
        self.ledger.note(**entry, sha=sha_of(text), **body_of(answer, "id", "state"))
        if answer is not None:
            self.records = [*self.records[-40:], answer.json()["id"]]

    def log_a_secret(self) -> None:
        secret = secret_of(self.dice)
        entry, answer = self.call(
            "log", "POST", "/quarantine", json={"content": f"The key {secret} works for backups."}
        )
        self.ledger.note(**entry, **body_of(answer, "id"), never=secret)

    # ---- reading

    def prompt(self) -> None:
        query = {"query": f"Who looks after {self.dice.choice(TOPICS)}?"} if self.dice.random() < 0.6 else {}
        thread = {"thread": f"t-{self.dice.randrange(5)}"} if self.dice.random() < 0.5 else {}
        self.ledger.note(**self.call("prompt", "GET", "/prompt", params=query | thread)[0])

    def retrieve(self) -> None:
        query = f"{self.dice.choice(TOPICS)} in {self.dice.choice(PLACES)}"
        self.ledger.note(**self.call("retrieve", "GET", "/retrieve", params={"query": query})[0])

    def search(self) -> None:
        self.ledger.note(**self.call("search", "GET", "/search", params={"q": self.dice.choice(TOPICS)})[0])

    def working(self) -> None:
        self.ledger.note(**self.call("working", "GET", "/working")[0])

    def grep(self) -> None:
        params = {"pattern": self.dice.choice(PLACES), "prefix": "/own/"}
        self.ledger.note(**self.call("grep", "GET", "/grep", params=params)[0])

    # ---- what must be refused, and never be found

    def refused(self) -> None:
        mark, text = self.sentence()
        secret = secret_of(self.dice)
        attempts: list[tuple[str, str, dict[str, Any]]] = [
            ("PUT", f"/files/own/{self.name}/keys.md", {"json": {"content": f"{text}\nkey: {secret}\n"}}),
            ("PUT", f"/files{FIXED}", {"json": {"content": text}}),
            ("PUT", "/files/nowhere/a.md", {"json": {"content": text}}),
            ("POST", "/edits", {"json": {"path": FIXED, "old_string": "none", "new_string": text}}),
            ("POST", "/quarantine", {"json": {"content": text, "node_kind": "robot"}}),
        ]
        if path := self.some_file():
            stale = {"If-Match": '"' + "0" * 64 + '"'}
            attempts.append(("PUT", f"/files{path}", {"json": {"content": text}, "headers": stale}))
        method, path, more = self.dice.choice(attempts)
        entry, _ = self.call("refused", method, path, **more)
        self.ledger.note(**entry, never=mark, never_too=secret)


class Person(Actor):
    CALLS = {"approve": 8, "reject": 3, "write": 4, "page": 12, "prompt": 2, "write_rules": 2}
    PAGES = (
        "", "files/", "proposals/", "quarantine/", "working/", "longterm/", "activity/", "agents/", "search/?q=refunds",
        "prompt/forge/", "settings/", "files/memories/AGENTS.md?view=history",
    )  # fmt: skip

    def prepare(self) -> None:
        self.browser = httpx.Client(follow_redirects=True, timeout=NO_ANSWER_SECONDS)
        where = urlsplit(self.link)
        page = sign_in_by_link(self.browser, f"{next(iter(self.bases.values()))}{where.path}")
        assert page.status_code == 200, page.text
        self.rules = "# Rules\n"

    def waiting(self, node: str) -> list[dict[str, Any]]:
        entry, answer = self.call("inbox", "GET", "/proposals", node=node, params={"state": "pending", "limit": 20})
        self.ledger.note(**entry)
        return answer.json()["items"] if answer is not None else []

    def approve(self) -> None:
        node = self.dice.choice(list(self.clients))
        if not (found := [one for one in self.waiting(node) if one["result_sha256"]]):
            return
        one = self.dice.choice(found)
        body = {"seen": one["result_sha256"], "note": "Right."}
        entry, answer = self.call("approve", "POST", f"/proposals/{one['number']}/approve", node=node, json=body)
        made = {"number": one["number"], "sha": one["result_sha256"], "kind": one["kind"]}
        state = answer.json()["proposal"]["state"] if answer is not None else ""
        self.ledger.note(**entry, **made, state=state)

    def reject(self) -> None:
        node = self.dice.choice(list(self.clients))
        if found := self.waiting(node):
            one = self.dice.choice(found)
            path = f"/proposals/{one['number']}/reject"
            entry, _ = self.call("reject", "POST", path, node=node, json={"note": "Not so."})
            self.ledger.note(**entry, number=one["number"])

    def write(self) -> None:
        mark, text = self.sentence()
        path = f"/memories/{self.name}/{mark}.md"
        entry, answer = self.call("write", "PUT", f"/files{path}", json={"content": text})
        self.ledger.note(**entry, path=path, sha=sha_of(text), before=None, **body_of(answer, "revision"))

    def write_rules(self) -> None:
        """The file that prompts of all agents show; everybody writes it."""
        _, text = self.sentence()
        text = f"# Rules\n{text}"
        entry, answer = self.call("write", "PUT", "/files/memories/AGENTS.md", json={"content": text})
        self.ledger.note(
            **entry, path="/memories/AGENTS.md", sha=sha_of(text), is_shared=True, **body_of(answer, "revision")
        )

    def prompt(self) -> None:
        self.ledger.note(**self.call("prompt", "GET", "/prompt", params={"agent": "forge"})[0])

    def page(self) -> None:
        node, page = self.dice.choice(list(self.bases)), self.dice.choice(self.PAGES)
        began, why = time.time(), {}
        try:
            answer = self.browser.get(f"{self.bases[node]}/s/main/{page}")
            status = 401 if "/login/" in answer.url.path else answer.status_code
        except httpx.HTTPError as error:
            status, why = 0, {"why": type(error).__name__}
        took = round(time.time() - began, 4)
        self.ledger.note(what="page", page=page, node=node, at=began, took=took, status=status, **why)


def body_of(answer: httpx.Response | None, *names: str) -> dict[str, Any]:
    return {name: answer.json().get(name) for name in names} if answer is not None else {}


def number_of(answer: httpx.Response | None) -> int | None:
    return answer.json().get("proposal", {}).get("number") if answer is not None else None


def secret_of(dice: random.Random) -> str:
    return "ghp_" + "".join(dice.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", k=36))


def main(spec: dict[str, Any]) -> None:
    actor = {"agent": Agent, "person": Person}[spec["kind"]](spec)

    def end(*_: object) -> None:
        actor.is_over = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    actor.run()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main(json.loads(sys.argv[1]))
