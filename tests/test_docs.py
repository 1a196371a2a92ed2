"""The documents tell the truth where a test can look: settings, commands, calls, links, anchors, pictures, size."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from memoryhub.__main__ import own_commands
from memoryhub.api.v1 import api

TREE = Path(__file__).parents[1]
README = TREE / "README.md"
PAGES = [README, TREE / "CONTRIBUTING.md", TREE / "CHANGELOG.md", *sorted((TREE / "docs").rglob("*.md"))]
PICTURES = sorted(file for file in (TREE / "docs/img").iterdir())
# What a process of the hub tells its own children, and what others define.
NOT_SETTINGS = {"MEMORYHUB_PARENT", "DJANGO_SETTINGS_MODULE", "PATH"}

FENCE = re.compile(r"^(```+|~~~+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)|(?:href|src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


# ---- links


@cache
def prose(page: Path) -> str:
    """A page without its code blocks, in which nothing is a link or a heading."""
    return FENCE.sub("", page.read_text())


def links(page: Path) -> list[str]:
    return [one or other for one, other in LINK.findall(CODE.sub("", prose(page)))]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them: a heading that comes again gets a number."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def target(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return ((page.parent / unquote(path)).resolve() if path else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_every_link_leads_somewhere(page):
    for link in links(page):
        assert not re.match(r"[a-z]+:|//|/", link), f"{link}: a document links to documents, relative to itself"
        file, anchor = target(page, link)
        assert file.is_file() and file.is_relative_to(TREE), f"{link} leads to no file"
        assert not anchor or anchor in anchors(file), f"{link}: {file.name} has no heading for it"


def test_every_page_is_reached_from_the_readme():
    reached, todo = {README}, [README]
    while todo:
        page = todo.pop()
        found = {target(page, link)[0] for link in links(page)} & set(PAGES) - reached
        reached |= found
        todo += found
    assert reached == set(PAGES)


def test_every_picture_is_shown_small_and_in_both_schemes():
    shown = {target(page, link)[0] for page in PAGES for link in links(page)}
    assert set(PICTURES) <= shown
    for picture in PICTURES:
        assert picture.stat().st_size < 100_000
        if picture.suffix == ".svg":
            assert "prefers-color-scheme: dark" in picture.read_text()
        else:
            other = {"light": "dark", "dark": "light"}[picture.stem.rpartition("-")[2]]
            assert picture.with_stem(f"{picture.stem.rpartition('-')[0]}-{other}") in PICTURES


def test_the_readme_is_read_in_two_minutes():
    assert README.stat().st_size <= 7000


# ---- what the documents say of the code


def read_from_the_environment() -> set[str]:
    reading = re.compile(r"(?:\benv|env_\w+|os\.environ|os\.environ\.get|getenv)[(\[]\s*\"([A-Z][A-Z_]+)\"")
    found = {name for file in (TREE / "memoryhub").rglob("*.py") for name in reading.findall(file.read_text())}
    assert {"DATABASE_URL", "MEMORYHUB_URL", "DEBUG"} <= found
    return found - NOT_SETTINGS


def test_every_setting_is_in_the_table_and_nothing_else_is():
    rows = [line for line in (TREE / "docs/operate/settings.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]{3,})`", row)}
    assert named == read_from_the_environment()


def test_every_command_is_in_the_contract():
    contract = (TREE / "docs/agents/contract.md").read_text()
    assert [name for name in own_commands() if f"`memoryhub {name}" not in contract] == []


def test_every_call_is_on_the_page_about_rest():
    page = (TREE / "docs/agents/rest.md").read_text()
    calls = {path.removeprefix("/api/v1").replace("{number}", "{n}") for path in api.get_openapi_schema()["paths"]}
    assert {call for call in calls if call not in page} == set()


# ---- the map of the code

NAMED = re.compile(r"`((?:[\w.]+/)+(?:[\w.]+\.(?:py|html))?)(?:: (\w+))?`")
PACKAGE_ROW = re.compile(r"^\| `([\w/]+)/` \|(.*)\|$", re.MULTILINE)
AS_PACKAGES = (TREE / "memoryhub/api/base.py").exists()  # the last one named


def place_of(name: str) -> Path | None:
    """Where a path of the documents is: below the tree, below memoryhub/, or below memoryhub/domain/."""
    roots = (TREE, TREE / "memoryhub", TREE / "memoryhub/domain")
    return next((root / name for root in roots if (root / name).exists()), None)


@pytest.mark.skipif(not AS_PACKAGES, reason="the domain is not in packages yet")
@pytest.mark.parametrize("page", ["architecture", "extend"])
def test_files_and_functions_that_are_named_exist(page):
    for name, thing in NAMED.findall((TREE / f"docs/develop/{page}.md").read_text()):
        if re.search("NAME|noun", name):
            continue
        place = place_of(name)
        assert place, f"there is no {name}"
        assert not thing or re.search(rf"\b{thing}\b", place.read_text()), f"{name} has no {thing}"


@pytest.mark.skipif(not AS_PACKAGES, reason="the domain is not in packages yet")
def test_the_table_of_packages_names_every_module():
    domain = TREE / "memoryhub/domain"
    for package, said in PACKAGE_ROW.findall((TREE / "docs/develop/architecture.md").read_text()):
        if (domain / package).is_dir() and "`" in said:
            modules = {file.stem for file in (domain / package).iterdir() if not file.name.startswith("_")}
            named = {name.strip("/") for name in re.findall(r"`([a-z_0-9]+/?)`", said)}
            assert modules - named == set(), f"{package}: not in the table"


def test_every_test_that_a_document_names_exists():
    for page in PAGES:
        for name in re.findall(r"`(tests/[\w/]+(?:\.py|/))[`:]", page.read_text()):
            assert (TREE / name).exists(), f"{page.relative_to(TREE)}: there is no {name}"
