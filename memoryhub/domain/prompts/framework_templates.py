"""The template text of frameworks, as data: taken from the installed library, a wheel, or an agent's client."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import zipfile
import zlib
from datetime import datetime
from email.parser import Parser
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet

from memoryhub import dialects
from memoryhub.dialects import deepagents
from memoryhub.domain import activity, spaces
from memoryhub.domain.prompts import agents
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, DialectTemplate, Space

MEMORY_MODULE = "deepagents/middleware/memory.py"
MAX_TEMPLATE = 200_000


@transaction.atomic
def keep_template(
    space_id: int, actor: Actor, version: str, text: str, came_from: str, *, family: str = "deepagents"
) -> DialectTemplate:
    """Stores a template text with its version and sha256; the same text of the same version once."""
    if family != "deepagents":
        raise Invalid(f"{family[:60]!r} has no template; deepagents has one.", code="invalid_template", field="family")
    if len(text) > MAX_TEMPLATE or "\x00" in text:
        raise Invalid(
            f"A template is text of {MAX_TEMPLATE:,} characters at most.", code="invalid_template", field="text"
        )
    deepagents.check_template(text)
    dialect = dialects.resolve(f"{family}/{version}")
    match = deepagents.compare(dialect.name, text)
    template, created = DialectTemplate.objects.get_or_create(
        space_id=space_id,
        family=family,
        version=version[:32],
        sha256=match.sha256,
        defaults={"form": dialect.name, "text": text, "came_from": came_from[:200], "is_known": match.known},
    )
    if created:
        touched = Space.objects.filter(pk=space_id) if space_id else Space.objects.all()
        for space in touched.order_by("pk"):
            spaces.mark_setup(space)
        where = Space.objects.get(pk=space_id) if space_id else None
        activity.record(
            where, actor, "templates.keep", "took in the template of", f"{family} {version}", aside=came_from
        )
    return template


def import_installed_template(actor: Actor = HUB, *, space_id: int = 0) -> DialectTemplate:
    """Reads the template from the installed deepagents, without running it."""
    found = importlib.util.find_spec("deepagents")
    if found is None or not found.submodule_search_locations:
        raise NotFound(
            "deepagents is not installed here. Name a wheel: memoryhub template import deepagents --wheel FILE."
        )
    source = Path(found.submodule_search_locations[0], "middleware", "memory.py")
    version = importlib.metadata.version("deepagents")
    return keep_template(
        space_id, actor, version, deepagents.read_template(source.read_text("utf-8")), "installed library"
    )


def import_template_wheel(
    file: Path | IO[bytes], actor: Actor = HUB, *, space_id: int = 0, name: str = ""
) -> DialectTemplate:
    """Reads the template from a wheel of deepagents, for one space or for all (0)."""
    name = name or Path(str(file)).name
    try:
        with zipfile.ZipFile(file) as archive:
            source = read_member(archive, MEMORY_MODULE)
            version = wheel_version(archive)
    except FileNotFoundError:
        raise NotFound(f"There is no file {name}.") from None
    except (OSError, KeyError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile):
        raise Invalid(
            f"{name} is no wheel of deepagents with memory in it (0.3.4 or newer).", code="invalid_wheel"
        ) from None
    return keep_template(space_id, actor, version, deepagents.read_template(source), f"wheel {name}")


def read_member(archive: zipfile.ZipFile, name: str) -> str:
    """One file of a wheel. A zip bomb cannot grow past the size that it states, at which `read` stops."""
    if archive.getinfo(name).file_size > 10 * MAX_TEMPLATE:
        raise ValueError(f"{name} is too large")
    return archive.read(name).decode()


def wheel_version(archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return str(Parser().parsestr(read_member(archive, names[0] if names else "METADATA"))["Version"])


@transaction.atomic
def report_template(agent: Agent, version: str, text: str, *, library: str = "deepagents") -> DialectTemplate:
    """Stores the template that an agent's client reports; one that is not published counts for that agent alone."""
    actor = Actor.of_agent(agent)
    kept = keep_template(agent.space_id, actor, version, text, f"client of {agent.slug}", family=library)
    agents.report_agent(agent, {**(agent.reported or {}), "library": library, "version": version})
    return kept


# The template of a form for an agent at a moment: one of the form itself before one of equal text, then the newest version.
# What a client reported counts for others only when it is a published text. `inputs` reads with it too.
CHOSEN_TEMPLATE = """
SELECT {columns} FROM memoryhub_dialecttemplate t
 WHERE t.space_id IN (0, %(space)s) AND (t.form = %(form)s::text OR left(t.sha256, 16) = %(known)s::text)
   AND (t.is_known OR left(t.came_from, 10) <> 'client of ' OR t.came_from = 'client of ' || %(slug)s::text)
   AND t.created_at <= %(at)s::timestamptz
 ORDER BY (t.form = %(form)s::text) DESC,
          string_to_array(substring(t.version from '^[0-9]+(?:[.][0-9]+)*'), '.')::int[] DESC, t.id DESC
 LIMIT 1
"""


def template_params(space_id: int, form: str, *, agent_slug: str = "", at: datetime | None = None) -> dict[str, Any]:
    """The parameters of `CHOSEN_TEMPLATE`."""
    known = deepagents.KNOWN_TEMPLATES.get(form, (0, "-"))[1]
    return {"space": space_id, "form": form, "known": known, "slug": agent_slug, "at": at or "infinity"}


def chosen_template(
    space_id: int, form: str, *, agent_slug: str = "", at: datetime | None = None
) -> DialectTemplate | None:
    """The template in use for this form, with where it came from."""
    values = template_params(space_id, form, agent_slug=agent_slug, at=at)
    return next(iter(DialectTemplate.objects.raw(CHOSEN_TEMPLATE.format(columns="t.*"), values)), None)


def templates_for(space_id: int) -> QuerySet[DialectTemplate]:
    """Every stored template of a space and of all spaces, newest first, displaced ones included."""
    return DialectTemplate.objects.filter(space_id__in=(0, space_id)).order_by("form", "-created_at", "-pk")
