"""How calls and pages take it when a hub grows: 1,000 to 1,000,000 records and chunks, 1,000 spaces, 1,000 agents.

    python -m tests.bench.growth [--sizes 1000 100000 1000000] [--others 1000] [--rounds 5] [--svg FILE]

Starts a database of its own, and takes it away again. Two hubs serve at once: one over everything, and one over a copy from
when there was one small space; what they take is compared in turns: calls by processor time of web and database, which
what else the machine does is not in, pages by the clock as well.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.bench import curves, growth_filled, load
from tests.bench.demo import sign_in
from tests.bench.served import Address, database, processor_time, serving
from tests.bench.table import Row, finish, row
from tests.running import copy

SVG = Path(__file__).parents[2] / "docs/img/growth.svg"
ALONE = "bench_alone"  # the database of the hub with one space
FLAT = 1.5  # times what it takes at the smallest
LIMITS = {"retrieve": 2.0}
MOST_OF_A_PAGE = 100  # ms, 95th percentile
TICK = 0.01  # seconds: what processor time is counted in
OF_OTHERS = 100  # records, chunks and lines of each further space


class Taken(NamedTuple):
    """Milliseconds of an answer."""

    processor: float
    median: float
    percentile: float  # the 95th


@dataclass
class Place:
    """A space on one of the two hubs, as its agent and its owner reach it."""

    name: str
    slug: str
    token: str
    is_alone: bool = False
    address: Address = ("", 0)
    cookie: str = ""
    taken: dict[str, list[Taken]] = field(default_factory=dict)  # of each round

    def call(self, path: str) -> bytes:
        return load.request(f"/api/v1{path}", Authorization=f"Bearer {self.token}")

    def page(self, path: str) -> bytes:
        return load.request(f"/s/{self.slug}/{path}", Cookie=self.cookie, Accept_Encoding="br, gzip")

    def middle(self, what: str) -> Taken:
        """The median of the rounds, of each."""
        return Taken(*(statistics.median(each) for each in zip(*self.taken[what], strict=True)))


Ask = Callable[[Place], bytes]
rng, numbers = random.Random(5), itertools.count(10**7)


def query() -> str:
    """A question that nobody has asked: a rare, a middling and a common word."""
    return f"w{rng.randrange(2000, 5000)}x+w{rng.randrange(200, 2000)}x+w{rng.randrange(200)}x"


def log(place: Place) -> bytes:
    body = {
        "content": f"Order {next(numbers)} of shop {rng.randrange(10**6)} was paid by card, and the customer was told.",
        "session_id": "s", "node_id": "n", "node_kind": "agent",
    }  # fmt: skip
    sent = json.dumps(body).encode()
    head = "POST /api/v1/quarantine HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Authorization: Bearer {place.token}\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent


CALLS: dict[str, tuple[Ask, int]] = {
    "prompt, unchanged": (lambda place: place.call("/prompt"), 200),
    "prompt, a new query": (lambda place: place.call(f"/prompt?query={query()}"), 200),
    "one file": (lambda place: place.call(f"/files/memories/d0/f{rng.randrange(1, 10)}.md"), 200),
    "files of a folder": (lambda place: place.call("/files?prefix=/memories/d0/"), 200),
    "retrieve": (lambda place: place.call(f"/retrieve?query={query()}"), 200),
    "log": (log, 201),
}
PAGES: dict[str, tuple[Ask, int]] = {
    "overview": (lambda place: place.page(""), 200),
    "search": (lambda place: place.page(f"search/?q={query()}"), 200),
    "search, no hit": (lambda place: place.page(f"search/?q=nowhere{next(numbers)}"), 200),
    "activity, no hit": (lambda place: place.page(f"activity/?q=nowhere{next(numbers)}"), 200),
    "agents": (lambda place: place.page("agents/"), 200),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--others", type=int, default=1000, help="spaces, and agents of one space")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each call in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=8, help="connections at once that warm both workers")
    parser.add_argument(
        "--copy", type=Path, help="a migrated data directory, of which a copy is filled; else one is made"
    )
    parser.add_argument("--svg", type=Path, default=SVG, help="where the curves are drawn")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as name:
        place = Path(name)
        if given.copy:
            place.chmod(0o755)  # the database's user goes through
            place = copy(given.copy, place / "data")
        rows, panels = measure(place, given.sizes, given.others, given.seconds, given.rounds, given.lines)
    given.svg.write_text(curves.draw(panels))
    return finish(rows)


def measure(
    place: Path, sizes: list[int], others: int, seconds: float, rounds: int, lines: int
) -> tuple[list[Row], list[curves.Panel]]:
    settings = {"SECRET_KEY": "b" * 40, "MEMORYHUB_COLLECTED": "true", "MEMORYHUB_EMBEDDER": "wordllama"}
    with database(place, **settings):
        small, link = furnish_alone(sizes[0])
        with serving(DATABASE_URL=address_of(ALONE)) as (alone, first):
            cookies = {alone: sign_in(alone, link)}
            grown, link = furnish_others(sizes, others)
            places = [Place("1 space", small.slug, small.token, is_alone=True), small, *grown]
            with serving() as (whole, second):
                cookies[whole] = sign_in(whole, link)
                used = {alone: first, whole: second}
                for one in places:
                    one.address = alone if one.is_alone else whole
                    one.cookie = cookies[one.address]
                take_turns(places, seconds, rounds, lines, lambda address: processor_time(used[address], place))
    return rows_of(places, sizes, others), panels_of(places, sizes, others)


def address_of(name: str) -> str:
    from urllib.parse import quote

    from django.db import connection

    told = connection.settings_dict
    return f"postgresql://{told['USER']}@/{name}?host={quote(told['HOST'], safe='')}&port={told['PORT']}"


# ---- what is there


def furnish_alone(size: int) -> tuple[Place, str]:
    """One space of the smallest size, of which a copy is kept as a database; and a link to sign in there."""
    from django.db import connection, connections

    from memoryhub.server import static_files

    static_files.collect()
    small = furnish("small", size)
    link = sign_in_link()
    name = connection.settings_dict["NAME"]
    connections.close_all()
    copy_database(name)
    return small, link


def sign_in_link() -> str:
    from memoryhub.domain import accounts
    from memoryhub.models import HUB

    return f"/login/once/{accounts.make_sign_in_link(HUB, accounts.hub_owner())}/"


def copy_database(name: str) -> None:
    import psycopg
    from django.db import connection

    told = connection.settings_dict
    with psycopg.connect(
        host=told["HOST"], port=told["PORT"], user=told["USER"], dbname="postgres", autocommit=True
    ) as one:
        one.execute(f"CREATE DATABASE {ALONE} TEMPLATE {name}")


def furnish_others(sizes: list[int], others: int) -> tuple[list[Place], str]:
    """Spaces of the other sizes, one with many agents, and many small ones; and a link to sign in."""
    from django.db import connection, connections

    from memoryhub.domain import accounts, prompts, spaces
    from memoryhub.models import HUB, Actor, Space

    made = [furnish(f"records-{size}", size) for size in sizes[1:]]
    crowd = furnish("agents", sizes[0])
    space = Space.objects.get(slug="agents")
    for number in range(others - 1):
        prompts.create_agent(space, HUB, f"worker-{number}", dialect="hub")
    with connection.cursor() as cursor:
        cursor.execute(growth_filled.DELIVERIES, [space.pk])
    owner = Actor.of_person(accounts.hub_owner(), "owner")
    further = [spaces.create(owner, f"other-{number}") for number in range(others - len(sizes) - 1)]
    if further:
        growth_filled.fill(further, OF_OTHERS)
    growth_filled.settle()
    link = sign_in_link()
    connections.close_all()
    return [*made, crowd], link


def furnish(slug: str, size: int) -> Place:
    """A space with one source and one agent, and so much of everything."""
    from memoryhub.domain import accounts, files, prompts, spaces
    from memoryhub.models import HUB, Actor

    space = spaces.create(Actor.of_person(accounts.hub_owner(), "owner"), slug)
    growth_filled.fill([space], size)
    space.refresh_from_db()
    files.add_mount(space, HUB, "/memories/", store="database", policy="trusted")
    files.write(space, HUB, "/memories/AGENTS.md", b"# Notes\n" + b"- A rule of the house that holds.\n" * 40)
    prompts.add_source(space, HUB, "/memories/AGENTS.md")
    agent = prompts.create_agent(space, HUB, "forge", system_prompt="You work.", dialect="hub")
    return Place(f"{size:,} records", slug, accounts.create_token(space, HUB, agent=agent)[1])


# ---- what it takes


def take_turns(
    places: list[Place], seconds: float, rounds: int, to_warm: int, used: Callable[[Address], float]
) -> None:
    """Every call and page in each place, once to be warm in both workers and then round after round."""
    for number in range(rounds + 1):
        for what, (ask, status) in (CALLS | PAGES).items():
            lines = to_warm if not number else 4 if what in CALLS else 1
            for place in places:
                each, told = cost_of(place, ask, status, lines, seconds, used)
                assert not told.wrong, f"{what} in {place.name}: {told.first_wrong!r}"
                if number:
                    taken = Taken(each, statistics.median(told.took) * 1e3, told.percentile(0.95) * 1e3)
                    place.taken.setdefault(what, []).append(taken)


def cost_of(
    place: Place, ask: Ask, status: int, lines: int, seconds: float, used: Callable[[Address], float]
) -> tuple[float, load.Told]:
    """Milliseconds of processor for each answer, and how long they took; longer where none came in that time."""
    before = used(place.address)
    told = load.run(place.address, lambda: ask(place), status=status, lines=lines, seconds=seconds)
    if not told.took:
        return cost_of(place, ask, status, lines, 4 * seconds, used)
    spent = max(used(place.address) - before, TICK / 2)
    return spent / (len(told.took) + lines) * 1e3, told


def axes(places: list[Place], sizes: list[int], others: int) -> dict[str, tuple[list[str], list[Place]]]:
    """What grows: the names of its points and the place of each, the smallest first."""
    alone, small, *grown, crowd = places
    return {
        "records and chunks": ([f"{size:,}" for size in sizes], [small, *grown]),
        "spaces": (["1", f"{others:,}"], [alone, small]),
        "agents": (["1", f"{others:,}"], [small, crowd]),
    }


def rows_of(places: list[Place], sizes: list[int], others: int) -> list[Row]:
    rows = []
    for what in CALLS:
        for axis, (points, found) in axes(places, sizes, others).items():
            for point, place in zip(points[1:], found[1:], strict=True):
                rows.append(compared(f"{what}: {point} {axis}", what, found[0], place, f"{points[0]} of them"))
    for what in PAGES:
        rows += [page_row(f"page, {what}: {name}", what, place) for name, place in named(places, others)]
    return rows


def compared(what: str, call: str, smallest: Place, place: Place, baseline: str) -> Row:
    both = zip(place.taken[call], smallest.taken[call], strict=True)
    ratios = [one.processor / other.processor for one, other in both]
    took = [one.middle(call).processor for one in (place, smallest)]
    detail = f"{took[0]:.2f} ms of processor against {took[1]:.2f}"
    limit = LIMITS.get(call, FLAT)
    return row(what, ratios, baseline=baseline, unit="x", warm="both workers", at_most=limit, detail=detail)


def named(places: list[Place], others: int) -> list[tuple[str, Place]]:
    alone, *rest, crowd = places
    shown = [(f"{place.name}, {others:,} spaces", place) for place in rest]
    return [(f"{rest[0].name}, one space", alone), *shown, (f"{others:,} agents and spaces", crowd)]


def page_row(name: str, what: str, place: Place) -> Row:
    found = [one.percentile for one in place.taken[what]]
    processor = place.middle(what).processor
    detail = f"95th percentile; {processor:.0f} ms of processor"
    return row(name, found, unit=" ms", warm="the page", at_most=MOST_OF_A_PAGE, detail=detail)


def panels_of(places: list[Place], sizes: list[int], others: int) -> list[curves.Panel]:
    panels = []
    for axis, (points, found) in axes(places, sizes, others).items():
        calls = {what: [one.middle(what).processor for one in found] for what in CALLS}
        pages = {what: [one.middle(what).processor for one in found] for what in PAGES}
        panels.append(curves.Panel(f"Calls, processor time, by {axis}", points, calls))
        panels.append(curves.Panel(f"Pages, processor time, by {axis}", points, pages, limit=MOST_OF_A_PAGE))
    return panels


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
