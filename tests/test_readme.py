"""The README tells the truth where a test can look."""

from __future__ import annotations

import re
from pathlib import Path

TREE = Path(__file__).parents[1]
# What a process of the hub tells its own children, and what others define.
NOT_SETTINGS = {"MEMORYHUB_PARENT", "DJANGO_SETTINGS_MODULE", "PATH"}


def read_from_the_environment() -> set[str]:
    reading = re.compile(r"(?:\benv|env_bool|os\.environ|os\.environ\.get|getenv)[(\[]\s*\"([A-Z][A-Z_]+)\"")
    found = {name for file in (TREE / "memoryhub").rglob("*.py") for name in reading.findall(file.read_text())}
    assert {"DATABASE_URL", "MEMORYHUB_URL", "DEBUG"} <= found
    return found - NOT_SETTINGS


def test_every_setting_stands_in_the_table_and_nothing_else_does():
    section = (TREE / "README.md").read_text().split("\n## Settings\n")[1].split("\n## ")[0]
    told = set(re.findall(r"`([A-Z][A-Z_]{3,})`", section))
    assert read_from_the_environment() == told


def test_every_picture_is_there_in_both_schemes_and_small():
    shown = re.findall(r"docs/img/[a-z-]+[.]png", (TREE / "README.md").read_text())
    assert sorted(shown) == sorted(str(file.relative_to(TREE)) for file in (TREE / "docs/img").glob("*.png"))
    assert {one.replace("-dark.", "-light.") for one in shown} == {one for one in shown if "-light." in one}
    assert all((TREE / one).stat().st_size < 100_000 for one in shown)
