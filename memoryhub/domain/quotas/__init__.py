"""How much agents may send and store in a space."""

from memoryhub.domain.quotas.limits import count_bytes, count_call
from memoryhub.domain.quotas.storage import count_stored_bytes, usage_of_space
