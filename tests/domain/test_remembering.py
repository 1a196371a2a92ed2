"""A prompt of a past moment shows the working and long-term memory of that time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.domain import longterm, prompts, working
from memoryhub.models import HUB, EntryRevision, LongtermEntry, WorkingEntry
from tests.outputs import admit

from .layers import counter, forge, space  # noqa: F401

QUERY = "how long does a card refund take"


def assembled(space, agent, at=None):
    return prompts.assemble(space, agent, query=QUERY, at=at)


def codes(prompt):
    return {warning.code for warning in prompt.warnings}


def long_ago(entry, days=3):
    """As if this entry had been stored so many days before."""
    then = timezone.now() - timedelta(days=days)
    LongtermEntry.objects.filter(pk=entry.pk).update(created_at=then, modified_at=then)
    EntryRevision.objects.filter(entry_id=entry.pk).update(created_at=then)


@pytest.fixture(autouse=True)
def _made_long_ago(forge, counter):
    """Before its agent was made there is no prompt."""
    for agent in (forge, counter):
        agent.created_at = timezone.now() - timedelta(days=9)
        agent.save(update_fields=["created_at"])


@pytest.fixture
def entry(space):
    made = longterm.store(space, HUB, "A card refund takes ten days.")
    long_ago(made)
    return made


def test_an_entry_that_was_corrected_since_says_what_it_said(space, counter, entry):
    then = timezone.now()
    longterm.edit(space, HUB, entry.number, "A card refund takes five days.")
    assert (
        "takes five days" in assembled(space, counter).text and "takes ten days" not in assembled(space, counter).text
    )
    before = assembled(space, counter, then)
    assert "takes ten days" in before.text and "takes five days" not in before.text
    assert not codes(before) & {"longterm_memory_gone", "working_memory_gone"}


def test_a_corrected_entry_is_scored_as_it_was(space, counter, entry):
    score = assembled(space, counter).entries[0].score
    then = timezone.now()
    longterm.edit(space, HUB, entry.number, "Anna loves teal.")
    assert assembled(space, counter, then).entries[0].score == pytest.approx(score, abs=2e-3)


def test_what_was_retired_since_is_there_and_what_came_since_is_not(space, counter, entry):
    then = timezone.now()
    longterm.retire(space, HUB, entry.number)
    longterm.store(space, HUB, "A card refund needs a receipt.")
    before = assembled(space, counter, then).text
    assert "takes ten days" in before and "receipt" not in before
    between = timezone.now()
    longterm.restore(space, HUB, entry.number)
    assert "takes ten days" in assembled(space, counter).text
    assert "takes ten days" not in assembled(space, counter, between).text


def test_an_agents_own_memory_of_then_is_its_own(space, counter, forge):
    made = longterm.store(space, HUB, "A card refund takes ten days.", scope="agent", agent=forge)
    long_ago(made)
    then = timezone.now()
    longterm.edit(space, HUB, made.number, "A card refund takes five days.")
    assert "takes ten days" in assembled(space, forge, then).text
    assert "card refund takes" not in assembled(space, counter, then).text.replace(QUERY, "")


def test_working_memory_that_was_deleted_or_has_expired_since(space, counter):
    number = admit(space, "The till is shut.", at=timezone.now() - timedelta(hours=2))
    other = admit(space, "The lamp is out.", at=timezone.now() - timedelta(hours=2))
    then = timezone.now() - timedelta(minutes=45)
    working.remove(space, HUB, number)
    WorkingEntry.objects.filter(pk=other).update(expires_at=timezone.now() - timedelta(minutes=30))
    admit(space, "The door is open.")
    before = assembled(space, counter, then)
    assert "till is shut" in before.text and "lamp is out" in before.text and "door is open" not in before.text
    assert "working_memory_gone" not in codes(before)
    now = assembled(space, counter).text
    assert "door is open" in now and "till is shut" not in now and "lamp is out" not in now


def test_where_working_memory_may_be_gone_it_is_said(space, counter):
    assert "working_memory_gone" in codes(assembled(space, counter, timezone.now() - timedelta(hours=2)))
    then = timezone.now()
    for n in range(51):
        admit(space, f"Note {n}.")
    assert "working_memory_gone" in codes(assembled(space, counter, then))
