"""Saved queries with the answers they should find: checks that run again after each change of embedder."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.domain.accounts import require
from memoryhub.domain.retrieval.retrieve import retrieve
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import Actor, LongtermEntry, SavedQuery, Space
from memoryhub.text import input_checks


def checks_of(space: Space) -> QuerySet[SavedQuery]:
    return SavedQuery.objects.within(space).order_by("id")


@transaction.atomic
def save_check(space: Space, actor: Actor, query: str, expects: list[int]) -> SavedQuery:
    """Keeps a query with the entries it should find, and looks at once whether it does."""
    require(actor, "edit")
    text = input_checks.check_text(query, "query", 1000).strip()
    if not text or not expects:
        raise Invalid("A check needs a query and at least one entry that it should find.", code="invalid")
    found, _ = SavedQuery.objects.update_or_create(
        space=space,
        query=text,
        defaults={"expects": _existing(space, expects)},
    )
    _run(space, found)
    return found


def _existing(space: Space, numbers: list[int]) -> list[int]:
    """The numbers of these entries in order; refused when one of them does not exist."""
    found = LongtermEntry.objects.within(space).filter(number__in=numbers).values_list("number", flat=True)
    if missing := sorted(set(numbers) - set(found)):
        raise NotFound(f"There is no entry L-{missing[0]} in this space.")
    return sorted(found)


@transaction.atomic
def forget_check(space: Space, actor: Actor, pk: int) -> None:
    """Drops a check."""
    require(actor, "edit")
    if not SavedQuery.objects.within(space).filter(pk=pk).delete()[0]:
        raise NotFound("This check is gone already.")


def run_checks(space: Space) -> dict[str, Any]:
    """Runs every check of a space: how many there are, and which fail."""
    results = [_run(space, one) for one in checks_of(space)]
    return {"checks": len(results), "failed": results.count(False)}


def _run(space: Space, check: SavedQuery) -> bool:
    """Whether a check finds all it expects, written down beside it."""
    found = retrieve(space, check.query, hot=0, everyone=True)
    numbers = list(dict.fromkeys(item.number for item in found.cold))
    missing = [number for number in check.expects if number not in numbers]
    check.last_result = {
        "found": numbers, "missing": missing, "embedded_by": found.embedded_by, "at": timezone.now().isoformat(),
    }  # fmt: skip
    check.save(update_fields=["last_result"])
    return not missing
