"""The client as a wheel, which the hub serves: nothing of the name `memoryhub` on a package index is ours.

The same files give the same bytes on every machine: entries are in order, stored without compression, with fixed times.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import memoryhub

CLIENT_NAME = "memoryhub-client"
PYTHON = ">=3.11"
REQUIRES = ("httpx<1,>=0.27",)
# What the frameworks bring; tests/domain/test_client_wheel.py compares with pyproject.toml.
CLIENT_EXTRAS = {
    "anthropic": ("anthropic>=0.80",),
    "deepagents": ("deepagents<0.8,>=0.7",),
    "langgraph": ("langgraph<2,>=1",),
    "mcp": ("mcp<3,>=2",),
}
PACKAGE = Path(memoryhub.__file__).parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
SUMMARY = "The client of memoryhub: prompts, files and memory of a hub, from an agent's program."


@dataclass(frozen=True)
class ClientWheel:
    """A wheel: the name of its file, its bytes and their SHA-256."""

    name: str
    content: bytes
    sha256: str
    version: str


@cache
def client_wheel() -> ClientWheel:
    """The wheel of this hub's own client, made at the first call of each process."""
    version = memoryhub.__version__
    stem = f"{CLIENT_NAME.replace('-', '_')}-{version}"
    content = zipped(with_record(packaged_files() | description(stem, version), f"{stem}.dist-info/RECORD"))
    return ClientWheel(f"{stem}-py3-none-any.whl", content, hashlib.sha256(content).hexdigest(), version)


def packaged_files() -> dict[str, bytes]:
    """The client's modules, and the package above them for its version, by their path in the wheel."""
    files = [PACKAGE / "__init__.py", *sorted((PACKAGE / "client").rglob("*.py"))]
    return {f"memoryhub/{file.relative_to(PACKAGE).as_posix()}": file.read_bytes() for file in files}


def description(stem: str, version: str) -> dict[str, bytes]:
    wheel = "Wheel-Version: 1.0\nGenerator: memoryhub\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    scripts = "[console_scripts]\nmemoryhub = memoryhub.client.commands:main\n"
    texts = {"METADATA": metadata(version), "WHEEL": wheel, "entry_points.txt": scripts}
    return {f"{stem}.dist-info/{name}": text.encode() for name, text in texts.items()}


def metadata(version: str) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {CLIENT_NAME}", f"Version: {version}", f"Summary: {SUMMARY}"]
    lines += [f"Requires-Python: {PYTHON}", *(f"Requires-Dist: {needed}" for needed in REQUIRES)]
    for extra, needs in CLIENT_EXTRAS.items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs)]
    return "\n".join(lines) + "\n"


def with_record(files: dict[str, bytes], record: str) -> dict[str, bytes]:
    """The files with the list of them that installers check: path, digest and size of each, of the list itself neither."""
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items()]
    return files | {record: "".join([*lines, f"{record},,\n"]).encode()}


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # as on Unix, wherever the hub runs
            archive.writestr(entry, content)
    return made.getvalue()
