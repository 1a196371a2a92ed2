"""Tags for connecting an agent: code for each framework."""

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
    """The code for each framework, with the address of this hub and the token if it was just made."""
    address = context["request"].build_absolute_uri("/").rstrip("/")
    values = {"url": address, "token": secret or NO_TOKEN, "agent": context["agent"]}
    return [
        {"key": key, "label": label, "text": render_to_string(f"connect/snippets/{key}.txt", values).strip("\n")}
        for key, label in FRAMEWORKS
    ]


@register.filter
def delivery_words(delivered: Any) -> str:
    """Thread and dialect of a delivered prompt."""
    thread = f" on thread {truncatechars(delivered.thread_id, 40)}" if delivered.thread_id else ""
    return f"It got this prompt{thread}, wrapped as {delivered.dialect}"
