"""Sameness, proven: deepagents' own code, out of its own wheels, against ours, on thousands of made-up inputs."""

from __future__ import annotations

import hashlib
import inspect

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.dialects import Ingredients, Source, deepagents, render, resolve

from .wheels import VERSIONS, fetch, library, version_of, what_it_sends

BITS = st.sampled_from(
    [
        *("<!--", "-->", "<!---->", "<!-->", "<!-- a <!-- b --> c -->", "```\n<!-- x -->\n```", "<!-- open"),
        *("{", "}", "{{", "{0}", "{agent_memory}", "</agent_memory>", "<agent_memory>", "\\", "%s"),
        *("\r\n", "\n", "\n\n", "\r", "\t", " ", "  \n", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0", "\u2028", "\u3000"),
        *("\ufeff", "\u200b", "\u202e", "\U000e0041", "\x00", "word", "- item", "# Head", "ß漢🙂"),
    ]
)
ANY_TEXT = st.text(max_size=40)  # any Unicode but lone surrogates, which no file can hold
TEXT = st.lists(BITS | ANY_TEXT, max_size=12).map("".join)
PATHS = st.lists(
    st.sampled_from(["/memories/AGENTS.md", "~/.deepagents/AGENTS.md", "./.deepagents/AGENTS.md", "/a b/ü{x}.md"]),
    max_size=5,
)


@pytest.fixture(scope="module", params=VERSIONS)
def wheel(request):
    return fetch(request.param)


@pytest.fixture(scope="module")
def theirs(wheel):
    return library(wheel)


@pytest.fixture(scope="module")
def template(wheel):
    return deepagents.read_template((wheel.with_suffix("") / "deepagents/middleware/memory.py").read_text())


@pytest.mark.parametrize("examples", [100, pytest.param(2000, marks=pytest.mark.attack)])
def test_the_same_bytes_as_the_library(theirs, wheel, template, examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(paths=PATHS, texts=st.lists(st.none() | TEXT, min_size=4, max_size=4), base=st.just("") | TEXT)
    def compare(paths, texts, base):
        sends_what_the_library_sends(theirs, wheel, template, paths, texts, base)

    compare()


def sends_what_the_library_sends(theirs, wheel, template, paths, texts, base) -> None:
    by_path = dict(zip(sorted({*paths}), texts, strict=False))
    files = {path: None if text is None else text.encode() for path, text in by_path.items()}
    listed = tuple(
        Source(path, by_path[path], error="" if by_path[path] is not None else "file_not_found") for path in paths
    )
    ours = render(f"deepagents/{version_of(wheel)}", Ingredients(base=base, template=template, sources=listed))
    assert ours.text == what_it_sends(theirs, paths, files, base)


def test_the_template_is_read_as_the_library_runs_it(theirs, template):
    assert template == theirs.MEMORY_SYSTEM_PROMPT


def test_the_template_has_the_known_size_and_hash(wheel, template):
    dialect = resolve(f"deepagents/{version_of(wheel)}")
    match = deepagents.compare(dialect.name, template)
    assert match.sha256 == hashlib.sha256(template.encode()).hexdigest()
    assert match.known or not dialect.verified, "the newest release ships another template: add its size and hash"


@pytest.mark.parametrize("broken", [b"\xff\xfe", "is_directory", "permission_denied"])
def test_what_ends_the_run_there_is_a_warning_here(theirs, wheel, broken):
    with pytest.raises((ValueError, UnicodeDecodeError)):
        what_it_sends(theirs, ["/a"], {"/a": broken}, "")
    error = broken if isinstance(broken, str) else "invalid_utf8"
    rendered = render(f"deepagents/{version_of(wheel)}", Ingredients(sources=(Source("/a", None, error=error),)))
    warning = next(warning for warning in rendered.warnings if warning.code == error)
    assert "end the agent's run" in warning.message


def test_a_template_of_ones_own_works_there_as_here(theirs, wheel):
    if resolve(f"deepagents/{version_of(wheel)}").form.since < (0, 6, 2):
        assert "system_prompt" not in inspect.signature(theirs.MemoryMiddleware).parameters
        return
    for custom in ("<x>{agent_memory}</x> {{both}}", "{agent_memory}"):
        own = theirs.MemoryMiddleware(backend=None, sources=["/a"], system_prompt=custom)
        got = own._format_agent_memory({"/a": "one {two}"}, custom)
        assert got == render("deepagents", Ingredients(template=custom, sources=(Source("/a", "one {two}"),))).fragment
    with pytest.raises(ValueError, match="slot"):
        theirs.MemoryMiddleware(backend=None, sources=[], system_prompt="none")
