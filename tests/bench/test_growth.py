"""The measurement of growth runs at tiny sizes and draws its curves; its figures mean nothing here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.etree import ElementTree

import pytest

from tests.bench import curves, growth, table

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def measured(tmp_path_factory, migrated_once):
    place = tmp_path_factory.mktemp("growth")
    rows, drawing = place / "rows.json", place / "growth.svg"
    tiny = [
        "--copy",
        str(migrated_once),
        "--sizes",
        "40",
        "60",
        "--others",
        "5",
        "--rounds",
        "1",
        "--seconds",
        "0.02",
        "--lines",
        "2",
        "--svg",
        str(drawing),
    ]
    environment = {**os.environ, table.ROWS_FILE: str(rows)}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.bench.growth", *tiny], env=environment, capture_output=True, text=True
    )
    assert rows.exists(), ended.stderr
    return json.loads(rows.read_text()), drawing.read_text()


@pytest.mark.attack  # twelve seconds
def test_every_call_is_compared_with_the_smallest_and_every_page_with_its_limit(measured):
    rows, _ = measured
    for call in growth.CALLS:
        mine = [one for one in rows if one["what"].startswith(f"{call}: ")]
        assert {one["what"].partition(": ")[2] for one in mine} == {"60 records and chunks", "5 spaces", "5 agents"}
        assert all(one["met"] is not None for one in mine)
    pages = [one for one in rows if one["what"].startswith("page, ")]
    assert len(pages) == len(growth.PAGES) * 4
    assert {one["asked"] for one in pages} == {"at most 100 ms"}


@pytest.mark.attack  # twelve seconds
def test_the_curves_are_drawn(measured):
    drawn = ElementTree.fromstring(measured[1])
    lines = drawn.findall(f".//{SVG}polyline")
    assert len(lines) == 3 * (len(growth.CALLS) + len(growth.PAGES))
    assert {len(line.get("points").split()) for line in lines} == {2}


def test_a_curve_stands_between_round_numbers_and_its_labels_apart():
    drawn = curves.draw([curves.Panel("Two", ["1", "10"], {"one": [1.0, 100.0], "other": [1.0, 101.0]}, limit=100)])
    found = ElementTree.fromstring(drawn)
    texts = {text.text: text for text in found.iter(f"{SVG}text") if text.text}
    assert {"1 ms", "2 ms", "5 ms", "10 ms", "100 ms", "at most 100 ms"} <= texts.keys()
    one = found.find(f".//{SVG}polyline")
    first, last = (point.split(",") for point in one.get("points").split())
    assert float(first[1]) > float(last[1])  # what takes longer stands higher
    ends = [float(text.get("y")) for text in found.iter(f"{SVG}text") if text.find(f"{SVG}tspan") is not None]
    assert abs(ends[0] - ends[1]) > 15


def test_an_answer_that_takes_longer_than_a_round_is_waited_for():
    class Slow(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            time.sleep(0.05)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = growth.Place("one", "one", "", address=server.server_address)
        each, told = growth.cost_of(place, lambda place: place.page(""), 200, 1, 0.001, lambda _: 0.0)
        server.shutdown()
    assert told.took and not told.wrong
    assert each > 0
