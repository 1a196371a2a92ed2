"""How a framework, at a version, wraps memory into a prompt: `resolve` a name, `render` ingredients.

One file per family. A file here that defines `FAMILY` is a dialect: being there lists it and puts it under the tests of all dialects.
Everything is plain data in and out.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import Any

from memoryhub.errors import Invalid

from . import _budget
from ._rules import without_comments
from ._shapes import (
    CUT_ORDER,
    MISSING,
    UNUSED,
    Block,
    Dialect,
    Entry,
    Family,
    Form,
    Ingredients,
    Part,
    Piece,
    Rendered,
    Source,
    Warn,
)
from .size import BYTES_PER_TOKEN, tokens_of_bytes, tokens_of_text

VERSION = re.compile(
    r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})((?:a|b|rc|\.?dev)[0-9]*)?(?:\.?post[0-9]+)?(?:\+[\w.]+)?", re.IGNORECASE
)


AUTO = "auto"  # the setting of an agent that gets what it asks for
DEFAULT = "hub"
MEMORY_OFF = Warn("memory_off", None, "Memory is switched off for this agent: the text is the base prompt alone.")


@cache
def families() -> dict[str, Family]:
    """Every family there is, by name; ours first."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found = {module.FAMILY.name: module.FAMILY for module in modules if hasattr(module, "FAMILY")}
    return dict(sorted(found.items(), key=lambda pair: (pair[0] != "hub", pair[0])))


def names() -> list[str]:
    """Every name that `resolve` takes without a version of its own, newest form of a family first."""
    return [form.name for one in families().values() for form in reversed(one.forms)]


@lru_cache(maxsize=512)
def resolve(name: str) -> Dialect:
    """The form that serves this name: the newest that is not above the version asked for."""
    head, slash, tail = name.strip().partition("/")
    family = families().get(head)
    version = read_version(tail) if slash else None
    if family is None or (slash and (version is None or not family.newest)):
        raise unknown(name)
    if version is None:
        return Dialect(family.name, family.forms[-1])
    fitting = [form for form in family.forms if form.since <= version]
    if not fitting:
        raise unknown(name)
    compared = version <= family.newest and PRE_RELEASE not in version
    return Dialect(family.name, fitting[-1], version, verified=compared, named=tail)


def of_agent(named: str, setting: str, reported: Mapping[str, Any]) -> Dialect:
    """The dialect that a call gets which names this one, or none (`""`, `auto`): then the agent's own setting.

    Of a setting of `auto` it is the library and version that the agent's client reported, else `hub`: what earlier calls named
    changes nothing. A version that nobody named is the one that the client reported.
    """
    library, version = str(reported.get("library") or ""), str(reported.get("version") or "")
    name = named if named not in ("", AUTO) else setting
    if name != AUTO:
        return with_version(name, library, version)
    with suppress(Invalid):  # a client can report anything
        return with_version(f"{library}/{version}" if version else library, library, version)
    return resolve(DEFAULT)


def with_version(name: str, library: str, version: str) -> Dialect:
    """The dialect of this name; one without a version in that of the library, if it is the library's."""
    if "/" not in name and name == library and version:
        with suppress(Invalid):  # the newest form is used then
            return resolve(f"{name}/{version}")
    return resolve(name)


@lru_cache(maxsize=256)
def same_bytes(one: Dialect, other: Dialect) -> bool:
    """Whether two dialects make the same of everything: versions of one form with memory in the same place."""
    sample = Ingredients(base="base", sources=(Source("/path", "text"),))
    return one.form == other.form and render(one, sample).placement == render(other, sample).placement


def read_version(text: str) -> tuple[int, ...] | None:
    """The numbers of a version, at least three; a pre-release sorts just below its release."""
    match = VERSION.fullmatch(text)
    if not match:
        return None
    numbers = [int(digits) for digits in match[1].split(".")]
    numbers += [0] * (3 - len(numbers))
    if match[2]:
        numbers = before(numbers)
    return tuple(numbers)


PRE_RELEASE = 10**6  # in the place of a number: such a version stands below its release and above all others


