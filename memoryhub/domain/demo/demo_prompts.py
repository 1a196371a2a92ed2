"""The demo's prompts: the template of the coding agent's library, and what each agent got on its threads."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

from memoryhub.domain import prompts
from memoryhub.domain.demo.start import Cast
from memoryhub.domain.prompts import Prompt, PromptRequest
from memoryhub.errors import HubError
from memoryhub.models import Revision

QUESTION = "Where is the refund of invoice 20931?"
AGENTS = "/memories/AGENTS.md"


def make(cast: Cast) -> None:
    """Takes in the library's template where the library is installed, and notes a few deliveries, one of older memory."""
    with contextlib.suppress(HubError):  # without the library the preview says how to mend it
        prompts.import_installed_template(cast.ops, space_id=cast.space.pk)
    asked = PromptRequest(query=QUESTION, task=QUESTION)
    prompt = prompts.assemble(cast.space, cast.counter, query=QUESTION, task=QUESTION)
    prompts.record_delivery(cast.space.pk, cast.counter.pk, "desk-20931", prompt, asked)
    for thread, got in (("t-1187", of_yesterday(cast)), ("t-1190", prompts.assemble(cast.space, cast.forge))):
        prompts.record_delivery(cast.space.pk, cast.forge.pk, thread, got, PromptRequest())


def of_yesterday(cast: Cast) -> Prompt:
    """What a thread that began before the newest revision still runs on."""
    prompt = prompts.assemble(cast.space, cast.forge)
    before = prompt.revisions.get(AGENTS, 0) - 1
    old = Revision.objects.within(cast.space).filter(path=AGENTS, number=before, is_deleted=False).first()
    if old is None:
        return prompt
    prompt = prompts.assemble(cast.space, cast.forge, changes={AGENTS: bytes(old.content)})
    return replace(prompt, ledger=json.dumps({**prompt.revisions, AGENTS: before}, sort_keys=True))
