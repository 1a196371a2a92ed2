"""A local copy of the published files, for tools that read AGENTS.md from disk; local edits become proposals."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cache import replace_file
from .errors import HubError, HubRefused
from .hub import MemoryHub
from .records import Record, file_bytes, sha256_of

STATE = ".memoryhub-sync.json"
MAX_BATCH = 200
MAX_FILE = 1024 * 1024
GIT = re.compile(r"(\.git|git~\d+)[ .]*(:.*)?$", re.IGNORECASE)  # the folder of git, as any system spells it


@dataclass
class Report:
    """What one pass did; every list holds paths of the hub."""

    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    proposed: list[dict[str, Any]] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # changed here, not proposed
    conflicts: list[str] = field(default_factory=list)  # changed here and there
    only_here: list[str] = field(default_factory=list)  # not proposed without `new`; the first pass says so
    problems: list[str] = field(default_factory=list)
    unchanged: int = 0

    def lines(self) -> list[str]:
        """The report as sentences."""
        lines = [f"updated {path}" for path in self.updated] + [f"removed {path}" for path in self.removed]
        lines += [f"proposed {item['path']} as proposal {item['number']}" for item in self.proposed]
        lines += [f"saved {path}" for path in self.applied]
        lines += [f"changed here, kept: {path} (add --propose to propose it)" for path in self.kept]
        lines += [f"changed here and in the hub, kept yours: {path}" for path in self.conflicts]
        if self.only_here:
            more = f" and {len(self.only_here) - 1} more" if self.only_here[1:] else ""
            lines.append(f"only here: {self.only_here[0]}{more} (add --new to propose what is new)")
        return lines + self.problems


class LocalCopy:
    """A directory that mirrors what lies below one prefix of the hub."""

    def __init__(
        self, hub: MemoryHub, directory: Path, prefix: str = "/memories/", *, propose: bool = False, new: bool = False
    ):
        self.hub, self.directory, self.propose, self.new = hub, directory, propose, new
        self.prefix = "/" + prefix.strip("/") + "/" if prefix.strip("/") else "/"
        self.synced: dict[str, str] = {}  # name -> sha256 of the text both sides had
        self.offered: dict[str, str] = {}  # name -> sha256 of the text that was proposed
        self.passes = 0

    def run(self) -> Report:
        """One pass: takes what was published, offers what was edited here."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._load()
        report = Report()
        published = self._published(report)
        for name, data in published.items():
            with problems_noted(report, self.prefix + name):
                if data is not None:
                    self._settle(report, name, data)
        for name in [name for name in self.synced if name not in published]:
            with problems_noted(report, self.prefix + name):
                self._settle_removed(report, name)
        if self.propose and (self.new or not self.passes):  # looking for new ones may take long
            known = {**published, **self.synced}
            self._settle_new(report, [name for name in self._local_names() if name not in known])
        self.passes += 1
        self._save()
        return report

    def _published(self, report: Report) -> dict[str, bytes | None]:
        """The texts of the hub by name; None for a file that is there and could not be read now."""
        paths = [entry["path"] for entry in self.hub.walk(self.prefix)]
        if not paths:
            self.hub.list(self.prefix)  # refuses when there is no such place, rather than emptying the copy
        # What is listed no more may lie in a folder that the hub cannot read now.
        paths += sorted({self.prefix + name for name in self.synced}.difference(paths))
        found: dict[str, bytes | None] = {}
        for start in range(0, len(paths), MAX_BATCH):
            for file in self.hub.batch(paths[start : start + MAX_BATCH]):
                if file.get("stale"):
                    raise HubError("The hub is away; the local copy stays as it is.", code="unreachable")
                name, error = file["path"][len(self.prefix) :], file.get("error")
                if not error:
                    found[name] = file_bytes(Record(file))
                elif error != "file_not_found":  # deleted since it was listed
                    found[name] = None
                    report.problems.append(f"{file['path']}: the hub cannot read it now ({error}).")
        return found

    def _settle(self, report: Report, name: str, theirs: bytes) -> None:
        mine, base, new = self._local(name), self.synced.get(name), sha256_of(theirs)
        if mine is not None and sha256_of(mine) == new:
            report.unchanged += 1
            self.synced[name] = new
            self.offered.pop(name, None)
        elif mine is None or sha256_of(mine) == base:
            self._write(name, theirs)
            self.synced[name] = new
            report.updated.append(self.prefix + name)
        elif self.propose and base == new:
            self._offer(report, name, mine)
        else:
            (report.kept if base == new else report.conflicts).append(self.prefix + name)

    def _settle_removed(self, report: Report, name: str) -> None:
        mine = self._local(name)
        if mine is not None and sha256_of(mine) != self.synced[name]:
            report.conflicts.append(self.prefix + name)
            return
        if mine is not None:
            self._place(name).unlink()
        del self.synced[name]
        report.removed.append(self.prefix + name)

    def _settle_new(self, report: Report, names: list[str]) -> None:
        for name in names:
            if self.new:
                with problems_noted(report, self.prefix + name):
                    self._offer(report, name, self._local(name))
            else:
                report.only_here.append(self.prefix + name)

    def _offer(self, report: Report, name: str, mine: bytes | None) -> None:
        if mine is None or len(mine) > MAX_FILE or self.offered.get(name) == sha256_of(mine):
            return
        outcome = self.hub.write(self.prefix + name, mine, reason="edited in a local copy")
        self.offered[name] = sha256_of(mine)
        if outcome.pending:
            report.proposed.append({"path": self.prefix + name, "number": outcome["proposal"]["number"]})
        else:
            self.synced[name] = sha256_of(mine)
            report.applied.append(self.prefix + name)

    # The directory is a wall: plain names only, and no link is followed

    def _place(self, name: str) -> Path:
        place = self.directory
        parts = name.split("/")
        if name == STATE or any(part in ("", ".", "..") or "\\" in part or "\x00" in part for part in parts):
            raise HubRefused(f"{name!r} cannot be a file here.", code="invalid_path")
        if any(GIT.match(part) for part in parts):  # what it says there is run
            raise HubRefused(f"{name!r} belongs to git.", code="invalid_path")
        for part in parts:
            place = place / part
            if place.is_symlink():
                raise HubRefused(f"{place} is a link; it is not followed.", code="invalid_path")
        return place

    def _local(self, name: str) -> bytes | None:
        try:
            return self._place(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _local_names(self) -> list[str]:
        names = []
        for folder, folders, files in os.walk(self.directory):
            folders[:] = sorted(entry for entry in folders if not entry.startswith("."))
            below = Path(folder).relative_to(self.directory)
            names += [(below / file).as_posix() for file in files if not file.startswith(".")]
        return sorted(name for name in names if not (self.directory / name).is_symlink())

    def _write(self, name: str, data: bytes) -> None:
        place = self._place(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, data, 0o644)

    # What both sides last agreed on

    def _load(self) -> None:
        try:
            state = json.loads((self.directory / STATE).read_text("utf-8"))
        except (OSError, ValueError):
            state = {}
        is_ours = state.get("prefix") == self.prefix
        self.synced = dict(state.get("files", {})) if is_ours else {}
        self.offered = dict(state.get("offered", {})) if is_ours else {}

    def _save(self) -> None:
        state = {"prefix": self.prefix, "files": self.synced, "offered": self.offered}
        text = json.dumps(state, indent=1, sort_keys=True) + "\n"
        replace_file(self.directory / STATE, text.encode(), 0o644)


@contextlib.contextmanager
def problems_noted(report: Report, path: str) -> Any:
    """One file's refusal or disk error does not stop the others."""
    try:
        yield
    except HubRefused as problem:
        report.problems.append(f"{path}: {problem.message}")
    except OSError as problem:
        report.problems.append(f"{path}: {problem.strerror or problem}")
