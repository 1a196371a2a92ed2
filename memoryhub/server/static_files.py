"""Collects static files for `memoryhub up`: named by the hash of their content, compressed, again only when one changed."""

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
LARGE_FILE = 100_000  # bytes; from here on brotli's best quality takes seconds and saves only a tenth
# What our own files in css/ and js/ are stored without: comments, and in styles line breaks. In scripts only whole lines are comments.
LEFT_OUT = {
    "css": (re.compile(rb"(?:\s*/\*.*?\*/|\s*\n)+\s*", re.DOTALL), b" "),
    "js": (re.compile(rb"^\s*//.*\n", re.MULTILINE), b""),
}

# The styles of the pages' parts, in the order of the cascade; collected, each group travels as one file. Those of texts and
# what is decided on them are left out where no text is shown; styles of a single page are files of their own in css/.
GROUPS = {
    "texts": ("files", "diffs", "decision", "prompts", "layers", "narrow_texts"),
    "parts": ("shell", "controls", "surfaces", "lists", "drawings", "narrow"),
}


class SizedCompressor(Compressor):
    """Compresses small files with brotli's best quality, and large ones (the API page's library) with a quick one."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        return brotli.compress(data, quality=11 if len(data) < LARGE_FILE else 6)


class HashedStorage(CompressedManifestStaticFilesStorage):
    """Names files by the hash of their content, so that browsers may cache them for ever, and compresses each."""

    # Without the patterns for source maps, which are not collected; addresses in stylesheets get their hash.
    patterns = tuple(
        (kind, tuple(pattern for pattern in patterns if "sourceMappingURL" not in str(pattern)))
        for kind, patterns in CompressedManifestStaticFilesStorage.patterns
    )

    def _save(self, name: str, content: File) -> str:
        """Store our own styles and scripts without what browsers do not need."""
        if kind := LEFT_OUT.get(Path(name).parts[0]):
            pattern, instead = kind
            content = ContentFile(pattern.sub(instead, b"".join(content.chunks())))
        return super()._save(name, content)

    def post_process(self, paths: dict[str, Any], *args: Any, **options: Any) -> Iterator[Any]:
        """Joins the styles of parts before names and compressed twins are made: eleven requests would be slower than two."""
        for group, names in GROUPS.items():
            parts = [paths.pop(f"css/parts/{name}.css") for name in names]
            joined = f"css/{group}.css"
            self.delete(joined)
            paths[joined] = (self, self._save(joined, ContentFile(b"".join(_content(*part) for part in parts))))
        yield from super().post_process(paths, *args, **options)

    def create_compressor(self, **options: Any) -> Compressor:
        return SizedCompressor(**options)


def _content(storage: Storage, path: str) -> bytes:
    with storage.open(path) as file:
        return file.read()


def are_collected() -> bool:
    """Whether no file changed since they were collected into STATIC_ROOT."""
    try:
        return (Path(settings.STATIC_ROOT) / STAMP).read_text() == fingerprint()
    except FileNotFoundError:
        return False


def collect() -> None:
    """Collect all of them into STATIC_ROOT."""
    root, current = Path(settings.STATIC_ROOT), fingerprint()
    root.mkdir(parents=True, exist_ok=True)
    (root / STAMP).unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=UNUSED)
    (root / STAMP).write_text(current)


def fingerprint() -> str:
    """A hash of the path, size and time of every static file, the version and the storage class."""
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
