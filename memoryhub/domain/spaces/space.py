"""Making, renaming, finding and erasing spaces."""

from __future__ import annotations

import json
from typing import NamedTuple

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils.text import slugify

from memoryhub.db import statements
from memoryhub.db.append_only import unlocked
from memoryhub.domain import activity
from memoryhub.domain.accounts import require
from memoryhub.domain.spaces import marks
from memoryhub.errors import Conflict, Invalid, NotFound
from memoryhub.models import (
    Actor,
    Agent,
    File,
    Membership,
    Mount,
    Person,
    Proposal,
    RecordState,
    Role,
    Settings,
    Space,
    Token,
)
from memoryhub.text.counted import counted


@transaction.atomic
def create(actor: Actor, slug: str, name: str = "", *, is_demo: bool = False) -> Space:
    """Makes an empty space, without mounts and sources; the person who makes it becomes its owner."""
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
    activity.record(space, actor, "spaces.create", "created the space", space.name)
    return space


@transaction.atomic
def rename(space: Space, actor: Actor, name: str, description: str = "") -> Space:
    """Changes the name and the description; the slug in addresses stays."""
    require(actor, "manage")
    if not name.strip():
        raise Invalid("A space needs a name.", field="name")
    space.name, space.description = name.strip()[:100], description.strip()[:500]
    space.save(update_fields=["name", "description"])
    marks.mark_setup(space)
    activity.record(space, actor, "spaces.rename", "named this space", space.name, url="")
    return space


class SpaceInMenu(NamedTuple):
    pk: int
    slug: str
    name: str


SPACES_IN_MENU = """
SELECT s.id, s.slug, s.name FROM memoryhub_space s JOIN memoryhub_membership m ON m.space_id = s.id
 WHERE m.person_id = %s ORDER BY s.name LIMIT %s
"""


def spaces_in_menu(person: Person, limit: int) -> list[SpaceInMenu]:
    """The first spaces that a person is a member of, by name: what the menu of every page needs of them."""
    return [SpaceInMenu(*row) for row in statements.rows(SPACES_IN_MENU, [person.pk, limit])]


def spaces_of_person(person: Person) -> QuerySet[Space]:
    """The spaces that a person is a member of, by name."""
    return Space.objects.filter(memberships__person=person).order_by("name")


def memberships_of(person: Person) -> QuerySet[Membership]:
    """The memberships of a person with their spaces, by the space's name."""
    return Membership.objects.filter(person=person).select_related("space").order_by("space__name")


PLAIN_COLUMNS = tuple(one.attname for one in Space._meta.concrete_fields if one.attname not in ("settings", "stored"))
SPACE_OF_PERSON = f"""
SELECT m.role, s.settings::text, s.stored::text, {", ".join(f"s.{name}" for name in PLAIN_COLUMNS)}
  FROM memoryhub_membership m JOIN memoryhub_space s ON s.id = m.space_id
 WHERE s.slug = %s AND m.person_id = %s
"""  # noqa: S608 (names of columns)


def get_for_person(person: Person, slug: str) -> tuple[Space, str]:
    """The space of this slug and the person's role in it; NotFound for everybody who is no member."""
    found = statements.rows(SPACE_OF_PERSON, [slug, person.pk])
    if not found:
        raise NotFound("The address may be old, or belong to a space you are not in.")
    role, settings, stored, *values = found[0]
    its_json = {"settings": Settings(json.loads(settings)), "stored": json.loads(stored)}
    return statements.instance(Space, {**its_json, **dict(zip(PLAIN_COLUMNS, values, strict=True))}.items()), role


def last_of_person(person: Person) -> tuple[Space | None, str]:
    """The space that a person was in last, else their first, and their role there; none for who is in no space."""
    mine = Membership.objects.select_related("space").filter(person=person).order_by("space_id")
    last = mine.filter(space_id=person.last_space_id).first() or mine.first()
    return (last.space, last.role) if last else (None, "")


def note_space(person: Person, space: Space) -> None:
    """The space one was in last is where the front door leads."""
    if person.last_space_id != space.pk:
        Person.objects.filter(pk=person.pk).update(last_space=space)


def get_by_slug(slug: str) -> Space:
    """The space of this slug, without asking who may see it: for commands, whose user has the data directory anyway."""
    space = Space.objects.filter(slug=slug).first()
    if space is None:
        have = ", ".join(Space.objects.values_list("slug", flat=True)[:10]) or "none yet"
        raise NotFound(f"There is no space {slug!r}. There is: {have}.")
    return space


def tables_with_plain_ids() -> list[str]:
    """Tables with a `space_id` that is no foreign key; the rows of all others are deleted with the space's own row."""
    return [
        model._meta.db_table
        for model in apps.get_app_config("memoryhub").get_models()
        if any(field.attname == "space_id" and not field.is_relation for field in model._meta.concrete_fields)
    ]


# The tables whose rows are locked before the space's own row, in this order; after it come those of long-term memory. Whoever
# locks rows of more than one keeps to this order: else two transactions wait for each other.
LOCKED_BEFORE_SPACE = (RecordState, Proposal, File, Agent, Mount, Token)
LOCK_ROWS = "SELECT count(*) FROM (SELECT FROM {table} WHERE space_id = %s ORDER BY id FOR UPDATE) held"


def lock_space(space: Space) -> Space:
    """Waits for decisions and changes under way in a space, and blocks new ones until the transaction ends."""
    with connection.cursor() as cursor:
        for model in LOCKED_BEFORE_SPACE:
            cursor.execute(LOCK_ROWS.format(table=connection.ops.quote_name(model._meta.db_table)), [space.pk])
    return Space.objects.select_for_update().get(pk=space.pk)


@transaction.atomic
def erase(space: Space, actor: Actor) -> dict[str, int]:
    """Deletes a space with everything in it, quarantine and activity included; returns the number of rows by table.

    One line of activity of the hub stays, with these numbers.
    """
    require(actor, "manage")
    space = lock_space(space)
    deleted: dict[str, int] = {}
    with unlocked(space.pk), connection.cursor() as cursor:
        for table in tables_with_plain_ids():
            # Names with a schema come quoted already: quote_name leaves those as they are.
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)} WHERE space_id = %s", [space.pk])  # noqa: S608
            deleted[table.replace('"', "").removeprefix("memoryhub_")] = cursor.rowcount
    _, by_model = space.delete()
    deleted |= {name.removeprefix("memoryhub.").lower(): count for name, count in by_model.items()}
    if space.is_demo:  # its people came with it and go with it
        Person.objects.filter(preferences__demo="yes", memberships=None).delete()
    deleted = {name: count for name, count in deleted.items() if count}
    rows = counted(sum(deleted.values()), "row")
    activity.record(
        None,
        actor,
        "spaces.erase",
        "erased the demo" if space.is_demo else "erased the space",
        space.name,
        adds=f"({space.slug})",
        aside=rows,
        details=deleted,
    )
    return deleted
