"""A diff as text, in the unified form that `patch` and `git apply` read (pure)."""

from __future__ import annotations

from collections.abc import Iterator

from memoryhub.text.lines import Span, changes, is_text, split, text_of


def unified_bytes(old: bytes | None, new: bytes | None, path: str) -> str:
    """The unified diff of two contents; where one of them is no text, a sentence with the two sizes."""
    if is_text(old or b"") and is_text(new or b""):
        return unified(None if old is None else text_of(old), None if new is None else text_of(new), path)
    sizes = ["no file" if one is None else f"{len(one)} byte{'s' * (len(one) != 1)}" for one in (old, new)]
    return "" if old == new else f"Binary file {path.lstrip('/')}: {sizes[0]} before, {sizes[1]} after\n"


def unified(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """The unified diff of two texts. None is no file, which an empty one is not."""
    before, after = split(old or ""), split(new or "")
    blocks = list(_blocks(changes(before, after), context))
    if not blocks and (old is None) == (new is None):
        return ""
    name = path.lstrip("/")
    lines = [
        "--- /dev/null\n" if old is None else f"--- a/{name}\n",
        "+++ /dev/null\n" if new is None else f"+++ b/{name}\n",
    ]
    for block in blocks:
        lines.extend(_block_lines(block, before, after, context))
    return "".join(lines)


def _blocks(spans: list[Span], context: int) -> Iterator[list[Span]]:
    """Changes whose lines of context meet, in one block."""
    block: list[Span] = []
    for span in spans:
        if block and span[0] - block[-1][1] > 2 * context:
            yield block
            block = []
        block.append(span)
    if block:
        yield block


def _block_lines(block: list[Span], old: list[str], new: list[str], context: int) -> Iterator[str]:
    before = min(context, block[0][0])
    after = min(context, len(old) - block[-1][1])
    i, j = block[0][0] - before, block[0][2] - before
    i_end, j_end = block[-1][1] + after, block[-1][3] + after
    yield f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@\n"
    for i1, i2, j1, j2 in [*block, (i_end, i_end, j_end, j_end)]:
        yield from (_line(" ", line) for line in old[i:i1])
        yield from (_line("-", line) for line in old[i1:i2])
        yield from (_line("+", line) for line in new[j1:j2])
        i = i2


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
