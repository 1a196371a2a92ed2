"""Experience that reads like a helpful recipe and does harm where it is followed: advice for a reviewer to look closely.

Each kind is a sentence that tells what to do: data, credentials or traffic go to an address; a check is loosened; something
from outside is installed or run, or gives the orders; somebody is asked for credentials; answers are steered to somebody's gain.
Beside the sentences that signs know, `wording` weighs the words of each stretch of a text.
Honest memory says such things too (a compiler's own `curl … | sh`), so nothing is held for it. What a text forbids, describes or
lists as a mistake is no advice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from .. import chinese
from ..costs import spend
from ..duplicate import KnownText
from ..finding import Finding, Lines
from ..injection.mention_or_order import describes_option, fences, is_in_code, is_listed_as_wrong, is_mention
from ..patterns import Found, bounded, plain
from ..stems import Together
from . import chinese_signs, recipe_signs, signs, wording
from .signs import Sign

CODE = "risky_advice"
SIGNS = (*signs.SIGNS, *recipe_signs.SIGNS)
_TOGETHER = Together([sign.words for sign in SIGNS])
_CHINESE_RULES = chinese.Rules(chinese_signs.RULES)
MAX_FINDINGS = 20
_LONG, _LINE = 2_000, 300  # characters of a text, and of a line on both sides of a sign
_AGREES = -1.3
"""What the line of a weak sign scores at least."""
_NEAR = 80
_UNDER_HEADING, _TITLE = 2_000, 600  # characters above a place, and of the beginning of a text

_FORBIDS = bounded(
    r"\b(?:never|no|nobody|without|not|don't|mustn't|cannot|can't|shouldn't|avoid\w*|forbid\w*|prohibit\w*|refus\w*|reject\w*|block\w*|prevent\w*|declin\w*|den(?:y|ies|ied)|disallow\w*|against|instead\s+of|"
    r"rather\s+than|no\s+longer|kein\w{0,2}|nicht|niemals|jamais|pas\s+de|nunca|jamás|никогда|нельзя|nor|opt\s+out|bypass\s+sparingly|lets?\s+(?:an?|the)\s+\w+|tempt\w*|reach(?:es|ing)?\s+for|detect\w*|flags?|warn\w*|fails?\s+(?:if|when)|error\s+(?:if|when)|which|that\s+(?:can|could|may|might|would))\b[^.;:\n]{0,60}$",
    reach=200,
)
_DENIED = bounded(
    r"[^.\n]{0,40}?\b(?:is|are)\s+(?:never|not|forbidden|prohibited|disallowed|banned|blocked|dangerous|unsafe|insecure|wrong|an?\s+(?:risk|smell|anti-?pattern|bug|vulnerability))\b|[^.\n]{0,20}\b(?:bypass(?:es|ing)?|attempts?)\b|"
    r"[^.\n]{0,12}\bonly\s+(?:when|if|with|on)\b|[^.\n]{0,16}(?:禁止|不可|しない|使わない|verboten|interdit|prohibido)|\s+(?:exposes?|reduces?|increases?|risks?|leaves|breaks?|opens|means)\b|[^.\n]{0,40}\(not\s+recommended"
)
_WARNS = bounded(
    r"\b(?:attack(?:s|ers?)?|vulnerab\w+|exploit\w*|malicious|anti-?patterns?|red\s+flags?|wrong|bad|unsafe|insecure\s+(?:code|example)|why\s+blocked|blocked|impact|never|don't|do\s+not|avoid)\b[*_`]{0,3}\s?:|❌|✗|🚫|⛔|"
    r"\b(?:attack(?:s|ers?)?\b(?!\.\w)|vulnerab\w+|exploit\w*|malicious|malware|obfuscat\w+|should\s+be\s+blocked|skips?\s+\w+\s+hooks)\b"
)
_NEGATED = bounded(r"(?:^|[.!?:\n*-]\s{0,4})(?:never|do\s+not|don't|must\s+not|no)\s[^.!?\n]{0,60}$")
_REPORTED = bounded(
    r"\b(?:prefers?|wants?|likes?|remember|learn\w*|note[ds]?|found|requires?|means|asked|decided|agreed|request\w*)\s+that\s+$"
)
"""What somebody is said to want is as good as an order."""
# What the verb of an order stands behind; behind a noun it only tells what that does.
_ORDERS = bounded(
    r"(?:^|[.;:,!?()\[\]{}/*\"'`>|=+–—•-]\s{0,4}|\b(?:always|we|you|i|they|to|and|or|then|please|just|simply|also|should|must|can|may|do|team|now|instead|safely|first|temporarily|usually|fine|"
    r"ok|okay|safe|by|for|when|before|after|while|it|best|better|is|are|was|be|helps?|lets?|could|would|will|either|consider|recommend|suggest|try|prefer|often|sometimes|immediately|automatically|"
    r"silently|quickly|directly|agents?|everyone|anyone|with|from|via|if|once|off|on|only|can't|never|not))\s{0,4}[*_`\"']{0,3}$"
)
_INSTALLERS = bounded(
    r"\b(?:astral\.sh|(?:sh|win)\.rustup\.rs|rustup\.rs|bun\.(?:sh|com)|deno\.land|get\.docker\.com|install\.python-poetry\.org|get\.pnpm\.io|fnm\.vercel\.app|ollama\.(?:com|ai)|mise\.(?:run|jdx\.dev)|"
    r"get\.sdkman\.io|foundry\.paradigm\.xyz|(?:deb|rpm)\.nodesource\.com|claude\.ai/install|fly\.io/install|starship\.rs|nixos\.org|install\.determinate\.systems|pyenv\.run|just\.systems|get\.volta\.sh|"
    r"get\.helm\.sh|cli\.github\.com|(?:www\.)?cygwin\.com|go\.dev|nodejs\.org|(?:www\.)?python\.org|brew\.sh|raw\.githubusercontent\.com/(?:homebrew|nvm-sh|helm|pyenv|ohmyzsh|rust-lang)/|"
    r"dot\.net|aka\.ms|get\.k3s\.io|tailscale\.com/install|install\.duckdb\.org|cursor\.com/install|opencode\.ai/install|pypi\.tuna\.tsinghua\.edu\.cn|mirrors\.(?:aliyun|tuna|ustc|cloud\.tencent|huaweicloud)|registry\.npmmirror\.com|get\.haskellup\.org|get-ghcup\.haskell\.org|julialang\.org)"
)
"""Where widely used programs are installed from; what else comes from there has been looked at by others."""


_OF_GIT = bounded(r"\b(?:commits?|push|rebase|merge|git|hooks?)\b|\b(?:use|using|add|pass|run|append)\s+[`\"'*]{0,3}$")
"""Other programs have an option of this name, too."""
_OWN_HOSTS = bounded(
    r"localhost|127\.0\.|0\.0\.0\.0|(?:github|gitlab|gitee)\.com|npmjs\.(?:com|org)|pypi\.org|(?:mirrors\.)?(?:aliyun|tuna\.tsinghua|ustc)\.(?:com|edu)|\bexample\.(?:com|org)|\b(?:socket|draw)\.io"
)
"""Where code commonly comes from and goes to."""
_CODE_HOSTS = bounded(r"https://(?:raw\.githubusercontent|github|gitlab)\.com/")
"""In a block of code that shows how to install; in a sentence they are advice like any other."""
_OPTION_BEFORE = bounded(
    r"`(?:[^`\n]{0,40}\s)?-{1,2}[a-z][^`\n]{0,40}`\s?[(:—–-]\s?$|[|\]]\s?$|^[ \t]{0,8}then\s[^\n]{0,60}$|^(?:argument-hint|usage|options)\b[^\n]{0,80}$"
)
_ITEM_OF_COMMANDS = bounded(r"^[ \t]{0,8}[-*|+]?[ \t]{0,4}`[^`\n]{0,60}$")
_DESCRIPTION = bounded(r"[^`\n]{0,40}`[ \t]{0,2}(?:[-:—–|]|->)[ \t]")
"""A list of commands, each with what it does."""
_QUOTES = ('"', "'", "“", "”")


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """One finding per line and kind, at most twenty. What is written in another way counts as well."""
    found = _found(lines)
    for read in lines.readings:
        for one in _found(Lines(read.plain)):
            found.append(_moved(one, lines, *read.span(one.start, one.end)))
    for run in lines.decoded:
        found += [_moved(one, lines, run.start, run.end) for one in _found(Lines(run.plain))[:1]]
    return list({(one.line, one.kind): one for one in reversed(found)}.values())[:MAX_FINDINGS]


def _moved(one: Finding, lines: Lines, start: int, end: int) -> Finding:
    return replace(one, start=start, end=end, line=lines.number(start))


def _found(lines: Lines) -> list[Finding]:
    found: dict[tuple[int, str], Finding] = {}
    for one, start, end in _in_chinese(lines):
        first, last = lines.in_original(start, end)
        number = lines.number(first)
        found.setdefault((number, one.kind), _finding(one, first, last, number))
        if len(found) >= MAX_FINDINGS:
            return list(found.values())
    for place, stretches in lines.rows.near(_TOGETHER):
        sign = SIGNS[place]
        for start, end in _places(sign, lines, stretches):
            first, last = lines.in_original(start, end)
            number = lines.number(first)
            found.setdefault((number, sign.kind), _finding(sign, first, last, number))
            if len(found) >= MAX_FINDINGS:
                return list(found.values())
    known = list(found.values())
    by_wording = (one for one in _by_wording(lines) if not any(_overlap(one, other) for other in known))
    return known + list(islice(by_wording, MAX_FINDINGS))


def _by_wording(lines: Lines) -> Iterator[Finding]:
    """Stretches that no sign knows, by their words; on the line of the one that weighs most."""
    text = lines.normalised
    for start, end, words in wording.suspicious(text):
        spend()
        at = max(start, text.find(wording.written(words[0]), start, end))
        if _is_warned_of(lines, start, end) or _NEGATED.search(text[max(start, at - _NEAR) : at]):
            continue
        if _INSTALLERS.search(text, start, end):
            continue
        (first, last), (heaviest, _) = lines.in_original(start, end), lines.in_original(at, end)
        says = f"its words together are those of texts that turn agents to other ends (most of all: {', '.join(words)})"
        yield Finding(CODE, "mid", first, last, lines.number(heaviest), f"Needs attention: {says}.", "wording")


def _overlap(one: Finding, other: Finding) -> bool:
    return one.start < other.end and other.start < one.end


def _in_chinese(lines: Lines) -> Iterator[tuple[chinese.Rule, int, int]]:
    text = chinese.text_of(lines)
    for one, start, end in chinese.found_by(_CHINESE_RULES, text):
        is_own = one.kind in ("sends", "runs") and _OWN_HOSTS.search(text, start, end + 40)
        if not is_own and not is_listed_as_wrong(text, start):
            yield one, start, end


def _places(sign: Sign, lines: Lines, stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for match in _matches(sign, lines, stretches):
        if not _is_only_described(sign, lines, *match.span()) and not (
            sign.is_weak and _is_by_the_way(lines, *match.span())
        ):
            yield match.span()


def _is_by_the_way(lines: Lines, start: int, end: int) -> bool:
    """In a long text, on a line whose words are not those of advice to do harm."""
    text = lines.normalised
    if len(text) <= _LONG:
        return False
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    return wording.score(text[max(first, start - _LINE) : min(last, end + _LINE)]) < _AGREES


def _matches(sign: Sign, lines: Lines, stretches: Iterable[tuple[int, int]]) -> Iterator[Found]:
    text = lines.normalised
    if sign.beyond:
        stretches = [(start, min(end + sign.beyond, len(text))) for start, end in stretches]
    if sign.opens is None:
        for start, end in stretches:
            spend()
            if sign.needs is None or sign.needs.search(text, start, end):
                yield from sign.pattern.finditer(text, start, end)
    else:
        places = lines.rows.words(sign.opens)
        for start, end in stretches if sign.needs else ():
            near = list(_near_needed(sign, text, places[bisect_left(places, start) : bisect_left(places, end)], end))
            yield from sign.pattern.matches_at(text, near, [(start, end)])
        if not sign.needs:
            yield from sign.pattern.matches_at(text, places, stretches)


def _near_needed(sign: Sign, text: str, places: Iterable[int], end: int) -> Iterator[int]:
    """The places behind which stands within reach what a hit needs."""
    at = -1
    for place in places:
        if at < place and sign.needs:
            if not (found := sign.needs.search(text, place, end)):
                return
            at = found.start()
        if at <= place + sign.pattern.reach:
            yield place


def _is_only_described(sign: Sign, lines: Lines, start: int, end: int) -> bool:
    """Whether the words around a place only tell of what stands there, or warn of it."""
    text = lines.normalised
    before = text[max(text.rfind("\n", 0, start) + 1, start - _NEAR) : start]
    if (
        chinese.is_guarded(text, start)
        or _FORBIDS.search(before)
        or _DENIED.match(text, end)
        or _is_warned_of(lines, start, end)
    ):
        return True
    if sign.is_order and not _ORDERS.search(before):
        return True
    if text.startswith("--no-verify", start) and not _OF_GIT.search(before):
        return True
    if sign.kind == "runs" and _INSTALLERS.search(text, start, end + 80):
        return True
    if sign.kind == "runs" and _CODE_HOSTS.search(text, start, end + 80) and is_in_code(lines, start):
        return True
    if _ITEM_OF_COMMANDS.search(before) and _DESCRIPTION.match(text, end):
        return True
    is_piped = sign.kind == "runs" and before.endswith("| ")
    if (_OPTION_BEFORE.search(before) and not is_piped) or (sign.is_order and _is_name(text, start, end)):
        return True
    if _is_title_of_link(text, start, end):
        return True
    if _REPORTED.search(before):
        return False
    return describes_option(text, start, True) or is_mention(text, start, end)


def _is_title_of_link(text: str, start: int, end: int) -> bool:
    """`[Upload files to S3](https://…)`: a title and where it leads."""
    return text[start - 1 : start] == "[" and "](" in text[start:end] and start > 0


def _is_name(text: str, start: int, end: int) -> bool:
    """Words alone between quotes are what something is called."""
    return text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES and start > 0


_HEADING = plain(r"(?m)^ {0,3}#{1,6} [^\n]{0,200}")
_ABOUT_ATTACKS = bounded(
    r"\b(?:attack\w*|exfiltrat\w*|malicious|malware|vulnerab\w*|exploit\w*|dangerous|detect\w*|obfuscat\w*|injections?|reverse\s+shells?|backdoors?|red\s+flags?|anti-?patterns?|insecure|threats?|risky|misconfig\w*|compromis\w*|payloads?|poison\w*|suspicious|cves?|pitfalls|mistakes)\b"
)
"""In a heading: what stands below it shows what not to do."""


def _stands_under_warning(lines: Lines, start: int) -> bool:
    """Whether the nearest heading above a place, not far away, says that attacks or mistakes are shown, or the title does."""
    text, opened = lines.normalised, lines.cached("fences", fences)
    at = bisect_left(opened, start)
    places = [start, opened[at - 1]] if at % 2 else [start]  # in code the nearest may be a comment
    above = [text.rfind("\n#", max(0, place - _UNDER_HEADING), place) for place in places]
    headings = [*(_HEADING.match(text, place + 1) for place in above if place >= 0), _HEADING.search(text, 0, _TITLE)]
    return any(match is not None and _ABOUT_ATTACKS.search(match.group()) for match in headings)


def _is_warned_of(lines: Lines, start: int, end: int) -> bool:
    """A line that speaks of attacks, or stands under a comment or a heading that calls it wrong."""
    text = lines.normalised
    if _stands_under_warning(lines, start):
        return True
    first = text.rfind("\n", 0, max(0, text.rfind("\n", 0, start))) + 1
    last = text.find("\n", end)
    return bool(_WARNS.search(text, max(first, start - 4 * _NEAR), min(len(text) if last < 0 else last, end + _NEAR)))


def _finding(sign: Sign | chinese.Rule, start: int, end: int, number: int) -> Finding:
    return Finding(CODE, "mid", start, end, number, f"Needs attention: {sign.says}.", sign.kind)
