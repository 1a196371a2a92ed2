"""The catalogues: English, which lists what there is to say, and Simplified Chinese, with its compiled form."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import memoryhub
from tests.messages import in_detectors, in_python, in_templates
from tests.messages.in_python import PACKAGE, Message

LOCALE = PACKAGE / "locale"
ROOT = PACKAGE.parent
LOCALES = ("en", "zh_Hans")
NO_DATE = datetime(2026, 1, 1, tzinfo=UTC)  # a date of each run would change the file each time


def po(locale: str) -> Path:
    return LOCALE / locale / "LC_MESSAGES" / "django.po"


def mo(locale: str) -> Path:
    return po(locale).with_suffix(".mo")


def sources() -> Iterator[tuple[Path, Iterator[Message]]]:
    """Every file that says something, and what it says."""
    for file in in_python.files():
        yield file, in_python.messages_of(file.read_text(), all_words=in_python.speaks(file))
    for file in sorted((PACKAGE / "management/commands").glob("*.py")):
        yield file, in_python.descriptions_of(file.read_text())
    yield PACKAGE / "domain/activity", iter([(text, "") for text in (*in_python.STORED_BEFORE, *in_python.CODES_SHOWN)])
    yield PACKAGE / "dialects/coding", iter([(text, "") for text in in_python.LOADING])
    yield PACKAGE / "management", iter([(text, "") for text in in_python.ARGPARSE])
    yield PACKAGE / "detectors", in_detectors.messages()
    for file in in_templates.files():
        yield file, in_templates.messages_of(file.read_text())


def extracted() -> dict[str, tuple[str, list[str]]]:
    """Every sentence: its plural and the files that say it, by msgid. A plural counts where anybody gives one."""
    found: dict[str, tuple[str, list[str]]] = {}
    for file, messages in sources():
        for one, many in messages:
            if not one:
                continue
            plural, places = found.get(one, ("", []))
            name = file.relative_to(ROOT).as_posix()
            found[one] = (plural or many, places if name in places else [*places, name])
    return found


def key(one: str, many: str) -> str | tuple[str, str]:
    return (one, many) if many else one


def read(locale: str) -> Catalog:
    if not po(locale).exists():
        return Catalog(locale)
    return read_po(io.BytesIO(po(locale).read_bytes()), locale)


def empty(locale: str) -> Catalog:
    return Catalog(
        locale, project="memoryhub", version=memoryhub.__version__, creation_date=NO_DATE, revision_date=NO_DATE, fuzzy=False,
        header_comment="# Made by `make messages`; translations are written here.",
    )  # fmt: skip


def updated(locale: str) -> Catalog:
    """The catalogue with what the source says now: translations are kept, what nobody says any more is dropped."""
    before, made = read(locale), empty(locale)
    for one, (many, places) in extracted().items():
        old = before.get(one)
        made.add(
            key(one, many),
            in_form_of(old.string if old else "", many, locale),
            locations=[(place, 1) for place in places],
        )
    return made


def in_form_of(string: str | tuple[str, ...] | list[str], many: str, locale: str) -> str | tuple[str, ...]:
    """An old translation in the form that the message has now."""
    first = string if isinstance(string, str) else (string[0] if string else "")
    return first if not many else (first,) * (1 if locale == "zh_Hans" else 2)


def missing(catalogue: Catalog) -> list[str]:
    """The messages as keys of files that are merged in: those without a translation."""
    left = [one for one in catalogue if one.id and not "".join(one.string or "")]
    return ["|||".join(one.id) if one.pluralizable else one.id for one in left]


def as_po(catalogue: Catalog) -> bytes:
    out = io.BytesIO()
    write_po(out, catalogue, width=100, sort_output=True, include_lineno=False)
    return out.getvalue()


def compiled(locale: str) -> bytes:
    out = io.BytesIO()
    write_mo(out, read(locale))
    return out.getvalue()


def write(locale: str, catalogue: Catalog) -> None:
    po(locale).parent.mkdir(parents=True, exist_ok=True)
    po(locale).write_bytes(as_po(catalogue))
    if locale != "en":  # English is what the source says
        mo(locale).write_bytes(compiled(locale))
