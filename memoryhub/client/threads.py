"""Which thread of the framework some code of ours runs in."""

from __future__ import annotations

from langgraph.config import get_config


def current_thread() -> str | None:
    """The LangGraph thread this code runs in, if any."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return None if thread is None else str(thread)
