"""The lines that connect an agent, one text per framework."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.defaultfilters import truncatechars
from django.template.loader import render_to_string

register = template.Library()

FRAMEWORKS = (
    ("python", "Python"),
    ("deepagents", "deepagents"),
    ("langgraph", "LangGraph"),
    ("anthropic", "Anthropic"),
    ("mcp", "MCP"),
    ("sync", "AGENTS.md on disk"),
    ("curl", "curl"),
    ("typescript", "TypeScript"),
)
NO_TOKEN = "mh_…"  # noqa: S105  (what stands where a token belongs)


@register.simple_tag(takes_context=True)
def snippets(context: dict[str, Any], secret: str = "") -> list[dict[str, str]]:
    """Every framework's lines with this hub's address and, right after it was made, the token."""
    address = context["request"].build_absolute_uri("/").rstrip("/")
    values = {"url": address, "token": secret or NO_TOKEN, "agent": context["agent"]}
    return [
        {"key": key, "label": label, "text": render_to_string(f"connect/snippets/{key}.txt", values).strip("\n")}
        for key, label in FRAMEWORKS
    ]


@register.filter
def delivery_words(delivered: Any) -> str:
    """Which prompt an agent got: on which thread, wrapped how."""
    thread = f" on thread {truncatechars(delivered.thread_id, 40)}" if delivered.thread_id else ""
    return f"It got this prompt{thread}, wrapped as {delivered.dialect}"
