"""The page of mounts, for owners of spaces who do not run the hub."""

from django.urls import reverse

from tests.one_line import one_line


def test_an_owner_is_told_where_directories_may_lie(house, as_role, settings, tmp_path):
    house.owner.person.is_hub_owner = False
    house.owner.person.save()
    (tmp_path / "allowed").mkdir()
    (tmp_path / "elsewhere").mkdir()
    settings.MOUNT_ROOTS = [str(tmp_path / "allowed")]
    client, page = as_role("owner"), reverse("mounts.page", args=["books"])
    assert f"<code>{tmp_path / 'allowed'}</code>" in one_line(client.get(page))

    def mount(directory):
        wanted = {"prefix": "/notes/", "store": "filesystem", "directory": str(directory), "policy": "review"}
        return client.post(reverse("mounts.add", args=["books"]), wanted)

    refused = mount(tmp_path / "elsewhere")
    assert refused.status_code == 403
    assert "alone. Name one of those" in one_line(refused)
    assert mount(tmp_path / "allowed").status_code == 303
