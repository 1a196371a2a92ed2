"""Which share of right and of wrong answers reaches a threshold, with each embedder of this machine.

    python -m tests.bench.thresholds

The page of the limits of retrieval says these figures. The pairs are small and ours; they tell scale, not quality.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from memoryhub import embedders
from tests.bench.table import Row, finish

THRESHOLDS = (0.3, 0.5, 0.7)
# A question, its answer, and the answer in other words.
PAIRS = [
    (
        "How long do card refunds take?",
        "Card refunds take 5 to 10 days until they show at the bank.",
        "Money given back on a card arrives at the bank after five to ten days.",
    ),
    (
        "Where are releases announced?",
        "Every release is announced in the channel #ship.",
        "New versions are made known in #ship.",
    ),
    (
        "Which port does the staging database use?",
        "The staging database listens on port 6543 behind the pooler.",
        "Staging's PostgreSQL can be reached at 6543, through PgBouncer.",
    ),
    (
        "Who approves changes of prices?",
        "Price changes need the approval of finance.",
        "Finance has to say yes before a price is altered.",
    ),
    (
        "What is the tone for customer mails?",
        "Write to customers in short friendly sentences without slang.",
        "Emails to clients are brief and kind, and avoid slang.",
    ),
    (
        "How do we name branches?",
        "Branches are named after the ticket, such as LED-123-short-title.",
        "A branch carries the ticket's number and a short title.",
    ),
    (
        "When is the office closed?",
        "The office closes at five on Fridays.",
        "On Friday nobody is in the office after 17:00.",
    ),
    (
        "Which Python version do we support?",
        "The library supports Python 3.11 and newer.",
        "Older Pythons than 3.11 are not supported.",
    ),
    (
        "How are secrets given to services?",
        "Services read secrets from the vault at start, never from files in the repository.",
        "Keys come out of the vault when a service starts; none lies in git.",
    ),
    (
        "What do we do with duplicate invoices?",
        "Duplicate invoices are cancelled with a credit note.",
        "If an invoice was sent twice, issue a credit note for one.",
    ),
    (
        "How many items fit on a pallet?",
        "A pallet of the small boxes holds 96 items.",
        "96 small boxes go on one pallet.",
    ),
    (
        "Is the German shop open on Sundays?",
        "The German shop takes orders every day, and ships from Monday to Friday.",
        "Orders from Germany are accepted on Sunday but shipped on weekdays.",
    ),
    (
        "What does Anna prefer?",
        "Anna prefers tables to long paragraphs.",
        "Give Anna a table rather than prose.",
    ),
    (
        "How do tests run locally?",
        "Run the tests with make test; it starts its own database.",
        "make test brings up a database and runs everything.",
    ),
    (
        "Which currency do exports use?",
        "The ledger export writes integers in minor units of the account's currency.",
        "Amounts are exported as whole cents of the currency of the account.",
    ),
    (
        "Who is on call this week?",
        "The on-call rota stands in the wiki under Operations.",
        "See the Operations page of the wiki for who is on duty.",
    ),
    (
        "How old may a session be?",
        "A session ends after twelve hours without use.",
        "After 12 idle hours people have to sign in again.",
    ),
    (
        "How do I rotate the API key?",
        "API keys are rotated on the Tokens page; the old one works for one more day.",
        "A new key is made under Tokens and the former stays valid for 24 hours.",
    ),
    (
        "Which browser versions are supported?",
        "The two newest versions of each large browser are supported.",
        "We test with the current and the previous release of the main browsers.",
    ),
    (
        "What happens to deleted accounts?",
        "Deleted accounts are kept for thirty days and then erased.",
        "An account that was removed can be restored for a month.",
    ),
]


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(prog="python -m tests.bench.thresholds").parse_args(arguments)
    return finish([one for name in ("wordllama", "hashing") for one in reached(name)])


def reached(name: str) -> Iterator[Row]:
    """The shares that reach each threshold; they come out the same each time."""
    embedder = embedders.load(name, {})
    question, answer, reworded = (embedder.embed(list(texts)) for texts in zip(*PAIRS, strict=True))
    others = ~np.eye(len(PAIRS), dtype=bool)
    cosines = {
        "questions and their answers": (question * answer).sum(1),
        "answers in other words": (answer * reworded).sum(1),
        "questions and others' answers": (question @ answer.T)[others],
    }
    for what, found in cosines.items():
        shares = " / ".join(f"{100 * (found >= threshold).mean():.0f}" for threshold in THRESHOLDS)
        thresholds = " / ".join(map(str, THRESHOLDS))
        yield Row(f"{name}: {what} that reach {thresholds}", "", "", f"{shares} % of {len(found)}", "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
