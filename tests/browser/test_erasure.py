"""Erasing in the browser: choose, dry run, confirm by typing, receipt; with scripts and without."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from memoryhub.domain import quarantine
from memoryhub.domain.jobs import queue
from memoryhub.models import Record

TEXT = "Mrs Marlowe of 7 Elm Street asked for her refund."


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scripts", [True, False])
def test_a_session_is_erased_and_its_receipt_downloaded(space, sign_in_as, new_page, scripts):
    record = quarantine.log(space, None, content=TEXT, session_id="call-17", node_id="n").id
    page = sign_in_as(
        "owner", new_page(java_script_enabled=scripts), at=f"{space.get_absolute_url()}quarantine/{record}/"
    )
    page.get_by_role("link", name="Erase this session", exact=True).click()
    expect(page.get_by_label("Session, name, or path of the file")).to_have_value("call-17")
    page.get_by_role("button", name="List all occurrences").click()
    expect(page.get_by_text("nothing is changed")).to_be_visible()
    queue.run_waiting()
    if not scripts:
        page.get_by_role("link", name="Reload").click()
    expect(page.get_by_role("heading", name="Dry run: what would be erased")).to_be_visible()
    expect(page.get_by_role("cell", name="quarantine.record.content")).to_be_visible()
    page.get_by_label("Type").fill("call-17")
    page.get_by_role("button", name="Erase a session").click()
    expect(page.get_by_text("this cannot be undone")).to_be_visible()
    page.get_by_label("Type").fill(space.slug)
    page.get_by_role("button", name="Erase a session").click()
    expect(page.get_by_text("it continues in the background")).to_be_visible()
    queue.run_waiting()
    if not scripts:
        page.get_by_role("link", name="Reload").click()
    expect(page.get_by_text("found no copy")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the receipt").click()
    receipt = json.loads(download.value.path().read_text())
    assert receipt["rows"]["quarantine.record"] == 1 and "Marlowe" not in json.dumps(receipt)
    assert Record.objects.get().content == "[erased]"
