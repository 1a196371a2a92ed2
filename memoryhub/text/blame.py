"""Who wrote which line (pure): one key per line after a chain of revisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from memoryhub.text.match import changes, common_length


@dataclass
class Blame:
    """The key of each line of a text after a chain of revisions; feed it the revisions in their order.

    Only what lies between the first and the last change of a revision is split into lines, so long histories
    of long files stay cheap. A text that stood before (a restore) gets back the keys it had then, if its sha is
    in `again`.
    """

    again: frozenset[str] = frozenset()
    text: bytes = b""
    keys: list[int] = field(default_factory=list)
    known: dict[str, list[int]] = field(default_factory=dict)

    @property
    def lines(self) -> list[int]:
        """One key for each line; what follows the last newline counts only if there is something."""
        return self.keys if self.text and not self.text.endswith(b"\n") else self.keys[:-1]

    def feed(self, key: int, text: bytes, sha: str = "") -> None:
        if sha in self.known:
            self.keys = self.known[sha]
        elif not self.keys:
            self.keys = [key] * (text.count(b"\n") + 1)
        elif text != self.text:
            self.keys = self._next(key, text)
        self.text = text
        if sha in self.again:
            self.known[sha] = self.keys

    def _next(self, key: int, text: bytes) -> list[int]:
        before, after, head, tail = _middle(self.text, text)
        keys = self.keys[head : len(self.keys) - tail]
        middle: list[int] = []
        at = 0
        for i1, i2, j1, j2 in changes(before, after):
            middle += keys[at:i1] + [key] * (j2 - j1)
            at = i2
        return self.keys[:head] + middle + keys[at:] + self.keys[len(self.keys) - tail :]


def _middle(old: bytes, new: bytes) -> tuple[list[bytes], list[bytes], int, int]:
    """The lines between the common head and tail of two texts, and how many lines head and tail have."""
    limit = min(len(old), len(new))
    head = common_length(limit, lambda at, n: old[at : at + n] == new[at : at + n])
    head = old.rfind(b"\n", 0, head) + 1
    a, b = len(old), len(new)
    tail = common_length(limit - head, lambda at, n: old[a - at - n : a - at] == new[b - at - n : b - at])
    # The tail begins at the start of a line, in both texts.
    cut = old.find(b"\n", a - tail) + 1 if tail else 0
    tail = a - cut if cut else 0
    before, after = old[head : a - tail], new[head : b - tail]
    lines = [part.split(b"\n")[: -1 if tail else None] for part in (before, after)]
    return lines[0], lines[1], old.count(b"\n", 0, head), old.count(b"\n", a - tail) + 1 if tail else 0


def blame(revisions: Sequence[tuple[int, bytes]]) -> list[int]:
    """The key of the revision that wrote each line of the last text."""
    shas = [sha256(text).hexdigest() for _, text in revisions]
    state = Blame(again=frozenset(sha for sha, count in Counter(shas).items() if count > 1))
    for (key, text), sha in zip(revisions, shas, strict=True):
        state.feed(key, text, sha)
    return state.lines
