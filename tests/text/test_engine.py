"""What stands in for RE2 where it has no wheel: it finds the same, and ends what takes too long."""

from __future__ import annotations

import importlib
import sys
import time
from types import ModuleType

import pytest
from pathspec import GitIgnoreSpec

from memoryhub import detectors
from memoryhub.detectors import patterns
from memoryhub.detectors.costs import TooCostly
from memoryhub.text import catalogue, engine
from tests.detectors.attacks import attacks

pytest.importorskip("regex", reason="make .venv/test.stamp installs it")
pytest.importorskip("re2", reason="it has no wheel for this Python")
detectors.detectors()  # all are imported now
TEXTS = [
    "",
    "one two",
    "zwei → größer",
    "\U0001f600 x é 1",
    "lone \udc80 two",
    "id-2024-01",
    "现在 3 个 `x`",
    "a\nb\n",
    "key_ONE two\n",
]


@pytest.fixture
def stand_in(monkeypatch) -> ModuleType:
    """The module as it is where RE2 cannot be imported."""
    monkeypatch.setitem(sys.modules, "re2", None)
    monkeypatch.delitem(sys.modules, engine.__name__)
    return importlib.import_module(engine.__name__)


def test_it_finds_what_re2_finds(stand_in):
    assert (stand_in.NAME, stand_in.IS_LINEAR) == ("regex", False)
    for one in [one for one in patterns.EVERY if isinstance(one, patterns.Linear)]:
        source = one.pattern.replace(r"\Z", r"\z")
        ours, theirs = stand_in.compile_utf8(source), engine.compile_utf8(source)
        for text in [*TEXTS, *attacks(one.pattern, 60)]:
            data = text.encode("utf-8", "surrogatepass")
            for look in ("search", "match", "fullmatch"):
                found, expected = getattr(ours, look)(data), getattr(theirs, look)(data)
                assert (found and found.span()) == (expected and expected.span()), (one.pattern, text)


@pytest.mark.parametrize(
    "pattern", [r"\[([^\]\n]*)\]\(([^)\s]+)\)", "(?m)^a$", "(?s)a.*b$", r"[$\]\w]+$", r"\$", "é\b", "(?i)[a-z]{2}现"]
)
def test_its_signs_mean_the_same(stand_in, pattern):
    ours, theirs = stand_in.compile(pattern), engine.compile(pattern)
    for text in ["[a](b) [c](d)", "a", "a\n", "b\na\nb\n", "x$]\n", "x$]", "é a", "äö", "STRAßE"]:
        assert [one.span() for one in ours.finditer(text)] == [one.span() for one in theirs.finditer(text)], text


def test_letters_that_it_would_not_fold_are_refused(stand_in):
    with pytest.raises(stand_in.error):
        stand_in.compile("(?i)straße")


def test_literals_are_found_in_bytes(stand_in):
    literals, data = [b"abcd", b"ab", b"(x", b"\xff\x00"], b"zabcdab (x \xff\x00"
    spans = [[one.span() for one in module.any_of(literals).finditer(data)] for module in (stand_in, engine)]
    assert spans[0] == spans[1] == [(1, 5), (5, 7), (8, 10), (11, 13)]


def test_a_search_that_takes_too_long_ends(stand_in, monkeypatch):
    costly, text = r"(?:\w|\w\w|\d)+[.,];", "a1" * 40 + ".x ;"
    began = time.process_time()
    monkeypatch.setattr(patterns, "engine", stand_in)
    with pytest.raises(TooCostly):
        patterns.Linear(costly).search(text)
    monkeypatch.setattr(catalogue, "engine", lambda: stand_in)
    slow = catalogue.Pattern("", (";",), ())
    slow.__dict__["expression"] = stand_in.compile(costly)
    assert slow.values_in(text) is None
    assert time.process_time() - began < 4 * stand_in.SECONDS


def test_patterns_of_people_take_linear_time_with_either(stand_in):
    pytest.importorskip("hyperscan")
    costly = "*a*a*a*a*a*a*a*a*a*a*a*a*b"
    for backend in ("re2", "hyperscan"):
        began = time.process_time()
        spec = GitIgnoreSpec.from_lines([costly, "!keep.md", "drafts/"], backend=backend)
        found = [one for one in ("a" * 250, "a" * 250 + "b", "keep.md", "drafts/x") if spec.check_file(one).include]
        assert found == ["a" * 250 + "b", "drafts/x"]
        assert time.process_time() - began < 1
