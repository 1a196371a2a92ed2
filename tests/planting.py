"""Plants one row in every table of a space, by itself: a new table is planted without a new line here.

Identifiers that anybody could guess are WORD and PK; every text that must stay in its space carries CANARY.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from memoryhub.domain import retrieval
from memoryhub.models import Person, Space

WORD, CANARY, PK = "zebrafink", "kanarienvogel", 900_001
TEXT = f"{WORD} {CANARY}"
PATH = f"/{WORD}/notes.md"
SHA = hashlib.sha256(TEXT.encode()).hexdigest()
OUTSIDE = {"Space", "Person", "FailedTry", "Node", "SharedKey"}  # what belongs to no space

# What a generic value would make meaningless: by field name, or by Model.field.
VALUES: dict[str, Any] = {
    "slug": WORD,
    "path": PATH,
    "prefix": f"/{WORD}/",
    "pattern": f"/{WORD}/**",
    "sha256": SHA,
    "base_sha256": SHA,
    "written_sha256": SHA,
    "digest": SHA,
    "lexeme": WORD,
    "number": PK,
    "revision": PK,
    "size": len(TEXT),
    "session_key": WORD,
    "url": f"http://127.0.0.1:9/{WORD}",
    "thread_id": WORD,
    "session_id": WORD,
    "File.thread_id": "",
    "Membership.role": "owner",
    "Mount.directory": "",
    "Mount.problem": "",
    "File.problem": "",
    "Proposal.kind": "write",
    "Proposal.stacked_on": None,
    "RecordState.state": "held",
    "Token.person": None,
    "Token.prefix": f"mh_{WORD}_ab12",
    "Token.scopes": [],
    "Agent.dialect": "hub",
    "Agent.template": "",
    "Agent.gives_way": [],
    "LongtermEntry.metadata": {"note": CANARY},
    "Job.kind": f"{WORD}.none",
    "Job.state": "done",
    "Chunk.start": 0,
    "Chunk.end": len(TEXT),
    "Delivery.revisions": {PATH: PK},
    "Source.position": 0,
}


def tables() -> list[type[models.Model]]:
    """The models whose rows belong to a space, or to a person, in the order in which rows can be made."""
    ordered: list[type[models.Model]] = []

    def add(model: type[models.Model]) -> None:
        if model in ordered or model.__name__ in OUTSIDE:
            return
        for field in model._meta.fields:
            if field.is_relation and field.related_model and field.related_model is not model:
                add(field.related_model)
        ordered.append(model)

    for model in apps.get_app_config("memoryhub").get_models():
        add(model)
    return ordered


def plant(space: Space, person: Person, pk: int = PK) -> None:
    for model in tables():
        row = model(**{field.attname: value_of(model, field, space, person, pk) for field in model._meta.fields})
        # A table with one row per space keeps the first.
        model._base_manager.bulk_create([row], ignore_conflicts=pk != PK)
    embedder = retrieval.serving_embedder(space)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memoryhub_embedding SET embedded_by = %s, vector = %s WHERE id = %s",
            [embedder.embedded_by, str(embedder.embed([TEXT])[0].tolist()), pk],
        )


def value_of(model: type[models.Model], field: models.Field, space: Space, person: Person, pk: int) -> Any:
    for name in (f"{model.__name__}.{field.name}", field.name):
        if name in VALUES:
            return distinct(VALUES[name], pk)
    if field.primary_key:
        return pk
    if field.name in ("space", "space_id"):
        return space.pk
    if field.is_relation:
        return person.pk if field.related_model is Person else pk
    made = distinct(generic(field, pk), pk)
    return made[: field.max_length] if isinstance(made, str) else made


def distinct(value: Any, pk: int) -> Any:
    """The same for another set of rows, so that what must be unique is."""
    if pk == PK:
        return value
    if isinstance(value, str):
        return hashlib.sha256(f"{pk}".encode()).hexdigest() if value == SHA else value.replace(WORD, f"{WORD}-{pk}")
    return pk if value == PK else value


def generic(field: models.Field, pk: int) -> Any:
    if isinstance(field, models.DateTimeField | models.DateField):
        if field.null:
            return None
        return timezone.now() + timedelta(days=1) if field.name.startswith("expires") else timezone.now()
    if isinstance(field, models.GenericIPAddressField):
        return None
    if (
        field.get_internal_type() in ("HalfVectorField", "SearchVectorField")
        or type(field).__name__ == "HalfVectorField"
    ):
        return [0.0] if type(field).__name__ == "HalfVectorField" else None
    if isinstance(field, models.JSONField):
        return {"note": CANARY} if field.get_default() == {} else field.get_default()
    if isinstance(field, models.BinaryField):
        return TEXT.encode()
    if field.choices:
        return field.get_default() or field.choices[0][0]
    if isinstance(field, models.CharField | models.TextField):
        if field.get_default():
            return field.get_default()
        fits = field.max_length is None or field.max_length >= len(TEXT)
        return TEXT if fits else WORD[: field.max_length]
    if isinstance(field, models.BigIntegerField) and not field.has_default():
        return pk
    return field.get_default() if field.has_default() else 1


def fingerprint(space: Space) -> dict[str, str]:
    """What stands in every table about this space: two of them are the same when nothing was changed."""
    with connection.cursor() as cursor:
        cursor.execute(_fingerprints(), {"space": space.pk, "planted": PK})
        return dict(cursor.fetchall())


@cache
def _fingerprints() -> str:
    """All tables in one statement: some tests ask for hundreds of them."""
    return " UNION ALL ".join(map(_fingerprint, [*tables(), Space]))


def _fingerprint(model: type[models.Model]) -> str:
    table = model._meta.db_table
    table = table if table.startswith('"') else f'"{table}"'
    column = next((f.column for f in model._meta.fields if f.name in ("space", "space_id")), None)
    where = "id = %(space)s" if model is Space else f"{column} = %(space)s" if column else "id = %(planted)s"
    return f"SELECT '{model.__name__}', md5(string_agg(t::text, '|' ORDER BY id)) FROM {table} t WHERE {where}"
