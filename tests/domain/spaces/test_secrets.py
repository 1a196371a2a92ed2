"""Looking for secrets in many texts at once finds what a look at each would find."""

import random

import pytest

from memoryhub.detectors import secrets
from memoryhub.domain import spaces
from tests.fixtures.secret_texts import CLEAN_LINES, secret_lines

TRICKY = [
    "```",
    "```sh",
    "password:",
    "key:",
    "-----BEGIN PRIVATE KEY-----",
    "sk-",
    "pass = (",
    "a\u200bb",
    "token=\\",
    "",
    "x" * 9000,
]


@pytest.mark.parametrize("seed", range(20))
def test_no_text_hides_the_secret_of_another(seed, monkeypatch):
    monkeypatch.setattr("memoryhub.domain.spaces.secrets.BATCH_CHARACTERS", [500, 5_000, 200_000][seed % 3])
    texts = [line for line, _ in secret_lines()] + CLEAN_LINES * 3 + TRICKY * 5
    random.Random(seed).shuffle(texts)
    alone = {at for at, text in enumerate(texts) if secrets.hits(text)}
    assert len(alone) > 40 and alone <= spaces.secret_suspects(texts)
