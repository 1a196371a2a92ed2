"""Detectors: pure functions from a text to findings, one module or package per thing that is looked for.

A detector is a module or package here with `CODE` and `find(text, lines, known)`; being there registers it. `known` (the `context`
of `find` below) are the texts that memory already holds; only `duplicate` reads them. Nothing here knows a database, and no
message of a finding ever repeats a secret.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType

from . import costs
from .duplicate import KnownText
from .finding import RANK, Finding, Lines

PROPOSAL = ("secrets", "hidden", "injection", "risky_advice", "duplicate", "transient", "vague")
COST = "cost"
"""The code of the finding that stands for what was not looked at, because the text takes too long to check."""
MAX_FINDINGS = 200
"""Of one detector: a text of nothing but zero-width spaces must not become a megabyte of JSON."""

# What a finding is called where there is room for a word or two, by its code.
TITLES = {
    "secrets": "secret, removed", "hidden": "hidden characters", "injection": "injection", "coherence": "incoherent",
    "risky_advice": "needs attention", "duplicate": "duplicate", "feedback": "from memory", "reads_only": "retrieval output", "transient": "transient",
    "vague": "vague", "cost": "too costly to check", "judge": "waits for the judge",
}  # fmt: skip
# Among others in a list, where a comma ends each.
IN_LISTS = TITLES | {"secrets": "removed secret"}


@cache
def detectors() -> dict[str, ModuleType]:
    """Every detector of this package by its code."""
    modules = (importlib.import_module(f"{__name__}.{item.name}") for item in pkgutil.iter_modules(__path__))
    return {module.CODE: module for module in modules if hasattr(module, "CODE")}


@cache
def detector(code: str) -> ModuleType:
    """One detector, without importing the others: a command that only looks for secrets must not wait for all rules."""
    try:
        module = importlib.import_module(f"{__name__}.{code}")
    except ModuleNotFoundError:
        return detectors()[code]
    return module if getattr(module, "CODE", "") == code else detectors()[code]


def codes() -> list[str]:
    return sorted(detectors())


def find(text: str, *, only: Iterable[str] | None = None, context: Sequence[KnownText] = ()) -> list[Finding]:
    """The findings of the named detectors (by default those of a proposal), in the order of the text."""
    lines = Lines(text)
    found: list[Finding] = []
    wanted = [(code, detector(code)) for code in only or PROPOSAL]  # to import them is no cost of the first text
    with costs.limited(len(text)):
        for code, module in wanted:
            try:
                found += module.find(text, lines, context)[:MAX_FINDINGS]
            except costs.TooCostly as refusal:
                found.append(Finding(COST, "high", 0, len(text), 1, refusal.message, code))
                break
    return sorted(_without_repeats(found), key=lambda one: (one.start, one.end, one.code))


def _without_repeats(found: list[Finding]) -> list[Finding]:
    """Without stretches that their words alone make suspect, where a rule of injection says why."""
    known = [one for one in found if one.code == "injection"]
    return [
        one
        for one in found
        if one.kind != "wording" or not any(one.start < other.end and other.start < one.end for other in known)
    ]


def worst(found: Iterable[Finding]) -> str:
    """The highest severity among findings, or an empty string."""
    return max((one.severity for one in found), key=RANK.__getitem__, default="")
