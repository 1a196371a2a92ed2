"""Writes of coding agents before they land: a hook in the agent asks here, and a write to a held file becomes a proposal instead."""

from memoryhub.domain.write_hooks.decide import Decision, decide
from memoryhub.domain.write_hooks.held import keep_held_list
from memoryhub.domain.write_hooks.listen import bind, is_listened_to, listen

__all__ = ["Decision", "bind", "decide", "is_listened_to", "keep_held_list", "listen"]
