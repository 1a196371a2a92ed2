"""plain: the system prompt, then the texts of the sources in order, an empty line between them, nothing else."""

from __future__ import annotations

from ._rules import joined, status_of, warn_of_duplicates, warn_of_source, warn_of_text
from ._shapes import Dialect, Family, Form, Ingredients, Piece, Warn, Weave


def weave(dialect: Dialect, memory: Ingredients) -> Weave:
    """Every text as it is."""
    pieces = [
        Piece("source", source.path, source.text, source=index)
        for index, source in enumerate(memory.sources)
        if source.text and not source.error
    ]
    statuses = [status_of(source, source.text or "") for source in memory.sources]
    return Weave(joined(pieces), statuses, lambda: warnings(memory))


def warnings(memory: Ingredients) -> list[Warn]:
    """What to know about the sources; nothing is taken out of them and nothing put around them."""
    found = warn_of_duplicates(memory.sources)
    for source in memory.sources:
        if problem := warn_of_source(source):
            found.append(problem)
        else:
            found += warn_of_text(source, source.text or "", strips=False, wraps=False)
    return found


FAMILY = Family(
    name="plain",
    title="plain text",
    says="The texts in order, an empty line between them, nothing else.",
    forms=(Form("plain", (), "texts joined by an empty line"),),
    weave=weave,
    cuts=True,
)
