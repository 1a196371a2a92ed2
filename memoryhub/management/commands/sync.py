"""Keep a directory equal to the published files; local edits can become proposals (no database needed)."""

from memoryhub.client.commands.sync import main

__all__ = ["main"]
