"""The page of results keeps what was not measured again, and says where and when the rest was."""

from __future__ import annotations

import platform
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.bench import __main__ as bench
from tests.bench import environments, limits_svg, peers, results, table

SVG = "{http://www.w3.org/2000/svg}"

MET = table.row("prompt", 1.2, warm="", baseline="bare view", unit="x", at_most=1.5)
MISSED = table.row("log", 12, warm="", baseline="bare view", unit="x", at_most=8)


def test_a_group_is_replaced_and_the_others_stay(tmp_path):
    page = tmp_path / "results.md"
    results.write({"calls": results.Group([MET], 2.0), "growth": results.Group([MISSED], 3.0)}, page)
    results.write({"calls": results.Group([MET, MISSED], 2.0)}, page)
    text = page.read_text()
    assert text.count("## calls") == text.count("## growth") == 1
    assert text.index("## calls") < text.index("## growth")
    assert text.count("| prompt |") == 1 and text.count("| log ") == 2
    assert "1 of 2 limits missed" in text and "1 of 1 limits missed" in text
    results.write({}, page)
    assert page.read_text() == text


def test_it_says_what_was_measured_on_and_with():
    said = results.conditions()
    for one in (
        platform.machine(),
        platform.python_version(),
        "PostgreSQL 1",
        "pgvector 0",
        "django ",
        "under a load of",
        " GB",
        "mem0ai ",
    ):
        assert one in said, one
    assert platform.node() not in said


def test_a_row_tells_the_median_of_its_rounds_and_their_range():
    made = table.row("search", [3.0, 1.0, 2.0], warm="", unit=" times", at_least=2.5)
    assert (made.measured, made.rounds, made.met) == ("2 times", "1 to 3, 3 rounds", False)
    assert made.shares == [2.5 / 3, 1.25, 2.5]
    assert table.row("a count", 5, warm="").rounds == ""


def test_what_has_a_limit_is_drawn_as_a_share_of_it(tmp_path):
    drawing = tmp_path / "limits.svg"
    results.draw({"calls": results.Group([MET, MISSED, table.row("without a limit", 1, warm="")], 2.0)}, drawing)
    drawn = ElementTree.fromstring(drawing.read_text())
    dots = {dot.get("class"): float(dot.get("cx")) for dot in drawn.iter(f"{SVG}circle")}
    assert dots["met"] < limits_svg.x(1) < dots["missed"]
    assert len(list(drawn.iter(f"{SVG}circle"))) == 2


def test_a_program_that_cannot_be_had_is_a_row_that_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(environments.LEAST, "redis", (9, 0))
    environments.make_all(["redis"])
    with pytest.raises(environments.Unavailable, match=r"needs Python 9\.0"):
        environments.program("redis")


CLEANING = """
import sys, time
from pathlib import Path
from tests.bench.served import end_in_order

end_in_order()
try:
    print("ready", flush=True)
    time.sleep(60)
finally:
    print("cleaning", flush=True)
    time.sleep(0.3)
    Path(sys.argv[1]).touch()
"""


def test_a_second_signal_does_not_cut_short_what_is_taken_away(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", CLEANING, str(tmp_path / "clean")], stdout=subprocess.PIPE, text=True, cwd=results.TREE
    )
    for said in ("ready", "cleaning"):
        assert process.stdout.readline().strip() == said
        process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    assert (tmp_path / "clean").exists()


def test_every_program_beside_the_hub_is_pinned():
    measured = {program for programs in bench.BESIDE.values() for program in programs}
    assert measured == set(environments.PROGRAMS) >= {*environments.LEAST, *peers.MEASURED}
    for name in measured:
        assert re.fullmatch(r"[\w-]+ \d[\w.]*", environments.shown(name))
        assert all("==" in line for line in environments.lock(name).read_text().splitlines())
