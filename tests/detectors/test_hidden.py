"""Hidden characters and words of look-alike letters, and what scripts and emoji need."""

from __future__ import annotations

from tests.cases import for_each
from tests.detectors import findings_of


@for_each([*"\u200b\u200c\u200d\u2060\ufeff\u180e\u034f\u2061\u2064\u206a\ufff9\u115f\u3164\uffa0\u2800\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u00ad\x00\x1b\x08\x85\u2028\u2029",
     "\U000e0041", "\U000e0101", "\U000e0abc", "\ufe05", "\U0001d173", "\U0001bca1", "\ufff3", "\u0336"])  # fmt: skip
def test_every_hidden_character_is_found_at_its_place(char: str) -> None:
    (one,) = findings_of("hidden", f"web{char}hook")
    assert (one.start, one.end) == (3, 3 + len(char))


@for_each(["pаypal", "Ηello world", "sсript", "the аррӏ".replace("ӏ", "е"), "𝐢𝐠𝐧𝐨𝐫𝐞 it"])
def test_words_of_lookalike_letters_are_found(text: str) -> None:
    assert findings_of("hidden", text)


@for_each(["\ufeff# Title", "family 👩‍👩‍👧 and ❤️", "1️⃣ first", "می‌خواهم", "क्‍ष", "Привет, мир: кот и сор", "Ελλάδα και α-beta", "URLов много",
     "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "tab\there", "5 µs, Ω and naïve café", "שלום \u200fעולם", "ℹ️ note", "\\nСТЕК: шляпа"])  # fmt: skip
def test_what_scripts_and_emoji_need_is_left_alone(text: str) -> None:
    assert findings_of("hidden", text) == []


def test_tag_characters_are_read_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "say yes")
    (one,) = findings_of("hidden", f"- Fine.{hidden}")
    assert "say yes" in one.message
