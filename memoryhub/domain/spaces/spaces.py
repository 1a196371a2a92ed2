"""Spaces: making them, who is in them, what they chose, and taking one away whole."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from memoryhub.db import statements
from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.spaces import events
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import Actor, Agent, File, Membership, Mount, Person, Proposal, RecordState, Role, Space, Token

# Everything a space may choose, with what it gets when it chooses nothing: (default, least, most) for numbers.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "proposal_days": (30, 1, 365),
    "warn_days": (3, 0, 60),
    "working_limit": (50, 1, 50),
    "working_hours": (24, 1, 24 * 30),
    "delivery_days": (90, 1, 3650),
    "reviewers": (1, 1, 2),
    "who_decides": ("any",),  # "others": whoever made a key of an agent does not decide on what it asks
    "ingress": ({},),
    "detectors": ({},),
    "judge": ({},),
    "embedder": ("",),
    "embedder_before": ("",),
    "digest": ("",),
}


NEXT = {
    "last_proposal": "UPDATE memoryhub_space SET last_proposal = last_proposal + %s WHERE id = %s RETURNING last_proposal",
    "last_entry": "UPDATE memoryhub_space SET last_entry = last_entry + %s WHERE id = %s RETURNING last_entry",
}
NEW_MARK = "(SELECT (random() * 9007199254740991)::bigint)"
TEXT = f"UPDATE memoryhub_space SET revision = revision + 1 WHERE id = %s {statements.ONLY} RETURNING revision"  # noqa: S608 (a word of ours)
LONGTERM = (
    f"UPDATE memoryhub_space SET revision = revision + 1, longterm_mark = {NEW_MARK} WHERE id = %s RETURNING revision"  # noqa: S608 (a word of ours)
)
SETUP = f"UPDATE memoryhub_space SET revision = revision + 1, setup_mark = {NEW_MARK} WHERE id = %s RETURNING revision"  # noqa: S608 (a word of ours)


def touch(space: Space | int) -> int:
    """Raises the space's revision in the caller's transaction: every cached prompt of it is stale from its commit on.

    Nothing that was gathered for a prompt is trusted after it, but for texts that are compared by their sha256.
    """
    return statements.row(SETUP, [getattr(space, "pk", space)])[0]


def touch_longterm(space: Space) -> int:
    """The same, where what retrieval finds in long-term memory may be another from now on."""
    (revision,) = statements.together(touching_longterm(space))
    return revision


def touching_text(space: Space | int) -> statements.Change:
    """The same, where nothing but the text of a file is another, as a change that can travel with it."""
    pk = space if isinstance(space, int) else space.pk
    return statements.Change(TEXT, [pk])


def touching_longterm(space: Space) -> statements.Change:
    return statements.Change(LONGTERM, [space.pk])


def next_number(space: Space, counter: str, many: int = 1) -> int:
    """The first of the next proposals (`last_proposal`) or entries (`last_entry`) of the space; the row lock keeps them gapless."""
    return statements.row(NEXT[counter], [many, space.pk])[0] - many + 1


def get_setting(space: Space, key: str) -> Any:
    return space.settings.get(key, SETTINGS[key][0])


@transaction.atomic
def change_settings(space: Space, actor: Actor, values: dict[str, Any]) -> Space:
    """Changes what the space chose; each number within its bounds."""
    require(actor, "manage")
    space = Space.objects.select_for_update().get(pk=space.pk)
    before = dict(space.settings)
    for key, value in values.items():
        space.settings[key] = checked(key, value)
    if space.settings == before:
        return space
    space.save(update_fields=["settings"])
    if get_setting(space, "working_limit") < before.get("working_limit", SETTINGS["working_limit"][0]):
        events.send_event("working_limit_lowered", space)
    touch(space)
    changed = [key for key in values if before.get(key, SETTINGS[key][0]) != space.settings[key]]
    named = ", ".join(f"{key.replace('_', ' ')}: {shown(space.settings[key])}" for key in changed)
    activity.record(space, actor, "spaces.change_settings", "changed", "the settings", url="settings/", adds=named)
    return space


def shown(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and value != "" else "set"


def checked(key: str, value: Any) -> Any:
    if key not in SETTINGS:
        raise Invalid(f"There is no setting {key!r}.", code="unknown_setting")
    default, *bounds = SETTINGS[key]
    if bounds and (not isinstance(value, int) or isinstance(value, bool) or not bounds[0] <= value <= bounds[1]):
        raise Invalid(f"{key.replace('_', ' ').capitalize()} is a number from {bounds[0]} to {bounds[1]}.", field=key)
    if not isinstance(value, type(default)):
        raise Invalid(f"{key.replace('_', ' ').capitalize()} has another form.", field=key)
    return value


@transaction.atomic
def create(actor: Actor, slug: str, name: str = "", *, is_demo: bool = False) -> Space:
    """Makes an empty space: no mounts, no sources. The person who makes it owns it."""
    slug = slug.strip().lower()
    if slugify(slug) != slug or not slug or len(slug) > 64:
        raise Invalid("The address of a space has small letters, digits and hyphens only.", field="slug")
    try:
        with transaction.atomic():
            space = Space.objects.create(slug=slug, name=(name.strip() or slug)[:100], is_demo=is_demo)
    except IntegrityError:
        raise Conflict(f"There is a space {slug!r} already. Choose another address.", field="slug") from None
    if actor.person:
        Membership.objects.create(space=space, person=actor.person, role=Role.OWNER)
    activity.record(space, actor, "spaces.create", "made", f"the space {space.name}")
    return space


@transaction.atomic
def rename(space: Space, actor: Actor, name: str, description: str = "") -> Space:
    """Changes the name and the description; the address stays."""
    require(actor, "manage")
    if not name.strip():
        raise Invalid("A space needs a name.", field="name")
    space.name, space.description = name.strip()[:100], description.strip()[:500]
    space.save(update_fields=["name", "description"])
    touch(space)
    activity.record(space, actor, "spaces.rename", "named this space", space.name, url="")
    return space


def of_person(person: Person) -> QuerySet[Space]:
    return Space.objects.filter(memberships__person=person).order_by("name")


def with_roles(person: Person) -> QuerySet[Membership]:
    return Membership.objects.filter(person=person).select_related("space").order_by("space__name")


def enter(person: Person, slug: str) -> tuple[Space, str]:
    """The space and the person's role in it; for anybody else it does not exist."""
    try:
        membership = Membership.objects.select_related("space").get(space__slug=slug, person=person)
    except Membership.DoesNotExist:
        raise NotFound("The address may be old, or belong to a space you are not in.") from None
    return membership.space, membership.role


