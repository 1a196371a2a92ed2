"""Files that are found on disk are found by a search at once."""

from __future__ import annotations

import pytest

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.domain.files.disk.watch import scan
from memoryhub.models import HUB
from tests.api.calling import Caller, ServedClient


@pytest.mark.django_db(
    transaction=True
)  # what a process has seen of a space it remembers outside of transactions alone
@pytest.mark.parametrize("many", [1, 3])
def test_what_a_scan_found_a_search_finds(tmp_path, many):
    space = spaces.create(HUB, "harbour")
    mount = files.add_mount(space, HUB, "/disk/", store="filesystem", directory=str(tmp_path))
    call = Caller(ServedClient(), accounts.create_token(space, HUB, agent=prompts.create_agent(space, HUB, "forge"))[1])

    def found():
        return {hit["id"] for hit in call("GET", "search?q=lighthouse&layers=files").json()["items"]}

    for _ in range(3):
        assert found() == set()
    for number in range(many):
        (tmp_path / f"{number}.md").write_text(f"lighthouse number {number}\n")
    scan(space, mount)
    assert found() == {f"/disk/{number}.md" for number in range(many)}
