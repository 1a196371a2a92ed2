"""A hub on a folder with secrets, and a restored backup of an older one: no answer, no page and no table has them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

import httpx

from memoryhub.server import postgres, postgres_programs
from tests.running import TREE, clean, command, copy, running_in

KEY = "sk_live_51HxQf2KZvKYlo2C9mVbT8wXyZ0123456789abcd"
WORD = "Zq7-tulip-42-Lp9"
MARK = "[secret removed: Stripe key]"
TEXT = f'# Shop\n\n- Run `make test`.\n- The key is {KEY}, for payments.\n- password = "{WORD}"\n'


def dumped(data_dir: Path) -> str:
    """Everything that the database holds, as pg_dump writes it."""
    with postgres.ensure_running(data_dir) as found:
        to = postgres.address(found)
        program = str(postgres_programs.binaries() / "pg_dump")
        options = ["--host", str(to["HOST"]), "--username", str(to["USER"]), "--inserts", str(to["NAME"])]
        done = subprocess.run([program, *options], capture_output=True, text=True, check=True)
    return done.stdout


def assert_clean(text: str, what: str) -> None:
    for secret in (KEY, WORD):
        for form in (secret, secret.encode().hex(), secret.encode("utf-16-le").hex(), urllib.parse.quote(secret)):
            assert form not in text, f"{what} has {form[:12]}…"


def do(data_dir: Path, *arguments: str) -> str:
    done = command(*arguments, "--data-dir", str(data_dir))
    assert done.returncode == 0, done.stderr
    return done.stdout


CALLS = [
    "prompt", "prompt?query=key", "files?prefix=/memories/", "files/memories/AGENTS.md", "files/memories/new.md",
    "files/memories/wide.md", "grep?pattern=key&prefix=/memories/", "grep?pattern=sk_live&prefix=/memories/",
    "glob?pattern=**&prefix=/memories/", "search?q=key", "search?q=payments", "proposals",
]  # fmt: skip
PAGES = [
    "", "files/", "files/memories/", "files/memories/AGENTS.md", *(
        f"files/memories/AGENTS.md?view={view}" for view in ("source", "history", "blame", "diff", "edit")
    ), "prompt/scout/", "search/?q=payments", "activity/", "proposals/", "proposals/1/", "files/memories/new.md",
    "mounts/", "agents/scout/",
]  # fmt: skip


def test_no_answer_no_page_and_no_table_has_a_secret_of_the_folder(place, data_dir):
    folder, data = place / "memory", data_dir
    folder.mkdir()
    (folder / "AGENTS.md").write_text(TEXT)
    (folder / "wide.md").write_bytes(TEXT.encode("utf-16"))
    with running_in(data, str(folder)) as hub:
        token = json.loads(do(data, "agent", "add", "scout", "--json"))["token"]
        browser = httpx.Client(base_url=hub.url, follow_redirects=True)
        sign_in(browser, hub.link)
        agent = httpx.Client(base_url=f"{hub.url}/api/v1/", headers={"Authorization": f"Bearer {token}"})
        (folder / "new.md").write_text(f"A new file, with {KEY}.\n")
        for call in CALLS:
            for kind in ("application/json", "text/plain"):
                assert_clean(agent.get(call, headers={"Accept": kind}).text, call)
        assert MARK in agent.get("files/memories/AGENTS.md").json()["content"]
        assert MARK in agent.get("prompt").text
        paths = ["/memories/AGENTS.md", "/memories/new.md", "/memories/wide.md"]
        assert_clean(agent.post("batch", json={"paths": paths}).text, "batch")
        for page in PAGES:
            answer = browser.get(f"/s/main/{page}")
            assert answer.status_code in (200, 404), page
            assert_clean(answer.text, page)
        assert_clean(hub.stderr() + "".join(hub.said), "the log")
    assert (folder / "AGENTS.md").read_text() == TEXT
    with postgres.ensure_running(data, {"fsync": "off"}):
        do(data, "export", str(place / "out"))
        assert_clean(dumped(data), "the database")
    for file in (place / "out").rglob("*"):
        if file.is_file():
            assert_clean(file.read_bytes().decode("latin-1"), file.name)
    assert (folder / "AGENTS.md").read_text() == TEXT


def sign_in(browser: httpx.Client, link: str) -> None:
    """By the one-time link, whichever way it wants to be opened."""
    page = browser.get(link)
    if found := re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text):
        browser.post(link, data={"csrfmiddlewaretoken": found[1]}, headers={"Referer": link})
    assert browser.get("/s/main/files/").status_code == 200


OLD = """
import django
django.setup()
from hashlib import sha256
from pathlib import Path
from memoryhub.domain import files
from memoryhub.management.base import database
from memoryhub.models import File, Revision
from memoryhub.__main__ import run

assert run(["mount", "add", "/notes/", "--dir", {folder!r}]) == 0
with database():
    raw = (Path({folder!r}) / "AGENTS.md").read_bytes()
    files.scan_all()
    digest = sha256(raw).hexdigest()
    Revision.objects.update(content=raw, sha256=digest, size=len(raw))
    File.objects.update(sha256=digest, size=len(raw), written_sha256=digest, disk_secrets=[])
assert run(["backup", {backup!r}]) == 0
"""


def test_a_backup_of_an_older_hub_is_restored_without_its_secrets(place, data_dir, started_once):
    folder, data, new = place / "memory", data_dir, copy(started_once, place / "new")
    folder.mkdir()
    (folder / "AGENTS.md").write_text(TEXT)
    script = OLD.format(folder=str(folder), backup=str(place / "hub.tar"))
    environment = clean(DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_DATA_DIR=str(data))
    with postgres.ensure_running(data, {"fsync": "off"}):
        done = subprocess.run([sys.executable, "-c", script], cwd=TREE, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert KEY.encode().hex() in dumped(data), "the older hub has it"
    with postgres.ensure_running(new, {"fsync": "off"}):
        do(new, "restore", str(place / "hub.tar"))
        restored = dumped(new)
    assert_clean(restored, "the restored database")
    assert MARK.encode().hex() in restored
    assert (folder / "AGENTS.md").read_text() == TEXT, "the disk has what it had"
