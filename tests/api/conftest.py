"""An agent that calls the API; each file of tests furnishes the space it needs."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, prompts
from memoryhub.models import HUB
from tests.api.calling import Caller


@pytest.fixture
def forge(client, space):
    return Caller(client, accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "forge"))[1])
