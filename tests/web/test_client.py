"""/client/: the wheel that agents install, and the page that says what to copy. Nobody has to sign in for it."""

import hashlib
import re
from html import unescape

import pytest

from memoryhub.domain import exchange
from tests.running import TREE

pytestmark = pytest.mark.django_db


def test_the_page_gives_name_digest_and_lines(client):
    answer = client.get("/client/")
    page = unescape(answer.content.decode())
    wheel = exchange.client_wheel()
    assert answer.status_code == 200 and wheel.sha256 in page
    assert f'href="/client/{wheel.name}#sha256={wheel.sha256}"' in page
    assert f'pip install "http://testserver/client/{wheel.name}"' in page
    for extra in ("deepagents", "langgraph", "anthropic", "mcp"):
        assert f'pip install "memoryhub-client[{extra}] @ http://testserver/client/{wheel.name}"' in page


def test_the_wheel(client):
    wheel = exchange.client_wheel()
    answer = client.get(f"/client/{wheel.name}")
    assert hashlib.sha256(answer.content).hexdigest() == wheel.sha256
    assert answer["Content-Disposition"] == f'attachment; filename="{wheel.name}"'
    assert answer["Cache-Control"] == "no-cache"
    again = client.get(f"/client/{wheel.name}", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["memoryhub_client-9.9-py3-none-any.whl", "memoryhub", "..%2f", "x.whl"])
def test_another_name_is_not_found(client, name):
    assert client.get(f"/client/{name}").status_code == 404


def test_post_is_refused(client):
    assert client.post("/client/").status_code == 405


def test_nothing_names_a_package_that_is_not_ours():
    """On the package index `memoryhub` is somebody else's: no line that we print may fetch it."""
    looked_at = [
        file
        for folder in ("memoryhub", "templates", "docs", "static")
        for file in (TREE / folder).rglob("*")
        if file.suffix in (".py", ".html", ".txt", ".md", ".js")
    ]
    for file in [*looked_at, TREE / "README.md", TREE / "CONTRIBUTING.md", TREE / "Makefile"]:
        found = re.search(
            r"""(pip|uv|pipx)\s[^\n]*\b(install|add|run|download)\s[^\n]*?(?<![\w/.\-@])memoryhub(?!_client|-client\b[^\n]*@|[-\w.]*\.whl|/|\s+(mcp|sync))""",
            file.read_text(),
        )
        assert not found, f"{file.relative_to(TREE)}: {found.group()}"
