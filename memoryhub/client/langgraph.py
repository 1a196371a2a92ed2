"""LangGraph and LangChain: a recorder that logs what nodes say, nodes that read memory, and a store on the hub."""

from __future__ import annotations

from .langgraph_recorder import MemoryHubRecorder
from .langgraph_store import MemoryHubStore

__all__ = ["MemoryHubRecorder", "MemoryHubStore"]
