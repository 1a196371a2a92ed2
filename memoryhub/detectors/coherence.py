"""Whether a text is something worth remembering at all: for what agents log to quarantine."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from .finding import Finding, Lines, Severity
from .known import Known

CODE = "coherence"

_LETTERS = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_ERRORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a Python traceback", re.compile(r"^[ \t]*Traceback \(most recent call last\):\s*$(?=[\s\S]{0,4000}?^\s*[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b)", re.M)),
    ("a stack trace", re.compile(r"(?:^[ \t]+at [\w$.<>/ ]+\([^)\n]*\)[ \t]*\n){3,}", re.M)),
    ("a stack trace", re.compile(r"^(?:Exception in thread|Caused by:|Uncaught \w*Error|Unhandled (?:exception|rejection|promise)|panic: |thread '[^']+' panicked|fatal error: |goroutine \d+ \[)", re.M)),
    ("an error answer", re.compile(r"^\s*(?:HTTP/\d(?:\.\d)? [45]\d\d|(?:\d{3} )?(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Too Many Requests)\b|(?:Error|ERROR|Fatal|FATAL)(?: code)?:? [45]\d\d\b|<!doctype html|<html)", re.I)),
    ("an error answer", re.compile(r"^\s*\{\s*[\"'](?:error|errors|fault)[\"']\s*:")),
    ("an error message", re.compile(r"^\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception): .{0,300}\s*$")),
    ("an error message", re.compile(r"^\s*(?:(?:error|fatal|exception|failed)(?: \w+)?:|(?:tool (?:call )?(?:error|failed)|rate limit(?:ed| exceeded)|request timed out|connection (?:refused|reset|timed out)|command not found)\b)[^\n]{0,200}\s*\Z", re.I)),
    ("an error message", re.compile(r"^\s*[\w./-]+: (?:command not found|No such file or directory|Permission denied|Segmentation fault)\s*$", re.M)),
)  # fmt: skip
_REFUSAL = re.compile(
    r"^\W{0,4}(?:(?:i['’]?m|i am|we['’]?re) (?:really |very |so )?(?:sorry|afraid|unable|not able)\b[^.\n]{0,80}\b(?:can(?:no|['’])t|cannot|unable|won['’]t|not able|not (?:possible|allowed)|"
    r"don['’]t have|do not have|help with that|assist)|(?:sorry|unfortunately|apologies|i apologi[sz]e)\b[^.\n]{0,60}\b(?:i |as an ai)[^.\n]{0,40}(?:can(?:no|['’])t|cannot|unable|won['’]t|not able|don['’]t|do not)|"
    r"as an? (?:ai|artificial intelligence|large language|language)(?: language)?(?: model| assistant)?,? i\b|i (?:can(?:no|['’])t|cannot|won['’]t|am unable to|['’]?m unable to|am not able to|must decline|have to decline) "
    r"(?:help|assist|provide|comply|fulfil|fulfill|answer|do that|create|generate|discuss|engage|continue|complete|access|process|browse|support|share)\b|"
    r"i (?:don['’]t|do not) have (?:access to|the ability|enough information|real-time|any information))",
    re.I,
)
_CUT = re.compile(
    r"(?:\[(?:output |response |text |message )?truncated[^\]]*\]|<truncated>|\.\.\. ?\(?(?:truncated|output limit|\d+ (?:more )?(?:chars|characters|lines|bytes))[^\n]*|max(?:imum)?[_ ]tokens? (?:reached|exceeded))\s*$",
    re.I,
)
_DANGLING = re.compile(
    r"(?:[,(\[{=+]|\b(?:and|or|the|a|an|of|to|with|for|in|on|that|which|because|is|are|was|by|from|as|if|but))\s*$",
    re.I,
)
_MOJIBAKE = re.compile(r"(?:Ã[\x80-\xbf©¨¤¶¼]|â€[™œ\x9d“”¦]|Â[ \xa0°§])")


def find(text: str, lines: Lines, known: Sequence[Known] = ()) -> list[Finding]:
    """Empty, gibberish, cut off, repeating, an error dump, a refusal, or broken JSON or Markdown; the first that holds of each."""
    if not text.strip():
        return [_whole(text, "empty", "high", "Incoherent: there is nothing in it.")]
    looks = (_gibberish, _repeats, _error, _refusal, _broken_json, _broken_markdown, _truncated)
    found = [one for look in looks for one in look(text, lines)]
    return [one for one in found if one.kind != "truncated" or len(found) == 1]


def _whole(text: str, kind: str, severity: Severity, message: str) -> Finding:
    return Finding(CODE, severity, 0, len(text), 1, message, kind)


def _gibberish(text: str, lines: Lines) -> Iterator[Finding]:
    sample = text[:8_000]
    solid = len(sample) - sum(map(str.isspace, sample))
    if sample.count("\ufffd") > max(2, solid // 50) or len(_MOJIBAKE.findall(sample)) > max(2, solid // 60):
        yield _whole(text, "gibberish", "mid", "Incoherent: many characters were destroyed by a wrong encoding.")
    elif solid >= 12 and sum(map(str.isalnum, sample)) < solid * 0.25:
        yield _whole(text, "gibberish", "mid", "Incoherent: hardly any letters in it.")
    elif _keyboard(sample):
        yield _whole(text, "gibberish", "mid", "Incoherent: these are not words.")


def _keyboard(sample: str) -> bool:
    """Latin words that nobody can pronounce: no vowel, five consonants in a row, or case that jumps."""
    found = [word for word in _WORD.findall(sample) if len(word) >= 4 and word.isascii()]
    if not found or len(found) * 6 < len(sample.split()) or sum(map(len, found)) < 12:
        return False
    odd = sum(len(word) for word in found if _unspeakable(word))
    return odd > sum(map(len, found)) * 0.6 and not re.search(r"[`{=/]", sample)


def _unspeakable(word: str) -> bool:
    low = word.lower()
    vowels = sum(char in "aeiouy" for char in low)
    return (
        (vowels / len(low) < 0.17 and not word.isupper())
        or bool(re.search(r"[bcdfghjklmnpqrstvwxz]{6,}", low))
        or bool(re.search(r"asdf|sdfg|dfgh|fghj|ghjk|hjkl|qwer|wert|erty|zxcv|xcvb|cvbn", low))
    )


def _repeats(text: str, lines: Lines) -> Iterator[Finding]:
    if len(text) < 40:
        return
    sample = text[:20_000]
    rows = [row.strip() for row in sample.splitlines() if len(row.strip()) > 3]
    common, times = Counter(rows).most_common(1)[0] if rows else ("", 0)
    told = _LETTERS.search(common)
    tokens = sample.casefold().split()
    if told and times >= 5 and times > len(rows) * 0.6:
        yield _whole(text, "repetition", "mid", f"Incoherent: the same line {times} times.")
    elif len(tokens) >= 12 and len(set(tokens)) <= max(2, len(tokens) // 12):
        yield _whole(text, "repetition", "mid", "Incoherent: the same few words over and over.")
    elif len(set(sample)) <= 2 or re.search(r"(\S{3,80}?\s*)\1{9,}\S{0,80}\s*$", text[-2000:]):
        yield _whole(text, "repetition", "mid", "Incoherent: it repeats itself to the end.")


def _error(text: str, lines: Lines) -> Iterator[Finding]:
    """A dump that stands at the beginning or fills most of the text; knowledge about an error is knowledge."""
    for what, pattern in _ERRORS:
        match = pattern.search(text, 0, max(2000, len(text) // 2))
        if match and (match.start() < 200 or match.start() < len(text) / 2):
            number = lines.number(match.start())
            yield Finding(
                CODE, "mid", match.start(), match.end(), number, f"Incoherent: {what}, not knowledge.", "error-dump"
            )
            return


def _refusal(text: str, lines: Lines) -> Iterator[Finding]:
    if match := _REFUSAL.search(text[:400]):
        yield Finding(
            CODE,
            "mid",
            match.start(),
            match.end(),
            1,
            "Incoherent: the model declined; there is no output in it.",
            "refusal",
        )


def _broken_json(text: str, lines: Lines) -> Iterator[Finding]:
    body = text.strip()
    if len(body) < 2 or not re.match(r"\{\s*(?:[\"'}]|$)|\[\s*(?:[\[{\"\d\-]|true|false|null)", body):
        return
    if body[0] == "[" and re.match(r"\[[^\]\n]*\](?:\(|:|\s|$)", body):
        return
    try:
        json.loads(body)
    except RecursionError:
        yield _whole(text, "json", "mid", "Incoherent: JSON nested too deep to read.")
    except ValueError as error:
        at = getattr(error, "pos", 0) + text.index(body)
        message = f"Incoherent: it begins as JSON and breaks in line {lines.number(at)}."
        yield Finding(CODE, "mid", min(at, len(text) - 1), len(text), lines.number(at), message, "json")


def _broken_markdown(text: str, lines: Lines) -> Iterator[Finding]:
    if "```" not in text and "~~~" not in text:
        return
    opened: tuple[str, int] | None = None
    for match in re.finditer(r"^[ \t]{0,3}(`{3,}|~{3,})(.*)$", text, re.M):
        fence, rest = match.group(1), match.group(2)
        if opened is None and not ("`" in rest and fence[0] == "`"):
            opened = (fence, match.start())
        elif opened and fence[0] == opened[0][0] and len(fence) >= len(opened[0]) and not rest.strip():
            opened = None
    if opened:
        number = lines.number(opened[1])
        message = f"Incoherent: the code block of line {number} is never closed."
        yield Finding(CODE, "mid", opened[1], len(text), number, message, "markdown")


def _truncated(text: str, lines: Lines) -> Iterator[Finding]:
    body = text.rstrip()
    match = _CUT.search(body[-200:])
    if match or (len(body) > 80 and _DANGLING.search(body[-40:])):
        start = max(0, len(body) - len(match.group() if match else body[-12:]))
        yield Finding(
            CODE, "mid", start, len(body), lines.number(start), "Incoherent: it stops in the middle.", "truncated"
        )
