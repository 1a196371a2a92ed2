from memoryhub import dialects
from memoryhub.dialects import Source

TEMPLATE = "<m>\n{agent_memory}\n</m> {{kept}}"


def sources(**texts: str | None) -> tuple[Source, ...]:
    return tuple(
        Source(f"/memories/{name}.md", text, error="" if text is not None else dialects.MISSING)
        for name, text in texts.items()
    )


def codes(rendered: dialects.Rendered) -> list[str]:
    return [warning.code for warning in rendered.warnings]
