"""Virtual paths: one spelling, no way out of a root."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.errors import Invalid
from memoryhub.stores import paths
from tests.cases import for_each

# Spellings that have led out of roots elsewhere; each is refused or stays a literal name below the root.
TRICKS = [
    "/memories/../secret", "/../secret", "/memories/..", "/memories/./x", "/memories//x", "//etc/passwd",
    "/memories/x/",
    "/memories/..\\..\\secret", "/memories/x\x00.md", "/memories/\u202egpj.md", "/memories/a\u200bb", "/memories/a\nb",
    "/memories/~/x", "/memories/~root/x", "~root/x", "~", "..", ".", "", "memories/x", "C:\\x", "\\\\host\\share",
    "/memories/\ud800", "/memories/a\u2028b", "/memories/.memoryhub-swap-1-x", "/memories/" + "x" * 300,
    "/memories/" + "é/" * 400 + "x", "/memories/\x7f", "/memories/\ufeffAGENTS.md", "/memories/a\u00adb", "file:///etc/passwd",
    "/memories/../../../../../../etc/passwd", "./../x", "~/../x",
]  # fmt: skip


@for_each(TRICKS)
def test_known_tricks_are_refused_with_a_reason(path):
    with pytest.raises(Invalid) as caught:
        paths.clean(path)
    assert caught.value.code == "invalid_path"
    assert caught.value.message.startswith("The path")
    caught.value.message.encode()


@for_each(
    [
        "/memories/AGENTS.md",
        "~/.deepagents/AGENTS.md",
        "./.deepagents/AGENTS.md",
        "/a/b c/%2e%2e/ü.md",
        "/.x/..y",
        "/x~",
    ]
)
def test_plain_paths_are_their_own_spelling(path):
    assert paths.clean(path) == path


def test_one_name_has_one_spelling():
    assert paths.clean("/memories/u\u0308.md") == "/memories/ü.md"


def test_folders_end_in_a_slash():
    assert paths.clean("/memories", directory=True) == paths.clean("/memories/", directory=True) == "/memories/"
    assert paths.clean("/", directory=True) == "/"


def test_a_url_tail_gets_its_slash_back():
    assert paths.from_url("memories/AGENTS.md") == "/memories/AGENTS.md"
    assert paths.from_url("~/.deepagents/AGENTS.md") == "~/.deepagents/AGENTS.md"


def test_under_knows_whole_segments():
    assert paths.under("/memories/", "/memories/x")
    assert paths.under("/memories/", "/memories")
    assert not paths.under("/memories/", "/memoriesX/x")
    assert paths.strip("/memories/", "/memories/a/b") == "/a/b"
    assert paths.strip("/memories/", "/memories") == "/"


@given(st.text(st.sampled_from("./\\~%aé\u0301\u200b\x00 "), max_size=24))
def test_whatever_passes_stays_below_its_root(text):
    try:
        path = paths.clean("/" + text)
    except Invalid:
        return
    assert posixpath.normpath(path) == path
    assert "\\" not in path
    assert paths.clean(path) == path
