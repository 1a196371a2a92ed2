"""Serve the hub's memory over MCP: on stdio, or as streamable HTTP with --http PORT (no database needed)."""

from memoryhub.client.commands.mcp import main

__all__ = ["main"]
