"""Copies of a text are found in every stored form, by patterns as by the index of many."""

from __future__ import annotations

import base64
import html
import json
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryhub.text import needles
from memoryhub.text.needles import Needles, by_lines, by_stars, cut_out, pieces_of
from tests.cases import for_each
from tests.text.samples import clock

TEXT = 'Frau Müller, “die vom 3. Stock”,\n\tsaid "yes" & left at 7 <early>.'
FORMS = {
    "itself": TEXT,
    "other line ends": TEXT.replace("\n", "\r\n"), "one line": " ".join(TEXT.split()), "decomposed": unicodedata.normalize("NFD", TEXT),
    "JSON": json.dumps({"a": [TEXT]}), "JSON with letters": json.dumps({"a": [TEXT]}, ensure_ascii=False),
    "HTML": html.escape(TEXT), "a URL": "files/" + quote(TEXT, safe=""),
    "base64": base64.b64encode(b"before " + TEXT.encode() + b" behind").decode(),
    "base64, one byte later": base64.b64encode(b"before: " + TEXT.encode()).decode(),
    "UTF-16 in base64": base64.b64encode(f"before {TEXT} behind".encode("utf-16")).decode(),
    "UTF-16 of the other order in base64": base64.urlsafe_b64encode(f"{TEXT} behind".encode("utf-16-be")).decode(),
    "shortened": TEXT.split("\n")[0][:20] + "…", "cut off": "note: " + " ".join(TEXT.split())[:30],
}  # fmt: skip


@for_each(FORMS)
def test_a_text_is_found_in_every_form(form):
    found = Needles({TEXT})
    assert found.is_in(FORMS[form].encode())
    assert not found.is_in(found.replace(FORMS[form].encode(), by_lines))


@for_each(["utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_read_too_and_stays_one(encoding):
    found, text = Needles({TEXT}), "first\n{}\nlast\n"
    data = text.format(TEXT).encode(encoding)
    assert found.is_in(data)
    assert found.replace(data, by_lines).decode(encoding) == text.format("[erased]\n[erased]")


@for_each(["Frau Müller", "Frau Müller, who lives elsewhere, said no.", "", "…", "yes"])
def test_other_words_are_not(other):
    assert not Needles({TEXT}).is_in(other.encode())


def test_pieces_are_long_enough_to_be_somebodys_own():
    assert pieces_of("ok") == pieces_of("duplicate") == set()
    assert pieces_of("key-4711") == {"key-4711"}
    said = pieces_of("- It rained on Monday in Leeds. We stayed in.\n- and so on\n")
    assert {"It rained on Monday in Leeds. We stayed in.", "It rained on Monday in Leeds."} < said


def test_a_cut_takes_lines_of_which_nothing_is_left():
    text = b"# A\n\n- secret words here\n- 2. secret words here, and more\n\nlast"
    found = Needles({"secret words here"})
    assert cut_out(text, found.spans(text)) == b"# A\n\n- 2. , and more\n\nlast"
    over_lines = b"one\nbegins secret\nwords here ends\ntwo\n"
    assert cut_out(over_lines, Needles({"secret\nwords here"}).spans(over_lines)) == b"one\nbegins \n ends\ntwo\n"


WORDS = st.lists(st.sampled_from(["alpha", "bravo", "Zürich", "…", "\n", "delta"]), min_size=3, max_size=9).map(
    " ".join
)


@given(st.sets(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=4))
@example({"bravo bravo bravo alpha", "alpha alpha alpha"}, ["bravo bravo bravo bravo"])
def test_many_are_found_as_few_are(chosen, around):
    data = "|".join([*around, *chosen, *around]).encode()
    few = Needles(chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(needles, "MANY", 0)
        many = Needles(chosen)
    assert many.is_in(data) and few.is_in(data)
    covered = {at for start, end in many.spans(data) for at in range(start, end)}
    assert all(at in covered for start, end in few.spans(data) for at in range(start, end))
    for one in (few, many):  # copies that overlap are one to the index, and the first of them to a pattern
        assert not few.is_in(one.replace(data, by_lines)) and not many.is_in(one.replace(data, by_lines))


@given(st.binary(max_size=80), st.sets(st.binary(min_size=6, max_size=20), max_size=4))
def test_marks_keep_lines_and_offsets(data, chosen):
    found = Needles({one.decode("utf-8", "surrogateescape") for one in chosen})
    assert found.replace(data, by_lines).count(b"\n") == data.count(b"\n")
    assert len(found.replace(data, by_stars)) == len(data)
    assert set(cut_out(data, found.spans(data)).split(b"\n")) <= set(data.split(b"\n")) or found.is_in(data)


@pytest.mark.attack
def test_a_hundred_thousand_texts_are_looked_for_at_once():
    many = Needles(f"what agent {n} said on day {n * 7} of the year" for n in range(100_000))
    text = "".join(f"line {n} of a long file that says nothing of it\n" for n in range(4000)).encode()
    assert clock(lambda: many.is_in(text)) < 2.0
    assert many.is_in(text + b"- what agent 77777 said on day 544439 of the year\n")
