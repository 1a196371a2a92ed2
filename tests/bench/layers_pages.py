"""Whole pages and calls over a very large space: what a person waits for, from the request to the last byte."""

from __future__ import annotations

import statistics
import time
from typing import Any

from tests.bench.table import Row, row

PAGES = {
    "overview": "", "quarantine": "quarantine/", "held": "quarantine/?state=held", "discarded": "quarantine/?state=discarded",
    "a finding": "quarantine/?finding=injection", "an agent": "quarantine/?agent=counter",
    "a node kind": "quarantine/?node_kind=fact_check",
    "a session": "quarantine/?session=s-1234", "common words": "quarantine/?words=shop+431", "a rare word": "quarantine/?words=order+77777",
    "words of none": "quarantine/?words=nowhere", "far back": "quarantine/?before=1000", "a record": "quarantine/{record}/",
    "working memory": "working/", "long-term memory and map": "longterm/", "long-term, searched": "longterm/?words=w90x+w700x",
    "long-term, due": "longterm/?show=due", "long-term, pairs": "longterm/?show=pairs", "long-term, far back": "longterm/?before=200",
    "an entry": "longterm/{entry}/", "promotion of a record": "longterm/promote/?record={record}",
    "playground": "retrieval/?query=w90x+w700x",
    "search": "search/?q=order+77777", "search, common words": "search/?q=shop+ledger", "search as one types": "search/?q=orde",
    "the gate": "settings/gate/", "embedder": "retrieval/embedder/", "activity": "activity/",
    "activity, words of none": "activity/?q=nowhere",
}  # fmt: skip


def run(space: Any, records: int) -> list[Row]:
    from django.db import connection
    from django.test import Client

    from memoryhub.domain import accounts
    from memoryhub.models import LongtermEntry, Membership, Person, Record

    owner = accounts.hub_owner() or Person.objects.first()
    Membership.objects.get_or_create(space=space, person=owner, defaults={"role": "owner"})
    client = Client()
    client.force_login(owner)
    names = {
        "record": Record.objects.within(space).order_by("-id").values_list("pk", flat=True)[500],
        "entry": LongtermEntry.objects.within(space).order_by("-number").values_list("number", flat=True)[100],
    }
    took, size = dict[str, list[float]](), f"{records:,} records"
    for name, path in PAGES.items():
        address = f"/s/{space.slug}/{path.format(**names)}"
        first, *others = [timed(client, address) for _ in range(6)]
        connection.queries_log.clear()
        took[name] = others
        print(f"  {name:<26}{statistics.median(others):>8.0f} ms {first:>8.0f} ms the first time", flush=True)
    slowest = max(took, key=lambda name: statistics.median(took[name]))
    middle = [statistics.median(each) for each in zip(*took.values(), strict=True)]
    return [
        row(f"pages with {size}: the median", middle, unit=" ms", warm="the same page before"),
        row(f"pages with {size}: the slowest, {slowest}", took[slowest], unit=" ms", warm="the same page before"),
    ]


def timed(client: Any, address: str) -> float:
    start = time.perf_counter()
    answer = client.get(address)
    b"".join(answer) if answer.streaming else answer.content
    assert answer.status_code == 200, f"{address} answers {answer.status_code}"
    return (time.perf_counter() - start) * 1000
