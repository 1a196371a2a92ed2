"""Copies of one fact are one result, and what only talks about a result is none."""

import pytest

from memoryhub.domain import files, longterm, prompts, quarantine, retrieval
from memoryhub.domain.retrieval import group_hits, join_copies
from memoryhub.models import HUB
from tests.domain.layers import forge, rk, space  # noqa: F401

FACT = "Refunds by card take ten days to show at the bank."


@pytest.mark.parametrize(
    ("one", "other", "is_copy"),
    [
        (FACT, "  refunds by card take TEN days to show at the bank", True),
        (FACT, "Refunds by card take ten days to show at the bank, usually.", True),
        (
            "Refunds by card take 10 days to show at the bank.",
            "Refunds by card take 12 days to show at the bank.",
            False,
        ),
        ("Till two.", "Till three.", False),
        ("退款需要十天。", "退款需要十天", True),
        ("", "", True),
        ("a", "b", False),
    ],
)
def test_what_counts_as_a_copy(one, other, is_copy):
    assert len(join_copies([one, other], str)) == (1 if is_copy else 2)


def test_the_order_is_kept_and_each_is_there_once():
    found = join_copies(["b", "a", "B.", "c", "A"], str)
    assert [(one.first, one.copies) for one in found] == [("b", ["B."]), ("a", ["A"]), ("c", [])]


@pytest.mark.django_db
def test_a_fact_that_went_through_all_layers_is_one_result(space, forge, rk):
    held = quarantine.log(space, forge, content=FACT, session_id="s", node_id="n")
    longterm.store(space, rk, FACT)
    hits = retrieval.search(space, "refunds card")
    assert {hit.layer for hit in hits} >= {"quarantine", "working", "longterm", "activity"}
    (one,) = group_hits(hits)
    assert one.first.layer == "longterm" and {hit.layer for hit in one.copies} == {"working", "quarantine"}
    assert held.state == "admitted"


@pytest.mark.django_db
def test_other_facts_and_activity_of_other_things_stay(space, forge, rk):
    longterm.store(space, rk, FACT)
    longterm.store(space, rk, "Refunds in cash are paid at the till at once.")
    prompts.create_agent(space, HUB, "refunds-agent")
    found = group_hits(retrieval.search(space, "refunds"))
    assert sorted(one.first.layer for one in found) == ["activity", "longterm", "longterm"]


def test_no_hits_at_all():
    assert group_hits([]) == []


@pytest.mark.django_db
def test_pieces_of_one_entry_and_changes_of_a_file_are_one_result(space, rk):
    files.add_mount(space, HUB, "/memories/", store="database")
    files.write(space, rk, "/memories/refunds.md", b"Refunds are sent the next working day.\n", reason="made")
    longterm.store(space, rk, "\n\n".join(f"Refunds of kind {n}. " + f"Words about {n}. " * 40 for n in range(3)))
    found = group_hits(retrieval.search(space, "refunds"))
    assert sorted(one.first.layer for one in found) == ["files", "longterm"]
