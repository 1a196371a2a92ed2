"""The gate's page says how the judge stands: asked how often, what waits, what went wrong."""

import html

import pytest
from django.utils import timezone

from memoryhub.domain import prompts, quarantine
from memoryhub.domain.jobs import queue
from memoryhub.domain.quarantine import gate
from memoryhub.models import HUB, Job
from tests.one_line import one_line

pytestmark = pytest.mark.django_db


def read(client):
    return html.unescape(one_line(client.get("/s/books/settings/gate/")))


def test_the_page_says_that_the_judge_is_away_and_when_its_budget_is_spent(house, as_role):
    reader = as_role("viewer")
    assert "in 24 hours" not in read(reader)
    nobody = "http://127.0.0.1:9/v1"
    space = quarantine.configure_judge(house.space, HUB, is_on=True, url=nobody, model="small", daily=2)
    assert "0 of 2 requests in 24 hours; 0 waiting for it" in read(reader)
    forge = prompts.create_agent(space, HUB, "forge")
    quarantine.log(space, forge, content="The desk closes at six.", session_id="s", node_id="n")
    queue.run_waiting()
    page = read(reader)
    assert "1 of 2 requests in 24 hours; 1 waiting for it" in page and "does not answer as it should" in page
    for _ in range(2):
        Job.objects.update(run_after=timezone.now())
        queue.run_waiting()
    page = read(reader)
    assert "The requests of today are used up" in page and "0 waiting for it" in page


def test_a_refused_change_of_the_judge_says_why_and_gives_back_what_was_typed(house, as_role):
    typed = {"is_on": "yes", "url": "http://127.0.0.1:9/v1", "model": "small", "seconds": "900", "daily": "70"}
    answer = as_role("owner").post("/s/books/settings/gate/judge/", typed)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "The time limit is 1 to 120 seconds" in page and 'value="900"' in page and 'value="70"' in page
    assert 'value="small"' in page and '<span class="small dim">off</span>' in one_line(answer)
    assert quarantine.judge_settings(house.space) == gate.JUDGE_OFF
