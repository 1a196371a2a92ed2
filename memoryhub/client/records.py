"""What calls return: JSON objects that also read as attributes, and texts with their metadata."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import unquote


class Record(dict):
    """One JSON object of the hub; `record.number` and `record["number"]` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {sorted(self)}") from None


Records = list[Record]  # for classes with a method `list`


class FileText(str):
    """The text of a file, with its metadata in `info`; `stale` says that it is the last good copy on disk."""

    info: Record
    data: bytes
    stale: bool

    @property
    def text(self) -> str:
        return str(self)

    @classmethod
    def from_json(cls, info: dict[str, Any], *, stale: bool = False) -> FileText:
        data = file_bytes(info)
        text = cls(data.decode("utf-8", "replace") if info.get("encoding") == "base64" else info["content"])
        text.info, text.data, text.stale = Record(info), data, stale
        return text

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        if name in ("info", "data", "stale"):
            raise AttributeError(name)
        return getattr(self.info, name)


class Prompt(str):
    """The exact text of a prompt; `sha256` over its bytes, `stale` when it is the last good copy on disk.

    `warnings` says what to know about it, as `{"code", "path"}` each; `prompt_details` has their sentences.
    """

    sha256: str
    stale: bool
    warnings: Records

    @property
    def text(self) -> str:
        return str(self)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)

    @classmethod
    def from_text(cls, text: str, *, stale: bool = False, warnings: str = "") -> Prompt:
        """A prompt from the body of an answer and its header `Memoryhub-Warnings`."""
        prompt = cls(text)
        prompt.warnings = read_warnings(warnings)
        prompt.sha256 = sha256_of(text.encode("utf-8", "surrogatepass"))
        prompt.stale = stale
        return prompt


def read_warnings(header: str) -> Records:
    """The warnings of a header such as `cut;path="/memories/AGENTS.md", over_budget`."""
    found = []
    for item in filter(None, map(str.strip, header.split(","))):
        code, _, rest = item.partition(";")
        name, _, value = rest.partition("=")
        found.append(Record(code=code, path=unquote(value.strip('"')) if name == "path" else None))
    return found


class Outcome(Record):
    """What became of a write: applied at once, or a proposal that waits for a person."""

    @property
    def applied(self) -> bool:
        return self.get("status") == "applied"

    @property
    def pending(self) -> bool:
        return self.get("status") == "pending"

    @property
    def message(self) -> str:
        """The sentence an agent should read."""
        if self.pending:
            proposal = self["proposal"]
            return pending_text(proposal["number"], proposal.get("path") or "", proposal.get("stacked_on"))
        return f"Saved as revision {self['revision']}." if self.get("revision") else "Done."


PENDING_START = "Recorded as proposal "


def pending_text(number: int, path: str, stacked_on: int | None = None) -> str:
    """Tells an agent that its change waits for a person, so that it neither retries nor goes around the gate."""
    still = "the file is unchanged" if path else "nothing of it is remembered"
    stacked = f" It builds on your proposal {stacked_on} and is decided after that one." if stacked_on else ""
    return (
        f"{PENDING_START}{number} for {path or 'long-term memory'}. A person reviews it before it takes effect; until "
        f"then {still}. This is expected and not a failure: do not retry, do not write it elsewhere, carry on with "
        f"the task. Sending the same change again leads to the same proposal {number}.{stacked}"
    )


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_bytes(info: dict[str, Any]) -> bytes:
    if info.get("encoding") == "base64":
        return base64.b64decode(info["content"])
    return info["content"].encode("utf-8", "surrogatepass")
