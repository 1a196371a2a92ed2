"""How quickly files are read: over REST against a bare view, on disk, and in long histories.

    python -m tests.bench.files [--seconds 1] [--rounds 5]

Starts a database and two web workers of its own, and takes all of it away again.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import load
from tests.bench.prompts import sentence
from tests.bench.served import Asks, cost_row, database, processor_time, rates_of, serving
from tests.bench.table import Row, finish, row
from tests.bench.turns import against, clock, in_turns, medians, ratios


def main(arguments: list[str]) -> int:
    made = argparse.ArgumentParser(prog="python -m tests.bench.files")
    made.add_argument("--seconds", type=float, default=1.0)
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--files", type=int, default=9000, help="more than are cached")
    options = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-", dir="/tmp") as place:
        return finish(measure(Path(place), options.seconds, options.rounds, options.files))


def measure(place: Path, seconds: float, rounds: int, count: int) -> list[Row]:
    """Every figure of files, measured here and now."""
    with database(place):
        space, secret = furnish(place, count)
        return [*over_http(place, space, secret, seconds, rounds, count), *in_process(space), rendering()]


def furnish(place: Path, count: int) -> tuple[Any, str]:
    from django.db import connection

    from memoryhub.domain import accounts, files, prompts, spaces
    from memoryhub.models import HUB

    folder = place / "notes"
    folder.mkdir()
    space = spaces.create(HUB, "bench")
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(folder))
    files.add_mount(space, HUB, "/hub/")
    rng = random.Random(4)
    for number in range(100):
        below = folder / f"d{number % 7}"
        below.mkdir(exist_ok=True)
        (below / f"f{number}.md").write_text("# Notes\n" + "".join(f"- {sentence(rng)}\n" for _ in range(20)))
    text = "".join(f"- {sentence(rng)}\n" for _ in range(20)).encode()
    fill(space, text, count)
    time.sleep(0.05)
    files.read_many(space, on_disk())
    files.read_many(space, on_disk())
    agent = prompts.create_agent(space, HUB, "forge")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return space, accounts.create_token(space, HUB, agent=agent)[1]


def fill(space: Any, text: bytes, count: int) -> None:
    """Thousands of files in the hub, as many writes would leave them."""
    from memoryhub.domain.files import revisions
    from memoryhub.models import File, Revision

    sha, each = revisions.sha_of(text), {"space": space, "size": len(text)}
    paths = [f"/hub/n{number}.md" for number in range(count)]
    made = File.objects.bulk_create(
        [File(path=path, revision=1, written_revision=1, sha256=sha, **each) for path in paths], batch_size=2000
    )
    Revision.objects.bulk_create(
        [
            Revision(
                file=file,
                number=1,
                path=file.path,
                content=text,
                sha256=sha,
                actor_kind="hub",
                actor_name="hub",
                **each,
            )
            for file in made
        ],
        batch_size=2000,
    )


def on_disk() -> list[str]:
    return [f"/memories/d{number % 7}/f{number}.md" for number in range(100)]


def over_http(place: Path, space: Any, secret: str, seconds: float, rounds: int, count: int) -> list[Row]:
    import json

    token = {"Authorization": f"Bearer {secret}"}
    bare = load.request(f"/bare?space={space.pk}")
    one = load.request("/api/v1/files" + on_disk()[0], **token)
    body = json.dumps({"paths": on_disk()[:10]}).encode()
    head = "POST /api/v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    ten = f"{head}Authorization: Bearer {secret}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    asked = [load.request(f"/api/v1/files/hub/n{number}.md", **token) for number in range(count)]
    many, anew = itertools.cycle(asked[:1000]), itertools.cycle(asked)
    asks: Asks = {
        "bare": (lambda: bare, 200),
        "one": (lambda: one, 200),
        "ten": (lambda: ten, 200),
        "many": (lambda: next(many), 200),
        "anew": (lambda: next(anew), 200),
    }
    with serving() as (address, server):
        rates, _ = rates_of(address, asks, seconds, rounds, lambda: processor_time(server, place))
    return [
        cost_row("one file on disk over REST", "one", rates, "the answer", 1.6),
        cost_row("1,000 files in turn", "many", rates, "the answers", 1.7),
        cost_row(f"{count:,} files in turn: each read anew", "anew", rates, "no answer"),
        cost_row("a batch of 10 files on disk", "ten", rates, "the files", 1.7),
    ]


def in_process(space: Any) -> list[Row]:
    from memoryhub.domain import files
    from memoryhub.domain.files.read import published_rows

    rows = published_rows(space, on_disk())
    assert not files.changed_on_disk(rows)
    took, what = medians(lambda: files.changed_on_disk(rows)), "noticing that nothing changed among 100 files on disk"
    return [
        row(what, took, unit=" ms", warm="the files", at_most=3),
        *history(space),
        *blame(space),
    ]


def history(space: Any) -> list[Row]:
    """The history of 10,000 revisions against that of 10: the same rows of both, and the whole page as a browser gets it."""
    from django.test import Client

    from memoryhub.domain import accounts, files, spaces
    from memoryhub.models import HUB, Revision

    made = {}
    for path, count in (("/hub/short.md", 10), ("/hub/long.md", 10_000)):
        first = files.write(space, HUB, path, b"0")
        Revision.objects.bulk_create(
            [
                Revision(space=space, file_id=first.file_id, number=n, path=path, content=b"x" * 2000, sha256=f"{n:064}",
                         actor_kind="hub", actor_name="hub")
                for n in range(2, count + 1)
            ],
            batch_size=2000,
        )  # fmt: skip
        made[path] = files.file_row(space, path)
        made[path].revision = made[path].written_revision = count
        made[path].save()
    person = accounts.create_person(HUB, "reader")
    spaces.add_member(space, HUB, person, "viewer")
    browser = Client()
    browser.force_login(person)

    def page(path: str) -> None:
        assert browser.get(f"/s/bench/files{path}?view=history", HTTP_HOST="localhost").status_code == 200

    rows = in_turns({path: (lambda path=path: files.revisions_of(made[path], limit=10)) for path in made})
    pages = in_turns({path: (lambda path=path: page(path)) for path in made}, times=10, first=4, block=2)
    return [
        compared("the newest 10 of 10,000 revisions", "those of 10 revisions", *rows.values(), 1.5),
        compared("the page of a history of 10,000 (50 rows)", "that of 10 revisions", *pages.values(), 3),
    ]


def compared(what: str, baseline: str, short: list[float], long: list[float], at_most: float) -> Row:
    each, detail = ratios(long, short), against(long, short)
    return row(what, each, baseline=baseline, unit="x", warm="the same before", at_most=at_most, detail=detail)


def blame(space: Any) -> list[Row]:
    """5,000 lines over 500 revisions, the first time and again."""
    from memoryhub.domain import files
    from memoryhub.domain.files import line_authors, revisions
    from memoryhub.models import HUB, Revision

    rng = random.Random(3)
    lines = [f"- {sentence(rng)[:60]}\n" for _ in range(5000)]
    first = files.write(space, HUB, "/hub/blame.md", "".join(lines).encode())
    rows = []
    for number in range(2, 501):
        for _ in range(3):
            lines[rng.randrange(5000)] = f"- line by {number}, {rng.random()}\n"
        content = "".join(lines).encode()
        rows.append(
            Revision(space=space, file_id=first.file_id, number=number, path="/hub/blame.md", content=content,
                     sha256=revisions.sha_of(content), actor_kind="hub", actor_name="hub")
        )  # fmt: skip
    Revision.objects.bulk_create(rows, batch_size=50)
    file = files.file_row(space, "/hub/blame.md")
    file.revision = 500
    file.save()
    line_authors.blames.clear()
    assert len(files.blame(file)) == 5000
    first_time = [clock(lambda: (line_authors.blames.clear(), files.blame(file))) / 1e3 for _ in range(5)]
    again = medians(lambda: files.blame(file), times=3, first=1)
    what = "blame of 5,000 lines over 500 revisions"
    return [
        row(f"{what}, the first time", first_time, unit=" s", warm="nothing", at_most=1),
        row(f"{what}, again", again, unit=" ms", warm="which revision each line is from"),
    ]


def rendering() -> Row:
    from memoryhub.text.markdown import render
    from tests.markdown_files import files as written

    text = "\n".join(written(300))[:100_000]
    render("warm")
    took = [
        processor_time_of(lambda number=number: render(f"{number}\n\n{text}")) for number in range(5)
    ]  # what was seen is kept
    return row("Markdown of 100 kB, processor time", took, unit=" s", warm="the renderer, not the text", at_most=0.5)


def processor_time_of(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
