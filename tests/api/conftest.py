"""An agent that calls the API; each file of tests furnishes the space it needs."""

from __future__ import annotations

import pytest

from memoryhub.domain import agents, tokens
from memoryhub.domain.access import HUB
from tests.api.calling import Caller


@pytest.fixture
def forge(client, space):
    return Caller(client, tokens.create(space, HUB, agent=agents.create(space, HUB, "forge"))[1])
