"""Which directories of the machine a mount may show, and to whom that is up."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryhub.domain import accounts, demo, files, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, ActivityLine, Actor, Mount

pytestmark = pytest.mark.django_db


@pytest.fixture
def space():
    return spaces.create(HUB, "books")


@pytest.fixture
def owner(space):
    """Of the space, not of the hub."""
    person = accounts.create_person(HUB, "ann")
    spaces.add_member(space, HUB, person, "owner")
    return Actor.of_person(person, "owner")


def mount(space, actor, directory):
    return files.add_mount(space, actor, "/shown/", store="filesystem", directory=str(directory))


def test_whoever_runs_the_hub_shows_any_folder_also_one_beside_its_data(space, settings, tmp_path):
    beside = Path(settings.DATA_DIR) / "my-memories"
    beside.mkdir(exist_ok=True)
    assert mount(space, HUB, beside).directory == str(beside)


@pytest.mark.parametrize("own", ["", "postgres", "run", "static"])
def test_nobody_mounts_what_the_hub_keeps(space, settings, own):
    folder = Path(settings.DATA_DIR) / own
    folder.mkdir(exist_ok=True)
    with pytest.raises(HubError, match="own data"):
        mount(space, HUB, folder)


def test_an_owner_of_a_space_shows_a_folder(space, owner, tmp_path):
    assert mount(space, owner, tmp_path).directory == str(tmp_path)


def test_an_owner_of_a_space_reaches_neither_the_system_nor_another_space(space, owner, tmp_path, settings):
    other = spaces.create(HUB, "other")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    mount(other, HUB, theirs)
    for folder in ("/etc", theirs, tmp_path, Path(settings.DATA_DIR)):
        with pytest.raises(HubError):
            mount(space, owner, folder)


def test_the_demo_mounts_its_own_project():
    shown = Mount.objects.get(space=demo.make(), prefix="/project/")
    assert any(Path(shown.directory).iterdir())


def test_roots_say_where_owners_may_mount(space, owner, tmp_path, settings):
    for name in ("allowed/deep", "allowed-not", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "allowed" / "out").symlink_to(tmp_path / "elsewhere")
    settings.MOUNT_ROOTS = [str(tmp_path / "allowed")]
    for outside in ("allowed-not", "elsewhere", "allowed/out", "allowed/../elsewhere", "."):
        with pytest.raises(HubError, match=r"below .*/allowed alone"):
            mount(space, owner, tmp_path / outside)
    mounted = mount(space, owner, tmp_path / "allowed" / "deep")
    with pytest.raises(HubError, match=r"below .*/allowed alone"):
        files.change_mount(space, owner, mounted, directory=str(tmp_path / "elsewhere"))
    assert files.change_mount(space, owner, mounted, directory=str(tmp_path / "allowed")).directory == str(
        tmp_path / "allowed"
    )


def test_roots_do_not_bind_who_runs_the_hub(space, tmp_path, settings):
    settings.MOUNT_ROOTS = [str(tmp_path / "allowed")]
    (tmp_path / "elsewhere").mkdir()
    assert mount(space, HUB, tmp_path / "elsewhere").directory == str(tmp_path / "elsewhere")


def test_whoever_changes_mounts_and_exceptions_is_told_of(space, owner, tmp_path):
    made = files.add_mount(space, owner, "/a/")
    files.change_mount(space, owner, made, policy="trusted")
    rule = files.add_rule(space, owner, "/a/**", "read_only", confirmed=True)
    files.remove_rule(space, owner, rule.pk)
    files.remove_mount(space, owner, made)
    told = ActivityLine.objects.within(space).filter(actor_name="ann").order_by("id")
    assert [(one.verb, one.thing) for one in told] == [
        ("mounts.add", "/a/"), ("mounts.change", "/a/"), ("policies.add", "/a/**"), ("policies.remove", "/a/**"),
        ("mounts.remove", "/a/"),
    ]  # fmt: skip


def test_roots_are_absolute():
    from memoryhub.settings import mount_roots

    assert mount_roots("") == []
    assert mount_roots("/srv/a:/srv/b") == ["/srv/a", "/srv/b"]
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_MOUNT_ROOTS is 'memories'; allowed is"):
        mount_roots("memories")
