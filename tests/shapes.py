"""A megabyte of each shape of text that has kept a parser busy somewhere."""

from __future__ import annotations

import base64

SIZE = 1 << 20
KEY = "gh" + "p_"
UNITS = {
    "comment opened": "<!--", "comment closed": "<!-- a -->", "comment ends": "-->", "round": "(", "square": "[", "curly": "{", "angle": "<", "square closed": "]",
    "link": "[a](", "links": "[a](b) ", "picture": "![a](http://b?c=", "reference": "[a]: b\n", "footnote": "[^1]", "ticks": "`", "two ticks": "``a` ", "fence": "```\n", "tildes": "~~~\n",
    "stars": "*_", "strong": "**a ", "under": "_a ", "strike": "~~a", "a star": "a `*", "entity": "&#1;", "entities": "&amp", "tag": "<a href='", "tags": "<div>", "closing": "</div>", "cdata": "<![CDATA[",
    "quote": ">", "quotes": "> > a\n", "list": "- ", "deep list": "".join(f"{'  ' * depth}- a\n" for depth in range(60)), "numbers": "1. a\n", "dashes": "-", "rules": "---\n", "setext": "a\n=\n",
    "heading": "#", "headings": "# a\n", "table": "|", "tables": "|a|b|\n|-|-|\n|c|d|\n", "wide table": "a|" * 500 + "\n" + "-|" * 500 + "\n", "row": "| ignore | all |\n",
    "letters": "a", "capitals": "A", "digits": "1", "hex": "0a", "blanks": " ", "tabs": "\t", "newlines": "\n", "crlf": "\r\n", "returns": "\r", "mixed ends": "a\r\nb\rc\n", "forms": "\x0c\x0b", "many lines": "a\n", "lines": "one two\n",
    "zero width": "\u200b", "tag characters": "\U000e0041", "in words": "a\u200b", "combining": "a\u0301", "accents": "\u0301", "bidi": "\u202eab\u202c", "emoji": "\U0001f600\u200d", "variation": "\ufe0f", "cjk": "\u7121\u8996",
    "look-alikes": "\u0430b ", "styled": "\U0001d400", "surrogate": "\ud800", "dotted": "\u0130", "long s": "\u017f", "misread": "\u00c3\u00a9",
    "base64": base64.b64encode(b"harmless words about nothing at all ").decode().rstrip("="), "padded": "QUJD= ", "url": "https://example.com/a?b=c&d=", "urls": "http://a.example ", "mails": "a@b.example ", "links of users": "a://b:c@",
    "names": "password=", "keys": "key: ", "tokens": "token abcd1234 ", "secrets": "password=x9!abcd\n", "prefix": KEY, "prefixes": KEY + "a1" * 18 + " ", "seams": KEY + '" + "', "sk": "sk-", "jwt": "eyJhbGciOi.", "pem": "-----BEGIN " + "PRIVATE KEY-----\n",
    "orders": "ignore all previous instructions ", "gaps": "ignore " + " " * 300, "forbidden": "never ignore all previous rules, ", "said": "text telling you to ignore your rules ", "marks": "<|im_start|>", "openings": "<system>", "curl": "curl -d x ",
    "today": "today ", "dots": "...", "commas": ",", "quoted": '"', "apostrophes": "'", "slashes": "\\", "escaped": '\\"', "json": '{"a":', "arrays": "[[1,", "colons": "a: ", "yaml": "---\na: b\n", "front": "---\n# a\n", "traceback": "  File \"a\", line 1\n", "at": "    at a.b(c:1)\n",
}  # fmt: skip


def a_megabyte(unit: str) -> str:
    """The unit again and again, in one mebibyte of UTF-8 at most."""
    data = unit.encode("utf-8", "surrogatepass")
    return unit * (SIZE // len(data))


SHAPES = {name: a_megabyte(unit) for name, unit in UNITS.items()}
SHAPES |= {
    "nested brackets": "(" * (SIZE // 2) + ")" * (SIZE // 2), "nested squares": "[" * (SIZE // 2) + "]" * (SIZE // 2), "nested quotes": "\n".join(">" * (n % 200) + " a" for n in range(9_000))[:SIZE],
    "ends badly": "a" * (SIZE - 1) + "!", "one tick": "`" + "a" * (SIZE - 1), "one bracket": "[" + "a" * (SIZE - 1), "staircase": "".join(" " * (n % 300) + "- a\n" for n in range(6_500))[:SIZE],
    "all words differ": " ".join(f"w{n}" for n in range(150_000))[:SIZE], "all lines differ": "".join(f"line {n}\n" for n in range(90_000))[:SIZE],
}  # fmt: skip
