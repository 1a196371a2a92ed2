"""What coding agents see in the mounted directories of a space, for people who may see the mount, and what they change of it."""

from memoryhub.domain.contexts.agent_context import (
    SHOWN_FIRST,
    AgentContext,
    Compared,
    Problem,
    check,
    compare,
    read_context,
)
from memoryhub.domain.contexts.difference import Difference, Missed
from memoryhub.domain.contexts.fix_plans import FixPlan, OfferedFix, plan_fixes
from memoryhub.domain.contexts.fixing import FixReview, apply_fix, can_make, review_fix
from memoryhub.domain.contexts.laptop import SLUG as LAPTOP
from memoryhub.domain.contexts.laptop import Offer, find_laptop, home_for, set_home, show_chosen, show_laptop
from memoryhub.domain.contexts.moving import (
    Plan,
    apply_plan,
    plan_entry,
    plan_one_file,
    propose_fix,
    propose_plan,
    targets_for,
    undo_plan,
)
from memoryhub.domain.contexts.own_memory import change_entry, find_entries, own_memories, own_memory, topic_paths
from memoryhub.domain.contexts.past import moments_of
from memoryhub.domain.contexts.places import (
    Place,
    is_agents_folder,
    mounts_of_this_disk,
    mounts_to_look_at,
    place_in_mount,
)
from memoryhub.domain.contexts.space_readers import (
    Loaded,
    MountReaders,
    Reader,
    SourceReaders,
    add_readers,
    mount_readers,
    read_paths,
    source_readers,
)
