"""An agent that calls the API, and the two ways there; each file of tests furnishes the space it needs."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, prompts
from memoryhub.models import HUB
from tests.api.calling import Caller, ServedClient


@pytest.fixture
def forge(client, space):
    return Caller(client, accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "forge"))[1])


@pytest.fixture(params=["django", "server"])
def way_in(request, client):
    """A client: once of Django alone, once through all of `wsgi.py`, which answers some calls by itself."""
    return client if request.param == "django" else ServedClient()
