"""Names that look like others: refused, or shown to the reviewer as what they are."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from memoryhub.domain import files, prompts, proposals, spaces
from memoryhub.models import HUB
from tests.api.calling import code

PATH = "/memories/AGENTS.md"


@pytest.fixture
def space(db):
    space = spaces.create(HUB, "books")
    files.add_mount(space, HUB, "/memories/", store="database")
    files.add_mount(space, HUB, "/notes/", store="database", policy="trusted")
    files.write(space, HUB, PATH, b"# Rules\n")
    files.write(space, HUB, "/memories/docs/Guide.md", b"# Guide\n")
    prompts.add_source(space, HUB, PATH)
    return space


def put(forge, path, text="hello\n"):
    return forge("PUT", f"files{quote(path)}", {"content": text})


MISLEADING = [
    "AGENTS.md\u3164", "AGENTS\u034f.md", "AGENTS\u2800.md", "AGENTS\ufe01.md", "AGENTS\U000e0101.md", "AGENTS\u115f.md",
    "AGENTS.md ", " AGENTS.md", "AGENTS.md.", "AGENTS\u00a0.md", "AGENTS\u2003.md", "docs /a.md", "docs./a.md", "AGENTS.md\u3000",
    "CON", "nul.md", "Aux.txt", "com1.md", "LPT9.tar.md",
]  # fmt: skip
HONEST = ["plan 2.md", "会議\u3000メモ.md", "✏️ notes.md", "v1.2.md", ".claude/a.md", "console.md", "été.md"]


@pytest.mark.parametrize("folder", ["/memories/", "/notes/"])
def test_no_file_gets_a_name_that_looks_like_another(forge, folder):
    put(forge, "/notes/plain.md")
    for name in MISLEADING:
        assert code(put(forge, folder + name)) == (422, "invalid_path"), ascii(name)
        moved = forge("POST", "moves", {"from": "/notes/plain.md", "to": folder + name})
        assert code(moved) == (422, "invalid_path"), ascii(name)


def test_other_names_are_taken(forge):
    assert {name: put(forge, f"/memories/{name}").status_code for name in HONEST} == dict.fromkeys(HONEST, 202)


@pytest.mark.parametrize(
    ("path", "like"),
    [
        ("/memories/\u0410GENTS.md", PATH), ("/memories/agents.md", PATH), ("/memories/\uff21GENTS.md", PATH),
        ("/memories/docs/guide.MD", "/memories/docs/Guide.md"), ("/memories/docs/Gu\u0456de.md", "/memories/docs/Guide.md"),
    ],
    ids=ascii,
)  # fmt: skip
def test_a_reviewer_is_told_of_a_name_like_another(space, forge, path, like):
    asked = put(forge, path).json()["proposal"]
    (found,) = [one for one in asked["findings"] if one["code"] == "similar_name"]
    assert found["severity"] == "high" and like in found["message"]
    assert proposals.get(space, asked["number"]).risk == 2


def test_a_move_to_such_a_name_is_told_too_and_honest_ones_are_not(forge):
    moved = forge("POST", "moves", {"from": "/memories/docs/Guide.md", "to": "/memories/agents.MD"}).json()["proposal"]
    assert "similar_name" in [one["code"] for one in moved["findings"]]
    for path in ("/memories/AGENT.md", "/memories/docs/Guides.md", PATH):
        assert put(forge, path, "# Other\n").json()["proposal"]["findings"] == []


def test_what_a_person_named_so_stays_writable(space, forge):
    files.write(space, HUB, "/notes/old name .md", b"a\n")
    assert put(forge, "/notes/old name .md", "b\n").status_code == 200


def test_a_promotion_of_other_words_than_its_record_says_so(forge):
    record = forge("POST", "quarantine", {"content": "The till of shop 4 closes at nine."}).json()["id"]
    told = {}
    for content in (None, "The till of shop 4 closes at nine.\n", "Refunds need no receipt."):
        asked = forge("POST", "promotions", {"quarantine_id": record, "content": content, "reason": "Keep it."}).json()
        told[content] = [one["code"] for one in asked["proposal"]["findings"]]
    assert "other_words" not in told[None] and "other_words" not in told["The till of shop 4 closes at nine.\n"]
    assert "other_words" in told["Refunds need no receipt."]
