"""The page of results keeps what was not measured again, and says where and when the rest was."""

from __future__ import annotations

import platform

from tests.bench import results, table

MET = table.row("prompt", 1.2, warm="", baseline="bare view", unit="x", at_most=1.5)
MISSED = table.row("log", 12, warm="", baseline="bare view", unit="x", at_most=8)


def test_a_group_is_replaced_and_the_others_stay(tmp_path):
    page = tmp_path / "results.md"
    results.write({"calls": [MET], "growth": [MISSED]}, page)
    results.write({"calls": [MET, MISSED]}, page)
    text = page.read_text()
    assert text.count("## calls") == text.count("## growth") == 1
    assert text.index("## calls") < text.index("## growth")
    assert text.count("| prompt |") == 1 and text.count("| log ") == 2
    assert "1 of 2 limits missed" in text and "1 of 1 limits missed" in text
    results.write({}, page)
    assert page.read_text() == text


def test_it_says_what_was_measured_on_and_with():
    said = results.conditions()
    for one in (platform.machine(), platform.python_version(), "PostgreSQL 1", "django ", "under a load of"):
        assert one in said, one
