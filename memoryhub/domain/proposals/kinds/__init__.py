"""The kinds of change that an agent can ask for: what each says and makes of a text, how it is carried out and undone.

`kind_of(proposal)` answers the object of its kind. Whatever differs between kinds stands here; the rest of the hub asks these
objects and tests no kind itself. A new kind is a value of `Proposal.Kind` and a class in this package.
"""

from memoryhub.domain.proposals.kinds.file_changes import (
    FILE_EDITS,
    KINDS,
    ChangeKind,
    Settlement,
    kind_of,
    sha_of,
)
from memoryhub.domain.proposals.kinds.promotion import Promotion
from memoryhub.domain.proposals.kinds.template import Template, prompt_dialect
from memoryhub.models import Proposal

KINDS[Proposal.Kind.PROMOTION] = Promotion()
KINDS[Proposal.Kind.TEMPLATE] = Template()
