"""`--hold`: a change in the folder waits for a person, with a real hub and a real watcher."""

from __future__ import annotations

import json
import time

import httpx

from memoryhub.server import postgres
from tests.commands.test_disk_secrets import do, sign_in
from tests.running import CSRF_FIELD, running_in, several
from tests.stores.test_folder_locks import Other

LEFT = "Another hub on this machine"
ONE, TWO = "# Rules\n\nRun `make test`.\n", "# Rules\n\nRun `make check`.\n"


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def test_up_hold(place, data_dir):
    folder, data = place / "memory", data_dir
    folder.mkdir()
    (folder / "AGENTS.md").write_text(ONE)
    with running_in(data, str(folder), "--hold") as hub:
        (folder / "AGENTS.md").write_text(TWO)  # at once: what was there at the start counts as approved
        token = json.loads(do(data, "agent", "add", "scout", "--json"))["token"]
        agent = httpx.Client(base_url=f"{hub.url}/api/v1/", headers={"Authorization": f"Bearer {token}"})
        browser = httpx.Client(base_url=hub.url, follow_redirects=True)
        sign_in(browser, hub.link)
        assert until(lambda: browser.get("/s/main/proposals/1/").status_code == 200), "the watcher found it by itself"
        assert [one["number"] for one in json.loads(do(data, "proposals", "--json"))["items"]] == [1]
        for call in ("prompt", "files/memories/AGENTS.md", "grep?pattern=Run&prefix=/memories/", "search?q=Run"):
            answer = agent.get(call, headers={"Accept": "application/json"}).text
            assert "make check" not in answer, call
        assert "make test" in agent.get("prompt").text
        assert agent.get("proposals").json()["items"] == [], "what is held is nothing for agents"
        assert "disk" in browser.get("/s/main/proposals/1/").text
        do(data, "approve", "1")
        assert "make check" in agent.get("prompt").text and (folder / "AGENTS.md").read_text() == TWO
        one_of_two_hubs_puts_back(folder, data, browser)


def one_of_two_hubs_puts_back(folder, data, browser):
    """Another process holds the folder as another hub does: this one leaves putting back to it, and takes over when it is killed."""
    file, other = folder / "AGENTS.md", Other()
    try:
        assert other.hold_only(folder) == "[]"
        settings = browser.get("/s/main/settings/access/")
        token = CSRF_FIELD.search(settings.text)[1]
        form = {"csrfmiddlewaretoken": token, "on_disk": "hold+put_back"}
        assert LEFT in browser.post("/s/main/disk/mounts/1/", data=form, headers={"Referer": str(settings.url)}).text
        file.write_text(ONE)
        assert until(lambda: browser.get("/s/main/proposals/2/").status_code == 200)
        assert file.read_text() == ONE, "left to the other hub"
        other.process.kill()
        assert until(lambda: LEFT not in browser.get(settings.url).text)
        file.write_text(ONE + "More.\n")
        assert until(lambda: file.read_text() == TWO)
    finally:
        other.process.kill()
        other.process.wait()


def test_mount_add_on_disk(place, data_dir):
    folder = place / "memory"
    folder.mkdir()
    (folder / "a.md").write_text(ONE)
    add, to = ["mount", "add"], ["--data-dir", str(data_dir)]
    with postgres.ensure_running(data_dir, {"fsync": "off"}):
        *made, (status, said, why) = several(
            [*add, "/notes/", "--dir", str(folder), "--on-disk", "hold", "--json", *to],
            [*add, "/n/", "--dir", str(folder), "--hold", "--put-back", "--json", *to],
            [*add, "/b/", "--database", "--on-disk", "hold", *to],
        )
    assert [json.loads(told)["on_disk"] for _, told, _ in made] == ["hold", "hold"]
    assert (status, said, why.count("\n")) == (1, "", 1) and "directory" in why
