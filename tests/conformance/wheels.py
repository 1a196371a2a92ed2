"""The library's own wheels, fetched once, and its own memory middleware loaded out of each of them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memoryhub-tests" / "wheels"
VERSIONS = ("0.3.4", "0.3.7", "0.4.3", "0.6.2", "0.6.3", "newest")


def fetch(version: str) -> Path:
    """The wheel of this version; `newest` asks the index each time, the others are fetched once."""
    kept = CACHE / f"deepagents-{version}-py3-none-any.whl"
    if kept.exists():
        return kept
    folder = CACHE / "newest" if version == "newest" else CACHE
    folder.mkdir(parents=True, exist_ok=True)
    wanted = "deepagents" if version == "newest" else f"deepagents=={version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        str(folder),
    ]
    done = subprocess.run([*command, wanted], capture_output=True, text=True)
    assert done.returncode == 0, f"pip could not download {wanted}: {done.stderr.strip()[-500:]}"
    return max(folder.glob("deepagents-*.whl"), key=version_key) if version == "newest" else kept


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def version_key(wheel: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in version_of(wheel).split(".") if number.isdigit())


def library(wheel: Path) -> ModuleType:
    """The memory module of the wheel, run beside the installed library: its helpers come from the same wheel."""
    folder = wheel.with_suffix("")
    if not folder.exists():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    middleware = folder / "deepagents" / "middleware"
    importlib.import_module("langchain_anthropic")  # once: the patch drops what is imported meanwhile
    with mock.patch.dict(sys.modules):
        if (middleware / "_utils.py").exists():
            run_file(middleware / "_utils.py", "deepagents.middleware._utils")
        return run_file(middleware / "memory.py", "deepagents.middleware.memory")


def run_file(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Response:
    def __init__(self, path: str, content: bytes | None, error: str | None) -> None:
        self.path, self.content, self.error = path, content, error


class Files:
    """A backend with these files and no others; a value of None is a missing one, a text an error code."""

    def __init__(self, files: dict[str, bytes | str | None]) -> None:
        self.files = files

    def download_files(self, paths: list[str]) -> list[Response]:
        return [self.one(path) for path in paths]

    def one(self, path: str) -> Response:
        found = self.files.get(path)
        if isinstance(found, bytes):
            return Response(path, found, None)
        return Response(path, None, found or "file_not_found")


def what_it_sends(module: Any, paths: list[str], files: dict[str, bytes | str | None], base: str) -> str:
    """The system message that this version of the library makes: loaded, formatted and placed by its own code."""
    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import SystemMessage

    own = module.MemoryMiddleware(backend=Files(files), sources=paths)
    update = own.before_agent({}, None, None)
    request = ModelRequest(
        model=None,
        messages=[],
        system_message=SystemMessage(base) if base else None,
        state={"messages": [], **update},
    )
    return own.modify_request(request).system_message.text