def before(numbers: list[int]) -> list[int]:
    """The greatest version below this one, as far as comparing goes."""
    for place in reversed(range(len(numbers))):
        if numbers[place]:
            return [*numbers[:place], numbers[place] - 1, *([PRE_RELEASE] * (len(numbers) - place))]
    return numbers


def unknown(name: str) -> Invalid:
    """The refusal of a name that is no dialect, with the list of those there are."""
    message = (
        f"There is no dialect {name[:80]!r}. Known are {', '.join(names())}; "
        "deepagents takes any version from 0.3.4 on."
    )
    return Invalid(message, code="unknown_dialect", dialects=names())


def render(dialect: Dialect | str, memory: Ingredients) -> Rendered:
    """The exact prompt of this dialect, with the origin of each stretch, the state of each source and warnings."""
    chosen = resolve(dialect) if isinstance(dialect, str) else dialect
    family = families()[chosen.family]
    if memory.off:
        return finished(chosen, memory, Block([], [UNUSED] * len(memory.sources), lambda: [MEMORY_OFF]), [])
    dropped: list[_budget.Drop] = []
    if family.cuts and memory.budget is not None:
        dropped = _budget.fit(memory, lambda less: byte_size(memory.base, family.build(chosen, less)))
    block = family.build(chosen, _budget.without(memory, dropped) if dropped else memory)
    return finished(chosen, memory, block, dropped)


def byte_size(base: str, block: Block) -> int:
    """How many bytes the prompt will have."""
    return sum(len(piece.text.encode()) for piece in with_base(base, block))


def with_base(base: str, block: Block) -> list[Piece]:
    """The pieces with the base prompt in its place; the glue between them belongs to whichever comes first."""
    pieces = [piece for piece in block.pieces if piece.text]
    if not base:
        return pieces
    own = Piece("base", "system prompt", base)
    if not pieces:
        return [own]
    if block.lead:
        return before_base(pieces, own, block)
    if block.placement == "prepend":
        last = pieces[-1].with_text(pieces[-1].text + block.glue)
        return [*pieces[:-1], last, own]
    return [own.with_text(base + block.glue), *pieces]


def before_base(pieces: list[Piece], own: Piece, block: Block) -> list[Piece]:
    """The base prompt behind the first pieces of the block and before the others."""
    head, rest = pieces[: block.lead], pieces[block.lead :]
    if not rest:
        return [*head[:-1], head[-1].with_text(head[-1].text + block.glue), own]
    return [*head, own.with_text(own.text + block.glue), *rest]


def finished(dialect: Dialect, memory: Ingredients, block: Block, dropped: list[_budget.Drop]) -> Rendered:
    """The prompt out of the block that a dialect built."""

    def find_warnings(size: int) -> list[Warn]:
        cuts = families()[dialect.family].cuts
        # A source that is listed twice gets each of its warnings once.
        found = [*dict.fromkeys(block.find_warnings()), *_budget.warn_of_cuts(memory, dropped)]
        found += _budget.warn_of_excess(memory, size, cuts=cuts)
        return found if dialect.verified else [*found, unverified(dialect)]

    cut_sources = {drop.index for drop in dropped if drop.kind == "source"}
    statuses = [UNUSED if index in cut_sources else status for index, status in enumerate(block.statuses)]
    pieces = tuple(with_base(memory.base, block))
    return Rendered(
        dialect, block.placement, pieces, tuple(statuses), tuple(block.pieces), find_warnings,
        partial(has_published_template, dialect, memory.template),
    )  # fmt: skip


def has_published_template(dialect: Dialect, template: str | None) -> bool:
    """Whether a dialect with a template has a published one; others need none."""
    published = families()[dialect.family].published
    return published is None or (template is not None and published(dialect.name, template))


def unverified(dialect: Dialect) -> Warn:
    newest = ".".join(map(str, families()[dialect.family].newest))
    message = (
        f"The hub was not compared with this version of {dialect.family}, only with releases up to {newest}; "
        f"the rule of {dialect.name} is used."
    )
    return Warn("dialect_unverified", None, message)
