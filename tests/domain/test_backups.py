"""Directories after a restore beside what is live."""

from __future__ import annotations

import pytest

from memoryhub.domain import exchange, files, spaces
from memoryhub.models import HUB, Mount


@pytest.mark.django_db
def test_each_mount_gets_a_folder_of_its_own(tmp_path):
    space = spaces.create(HUB, "shop")
    for at, prefix in enumerate(("/a/b/", "/a_b/", "/a/b_/")):
        (tmp_path / f"live{at}").mkdir()
        files.add_mount(space, HUB, prefix, store="filesystem", directory=str(tmp_path / f"live{at}"))
    exchange.move_mounts(tmp_path / "beside", set())
    found = set(Mount.objects.values_list("directory", flat=True))
    assert len(found) == 3 and all(one.startswith(str(tmp_path / "beside/shop")) for one in found)
