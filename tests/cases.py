"""Many cases in one test: as tests of their own they cost 3 ms each, what is checked of a line of text a tenth of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any


def for_each(*values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Calls the test with each combination of these values, tuples spread out, and fails with all cases that do not hold."""
    cases = [[*_spread(case)] for case in product(*values)]

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed = [(case, problem) for case in cases if (problem := _problem(check, case))]
            assert not failed, "\n".join(f"{case}: {problem!r}" for case, problem in failed)

        test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
        return test

    assert cases, "a table without a case proves nothing"
    return decorate


def _spread(case: tuple[Any, ...]) -> Iterable[Any]:
    for value in case:
        yield from value if isinstance(value, tuple) else (value,)


def _problem(check: Callable[..., None], case: list[Any]) -> Exception | None:
    try:
        check(*case)
    except Exception as problem:
        return problem
    return None
