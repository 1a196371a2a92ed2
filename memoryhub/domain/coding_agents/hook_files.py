"""Settings files of coding agents into which the hub's hook is put: the change is shown first, the file before is kept."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass

from memoryhub.domain.coding_agents.hook_settings import AgentHook, installed_command, with_hook, without_hook
from memoryhub.errors import Conflict, Invalid, Unavailable
from memoryhub.text.diff import unified_bytes

MAX_SETTINGS = 4 << 20
BACKUP_ENDING = ".before-memoryhub"  # the end of the name under which the file before is kept


@dataclass(frozen=True)
class SettingsChange:
    """A change of a settings file before it is made; None is no file. `restores` is the kept file that it puts back."""

    path: str
    before: bytes | None
    after: bytes | None
    restores: str = ""

    @property
    def is_none(self) -> bool:
        return self.before == self.after

    @property
    def diff(self) -> str:
        return unified_bytes(self.before, self.after, self.path)


def read_settings(path: str) -> bytes | None:
    """The bytes of a settings file, None for none."""
    try:
        with open(path, "rb") as file:
            found = file.read(MAX_SETTINGS + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.", code="settings_unreadable") from None
    if len(found) > MAX_SETTINGS:
        raise Invalid(f"{path} is too large for settings.", code="no_json")
    return found


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError:
        raise Invalid("The settings are no UTF-8: they are not touched.", code="no_json") from None


def plan_install(hook: AgentHook, path: str, command: str) -> SettingsChange:
    """What installing changes."""
    before = read_settings(path)
    text = _text(before)
    after = text if installed_command(hook, text) == command else with_hook(hook, text, command)
    return SettingsChange(path, before, before if before is not None and after == text else after.encode())


def plan_uninstall(hook: AgentHook, path: str) -> SettingsChange:
    """What uninstalling changes: the file before comes back byte for byte where nothing else changed since, else the entry goes."""
    now = read_settings(path)
    text = _text(now)
    command = installed_command(hook, text)
    if now is None or not command:
        return SettingsChange(path, now, now)
    for kept in backups_of(path):
        earlier = read_settings(kept)
        if earlier is not None and _made(hook, earlier, command) == text:
            return SettingsChange(path, now, earlier, kept)
    if text == with_hook(hook, "", command):
        return SettingsChange(path, now, None)
    return SettingsChange(path, now, without_hook(hook, text).encode())


def _made(hook: AgentHook, earlier: bytes, command: str) -> str:
    try:
        return with_hook(hook, _text(earlier), command)
    except Invalid:
        return ""


def backups_of(path: str) -> list[str]:
    """The files under which earlier states of a settings file are kept, newest first."""
    folder, name = os.path.split(path)
    try:
        found = [
            one for one in os.listdir(folder) if re.fullmatch(re.escape(name + BACKUP_ENDING) + r"(-\d{1,6})?", one)
        ]
    except OSError:
        return []
    return [os.path.join(folder, one) for one in sorted(found, key=_count, reverse=True)]


def _count(name: str) -> int:
    number = name.rpartition(BACKUP_ENDING)[2].lstrip("-")
    return int(number) if number else 1


def make_change(change: SettingsChange) -> str:
    """Makes a change that somebody saw, in one step, if the file is still what it was; answers where the file before is kept."""
    if change.is_none:
        return ""
    real = os.path.realpath(change.path)  # settings that are a link stay one
    if read_settings(change.path) != change.before:
        raise Conflict(f"{change.path} has changed. Review it again.", code="changed_since_seen")
    try:
        kept = "" if change.restores or change.after is None else _back_up(change)
        if change.after is None:
            os.unlink(real)
            return ""
        os.makedirs(os.path.dirname(real), mode=0o700, exist_ok=True)
        mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o600
        beside = f"{real}.memoryhub-{os.getpid()}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode)
        os.replace(beside, real)
        if change.restores:  # it is what stands in the file again
            os.unlink(change.restores)
    except OSError as error:
        raise Unavailable(f"{change.path} cannot be written: {error.strerror}.", code="settings_unwritable") from None
    return kept


def _back_up(change: SettingsChange) -> str:
    """Keeps the file as it is under a name of its own; the same content is kept once."""
    if change.before is None:
        return ""
    kept = backups_of(change.path)
    for one in kept:
        if read_settings(one) == change.before:
            return one
    path = change.path + BACKUP_ENDING + (f"-{_count(kept[0]) + 1}" if kept else "")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(change.before)
    return path


def own_command(program: str, data_dir: str = "") -> str:
    """The command that runs a hook from anywhere, without loading anything from the folder that it is started in."""
    script = os.path.join(os.path.dirname(sys.executable), "memoryhub")
    found = script if os.access(script, os.X_OK) else shutil.which("memoryhub")
    words = [os.path.abspath(found)] if found else [sys.executable, "-P", "-m", "memoryhub"]
    return shlex.join([*words, "hook", program, *(["--data-dir", data_dir] if data_dir else [])])