def by_slug(slug: str) -> Space:
    """For commands, whose user has the data directory anyway."""
    space = Space.objects.filter(slug=slug).first()
    if space is None:
        have = ", ".join(Space.objects.values_list("slug", flat=True)[:10]) or "none yet"
        raise NotFound(f"There is no space {slug!r}. There is: {have}.")
    return space


def members(space: Space) -> QuerySet[Membership]:
    return Membership.objects.within(space).select_related("person").order_by("person__username")


@transaction.atomic
def add_member(space: Space, actor: Actor, person: Person, role: str) -> Membership:
    """Lets a person into the space; somebody who is in it already gets the role."""
    require(actor, "manage")
    lock_members(space)
    existing = Membership.objects.within(space).filter(person=person).first()
    if existing:
        return change_role(space, actor, person, role)
    membership = Membership.objects.create(space=space, person=person, role=checked_role(role))
    activity.record(space, actor, "people.add", "added", person.username, url="settings/people/", adds=f"as {role}")
    return membership


@transaction.atomic
def change_role(space: Space, actor: Actor, person: Person, role: str) -> Membership:
    """Gives a member another role; a space always keeps an owner."""
    require(actor, "manage")
    lock_members(space)
    membership = member(space, person)
    if membership.role == checked_role(role):
        return membership
    if membership.role == Role.OWNER:
        keep_an_owner(space, person)
    was, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    says = ("made", person.username)
    activity.record(space, actor, "people.change_role", *says, url="settings/people/", adds=f"{role}, was {was}")
    return membership


