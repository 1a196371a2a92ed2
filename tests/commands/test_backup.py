"""Everything in one file, and back again: to the same hub, to a new one, never half."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from psycopg import sql

from memoryhub.errors import Invalid
from memoryhub.management.commands.restore import folder_for_mounts
from memoryhub.server import dump, postgres
from memoryhub.server.dump import look_into
from tests import places
from tests.running import copy, script, several
from tests.unprivileged import unprivileged


@pytest.fixture
def data_dir(data_dir: Path) -> Iterator[Path]:
    """A hub whose database runs on, so that no command has to start it."""
    with postgres.ensure_running(data_dir, {"fsync": "off"}):
        yield data_dir


def do(*lines: str, data_dir: Path) -> str:
    """Runs commands one after another in one process; what the last one says."""
    for line, (status, said, told) in zip(lines, tried(*lines, data_dir=data_dir), strict=True):
        assert (status, told) == (0, ""), (line, told)
    return said


def tried(*lines: str, data_dir: Path) -> list[tuple[int, str, str]]:
    return several(*([*line.split(), "--data-dir", str(data_dir)] for line in lines))


@contextlib.contextmanager
def connected(data_dir: Path) -> Iterator[psycopg.Connection[Any]]:
    with postgres.ensure_running(data_dir) as found:
        to = postgres.address(found)
        with psycopg.connect(host=to["HOST"], user=to["USER"], dbname=to["NAME"]) as connection:
            yield connection


def slugs(data_dir: Path) -> list[str]:
    with connected(data_dir) as connection:
        return [row[0] for row in connection.execute("SELECT slug FROM memoryhub_space ORDER BY slug")]


FILL = """
import django
django.setup()
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.backends.db import SessionStore
from memoryhub.domain import accounts, spaces
from memoryhub.management.base import database
from memoryhub.models import HUB, FailedTry, SharedKey
from tests.planting import plant

with database():
    plant(spaces.create(HUB, "planted"), accounts.create_person(HUB, "rk"))
    FailedTry.objects.create(key="name:rk")
    SharedKey.objects.create(digest="d", sealed="s")
    rk = accounts.find_person("rk")
    Authenticator.objects.create(user=rk, type="totp", data={"secret": "x"})
    SocialAccount.objects.create(user=rk, provider="oidc:x", uid="y")
    session = SessionStore()
    session["kept"] = "yes"
    session.save()
