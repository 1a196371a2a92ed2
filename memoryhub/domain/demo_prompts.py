"""The demo's prompts: the template of the coding agent's library, and what each agent got on its threads."""

from __future__ import annotations

import contextlib

from memoryhub.domain import deliveries, prompts, templates
from memoryhub.domain.demo import Cast
from memoryhub.errors import HubError

QUESTION = "Where is the refund of invoice 20931?"


def make(cast: Cast) -> None:
    """Takes in the library's template where the library is installed, and notes a few deliveries."""
    with contextlib.suppress(HubError):  # without the library the preview says how to mend it
        templates.import_installed(cast.ops, space_id=cast.space.pk)
    for agent, thread, asked in (
        (cast.forge, "t-1187", ""),
        (cast.forge, "t-1190", ""),
        (cast.counter, "desk-20931", QUESTION),
    ):
        prompt = prompts.assemble(cast.space, agent, thread=thread, query=asked, task=asked)
        deliveries.record(cast.space.pk, agent.pk, thread, prompt)
