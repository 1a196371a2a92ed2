"""The prompt that an agent gets which does not exist yet: with the settings that a new one has."""

from __future__ import annotations

from memoryhub.dialects import Ingredients, Source
from memoryhub.domain import files
from memoryhub.domain.files import GUIDELINES_PATH, POSITIONING_PATH, Published
from memoryhub.domain.prompts.assemble import Prompt, build_prompt
from memoryhub.domain.prompts.inputs import PromptInputs, source_of
from memoryhub.domain.prompts.requests import PromptRequest, dialect_of
from memoryhub.domain.prompts.sources import sources_of
from memoryhub.errors import HubError, NotFound
from memoryhub.models import Agent, Space


def prompt_of_new_agent(space: Space) -> Prompt:
    """The exact prompt of the next agent that somebody makes in this space, before its first call. Nothing is stored."""
    agent = Agent(space=space)
    listed = [source for source in sources_of(space) if source.is_on]
    found = files.read_many(space, [GUIDELINES_PATH, POSITIONING_PATH, *(source.path for source in listed)])
    sources = tuple(as_source(source.printed or source.path, found[source.path]) for source in listed)
    guidelines = as_source(GUIDELINES_PATH, found[GUIDELINES_PATH]).text
    positioning = as_source(POSITIONING_PATH, found[POSITIONING_PATH]).text or ""
    gathered = PromptInputs(Ingredients(sources=sources, guidelines=guidelines, positioning=positioning))
    return build_prompt(dialect_of("", agent), gathered, PromptRequest())


def as_source(printed: str, found: Published | HubError) -> Source:
    """A source with its text, or with why it has none."""
    if isinstance(found, Published):
        return source_of(printed, found.content, found.revision, found.sha256)
    return source_of(printed, None, None, None, "" if isinstance(found, NotFound) else found.code)
