"""What detectors say of a text. Their rules are made of pieces, so their sentences are asked from them, not read in the source."""

from __future__ import annotations

from collections.abc import Iterator

from memoryhub.detectors import injection, risky_advice
from tests.messages.in_python import Message

# How a finding puts its sentence together; what stands in it is a sentence of a rule, or the name of a secret.
FRAMES = (
    "Injection: %(says)s",
    "Needs attention: %(says)s.",
    "Needs attention: its words together are those of texts that turn agents to other ends (most of all: %(words)s).",
    "Look closely: %(says)s.",  # as earlier versions stored it
    "A secret (%(kind)s) in line %(line)s. Secrets do not belong in memory: keep it in a vault and write its name here.",
)


def messages() -> Iterator[Message]:
    for text in (*FRAMES, *(rule.says for rule in injection.RULES), *(sign.says for sign in risky_advice.SIGNS)):
        yield text, ""
