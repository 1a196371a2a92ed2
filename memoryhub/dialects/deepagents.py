"""deepagents' MemoryMiddleware: the assembly rule of each of its forms. Its template text is data, never kept here."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter

from memoryhub.errors import Invalid

from ._rules import joined, source_pieces, status_of, warn_of_sources, without_comments
from ._shapes import Block, Dialect, Family, Form, Ingredients, Piece, Source, Warn

NOTHING = "(No memory loaded)"
SLOT = "agent_memory"

FORMS = (
    Form("deepagents/0.3.4", (0, 3, 4)),  # 0.3.4 to 0.4.1: path and raw text
    Form("deepagents/0.4.3", (0, 4, 3)),  # 0.4.3 to 0.6.1: path and raw text, appended
    Form("deepagents/0.6.2", (0, 6, 2)),  # path, empty line, text without trailing blanks
    Form("deepagents/0.6.3", (0, 6, 3)),  # 0.6.3 and newer: comments are stripped as well
)
STRIPS, TRIMS = (0, 6, 3), (0, 6, 2)
PREPENDS = ((0, 3, 4), (0, 3, 6))

# Size in bytes and first 16 digits of the sha256 of the template text that the library ships, per form.
KNOWN_TEMPLATES = {
    "deepagents/0.3.4": (4465, "24a530cbb0b91ddc"),
    "deepagents/0.4.3": (4466, "145a54e22cc0e7d0"),
    "deepagents/0.6.2": (5122, "b86e8c58cf861e64"),
    "deepagents/0.6.3": (5122, "b86e8c58cf861e64"),
}


@dataclass(frozen=True, slots=True)
class Match:
    """A template text, and whether it is the one that the library is known to ship for a form."""

    size: int
    sha256: str
    known: bool


def shown(form: Form, text: str) -> str:
    """The text of one source as this form injects it."""
    if form.since >= STRIPS:
        return without_comments(text)
    return text.rstrip() if form.since >= TRIMS else text


def section(form: Form, source: Source, text: str) -> str:
    """One source as it stands in the prompt, the path as configured and then its text; nothing where it is left out."""
    # A text of blanks alone is truthy before it is trimmed: 0.6.2 prints its path with nothing below.
    if not (text if form.since >= STRIPS else source.text and not source.error):
        return ""
    return source.path + ("\n\n" if form.since >= TRIMS else "\n") + text


def prepends(dialect: Dialect) -> bool:
    """Whether memory stands before the base prompt: only in 0.3.4 to 0.3.6, when that version is named."""
    return dialect.version is not None and PREPENDS[0] <= dialect.version[:3] <= PREPENDS[1]


def build(dialect: Dialect, memory: Ingredients) -> Block:
    """The memory block in its template, and what became of each source."""
    form, sources = dialect.form, memory.sources
    texts = ["" if source.error else shown(form, source.text or "") for source in sources]
    sections = [section(form, source, text) for source, text in zip(sources, texts, strict=True)]
    body = joined(source_pieces(sources, sections)) or [Piece("template", "nothing to show", NOTHING)]
    return Block(
        pieces=in_template(memory.template, body),
        statuses=[status_of(source, printed) for source, printed in zip(sources, sections, strict=True)],
        find_warnings=lambda: warnings(form, memory, texts),
        placement="prepend" if prepends(dialect) else "append",
    )


def in_template(template: str | None, body: list[Piece]) -> list[Piece]:
    """The body in its slot; without a template the body alone."""
    if template is None:
        return body
    before, after = halves(template)
    return [Piece("template", "template", before), *body, Piece("template", "template", after)]


def warnings(form: Form, memory: Ingredients, texts: list[str]) -> list[Warn]:
    """Everything to know about this prompt that its text does not show by itself."""
    unknown = Warn(
        "template_unknown",
        None,
        f"The template text of {form.name} is not known yet, so this is the memory block alone. "
        "Import it from your package index, a wheel or the installed library: "
        "memoryhub template import deepagents [--version V | --wheel FILE].",
    )
    return warn_of_sources(
        memory.sources,
        texts,
        strips=form.since >= STRIPS,
        wraps=True,
        stops="Stock deepagents would end the agent's run at this file.",
        others=[unknown] if memory.template is None else [],
    )


@lru_cache(maxsize=32)
def halves(template: str) -> tuple[str, str]:
    """The template around its one slot, with `{{` and `}}` read as `str.format` reads them."""
    before, after, slots = "", "", 0
    try:
        for literal, name, spec, conversion in Formatter().parse(template):
            before, after = (before + literal, after) if not slots else (before, after + literal)
            if name is None:
                continue
            if name != SLOT or spec or conversion:
                raise Invalid(
                    f"A template may hold the slot {{{SLOT}}} alone; write other braces twice, as {{{{ and }}}}.",
                    code="invalid_template",
                )
            slots += 1
    except ValueError as error:
        raise Invalid(f"The braces of this template do not match: {error}.", code="invalid_template") from None
    if slots != 1:
        raise Invalid(
            f"A template needs the slot {{{SLOT}}} exactly once; this one has it {slots} times.",
            code="invalid_template",
        )
    return before, after


def check_template(template: str) -> str:
    """The template, or a refusal that says what is wrong with it."""
    halves(template)
    return template


def compare(form_name: str, template: str) -> Match:
    """Size and hash of a template text, and whether they are those the library is known to ship for this form."""
    data = template.encode()
    sha256 = hashlib.sha256(data).hexdigest()
    size, prefix = KNOWN_TEMPLATES.get(form_name, (0, "-"))
    return Match(len(data), sha256, len(data) == size and sha256.startswith(prefix))


@lru_cache(maxsize=64)
def is_published(form_name: str, template: str) -> bool:
    """Whether the library is known to ship this text for this form."""
    return compare(form_name, template).known


def published_forms(template: str) -> list[str]:
    """The forms for which the library ships this very text, the oldest first."""
    return [form.name for form in FORMS if compare(form.name, template).known]


def read_template(module_source: str) -> str:
    """The template text out of the source of the library's memory module, without running it."""
    for node in ast.walk(parsed(module_source)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = any(isinstance(target, ast.Name) and target.id == "MEMORY_SYSTEM_PROMPT" for target in targets)
            if named and isinstance(node.value.value, str):
                return check_template(node.value.value)
    raise Invalid("This version of deepagents has no memory template that the hub can read.", code="invalid_template")


def parsed(module_source: str) -> ast.Module:
    """The syntax tree of a module; an empty one of what is no Python."""
    try:
        return ast.parse(module_source)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


FAMILY = Family(name="deepagents", forms=FORMS, build=build, newest=(0, 7, 32), published=is_published)
