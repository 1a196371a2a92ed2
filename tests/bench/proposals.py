"""How quickly people review and how little waiting costs:

    python -m tests.bench proposals        (or: python -m tests.bench.proposals --seconds 2 --rounds 5)

On a disk, with every commit made durable. A decision is measured in turns with a raw durable insert of the same text; waiting as
the rate of prompts with and without 200 agents that ask after a decision as the client does, each with its pauses.
"""

from __future__ import annotations

import argparse
import heapq
import multiprocessing
import random
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memoryhub.client.base import MAX_PAUSE
from tests.bench import load
from tests.bench.served import database, etag_of, processor_time, serving
from tests.bench.table import Row, finish, row
from tests.bench.turns import against, medians, ratios

PATH, ANEW = "/memories/AGENTS.md", "/memories/anew.md"
TEXT = b"- a line of memory, as agents write them\n" * 50
WAITERS = 200
LINES = [f"- Line {n}: the ledger keeps what happened in month {n % 12} of the year, and why." for n in range(1300)]


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        return finish(measure(Path(place), options.seconds, options.rounds, options.pending))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.bench.proposals")
    made.add_argument("--seconds", type=float, default=2.0)
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--pending", type=int, default=50_000, help="proposals in the larger inbox")
    return made


def measure(place: Path, seconds: float, rounds: int, pending: int) -> list[Row]:
    with database(place, SECRET_KEY="b" * 40):
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["*"]
        house = House(place)
        return [*decision(house), review(house), inbox(house, pending), waiting(house, seconds, rounds)]


class House:
    """A space with an agent, a reviewer in a browser, and a mount that wants review."""

    def __init__(self, place: Path) -> None:
        from django.test import Client

        from memoryhub.domain import accounts, files, prompts, spaces
        from memoryhub.models import HUB, Actor

        self.place = place
        self.space = spaces.create(HUB, "bench")
        files.add_mount(self.space, HUB, "/memories/", store="database", policy="review")
        self.forge = prompts.create_agent(self.space, HUB, "forge", system_prompt="You keep the books.")
        person = accounts.create_person(HUB, "rk")
        spaces.add_member(self.space, HUB, person, "owner")
        self.rk, self.client = Actor.of_person(person, "owner"), Client()
        self.client.force_login(person)
        files.write(self.space, HUB, PATH, TEXT)
        prompts.add_source(self.space, HUB, PATH)


# A decision


def decision(house: House) -> list[Row]:
    """By the rules that looked at the proposal, as nearly always; and by others, which look for secrets anew."""
    from memoryhub.db import statements
    from memoryhub.domain import files
    from memoryhub.models import HUB

    statements.rows("CREATE TABLE bench_raw (id bigserial PRIMARY KEY, content bytea)")
    files.write(house.space, HUB, ANEW, TEXT)
    known, anew = decisions(house, PATH), decisions(house, ANEW)
    return [
        decision_row("a decision on a text in the database", known, "the proposal's result, the look for secrets", at_most=8),
        decision_row("a decision by rules that are new since", anew, "the proposal's result"),
    ]  # fmt: skip


def decision_row(what: str, took: dict[str, list[float]], warm: str, at_most: float | None = None) -> Row:
    detail = f"{against(took['decided'], took['raw'])}; {statistics.median(took['processor']):.2f} of it this process"
    each = ratios(took["decided"], took["raw"])
    return row(
        what, each, baseline="raw durable insert of the text", unit="x", warm=warm, at_most=at_most, detail=detail
    )


def decisions(house: House, path: str, rounds: int = 5, times: int = 40, first: int = 20) -> dict[str, list[float]]:
    """Milliseconds of a decision and of an insert, and the processor's time of this process for the decision, by rounds."""
    taken: dict[str, list[float]] = {"decided": [], "processor": [], "raw": []}
    for turn in range(first + rounds * times):
        one = decide(house, path, turn)
        for name, each in taken.items():
            each.append(one[name] * 1e3)
    return {
        name: [statistics.median(each[at : at + times]) for at in range(first, len(each), times)]
        for name, each in taken.items()
    }


def decide(house: House, path: str, turn: int) -> dict[str, float]:
    """Seconds of one decision and of one insert of the same text."""
    from memoryhub.db import statements
    from memoryhub.domain import proposals
    from memoryhub.models import Proposal

    change = {"line": 0, "text": f"- line {turn}\n"}
    asked = proposals.propose(house.space, house.forge, kind="insert", path=path, change=change)
    if path == ANEW:
        Proposal.objects.filter(pk=asked.pk).update(checked_digest="")
    found = proposals.result(asked)
    start, spent = time.perf_counter(), time.process_time()
    proposals.approve(house.space, house.rk, asked.number, seen=found.seen)
    decided, processor = time.perf_counter() - start, time.process_time() - spent
    start = time.perf_counter()
    statements.rows("INSERT INTO bench_raw (content) VALUES (%s)", [found.after])
    return {"decided": decided, "processor": processor, "raw": time.perf_counter() - start}


# Pages


def page(house: House, url: str) -> Callable[[], None]:
    def get() -> None:
        assert house.client.get(url).status_code == 200

    return get


