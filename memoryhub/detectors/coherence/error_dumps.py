"""Errors as programs print them. A text that explains an error is knowledge: what stands beside a dump counts."""

from __future__ import annotations

from collections.abc import Iterator

from ..cjk import CJK
from ..finding import Lines, Problem
from ..patterns import Bounded, bounded, linear, plain

_MAX_READ = 20_000  # characters of a text
_MIN_PROSE = 12
"""So many words beside a dump make it an explanation, or as many as two fifths of the dump's own."""

_NO_PROSE = r"(?!\s*(?:is|are|was|were|means?|meant|happens?|comes?|occurs?|raised|thrown|when|if|that|catch|see|use|retry|restart|handling|pages?|errors?|messages?)\b)"
_CUE = (
    r"\b(?:not|no such|cannot|can['’]?t|couldn['’]?t|unable|fail(?:ed|ure|s)?|invalid|unexpected|undefined|unknown|missing|denied|"
    r"refused|time[d -]*out|expired|unauthori[sz]ed|forbidden|exceeded|does(?:n['’]t| not)|already exists|aborted|crash(?:ed)?|overflow|"
    r"out of|unavailable|unsupported|rejected|(?:\w+_)?error|exited?|E[A-Z]{4,}|[45]\d\d|0x[0-9a-f]+)\b"
)
_STATUS = r"(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Too Many Requests|Not Found|Forbidden|Unauthorized|Bad Request)"
_ERRORS: tuple[tuple[str, Bounded], ...] = (
    ("a Python traceback", bounded(r"^[ \t]*Traceback \(most recent call last\):\s*$(?=[\s\S]{0,8000}?^\s*[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b)", "m", 8_200)),
    ("a stack trace", bounded(r"(?:^[ \t]+at [^\n]{1,300}(?:\([^)\n]*\)|:\d+)[ \t]*(?:\n|\Z)){2,}", "m", 8_000)),
    ("a stack trace", bounded(rf"^(?:Exception in thread\b|Caused by:|Uncaught \w*Error\b|Unhandled (?:exception|rejection|promise)\b|panic: |thread '[^']+' (?:\([^)]*\) )?panicked|fatal error: |goroutine \d+ \[){_NO_PROSE}", "m")),
    ("an error answer", bounded(rf"\A\s*(?:HTTP/\d(?:\.\d)? [45]\d\d\b|(?:(?:Error|Status)(?: code)?:? ?)?(?:[45]\d\d )?{_STATUS}\b(?=[ \t]*(?:[.!:\n<]|\Z))|(?:Error|Fatal|Status)(?: code)?:? [45]\d\d\b{_NO_PROSE}[^\n]{{0,80}}\s*\Z)", "i")),
    ("an error page", bounded(rf"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html)[\s\S]{{0,2000}}?<(?:title|h1)[^>]*>\s*(?:[45]\d\d\b|error\b|access denied|{_STATUS}|just a moment|attention required)", "i", 3_000)),
    ("an error answer", bounded(r"\A\s*\{\s*[\"'](?:error|errors|fault)[\"']\s*:(?!\s*(?:null|none|false|0|\[\s*\]|\{\s*\}|\"\"|'')\s*[,}])", "i")),
    ("an error message", bounded(rf"\A\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception): {_NO_PROSE}[^\n]{{0,300}}\s*\Z")),
    ("an error message", bounded(rf"\A\s*(?:[a-z_]\w*\.)+[A-Z]\w+: {_NO_PROSE}(?=[^.\n]*{_CUE})[^\n]{{0,300}}\s*(?:\nLINE \d[^\n]*\s*)?\Z")),
    ("an error message", bounded(rf"\A\s*(?:(?:api|server|http|request|network|database|internal|runtime|provider|tool) )?(?:error|fatal|exception)(?: \d+)?(?: ?[\[(]\w+[\])])?: {_NO_PROSE}(?=[^.\n]*?{_CUE})[^\n]{{0,200}}\s*(?:\n(?:LINE \d|DETAIL|HINT)[^\n]*\s*){{0,3}}\Z", "i")),
    ("an error message", bounded(rf"\A\s*(?:failed to \w+ [^\n.]{{3,120}}[.!]?|tool (?:call )?(?:error|failed)\b{_NO_PROSE}[^\n]{{0,200}}|(?:rate limit(?:ed| exceeded)|request timed out|connection (?:refused|reset|timed out)|segmentation fault|command not found)(?=\s*(?:[.:;!(\n]|by\b|from\b|to\b|after \d|for\b|\Z))(?![^\n]*\b(?:happens?|means?|is|are|was|were|goes?)\b)[^\n]{{0,120}})\s*\Z", "i")),
    ("an error message", bounded(r"^\s*(?:[\w./-]+: ){1,2}(?:line \d+: )?(?:[^\n:]{1,60}: )?(?:command not found|No such file or directory|Permission denied|Segmentation fault|Connection refused)\b[^\n]{0,20}$", "m")),
    ("an error message", bounded(r"^(?:npm (?:ERR!|error) |make(?:\[\d+\])?: \*\*\* |curl: \(\d+\) |E: (?:Unable|Could not) |error\[E\d+\]: |ld: |[\w./-]+:\d+:\d+: (?:fatal )?error: )[^\n]*$", "m")),
)  # fmt: skip
# Lines that belong to a dump; what is indented does so too.
_OF_A_DUMP = linear(
    r"^(?:\s|$|Traceback |File |During handling|The above exception|Caused by|Exception in|Uncaught |Unhandled |goroutine |panic: |thread '|"
    r"(?:[\w.$]+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit)\b|main\.|HTTP/|[A-Z][\w-]+: \S+$|<|\{|\}|[\"']|npm |make|curl: |fatal|error|"
    r"LINE \d|DETAIL|HINT|E: |(?:[\w./-]+: ){1,2}\S|note: |\d+:|=+$|\.\.\. \d+)",
    "i",
)
_WORDS = plain(r"[^\W\d_]+")


def error_dump(text: str, lines: Lines) -> Iterator[Problem]:
    """A dump with next to nothing beside it."""
    beginning = text[:_MAX_READ]
    for what, pattern in _ERRORS:
        if (match := pattern.search(beginning)) and not _is_explained(beginning):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            yield "error-dump", start, match.end(), f"{what}, not knowledge."
            return


def _is_explained(text: str) -> bool:
    rows = text.splitlines()
    if len(rows) == 1:
        return False
    dumped = beside = 0
    for row in rows:
        words = len(_WORDS.findall(row)) + len(CJK.findall(row)) // 2
        if _OF_A_DUMP.match(row):
            dumped += words
        else:
            beside += words
    return beside >= max(_MIN_PROSE, dumped * 0.4)
