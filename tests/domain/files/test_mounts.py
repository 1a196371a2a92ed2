"""Which directories of the machine a mount may show, and to whom that is up."""

import os
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

import memoryhub
from memoryhub.domain import accounts, demo, files, spaces
from memoryhub.domain.files.disk.watch import scan
from memoryhub.errors import Forbidden, HubError, Invalid
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


def test_an_owner_of_a_space_shows_a_folder_where_the_hub_allows_it(space, owner, tmp_path, settings):
    with pytest.raises(Forbidden, match="MEMORYHUB_MOUNT_ROOTS"):
        mount(space, owner, tmp_path)
    settings.MOUNT_ROOTS = [str(tmp_path)]
    assert mount(space, owner, tmp_path).directory == str(tmp_path)


def test_an_owner_of_a_space_reaches_neither_the_system_nor_another_space(space, owner, tmp_path, settings):
    other = spaces.create(HUB, "other")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    mount(other, HUB, theirs)
    for folder in ("/etc", theirs, tmp_path, Path(settings.DATA_DIR)):
        with pytest.raises(HubError):
            mount(space, owner, folder)


NOBODYS = [
    "/", "/proc", "/proc/1/root", "/proc/self/root", "/proc/self/cwd", "/proc/self/fd", "/sys", "/sys/kernel", "/dev", "/dev/shm",
    "/etc", "/etc/ssl", "/usr", "/usr/bin", "/bin", "/sbin", "/lib", "/boot", "/run", "/var/log", "/tmp", "/var", "/home",
    "~", "~/", "~/.ssh", "~/.config", "~/.config/autostart", "~/.local/bin", "~/.gnupg",
]  # fmt: skip


@pytest.mark.parametrize("directory", NOBODYS)
@pytest.mark.parametrize("who", ["hub", "owner"])
def test_nobody_mounts_the_system_or_a_home(space, owner, settings, directory, who):
    settings.MOUNT_ROOTS = ["/"]
    with pytest.raises(HubError) as caught:
        mount(space, HUB if who == "hub" else owner, directory)
    assert caught.value.status in (403, 422)


def test_nobody_mounts_the_program_of_the_hub(space):
    package = Path(memoryhub.__file__).parent
    own = [package, package / "domain", package.parent, package.parent / "templates", package.parent / "static/css"]
    for folder in [*own, Path(sys.prefix), Path(sys.prefix) / "lib", Path(os.__file__).parent]:
        with pytest.raises(HubError, match="cannot be mounted"):
            mount(space, HUB, folder)


def test_nobody_mounts_version_control_or_keys(space, tmp_path):
    for name in ("repo/.git", "repo/.git/hooks", ".ssh", ".aws/sso"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        with pytest.raises(HubError, match="cannot be mounted"):
            mount(space, HUB, tmp_path / name)


def test_memory_of_agents_in_a_home_may_be_mounted(space, tmp_path, monkeypatch):
    home = tmp_path / "mia"
    for name in (".claude/rules", ".config/opencode", ".config/fish", "notes", ".deepagents/scout"):
        (home / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in (".claude", ".claude/rules", ".deepagents/scout", "notes"):
        made = files.add_mount(space, HUB, f"/{name.strip('.')}/", store="filesystem", directory=f"~/{name}")
        assert made.directory == str(home / name)
    for name in ("", ".config", ".config/fish"):
        with pytest.raises(HubError, match="cannot be mounted"):
            mount(space, HUB, home / name)


def test_a_directory_that_cannot_be_resolved_is_refused(space, tmp_path, owner, settings):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    settings.MOUNT_ROOTS = [str(tmp_path)]
    for given in ("", " ", "a\x00b", str(tmp_path / "loop"), str(tmp_path / ("x" * 300)), "/" + "y/" * 3000, "\udcff"):
        for who in (HUB, owner):
            with pytest.raises(HubError):
                mount(space, who, given)


def test_a_change_of_policy_asks_nothing_about_the_directory(space, owner, tmp_path):
    made = mount(space, HUB, tmp_path)
    assert files.change_mount(space, owner, made, policy="trusted", directory=str(tmp_path)).policy == "trusted"


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


# ---- rules that match nothing, and explanations


def test_a_rule_has_to_match_something_or_be_confirmed(space):
    files.add_mount(space, HUB, "/memories/")
    files.write(space, HUB, "/memories/notes/a.md", b"x")
    for pattern in ("memories", "/memories", "/memories/nots/**", "/memoires/**", "*.txt", "notes"):
        with pytest.raises(Invalid) as caught:
            files.add_rule(space, HUB, pattern, "trusted")
        assert caught.value.code == "matches_nothing"
    with pytest.raises(Invalid, match=r"write /memories/\*\*"):
        files.add_rule(space, HUB, "memories")
    for pattern in ("/memories/**", "*.md", "a.md", "/memories/notes/*", "/memories/new.md"):
        assert files.add_rule(space, HUB, pattern).policy == "review"
    assert files.add_rule(space, HUB, "*.txt", "trusted", confirmed=True).policy == "trusted"
    assert files.count_matched(space, ["*.md", "/none/**"]) == ([1, 0], False)


def test_an_explanation_of_a_path_outside_says_so(space):
    files.add_mount(space, HUB, "/memories/")
    refused = files.explain_path(space, "/memories/../../etc/passwd")
    assert [why for _, why in refused.looked_at] == ["not asked: the path is refused"]
    outside = files.explain_path(space, "/memoriesX/a.md")
    assert outside.problem and "fits" not in outside.looked_at[0][1]


def test_an_explanation_says_what_is_left_out_or_no_memory(space, tmp_path):
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(tmp_path))
    assert files.explain_path(space, "/memories/.env").why_out.code == "secrets"
    assert "script" in files.explain_path(space, "/memories/deploy.sh").program
    plain = files.explain_path(space, "/memories/a.md")
    assert not plain.why_out and not plain.program


def test_roots_are_absolute():
    from memoryhub.settings import mount_roots

    assert mount_roots("") == []
    assert mount_roots("/srv/a:/srv/b") == ["/srv/a", "/srv/b"]
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_MOUNT_ROOTS is 'memories'; allowed is"):
        mount_roots("memories")


def test_all_that_lies_in_a_new_mount_is_one_line_of_activity(space, tmp_path, monkeypatch):
    monkeypatch.setattr("memoryhub.domain.files.disk.intake._BATCH", 2)
    for name in "abcde":
        (tmp_path / f"{name}.md").write_text(name)
    shown = mount(space, HUB, tmp_path)
    scan(space, shown)
    scan(space, shown)
    (line,) = ActivityLine.objects.within(space).filter(verb="files.create")
    assert (line.says, line.thing) == ("brought", "5 files below /shown/")
