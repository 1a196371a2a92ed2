"""A real hub on a person's own repository: what it says at its start, and what an agent gets of it."""

from __future__ import annotations

import json
import re

import httpx

from tests.running import command, data_dir, place, running_in, sign_in_by_link, started_once  # noqa: F401  fixtures
from tests.stores.test_selection import repository


def test_a_hub_on_a_repository_shows_memory_alone(tmp_path, data_dir):
    root = tmp_path / "Läden & Co"
    root.mkdir()
    repository(root)

    def run(*arguments):
        return command(*arguments, MEMORYHUB_DATA_DIR=str(data_dir))

    with running_in(data_dir, "--demo", str(root)) as hub:
        first = re.fullmatch(r"memoryhub shows 5 files of (.+), (\d+) left out: (.+)\n", hub.said[0])
        assert first and first[1] == str(root) and first[3].startswith(".git 31, ")
        with httpx.Client(follow_redirects=True) as browser:
            page = sign_in_by_link(browser, hub.link)
            assert page.url.path == "/s/main/" and "<h1>Läden &amp; Co</h1>" in re.sub(
                r"\s+(?=<)|(?<=>)\s+", "", page.text
            )
            assert "# Rules" in page.text  # the prompt of a new agent
            assert 'href="/s/demo/"' in page.text, "with a folder the demo is a link there"
            assert browser.get(hub.url).url.path == "/s/main/"
        made = run("agent", "add", "scout", "--json")
        token = json.loads(made.stdout)["token"]
        with httpx.Client(base_url=f"{hub.url}/api/v1/", headers={"Authorization": f"Bearer {token}"}) as agent:
            assert agent.get("files/memories/AGENTS.md").json()["content"] == "# Rules\n"
            for path in (".env", ".git/0/o0", "node_modules/a/README.md", "me.local.md", "big.md", "pipe.md"):
                assert agent.get(f"files/memories/{path}").status_code == 404
            refused = agent.put("files/memories/.git/hooks/pre-commit", json={"content": "x"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "not_memory")
            assert agent.put("files/memories/docs/b.md", json={"content": "x"}).status_code == 202
        assert not (root / ".git/hooks").exists()
        more = tmp_path / "notes"
        (more / "drafts").mkdir(parents=True)
        for name in ("a.md", "b.csv", "drafts/c.md"):
            (more / name).write_text("x\n")
        added = run(
            "mount", "add", "/notes/", "--dir", str(more), "--include", "*.md", "--exclude", "drafts/", "--json"
        )
        told = json.loads(added.stdout)
        assert (told["files"], told["include"], told["exclude"]) == (1, ["*.md"], ["drafts/"])
        assert run("mount", "add", "/home/", "--dir", "/proc/1/root").returncode == 1
    without_a_folder_the_demo_is_opened(data_dir)


def without_a_folder_the_demo_is_opened(data_dir):
    with running_in(data_dir, "--demo") as hub, httpx.Client(follow_redirects=True) as browser:
        assert sign_in_by_link(browser, hub.link).url.path == "/s/demo/"
        after = hub.process.stdout.readline()
        assert after == "Press Ctrl-C to stop.\n"
