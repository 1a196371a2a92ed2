"""The hub's settings, and a way to hang a worker that no hub has: a header that starts an exponential pattern."""

from __future__ import annotations

import re
from typing import Any

from memoryhub.settings import *  # noqa: F403
from memoryhub.settings import MIDDLEWARE as REAL_MIDDLEWARE


def hang(get_response: Any) -> Any:
    def handle(request: Any) -> Any:
        if "X-Hang" in request.headers:
            re.match(r"(a+)+$", "a" * 60 + "b")  # hours in C, holding the interpreter
        return get_response(request)

    return handle


MIDDLEWARE = [f"{__name__}.hang", *REAL_MIDDLEWARE]
