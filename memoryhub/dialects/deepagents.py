"""deepagents' MemoryMiddleware: the assembly rule of each of its forms. Its template text is data, never kept here."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter

from memoryhub.errors import Invalid

from ._rules import joined, status_of, warn_of_duplicates, warn_of_source, warn_of_text, without_comments
from ._shapes import INCLUDED, Dialect, Family, Form, Ingredients, Piece, Source, Warn, Weave

NOTHING = "(No memory loaded)"
SLOT = "agent_memory"

FORMS = (
    Form("deepagents/0.3.4", (0, 3, 4), "deepagents 0.3.4 to 0.4.1: path and raw text"),
    Form("deepagents/0.4.3", (0, 4, 3), "deepagents 0.4.3 to 0.6.1: path and raw text, appended"),
    Form("deepagents/0.6.2", (0, 6, 2), "deepagents 0.6.2: path, empty line, text without trailing blanks"),
    Form("deepagents/0.6.3", (0, 6, 3), "deepagents 0.6.3 and newer: the same with comments stripped"),
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
    """How a template text compares with what is known of a form: the same, another, or nothing known."""

    size: int
    sha256: str
    known: bool


def shown(form: Form, text: str) -> str:
    """The text of one source as this form injects it."""
    if form.since >= STRIPS:
        return without_comments(text)
    # A text of blanks alone is truthy before it is trimmed: 0.6.2 prints its path with nothing below.
    return text.rstrip() if form.since >= TRIMS else text


def counts(form: Form, source: Source) -> bool:
    """Whether this form prints a section for the source at all."""
    if source.error or not source.text:
        return False
    return form.since < STRIPS or bool(shown(form, source.text))


def section(form: Form, source: Source) -> str:
    """One source as it stands in the prompt: the path as configured, then its text."""
    gap = "\n\n" if form.since >= TRIMS else "\n"
    return f"{source.path}{gap}{shown(form, source.text or '')}"


def prepends(dialect: Dialect) -> bool:
    """Whether memory stands before the base prompt: only in 0.3.4 to 0.3.6, when that version is named."""
    return dialect.version is not None and PREPENDS[0] <= dialect.version[:3] <= PREPENDS[1]


def weave(dialect: Dialect, memory: Ingredients) -> Weave:
    """The memory block in its template, and what became of each source."""
    form = dialect.form
    found = [
        Piece("source", source.path, section(form, source), source=index)
        for index, source in enumerate(memory.sources)
        if counts(form, source)
    ]
    body = joined(found) or [Piece("template", "nothing to show", NOTHING)]
    included = {piece.source for piece in found}
    statuses = [INCLUDED if index in included else status_of(source, "") for index, source in enumerate(memory.sources)]
    return Weave(
        pieces=in_template(memory.template, body),
        statuses=statuses,
        warnings=lambda: warnings(form, memory, included),
        placement="prepend" if prepends(dialect) else "append",
    )


def in_template(template: str | None, body: list[Piece]) -> list[Piece]:
    """The body in its slot; without a template the body alone."""
    if template is None:
        return body
    before, after = halves(template)
    return [Piece("template", "template", before), *body, Piece("template", "template", after)]


def warnings(form: Form, memory: Ingredients, included: set[int | None]) -> list[Warn]:
    """Everything to know about this prompt that its text does not show by itself."""
    found = warn_of_duplicates(memory.sources)
    if memory.template is None:
        said = (
            f"The template text of {form.name} is not known yet, so this is the memory block alone. "
            "Take it from the installed library or a wheel: memoryhub template import deepagents [--wheel FILE]."
        )
        found.append(Warn("template_unknown", None, said))
    for index, source in enumerate(memory.sources):
        if problem := warn_of_source(source, stops="Stock deepagents would end the agent's run at this file."):
            found.append(problem)
        elif index in included:
            text = shown(form, source.text or "")
            found += warn_of_text(source, text, strips=form.since >= STRIPS, wraps=True)
    return found


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


def read_template(module_source: str) -> str:
    """The template text out of the source of the library's memory module, without running it."""
    for node in ast.walk(ast.parse(module_source)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = any(isinstance(target, ast.Name) and target.id == "MEMORY_SYSTEM_PROMPT" for target in targets)
            if named and isinstance(node.value.value, str):
                return check_template(node.value.value)
    raise Invalid("This version of deepagents has no memory template that the hub can read.", code="invalid_template")


FAMILY = Family(
    name="deepagents",
    title="deepagents",
    says="Every source with its path, in the library's own template, beside the system prompt.",
    forms=FORMS,
    weave=weave,
    newest=(0, 7, 32),
    templated=True,
)
