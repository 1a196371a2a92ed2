"""The style of texts that talk a model out of its principles: no single word shows it, many of them close together do.

Each family of words counts once in a stretch, however often its words stand there, and a stretch ends where a heading, an item
of a list, a row of a table or a fence begins: who talks somebody into something goes on in sentences. Handbooks of safety, reviews of
content and honest prompts use some of the families; none of 1,591 that were looked through used enough of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..finding import Lines
from ..patterns import bounded, plain
from ..stems import groups

MAX_SPAN = 600
"""Characters within which the families have to meet."""
MIN_WEIGHT = 6.0

_FAMILIES: tuple[tuple[float, str], ...] = (
    (2.5, r"unethical\w*|immoral\w*|amoral\w*|morals|morality|ethicality|moraliz\w*|inhumane|unprincipled"),
    (1.0, r"ethic(?:s|al|ally)|moral(?:ly)?"),
    (2.5, r"uncensored|censor(?:ed|ship|ing|s)?|unfiltered\w*|filtration|filterless"),
    (1.5, r"unrestricted|unrestrained|limitless|unbound(?:ed)?|boundless|freed|unlimited|unhinged|confines|shackles|unchained|liberated"),
    (1.0, r"restrictions?|limitations|guidelines|polic(?:y|ies)|rules|filters|guardrails"),
    (2.0, r"dan|jailbreak\w*|jailbroken|stan|dude|aim"),
    (1.5, r"chatgpt\w*|openai\w*|gpt"),
    (1.5, r"illegal\w*|illicit|unlawful|legality|criminal\w*|laws"),
    (2.0, r"swear(?:s|ing)?|profan\w*|vulgar\w*|curse(?:s|d)?|cursing|obscen\w*|slurs?|nsfw|fuck\w*|bullshit|insult\w*|derogatory|racist|racism|offensive|sexual\w*|disgusting|edgy|foul|erotic\w*|shit\w*|asshole"),
    (1.0, r"harmful|dangerous|violen(?:t|ce)|malware|hack(?:ing|er)|bombs?|meth|drugs?|weapons?|murder|harm"),
    (1.0, r"roleplay\w*|pretend\w*|simulat(?:e|es|ed|ing|ion)|immers(?:e|ed)|persona|fictional|hypothetical\w*|character|acting|act|evil|machiavellian|villain"),
    (1.0, r"refus(?:e|es|al|ing|ed)|declin(?:e|es|ing)|compl(?:y|ies)|obey\w*|abide\w*|adher(?:e|es)|apologi[sz]\w*|sorry"),
    (1.0, r"disclaimers?|warnings?|caveats|lectur\w*"),
    (1.0, r"chatbot\w*|ai|ais|programmed|conscious\w*|sentient|opinions?|freedom|humans?|humanity|emotions?|feelings|biases"),
    (1.5, r"disregard\w*|ignor(?:e|es|ing)|bypass\w*|regardless|forget"),
)  # fmt: skip
_WORD = bounded("|".join(rf"(?P<f{number}>(?:{words})(?![^\W_]))" for number, (_, words) in enumerate(_FAMILIES)))
_BREAK = plain(r"\n[ \t]*(?:#|```|---|[-*+•]\s|\|)")
_ENDINGS = plain(r"\(\?:[^)]*\)\??|\\w\*|\[.*?\]|\w\?")
# How the words begin, so that no other is looked at.
(_STEMS,) = groups(" ".join(begin for _, words in _FAMILIES for begin in _ENDINGS.sub("", words).split("|")))


def jailbreak_spans(lines: Lines) -> Iterator[tuple[int, int]]:
    """Start and end of the stretches of the normalised text with words of enough families."""
    text = lines.normalised
    seen: Counter[int] = Counter()
    hits: list[tuple[int, int]] = []
    first, weight, reported = 0, 0.0, -1
    for at in lines.rows.words(_STEMS):
        match = _WORD.match(text, at)
        if match is None:
            continue
        family = int((match.lastgroup or "f0")[1:])
        if hits and _BREAK.search(text, hits[-1][0], at):
            seen.clear()
            first, weight = len(hits), 0.0
        hits.append((at, family))
        seen[family] += 1
        weight += _FAMILIES[family][0] * (seen[family] == 1)
        while hits[first][0] < at - MAX_SPAN:
            gone = hits[first][1]
            seen[gone] -= 1
            weight -= _FAMILIES[gone][0] * (seen[gone] == 0)
            first += 1
        if weight >= MIN_WEIGHT and hits[first][0] > reported:
            reported = match.end()
            yield hits[first][0], reported
