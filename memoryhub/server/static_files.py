"""Static files as `memoryhub up` serves them: collected, named by their content, compressed; again only when changed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import brotli
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from django.core.management import call_command
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

STAMP = ".collected"
# Source maps and libraries that no page of ours loads.
UNUSED = ["*.map", "redoc*", "htmax*"]
LARGE_FILE = 100_000  # bytes; from here on brotli's best takes seconds and saves a tenth
# Only ours: css/ and js/ at the top. A line of a script is a comment as a whole, or none.
COMMENTS = {"css": re.compile(rb"\s*/\*.*?\*/", re.DOTALL), "js": re.compile(rb"^\s*//.*\n", re.MULTILINE)}

# The styles of the pages' parts, in the order of the cascade; collected, they travel as one file.
PARTS = (
    "shell", "controls", "surfaces", "lists", "files", "diffs", "decision", "prompts", "drawings", "narrow", "layers",
)  # fmt: skip
JOINED = "css/parts.css"


def part_styles() -> list[str]:
    """The static files that hold the styles of parts: one where files are collected, else each as it lies in the tree."""
    return [JOINED] if settings.COLLECTED else [f"css/parts/{name}.css" for name in PARTS]


class QuickCompressor(Compressor):
    """Squeezes small files as far as it goes and large ones (the API page's library) quickly."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        return brotli.compress(data, quality=11 if len(data) < LARGE_FILE else 6)


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Names with the content's hash, so that browsers may keep them for ever; a compressed twin of each."""

    # Addresses in stylesheets get their hash too; references to source maps, which are not collected, stay as they are.
    patterns = tuple(
        (kind, tuple(pattern for pattern in patterns if "sourceMappingURL" not in str(pattern)))
        for kind, patterns in CompressedManifestStaticFilesStorage.patterns
    )

    def _save(self, name: str, content: File) -> str:
        """Our own styles and scripts travel without their comments, which say why to whoever reads the tree."""
        comment = COMMENTS.get(Path(name).parts[0])
        if comment:
            content = ContentFile(comment.sub(b"", b"".join(content.chunks())))
        return super()._save(name, content)

    def post_process(self, paths: dict[str, Any], *args: Any, **options: Any) -> Iterator[Any]:
        """Joins the styles of parts before names and compressed twins are made: eleven requests would be slower than one."""
        parts = [paths.pop(f"css/parts/{name}.css") for name in PARTS]
        self.delete(JOINED)
        paths[JOINED] = (self, self._save(JOINED, ContentFile(b"".join(_content(*part) for part in parts))))
        yield from super().post_process(paths, *args, **options)

    def create_compressor(self, **options: Any) -> Compressor:
        return QuickCompressor(**options)


def _content(storage: Storage, path: str) -> bytes:
    with storage.open(path) as file:
        return file.read()


def collect_if_changed() -> bool:
    """Collect into STATIC_ROOT unless the files are those of the last time; say whether it was done."""
    root, now = Path(settings.STATIC_ROOT), fingerprint()
    try:
        if (root / STAMP).read_text() == now:
            return False
    except FileNotFoundError:
        pass
    root.mkdir(parents=True, exist_ok=True)
    (root / STAMP).unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=UNUSED)
    (root / STAMP).write_text(now)
    return True


def fingerprint() -> str:
    """Changes with any file's place, size or time, and with the storage that makes something of them."""
    digest = hashlib.sha256(f"{_version()} {settings.STORAGES['staticfiles']['BACKEND']}".encode())
    for finder in get_finders():
        for name, storage in finder.list(ignore_patterns=UNUSED):
            stat = os.stat(storage.path(name))
            digest.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _version() -> str:
    try:
        return version("memoryhub")
    except PackageNotFoundError:  # run from the tree
        return "tree"
