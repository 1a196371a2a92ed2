"""Path patterns: what fits, and that no pattern takes long, whoever wrote it."""

import time

import pytest

from memoryhub.errors import Invalid
from memoryhub.text import path_patterns
from tests.cases import for_each


@for_each(
    [
        ("*.md", "/memories/deep/a.md"),
        ("/memories/*.md", "/memories/a.md"),
        ("/memories/**", "/memories/a/b/c.md"),
        ("/memories/**/c.md", "/memories/c.md"),
        ("/**/drafts/*", "/memories/x/drafts/a"),
        ("/memories/{a,b}.{md,txt}", "/memories/b.txt"),
        ("/memories/{a/x,b}.md", "/memories/a/x.md"),
        ("/memories/[ab]?.md", "/memories/bc.md"),
        ("/memories/[!a].md", "/memories/b.md"),
        ("/memories/[z-a].md", "/memories/[z-a].md"),
        ("/m/*a*b*.md", "/m/xaxxbab.md"),
        ("*.md", "/memories/.hidden.md"),
    ]
)
def test_what_fits(pattern, path):
    assert path_patterns.matches(pattern, path)


@for_each(
    [
        ("/memories/*.md", "/memories/a/b.md"),
        ("/memories/**", "/memories"),
        ("/memories/**", "/memoriesX/a"),
        ("/memories/{a,b}.md", "/memories/c.md"),
        ("/m/*a*b", "/m/ba"),
        ("/m/[ab].md", "/m/c.md"),
    ]
)
def test_what_does_not_fit(pattern, path):
    assert not path_patterns.matches(pattern, path)


def test_a_search_passes_hidden_names_unless_they_are_meant():
    assert path_patterns.glob_matches("**/*.md", "a/b.md")
    assert not path_patterns.glob_matches("**/*.md", ".git/b.md")
    assert not path_patterns.glob_matches("*", ".hidden")
    assert path_patterns.glob_matches(".*", ".hidden")
    assert path_patterns.glob_matches("**/.git/*", "x/.git/config")


@for_each(
    ["**/" * 200 + "x", "{a," * 50, "*a" * 300 + "b", "*" * 1000 + "b", "{a,b}" * 200, "{*a,*b}*" * 100],
    ["a" * 220, "/".join("a" * 500)],
)
def test_no_pattern_takes_long(pattern, path):
    began = time.perf_counter()
    assert not path_patterns.glob_matches(pattern, path)
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("pattern", ["{a,b}" * 15, "*{a,b}*" * 12, "a/**/" * 100 + "x"])
def test_a_search_over_many_paths_ends_in_time(pattern, monkeypatch):
    """Each path alone is quick, ten thousand are not."""
    monkeypatch.setattr(path_patterns, "MAX_COMPARISONS", 100_000)
    search = path_patterns.Glob(pattern)
    paths = [f"{'a/' * 60}f{number}.md" for number in range(10_000)]
    with pytest.raises(Invalid) as refused:
        [search.matches(path) for path in paths]
    assert refused.value.code == "too_costly"


def test_plain_searches_over_many_paths_are_answered():
    search = path_patterns.Glob("**/docs/*.{md,txt,mdx,rst,adoc}")
    assert (
        sum(search.matches(f"a/b{number % 7}/docs/c/f{number}.md") for number in range(10_000)) == 0
    )  # 560,000 comparisons
    search = path_patterns.Glob("*.{md,txt}")
    assert sum(search.matches(f"a/b{number % 7}/docs/f{number}.md") for number in range(10_000)) == 10_000
