"""Files as agents and people write them, made up from pieces: for comparing how Markdown is read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html.parser import HTMLParser

WORDS = tuple("run tests deploy staging invoice refund gateway never always prefer style the a when after use".split())  # noqa: SIM905
BLOCKS = set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre table thead tbody tr th td hr".split())  # noqa: SIM905


class _Blocks(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in BLOCKS:
            self.found.append(tag)

    def handle_endtag(self, tag):
        if tag in BLOCKS - {"hr"}:
            self.found.append("/" + tag)


def blocks(html: str) -> list[str]:
    """The sequence of block elements of a page, with their ends."""
    reader = _Blocks()
    reader.feed(html)
    return reader.found


def sentence(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randrange(3, 12))]
    for at in range(len(words)):
        roll = rng.random()
        if roll < 0.06:
            words[at] = f"`{words[at]} --x`"
        elif roll < 0.1:
            words[at] = f"**{words[at]}**"
        elif roll < 0.12:
            words[at] = f"[{words[at]}](docs/{words[at]}.md)"
        elif roll < 0.13:
            words[at] = f"<{words[at]}-name>"
    return " ".join(words).capitalize() + rng.choice([".", ":", "", "."])


def para(rng: random.Random) -> list[str]:
    return [sentence(rng) + ("  " if rng.random() < 0.1 else "") for _ in range(rng.choice([1, 1, 1, 2, 3]))]


def bullets(rng: random.Random, depth: int = 0) -> list[str]:
    mark = rng.choice("--*+")
    ordered = rng.random() < 0.3
    loose = rng.random() < 0.2
    step = rng.choice([2, 2, 3, 4]) if not ordered else rng.choice([3, 3, 4, 2])
    lines: list[str] = []
    for n in range(rng.randrange(1, 5)):
        lead = f"{n + 1}{'.' if rng.random() < 0.95 else ')'}" if ordered else mark
        box = rng.choice(["[ ] ", "[x] "]) if rng.random() < 0.05 else ""
        lines.append(f"{lead}{' ' * rng.choice([1, 1, 1, 1, 3])}{box}{sentence(rng)}")
        roll = rng.random()
        inner: list[str] = []
        if roll < 0.2 and depth < 3:
            inner = bullets(rng, depth + 1)
        elif roll < 0.27:
            inner = fence(rng)
        elif roll < 0.33:
            inner = ["", *para(rng)]
        elif roll < 0.38:
            inner = [sentence(rng)]
        elif roll < 0.4:
            inner = quote(rng)
        elif roll < 0.42:
            lines.append(sentence(rng))  # a lazy line
        lines += [(" " * step + line) if line else "" for line in inner]
        if loose:
            lines.append("")
    return lines


def fence(rng: random.Random) -> list[str]:
    mark = rng.choice(["```", "```", "~~~", "````"])
    body = [rng.choice(["make test", "  x = 1", "", "# not a heading", "- not a list", "<b>"]) for _ in range(3)]
    return [mark + rng.choice(["", "bash", "python", " yaml"]), *body, mark]


def table(rng: random.Random) -> list[str]:
    width = rng.randrange(2, 5)
    edge = rng.choice(["| {} |", "{}"]).format
    rows = [edge(" | ".join(rng.choice(WORDS) for _ in range(width))) for _ in range(rng.randrange(1, 5))]
    return [rows[0], edge(" | ".join(rng.choice(["---", ":--", ":-:", "--:"]) for _ in range(width))), *rows[1:]]


def quote(rng: random.Random) -> list[str]:
    return [rng.choice(["> ", "> ", ">"]) + line for line in rng.choice([para, bullets, para])(rng)]


def odd(rng: random.Random) -> list[str]:
    return rng.choice(
        [
            ["---"], ["***"], ["- - -"], ["<!-- a note", "for people -->"], ["<!-- short -->"],
            ["<details>", "<summary>More</summary>", "", sentence(rng), "", "</details>"], ["    indented code", "    more"],
            [sentence(rng), "==="], [sentence(rng), "---"], ["\tcode after a tab"], ["- item", "\t- by a tab"],
            ["[ref]: https://example.com 'T'"], ["<div align=center>", sentence(rng), "</div>"], ["#no heading"],
            ["1986. not a list start?"], ["text", "2. no list"], ["* * *"], ["-", "- after an empty one"], ["- a", "", "", "- b"],
            ["#### Closed ####"], ["a | b"], ["| a |", "|---|"], ["- a", "  ", "  b"], ["1. a", "   - b", "2. c"],
            ["- a", "    - four", "        - eight"], ["* a", "", "    code?"], ["> a", "b lazy", "", "> c"], ["- a", "***", "- b"],
        ]
    )  # fmt: skip


def file(seed: int) -> str:
    """One file: headings with their parts, mostly in the usual form, now and then in an odd one."""
    rng = random.Random(seed)
    lines: list[str] = [f"# {sentence(rng)}"]
    for _ in range(rng.randrange(4, 16)):
        if rng.random() < 0.8:
            lines.append("")
        part = rng.choices([para, bullets, fence, table, quote, odd], [6, 8, 3, 1, 1, 2])[0]
        if rng.random() < 0.35:
            lines += ["#" * rng.randrange(2, 5) + " " + sentence(rng), *([""] if rng.random() < 0.7 else [])]
        lines += part(rng)
    return "\n".join(lines) + "\n"


def files(count: int) -> Iterator[str]:
    return (file(seed) for seed in range(count))