"""


def fill(data_dir: Path) -> None:
    """Puts a row into every table."""
    script(FILL, MEMORYHUB_DATA_DIR=str(data_dir))


def everything(data_dir: Path) -> dict[str, list[str]]:
    """Every row of every table of ours, and where every sequence stands."""
    found = {}
    with connected(data_dir) as connection:
        listed = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'quarantine', 'activity')"
        for place in connection.execute(listed).fetchall():
            rows = sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier(*place))
            found[place[1]] = [row for (row,) in connection.execute(rows)]
        found["sequences"] = [
            str(row)
            for row in connection.execute("SELECT schemaname, sequencename, last_value FROM pg_sequences ORDER BY 1, 2")
        ]
    return found


def test_a_new_hub_becomes_the_old_one_with_every_row_of_every_table(place, data_dir):
    fill(data_dir)
    before = everything(data_dir)
    tables = {
        model._meta.db_table.rpartition(".")[2].strip('"') for model in apps.get_app_config("memoryhub").get_models()
    }
    assert {
        table
        for table in {*tables, "django_session", "mfa_authenticator", "socialaccount_socialaccount"}
        if not before[table]
    } == set(), "nothing to compare there"
    answer = json.loads(do(f"backup {place}/hub.tar --json", data_dir=data_dir))
    assert answer["bytes"] == (place / "hub.tar").stat().st_size
    assert (place / "hub.tar").stat().st_mode & 0o777 == 0o600
    new = places.make_in_memory(place / "new")
    assert "2 spaces" in do(f"restore {place}/hub.tar", data_dir=new)
    assert (new / "secret_key").read_text() == (data_dir / "secret_key").read_text()
    after = everything(new)
    # What the restore itself changes: it makes every prompt stale, and says so.
    expected = {"memoryhub_space", "line", "sequences"}
    assert {table for table in before if before[table] != after.get(table)} <= expected
    assert before.keys() == after.keys()
    assert set(before["line"]) < set(after["line"]) and len(after["line"]) == len(before["line"]) + 1
    assert len(after["memoryhub_space"]) == len(before["memoryhub_space"]) == 2


def test_what_not_every_server_knows_is_left_out_and_no_line_of_data():
    setting, noted = (
        b"SET transaction_timeout = 0;\n",
        b"ALTER TABLE ONLY public.t ALTER COLUMN id SET (pg_attver=7);\n",
    )
    data = [b"COPY public.t (id) FROM stdin;\n", noted, setting, b"\\.\n"]
    script = [setting, b"SET row_security = off;\n", noted, *data, noted]
    _, _, *loaded, _ = dump._script_for_server(script)
    assert loaded == [script[1], *data]


def test_what_was_there_is_kept_and_files_say_again_what_the_backup_says(place, data_dir):
    folder = place / "folder"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("one\n")
    do(f"mount add /notes/ --dir {folder}", f"backup {place}/hub.tar", data_dir=data_dir)
    (folder / "AGENTS.md").write_text("two\n")
    told = json.loads(do("space add later", f"restore {place}/hub.tar --json", data_dir=data_dir))
    assert (folder / "AGENTS.md").read_text() == "one\n"
    assert slugs(data_dir) == ["main"]
    assert told["problems"] == []
    do(f"restore {told['kept']}", data_dir=data_dir)
    assert slugs(data_dir) == ["later", "main"]
    assert (folder / "AGENTS.md").read_text() == "two\n"


def test_a_drill_in_another_data_directory_touches_nothing_that_is_live(place, data_dir, started_once):
    for name in ("drill", "other"):
        copy(started_once, place / name)
    folder = place / "folder"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("one\n")
    do(f"mount add /notes/ --dir {folder}", f"backup {place}/hub.tar", data_dir=data_dir)
    (folder / "AGENTS.md").write_text("two\n")
    restored, doctor = tried(f"restore {place}/hub.tar", "doctor", data_dir=place / "drill")
    assert restored[::2] == doctor[::2] == (0, "")
    assert restored[1].startswith(f"Replacing everything in {place / 'drill'} by the backup of ")
    assert (place / "drill-mounts/main/notes/AGENTS.md").read_text() == "one\n"
    assert (folder / "AGENTS.md").read_text() == "two\n"
    told = json.loads(do(f"restore {place}/hub.tar --write-mounts --json", data_dir=place / "other"))
    assert (told["mounts"], told["problems"]) == (None, [])
    assert (folder / "AGENTS.md").read_text() == "one\n"


def test_directories_come_into_the_data_directory_where_nothing_may_be_made_beside_it(tmp_path):
    """As in a container whose volume it is, or as systemd makes it."""
    assert folder_for_mounts(Path("/")) == Path("/mounts")
    tmp_path.chmod(0o555)
    with unprivileged():
        assert folder_for_mounts(tmp_path / "data") == tmp_path / "data/mounts"
    tmp_path.chmod(0o755)
    (tmp_path / "data-mounts").mkdir()
    assert folder_for_mounts(tmp_path / "data") == tmp_path / "data-mounts-2"


def test_refusals_change_nothing(place, data_dir):
    """On one hub, whose database runs on: it stays as it was."""
    made = place / "hub.tar"
    lines = ["space add team", f"backup {made}", f"backup {place}/nowhere/hub.tar", "backup /proc/hub.tar"]
    *done, nowhere, unwritable = tried(*lines, data_dir=data_dir)
    assert [one[::2] for one in done] == [(0, ""), (0, "")]
    assert nowhere == (1, "", f"There is no folder {place / 'nowhere'}.\n")
    assert unwritable[:2] == (1, "") and "could not be written" in unwritable[2]
    (place / "note").write_text("hello")
    with tarfile.open(place / "other.tar", "w") as tar:
        tar.add(place / "note")
    about = {"format": 1, "migrations": ["memoryhub.9999_future"]}
    rewrite(made, "manifest.json", json.dumps(about).encode(), to=place / "newer.tar")
    with tarfile.open(made) as tar:
        dump = tar.extractfile("database.dump").read()
    rewrite(made, "database.dump", dump[: len(dump) - 2000], to=place / "damaged.tar")
    names = ("nothing", "note", "other.tar", "newer.tar", "damaged.tar")
    missing, *others, newer, damaged = tried(*(f"restore {place / name}" for name in names), data_dir=data_dir)
    assert missing == (1, "", f"There is no file {place / 'nothing'}.\n")
    for name, answer in zip(names[1:3], others, strict=True):
        assert answer == (1, "", f"{place / name} is no backup of memoryhub, or it is damaged.\n")
    for status, said, why in (newer, damaged):
        assert (status, said, why.count("\n")) == (1, "", 1), why
    assert "created by a newer memoryhub" in newer[2]
    assert damaged[2].startswith(
        f"{place / 'damaged.tar'} is damaged, and nothing was changed: restore another backup."
    )
    (place / "other.tar").chmod(0)
    with unprivileged(), pytest.raises(Invalid, match=r"other\.tar cannot be read: Permission denied"):
        look_into(place / "other.tar")
    assert slugs(data_dir) == ["main", "team"]
    assert not list(data_dir.glob("before-restore-*"))


def rewrite(archive: Path, name: str, content: bytes, *, to: Path) -> None:
    """A copy of an archive in which one file has another content."""
    with tarfile.open(archive) as tar:
        kept = {entry.name: tar.extractfile(entry).read() for entry in tar}
    with tarfile.open(to, "w") as tar:
        for entry_name, old in {**kept, name: content}.items():
            entry = tarfile.TarInfo(entry_name)
            entry.size = len(content if entry_name == name else old)
            tar.addfile(entry, io.BytesIO(content if entry_name == name else old))
