"""The role that each kind of action takes. Pages hide what a role may not do, and the server refuses it as well."""

from __future__ import annotations

from memoryhub.errors import Forbidden
from memoryhub.models import Actor, Role

# The least role for each kind of action. Agents have no role: their tokens carry scopes instead, and none of those decides.
REQUIRED_ROLE = {
    "read": Role.VIEWER,
    "edit": Role.EDITOR,
    "decide": Role.REVIEWER,
    "promote": Role.REVIEWER,
    "manage": Role.OWNER,
}
RANK: dict[str, int] = {role: rank for rank, role in enumerate((Role.VIEWER, Role.EDITOR, Role.REVIEWER, Role.OWNER))}
WHO_MAY = {
    "read": "Only members read this.",
    "edit": "Only editors, reviewers and owners change files and working memory, and comment.",
    "decide": "Only reviewers and owners decide.",
    "promote": "Only reviewers and owners promote.",
    "manage": "Only owners manage people, agents, mounts, tokens and settings.",
}


def may(role: str, action: str) -> bool:
    """Whether somebody in this role may do this kind of thing."""
    return RANK.get(role, -1) >= RANK[REQUIRED_ROLE[action]]


def role_rank(role: str) -> int:
    return RANK[Role(role)]


def refusal(role: str, action: str) -> Forbidden:
    if action in ("decide", "promote") and not role:
        return Forbidden("Only people decide: an agent's token cannot approve, reject or promote.", code="people_only")
    standing = (
        f" You are {'an' if role[:1] in 'aeiou' else 'a'} {role} here; ask an owner of the space." if role else ""
    )
    return Forbidden(WHO_MAY[action] + standing)


def require(actor: Actor, action: str) -> None:
    """Refuses whoever may not."""
    if not may(actor.role, action):
        raise refusal(actor.role, action)


def require_hub_owner(actor: Actor, does: str = "makes spaces") -> None:
    """Some things belong to no space: making one, loading the demo, keeping a person out."""
    if actor.kind != "hub" and not (actor.person and actor.person.is_hub_owner):
        raise Forbidden(f"Only the owner of the hub {does}. Ask whoever started it.")
