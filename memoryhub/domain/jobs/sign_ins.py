"""Every hour: what sign-ins left behind goes."""

from __future__ import annotations

from datetime import timedelta

from memoryhub.domain import accounts
from memoryhub.domain.jobs import queue


@queue.periodic("sign_ins.forget", every=timedelta(hours=1))
def forget_sign_ins() -> None:
    """Strangers make rows as well: a session for each visit to a provider, a count for each name that they try."""
    accounts.forget_ended_sign_ins()
