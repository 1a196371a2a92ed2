"""Taking back for good what is kept permanently otherwise: words of a session, a person or an agent, a text, a revision.

A dry run counts, a person confirms, a job erases and searches the whole database, and a receipt says what was done.
"""

from memoryhub.domain.erasure.receipts import BACKUP, receipt, sees_all
from memoryhub.domain.erasure.requests import (
    cancel,
    confirmation,
    dry_run,
    erase,
    erase_now,
    erasures_of,
    forget_unconfirmed,
    get,
    job_of,
    plan,
    retry,
)
from memoryhub.domain.erasure.run import unpack
from memoryhub.domain.erasure.targets import KINDS, Target
