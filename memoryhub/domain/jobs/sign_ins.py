"""The hourly job that deletes what sign-ins left behind. Not in `accounts`, which `jobs` imports."""

from __future__ import annotations

from datetime import timedelta

from memoryhub.domain import accounts
from memoryhub.domain.jobs import queue


@queue.periodic("sign_ins.forget", every=timedelta(hours=1))
def forget_sign_ins() -> None:
    """Deletes sessions that ended and counts of failed tries, of strangers too: each visit and each name tried makes a row."""
    accounts.forget_ended_sign_ins()
