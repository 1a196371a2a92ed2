"""Modules that take long to load, for tests: every worker of pytest collects all files, and runs the tests of some."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for its own marks on all that stands in a file of tests
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)
