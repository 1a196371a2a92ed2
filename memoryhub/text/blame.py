"""Which revision wrote each line of a text (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field

from memoryhub.text.match import changes, common_length


@dataclass
class Blame:
    """One key for each line of a text, after the revisions that were added in their order.

    Only what lies between the first and the last change of a revision is split into lines, so long histories of long
    files stay cheap. A restored text gets back the keys that it had before, if its sha is in `repeated`.
    """

    repeated: frozenset[str] = frozenset()
    text: bytes = b""
    keys: list[int] = field(default_factory=list)
    keys_by_sha: dict[str, list[int]] = field(default_factory=dict)

    @property
    def lines(self) -> list[int]:
        """One key for each line; what follows the last newline counts only if there is something."""
        return self.keys if self.text and not self.text.endswith(b"\n") else self.keys[:-1]

    def add(self, key: int, text: bytes, sha: str = "") -> None:
        """The next revision: its key, its whole text and the text's sha."""
        if sha in self.keys_by_sha:
            self.keys = self.keys_by_sha[sha]
        elif not self.keys:
            self.keys = [key] * (text.count(b"\n") + 1)
        elif text != self.text:
            self.keys = self._keys_after(key, text)
        self.text = text
        if sha in self.repeated:
            self.keys_by_sha[sha] = self.keys

    def _keys_after(self, key: int, text: bytes) -> list[int]:
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
