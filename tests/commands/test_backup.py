"""Everything in one file, and back again: to the same hub, to a new one, never half."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from psycopg import sql

from memoryhub.server import postgres
from tests.running import TREE, clean, command, refused


def do(*arguments: str, data_dir: Path) -> str:
    done = command(*arguments, "--data-dir", str(data_dir))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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
    environment = clean(DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_DATA_DIR=str(data_dir))
    done = subprocess.run([sys.executable, "-c", FILL], cwd=TREE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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


def test_every_row_of_every_table_comes_back(place, data_dir):
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
    do("backup", str(place / "hub.tar"), data_dir=data_dir)
    do("restore", str(place / "hub.tar"), data_dir=place / "new")
    after = everything(place / "new")
    # What the restore itself changes: it makes every prompt stale, and says so.
    expected = {"memoryhub_space", "line", "sequences"}
    assert {table for table in before if before[table] != after.get(table)} <= expected
    assert before.keys() == after.keys()
    assert set(before["line"]) < set(after["line"]) and len(after["line"]) == len(before["line"]) + 1
    assert len(after["memoryhub_space"]) == len(before["memoryhub_space"])


def test_a_new_hub_becomes_the_old_one(place, data_dir):
    do("space", "add", "team", data_dir=data_dir)
    answer = json.loads(do("backup", str(place / "hub.tar"), "--json", data_dir=data_dir))
    assert answer["bytes"] == (place / "hub.tar").stat().st_size
    assert (place / "hub.tar").stat().st_mode & 0o777 == 0o600
    told = do("restore", str(place / "hub.tar"), data_dir=place / "new")
    assert "2 spaces" in told
    assert slugs(place / "new") == ["main", "team"]
    assert (place / "new/secret_key").read_text() == (place / "data/secret_key").read_text()
    do("doctor", data_dir=place / "new")


def test_what_was_there_is_kept_and_files_say_again_what_the_backup_says(place, data_dir):
    folder = place / "folder"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("one\n")
    do("mount", "add", "/notes/", "--dir", str(folder), data_dir=data_dir)
    do("backup", str(place / "hub.tar"), data_dir=data_dir)
    (folder / "AGENTS.md").write_text("two\n")
    do("space", "add", "later", data_dir=data_dir)
    told = json.loads(do("restore", str(place / "hub.tar"), "--json", data_dir=data_dir))
    assert (folder / "AGENTS.md").read_text() == "one\n"
    assert slugs(data_dir) == ["main"]
    assert told["problems"] == []
    do("restore", told["kept"], data_dir=data_dir)
    assert slugs(data_dir) == ["later", "main"]
    assert (folder / "AGENTS.md").read_text() == "two\n"


def test_a_drill_in_another_data_directory_touches_nothing_that_is_live(place, data_dir):
    folder = place / "folder"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("one\n")
    do("mount", "add", "/notes/", "--dir", str(folder), data_dir=data_dir)
    do("backup", str(place / "hub.tar"), data_dir=data_dir)
    (folder / "AGENTS.md").write_text("two\n")
    said = do("restore", str(place / "hub.tar"), data_dir=place / "drill").splitlines()
    assert said[0].startswith(f"Replacing everything in {place / 'drill'} by the backup of ")
    assert (folder / "AGENTS.md").read_text() == "two\n"
    assert (place / "drill-mounts/main/notes/AGENTS.md").read_text() == "one\n"
    do("doctor", data_dir=place / "drill")
    assert (folder / "AGENTS.md").read_text() == "two\n"
    told = json.loads(do("restore", str(place / "hub.tar"), "--write-mounts", "--json", data_dir=place / "other"))
    assert (told["mounts"], told["problems"]) == (None, [])
    assert (folder / "AGENTS.md").read_text() == "one\n"


def test_it_is_made_while_the_hub_runs_and_restored_only_while_it_does_not(place, hub):
    do("backup", str(place / "hub.tar"), data_dir=hub.data_dir)
    told = refused("restore", str(place / "hub.tar"), "--data-dir", str(hub.data_dir))
    assert f"Another hub (process {hub.process.pid})" in told


class TestRefusals:
    def test_no_such_file_and_no_backup(self, place, data_dir):
        (place / "note").write_text("hello")
        with tarfile.open(place / "other.tar", "w") as tar:
            tar.add(place / "note")
        missing = refused("restore", str(place / "nothing"), "--data-dir", str(data_dir))
        assert missing == f"There is no file {place / 'nothing'}."
        for name in ("note", "other.tar"):
            told = refused("restore", str(place / name), "--data-dir", str(data_dir))
            assert told == f"{place / name} is no backup of memoryhub, or it is damaged."

    def test_a_backup_of_a_newer_version(self, place, data_dir):
        do("backup", str(place / "hub.tar"), data_dir=data_dir)
        about = {"format": 1, "migrations": ["memoryhub.9999_future"]}
        rewrite(place / "hub.tar", "manifest.json", json.dumps(about).encode())
        assert "made by a newer memoryhub" in refused("restore", str(place / "hub.tar"), "--data-dir", str(data_dir))

    def test_a_damaged_dump_changes_nothing(self, place, data_dir):
        do("space", "add", "team", data_dir=data_dir)
        do("backup", str(place / "hub.tar"), data_dir=data_dir)
        with tarfile.open(place / "hub.tar") as tar:
            dump = tar.extractfile("database.dump").read()
        rewrite(place / "hub.tar", "database.dump", dump[: len(dump) - 2000])
        assert refused("restore", str(place / "hub.tar"), "--data-dir", str(data_dir))
        assert slugs(data_dir) == ["main", "team"]
        assert not list(data_dir.glob("before-restore-*"))

    def test_a_place_that_cannot_be_written(self, place, data_dir):
        told = refused("backup", str(place / "nowhere/hub.tar"), "--data-dir", str(data_dir))
        assert told == f"There is no folder {place / 'nowhere'}."
        assert "could not be written" in refused("backup", "/proc/hub.tar", "--data-dir", str(data_dir))


def rewrite(archive: Path, name: str, content: bytes) -> None:
    with tarfile.open(archive) as tar:
        kept = {entry.name: tar.extractfile(entry).read() for entry in tar}
    with tarfile.open(archive, "w") as tar:
        for entry_name, old in {**kept, name: content}.items():
            entry = tarfile.TarInfo(entry_name)
            entry.size = len(content if entry_name == name else old)
            tar.addfile(entry, io.BytesIO(content if entry_name == name else old))
