"""The page of the limits of retrieval: set, see what they do, per agent; then who may, then refusals."""

import pytest

from memoryhub.domain import longterm, prompts, retrieval
from memoryhub.models import HUB, Agent, Job, Space
from tests.outputs import admit

pytestmark = pytest.mark.django_db
QUERY = "How long do card refunds take?"


@pytest.fixture
def memory(house):
    for text in ("Card refunds take 5 to 10 days.", "Card refunds of gifts take 20 days."):
        longterm.store(house.space, HUB, text)
    for n in range(4):
        admit(house.space, f"lately number {n}")
    house.agent = prompts.create_agent(house.space, HUB, "counter")
    return house


def url(house, more=""):
    return f"/s/{house.space.slug}/retrieval/settings/{more}"


def test_an_owner_sets_limits_of_the_space_and_of_one_agent(memory, as_role):
    client = as_role("owner")
    page = client.get(url(memory), {"query": QUERY}).content.decode()
    assert page.count("lately number") == 4 and "5 to 10 days" in page
    answer = client.post(
        url(memory, "change/"), {"hot": "1", "words": "80", "threshold": "", "cold": "", "max_chars": ""}
    )
    assert answer.status_code in (302, 303)
    assert Space.objects.get(pk=memory.space.pk).settings["retrieval"] == {"hot": 1, "words": 0.8}
    assert client.get(url(memory), {"query": QUERY}).content.decode().count("lately number") == 1
    client.post(url(memory, "change/"), {"agent": memory.agent.slug, "hot": "3"})
    assert Agent.objects.get(pk=memory.agent.pk).retrieval == {"hot": 3}
    page = client.get(url(memory), {"query": QUERY, "agent": memory.agent.slug}).content.decode()
    assert page.count("lately number") == 3 and 'placeholder="80"' in page


def test_the_example_follows_the_form_before_it_is_saved(memory, as_role):
    client = as_role("owner")
    part = client.get(url(memory), {"query": QUERY, "hot": "2", "threshold": "0.99"}, headers={"HX-Request": "true"})
    text = part.content.decode()
    assert "<html" not in text and text.count("lately number") == 2 and "Below the threshold" in text
    assert "retrieval" not in Space.objects.get(pk=memory.space.pk).settings
    wrong = client.get(url(memory), {"query": QUERY, "hot": "999"}, headers={"HX-Request": "true"})
    assert wrong.status_code == 200 and "lately number" not in wrong.content.decode()


def test_an_owner_sets_the_size_of_chunks(memory, as_role):
    client = as_role("owner")
    assert client.post(url(memory, "chunks/"), {"size": "200", "overlap": "10"}).status_code in (302, 303)
    assert longterm.chunk_size(Space.objects.get(pk=memory.space.pk)) == (200, 10)
    assert Job.objects.filter(kind=longterm.RECUT).count() == 1
    assert "0 of 0 entries" in client.get(url(memory)).content.decode()
    refused = client.post(url(memory, "chunks/"), {"size": "10", "overlap": "1"})
    assert refused.status_code == 422 and "100 to 4000" in refused.content.decode()


def test_members_see_them_and_owners_alone_change_them(memory, as_role):
    assert as_role("viewer").get(url(memory)).status_code == 200
    for role in ("viewer", "reviewer"):
        assert as_role(role).post(url(memory, "change/"), {"hot": "1"}).status_code == 403
        assert as_role(role).post(url(memory, "chunks/"), {"size": "200", "overlap": "10"}).status_code == 403


def test_what_is_out_of_bounds_stands_at_its_field(memory, as_role):
    answer = as_role("owner").post(url(memory, "change/"), {"hot": "51"})
    assert answer.status_code == 422 and "is at most 50." in answer.content.decode()
    assert retrieval.limits_of(memory.space).hot == 10