def review(house: House) -> Row:
    from memoryhub.domain import files, prompts, proposals
    from memoryhub.models import HUB

    path = "/memories/large.md"
    files.write(house.space, HUB, path, "\n".join(LINES).encode())
    source = prompts.add_source(house.space, HUB, path)
    changed = [line.replace("why", "for whom") if n % 13 == 0 else line for n, line in enumerate(LINES)]
    asked = proposals.propose(house.space, house.forge, kind="write", path=path, content="\n".join(changed).encode())
    took = medians(page(house, f"/s/{house.space.slug}/proposals/{asked.number}/"), times=3, first=1)
    prompts.remove_source(house.space, HUB, source.pk)
    what = f"the review page of a {sum(map(len, LINES)) / 1000:.0f} kB file with 100 changes and one agent's prompt"
    return row(what, took, unit=" ms", warm="the same page before", at_most=400)


def inbox(house: House, pending: int) -> Row:
    from django.db import connection

    inbox_page = page(house, f"/s/{house.space.slug}/proposals/")
    many(house, 50)
    few = medians(inbox_page, times=5, first=2)
    many(house, pending)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memoryhub_proposal")
    lots = medians(inbox_page, times=5, first=2)
    return row(
        f"the inbox with {pending:,} proposals", ratios(lots, few), baseline="the inbox with 50", unit="x",
        warm="the same page before", at_most=3, detail=against(lots, few),
    )  # fmt: skip


def many(house: House, count: int) -> None:
    from django.utils import timezone

    from memoryhub.models import Proposal

    start, now = 1000 + Proposal.objects.count(), timezone.now()
    Proposal.objects.bulk_create(
        [
            Proposal(
                space=house.space, number=n, kind="insert", path=PATH, agent=house.forge, agent_name="forge", same_as=f"{n}",
                risk=n % 3, change={"line": 0, "text": f"- and {n}\n"}, created_at=now, reason=f"Reason {n}", base_revision=1,
            )
            for n in range(start, start + count)
        ],
        batch_size=5000,
    )  # fmt: skip


# Waiting


def waiting(house: House, seconds: float, rounds: int) -> Row:
    """Prompts a second with 200 agents waiting, as a share of prompts a second without them, in turns."""
    from memoryhub.domain import accounts, proposals
    from memoryhub.models import HUB

    _, secret = accounts.create_token(house.space, HUB, agent=house.forge)
    token = {"Authorization": f"Bearer {secret}"}
    asked = proposals.propose(house.space, house.forge, kind="write", path=PATH, content=b"- other lines\n" * 3000)
    url, prompt = f"/api/v1/proposals/{asked.number}", load.request("/api/v1/prompt", **token)
    with serving() as (address, server):
        poll = load.request(url, **token, If_None_Match=etag_of(address, load.request(url, **token)))
        on, asked_so_far = multiprocessing.Event(), multiprocessing.Value("q", 0)
        waiters = multiprocessing.Process(target=wait, args=(address, poll, on, asked_so_far), daemon=True)
        waiters.start()
        load.run(address, lambda: prompt, seconds=1)
        rates: dict[bool, list[float]] = {False: [], True: []}
        used: dict[bool, list[float]] = {False: [], True: []}
        polls = 0
        for turn in range(2 * rounds):
            is_on = bool(turn % 2)
            (on.set if is_on else on.clear)()
            time.sleep(0.2)
            before, so_far = processor_time(server, house.place), asked_so_far.value
            told = load.run(address, lambda: prompt, seconds=seconds)
            assert not told.wrong, told.first_wrong
            rates[is_on].append(told.rate)
            used[is_on].append(len(told.took) / (processor_time(server, house.place) - before))
            polls += (asked_so_far.value - so_far) if is_on else 0
        assert waiters.is_alive(), "the waiting agents gave up"
        waiters.terminate()
    by_clock = 1 - statistics.median(rates[True]) / statistics.median(rates[False])
    detail = (
        f"by the clock {by_clock:.1%}; {polls / rounds / seconds:.0f} questions beside "
        f"{statistics.median(rates[True]):,.0f} prompts a second"
    )
    return row(
        f"{WAITERS} agents that wait for a decision take of the prompts", [100 - 100 * one for one in ratios(used[True], used[False])],
        baseline="prompts without them", unit=" %", warm="the prompt, the answer to the waiting", at_most=5, detail=detail,
    )  # fmt: skip


def wait(address: tuple[str, int], poll: bytes, on: Any, asked: Any) -> None:
    """So many agents whose pauses have grown to the longest; while `on` they ask, each at its own time, over a new connection:
    the client's own has expired during such a pause."""
    rng = random.Random(5)
    epoll, under_way = select.epoll(), dict[int, load.Line]()
    while True:
        on.wait()
        due = [time.monotonic() + rng.random() * MAX_PAUSE for _ in range(WAITERS)]
        heapq.heapify(due)
        while on.is_set() or under_way:
            now = time.monotonic()
            while due and due[0] <= now and on.is_set():
                heapq.heappop(due)
                line = load.Line(address, lambda: poll, b"304")
                under_way[line.socket.fileno()] = line
                epoll.register(line.socket, select.EPOLLIN)
                line.send()
            for number, _ in epoll.poll(0.02):
                line = under_way[number]
                if line.is_whole():
                    assert not line.is_wrong(), line.got
                    asked.value += 1
                    heapq.heappush(due, time.monotonic() + MAX_PAUSE)
                    del under_way[number]
                    line.socket.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
