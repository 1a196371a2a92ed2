"""The nodes of one database: which hubs run on it, and which of them a mounted directory belongs to."""

from memoryhub.domain.nodes.nodes import (
    BEAT_SECONDS,
    Run,
    find_node,
    forget_node,
    is_here,
    is_known,
    key_of_all,
    listed,
    require_none_running,
    running,
    shared_key,
    stop_all,
    this_node,
)
