"""Rules that more than one dialect shares: which sources count, what to warn of, how blocks are joined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memoryhub.text import comments

from ._shapes import ABSENT, BROKEN, EMPTY, INCLUDED, MISSING, Piece, Source, Warn

CLOSING_TAG = re.compile(r"</(?:agent_memory|group_memory|memory_guidelines)>")

REASONS = {
    "is_directory": "is a directory, not a file",
    "permission_denied": "may not be read by the hub: the system refuses permission",
    "invalid_utf8": "is not valid UTF-8",
    "invalid_path": "leads out of its mount",
}


def without_comments(text: str) -> str:
    """The text as deepagents injects it from 0.6.3 on: a plain pattern, with no knowledge of Markdown."""
    return comments.without(text).rstrip()


def status_of(source: Source, shown: str) -> str:
    """What became of a source whose injected text is `shown`."""
    if source.error:
        return ABSENT if source.error == MISSING else BROKEN
    if source.text is None:
        return ABSENT
    return INCLUDED if shown else EMPTY


def warn_of_source(source: Source, *, stops: str = "") -> Warn | None:
    """Why a source could not be read; `stops` adds what a stock agent would do about it."""
    if source.error == MISSING or (not source.error and source.text is None):
        message = f"{source.path} does not exist and is ignored, as agents do. It appears once somebody writes it."
        return Warn("source_missing", source.path, message)
    if not source.error:
        return None
    link = "is a link or a device, and the hub follows no link"
    other = link if source.error == "not_a_file" else f"could not be read ({source.error})"
    reason = REASONS.get(source.error, other)
    code = source.error if source.error in REASONS else "source_error"
    message = f"{source.path} {reason}; it is left out." + (f" {stops}" if stops else "")
    return Warn(code, source.path, message)


def warn_of_text(source: Source, shown: str, *, strips: bool, wraps: bool) -> list[Warn]:
    """What a person should know about the text that is injected for a source."""
    found = []
    if not strips and comments.has_comment(shown):
        message = f"An HTML comment in {source.path} reaches the model: this dialect does not strip comments."
        found.append(Warn("comment_reaches_model", source.path, message, needle="<!--"))
    rest = shown if strips else comments.without(shown)
    if "<!--" in rest:
        message = (
            f"A comment in {source.path} is opened with <!-- and never closed, so the model reads it and all after it."
        )
        found.append(Warn("unclosed_comment", source.path, message, needle=rest[rest.index("<!--") :][:40]))
    if match := CLOSING_TAG.search(shown):
        tag = match[0]
        harm = (
            "it ends the memory block early"
            if wraps
            else "harmless here, but it ends the block early where tags wrap memory"
        )
        found.append(Warn("closing_tag", source.path, f"{source.path} contains {tag}: {harm}.", needle=tag))
    return found


def warn_of_duplicates(sources: Iterable[Source]) -> list[Warn]:
    """One warning for each path that is listed more than once."""
    return [
        Warn("duplicate_source", path, f"{path} is listed {times} times and printed as often.")
        for path, times in Counter(source.path for source in sources).items()
        if times > 1
    ]


def warn_of_sources(
    sources: Sequence[Source],
    texts: Sequence[str],
    *,
    strips: bool,
    wraps: bool,
    stops: str = "",
    others: Sequence[Warn] = (),
) -> list[Warn]:
    """What to know about all sources; `texts` are theirs as injected, `others` stand behind those of paths listed twice."""
    found = [*warn_of_duplicates(sources), *others]
    for source, text in zip(sources, texts, strict=True):
        if problem := warn_of_source(source, stops=stops):
            found.append(problem)
        else:
            found += warn_of_text(source, text, strips=strips, wraps=wraps)
    return found


def source_pieces(sources: Sequence[Source], sections: Sequence[str]) -> list[Piece]:
    """A piece for every source with a section; an empty one is left out."""
    return [
        Piece("source", source.path, text, source=index)
        for index, (source, text) in enumerate(zip(sources, sections, strict=True))
        if text
    ]


def joined(pieces: Sequence[Piece], glue: str = "\n\n") -> list[Piece]:
    """The pieces with glue between them; it belongs to the piece before it, so that every byte has an owner."""
    return [piece.with_text(piece.text + glue) for piece in pieces[:-1]] + list(pieces[-1:])
