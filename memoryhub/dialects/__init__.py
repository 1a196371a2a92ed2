"""How a framework, at a version, wraps memory into a prompt: `resolve` a name, `render` ingredients.

One file per family. A file here that defines `FAMILY` is a dialect: it is listed, documented on the help page and
covered by the contract tests by being there. Everything is plain data in and out.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache, lru_cache

from memoryhub.errors import Invalid

from . import _budget
from ._shapes import (
    CUT_ORDER,
    MISSING,
    UNUSED,
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
    Weave,
)

__all__ = [
    "CUT_ORDER",
    "MISSING",
    "Dialect",
    "Entry",
    "Family",
    "Form",
    "Ingredients",
    "Part",
    "Rendered",
    "Source",
    "Warn",
    "families",
    "family",
    "names",
    "render",
    "resolve",
]

VERSION = re.compile(
    r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})((?:a|b|rc|\.?dev)[0-9]*)?(?:\.?post[0-9]+)?(?:\+[\w.]+)?", re.IGNORECASE
)


@cache
def families() -> dict[str, Family]:
    """Every family there is, by name; ours first."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found = {module.FAMILY.name: module.FAMILY for module in modules if hasattr(module, "FAMILY")}
    return dict(sorted(found.items(), key=lambda pair: (pair[0] != "hub", pair[0])))


def names() -> list[str]:
    """Every name that `resolve` takes without a version of its own, newest form of a family first."""
    return [form.name for one in families().values() for form in reversed(one.forms)]


def family(name: str) -> Family:
    """The family of a dialect name."""
    return families()[resolve(name).family]


@lru_cache(maxsize=512)
def resolve(name: str) -> Dialect:
    """The form that serves this name: the newest that is not above the version asked for."""
    head, slash, tail = name.strip().partition("/")
    one = families().get(head)
    version = read_version(tail) if slash else None
    if one is None or (slash and (version is None or not one.newest)):
        raise unknown(name)
    if version is None:
        return Dialect(one.name, one.forms[-1])
    fitting = [form for form in one.forms if form.since <= version]
    if not fitting:
        raise unknown(name)
    return Dialect(one.name, fitting[-1], version, verified=version <= one.newest)


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


def before(numbers: list[int]) -> list[int]:
    """The greatest version below this one, as far as comparing goes."""
    for place in reversed(range(len(numbers))):
        if numbers[place]:
            return [*numbers[:place], numbers[place] - 1, *([10**6] * (len(numbers) - place))]
    return numbers


def unknown(name: str) -> Invalid:
    """The refusal of a dialect that the hub does not know, with the list of those it does."""
    said = (
        f"There is no dialect {name[:80]!r}. Known are {', '.join(names())}; "
        "deepagents takes any version from 0.3.4 on."
    )
    return Invalid(said, code="unknown_dialect", dialects=names())


def render(dialect: Dialect | str, memory: Ingredients) -> Rendered:
    """The exact prompt of this dialect, with the origin of each stretch, the state of each source and what to know."""
    chosen = resolve(dialect) if isinstance(dialect, str) else dialect
    one = families()[chosen.family]
    if memory.off:
        return place(chosen, memory, Weave([], [UNUSED] * len(memory.sources), lambda: [switched_off()]), [])
    gone: list[_budget.Drop] = []
    if one.cuts and memory.budget is not None:
        gone = _budget.fit(memory, lambda less: extent(memory.base, one.weave(chosen, less)))
    woven = one.weave(chosen, _budget.without(memory, gone) if gone else memory)
    return place(chosen, memory, woven, gone)


def switched_off() -> Warn:
    return Warn("memory_off", None, "Memory is switched off for this agent: the text is the base prompt alone.")


def extent(base: str, woven: Weave) -> int:
    """How many bytes the prompt will have."""
    return sum(len(piece.text.encode()) for piece in around(base, woven))


def around(base: str, woven: Weave) -> list[Piece]:
    """The pieces with the base prompt in its place; the glue between them belongs to whichever comes first."""
    pieces = [piece for piece in woven.pieces if piece.text]
    if not base:
        return pieces
    own = Piece("base", "system prompt", base)
    if not pieces:
        return [own]
    if woven.placement == "prepend":
        last = pieces[-1].with_text(pieces[-1].text + woven.glue)
        return [*pieces[:-1], last, own]
    return [own.with_text(base + woven.glue), *pieces]


def place(dialect: Dialect, memory: Ingredients, woven: Weave, gone: list[_budget.Drop]) -> Rendered:
    """The finished prompt out of what a family wove."""

    def told(size: int) -> list[Warn]:
        over = _budget.over(memory, size, cuts=families()[dialect.family].cuts)
        unproven = [] if dialect.verified else [unverified(dialect)]
        # A source that is listed twice has the same to be said of it twice.
        return list(dict.fromkeys(woven.warnings())) + _budget.tell(memory, gone) + over + unproven

    cut_sources = {drop.index for drop in gone if drop.kind == "source"}
    statuses = [UNUSED if index in cut_sources else status for index, status in enumerate(woven.statuses)]
    return Rendered(
        dialect, woven.placement, tuple(around(memory.base, woven)), tuple(statuses), tuple(woven.pieces), told
    )


def unverified(dialect: Dialect) -> Warn:
    newest = ".".join(map(str, families()[dialect.family].newest))
    said = (
        f"This version of {dialect.family} is newer than {newest}, the newest the hub was compared with; "
        f"the rule of {dialect.name} is used."
    )
    return Warn("dialect_unverified", None, said)
