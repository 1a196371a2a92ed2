"""Writes of coding agents before they land: a hook in the agent asks here, and a write to a held file becomes a proposal instead; so does a
change that an agent itself keeps until somebody decides."""

from memoryhub.domain.write_hooks.decide import decide
from memoryhub.domain.write_hooks.install import install, places, seconds_until_found, uninstall
from memoryhub.domain.write_hooks.listen import bind, is_listened_to, listen
from memoryhub.domain.write_hooks.pending import take_in_pending
