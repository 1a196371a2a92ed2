"""What working and long-term memory give to the query of a prompt: now, and at a past moment."""

from memoryhub.domain.prompts.memory.now import longterm_entries, parse_entries
from memoryhub.domain.prompts.memory.then import (
    EMBEDDER_AWAY,
    longterm_at,
    working_at,
)
from memoryhub.domain.prompts.memory.views import lines_of_entries, view_lines_at, view_text, with_views