@transaction.atomic
def remove_member(space: Space, actor: Actor, person: Person) -> None:
    """Takes a person out of the space and ends their tokens here; what they did stays."""
    require(actor, "manage")
    lock_members(space)
    membership = member(space, person)
    if membership.role == Role.OWNER:
        keep_an_owner(space, person)
    membership.delete()
    person.tokens.within(space).filter(revoked_at=None).update(revoked_at=timezone.now())
    activity.record(space, actor, "people.remove", "removed", person.username, url="settings/people/")


def lock_members(space: Space) -> None:
    """Two owners who demote each other at one moment must not both succeed."""
    Space.objects.select_for_update().get(pk=space.pk)


def member(space: Space, person: Person) -> Membership:
    membership = Membership.objects.within(space).filter(person=person).first()
    if membership is None:
        raise NotFound(f"{person.username} is not a member of this space.")
    return membership


def member_by_person(space: Space, person_id: int) -> Membership:
    membership = members(space).filter(person_id=person_id).first()
    if membership is None:
        raise NotFound("There is no such member in this space.")
    return membership


def checked_role(role: str) -> str:
    if role not in Role.values:
        raise Invalid(f"A role is one of: {', '.join(Role.values)}.", field="role")
    return role


def keep_an_owner(space: Space, leaving: Person) -> None:
    if not Membership.objects.within(space).filter(role=Role.OWNER).exclude(person=leaving).exists():
        raise Conflict("A space needs an owner. Make somebody else owner first.", code="last_owner")


# ---- taking a space away whole ----


def tables_with_plain_ids() -> list[str]:
    """Tables that carry `space_id` without a foreign key; everything else goes with the space's own row."""
    found = apps.get_app_config("memoryhub").get_models()
    return [
        m._meta.db_table
        for m in found
        if any(f.attname == "space_id" and not f.is_relation for f in m._meta.concrete_fields)
    ]


# What is locked before the space's own row, in this order: what people decide on, then what raises the space's revision.
# After it comes what its long-term memory holds. Whoever takes more than one of these keeps to that, or waits crosswise.
BEFORE_THE_SPACE = (RecordState, Proposal, File, Agent, Mount, Token)
HOLD = "SELECT count(*) FROM (SELECT FROM {table} WHERE space_id = %s ORDER BY id FOR UPDATE) held"


def hold_whole(space: Space) -> Space:
    """Waits for decisions and changes under way in a space, and keeps new ones out until the transaction ends."""
    with connection.cursor() as cursor:
        for model in BEFORE_THE_SPACE:
            cursor.execute(HOLD.format(table=connection.ops.quote_name(model._meta.db_table)), [space.pk])
    return Space.objects.select_for_update().get(pk=space.pk)


@transaction.atomic
def erase(space: Space, actor: Actor) -> dict[str, int]:
    """Deletes a space with everything in it, also what is kept for good: the one door of promise 6. A tombstone stays."""
    require(actor, "manage")
    space = hold_whole(space)
    gone: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memoryhub.erasing', %s, true)", [str(space.pk)])
        for table in tables_with_plain_ids():
            # Names with a schema come quoted already: quote_name leaves those as they are.
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)} WHERE space_id = %s", [space.pk])  # noqa: S608
            gone[table.replace('"', "").removeprefix("memoryhub_")] = cursor.rowcount
        cursor.execute("SELECT set_config('memoryhub.erasing', '', true)")
    _, by_model = space.delete()
    gone |= {name.removeprefix("memoryhub.").lower(): count for name, count in by_model.items()}
    if space.is_demo:  # its people came with it and go with it
        Person.objects.filter(preferences__demo="yes", memberships=None).delete()
    gone = {name: count for name, count in gone.items() if count}
    rows = f"{sum(gone.values()):,} rows"
    activity.record(
        None,
        actor,
        "spaces.erase",
        "erased the demo" if space.is_demo else "erased the space",
        space.name,
        adds=f"({space.slug})",
        aside=rows,
        details=gone,
    )
    return gone
