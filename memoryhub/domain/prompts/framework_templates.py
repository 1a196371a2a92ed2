"""The template text of frameworks, as data: taken from the installed library, a wheel, or an agent's client."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import zipfile
import zlib
from dataclasses import dataclass
from datetime import datetime
from email.parser import Parser
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub import dialects
from memoryhub.db import statements
from memoryhub.dialects import deepagents
from memoryhub.domain import activity, spaces
from memoryhub.domain.prompts import agents
from memoryhub.errors import Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, DialectTemplate, Space, TemplateChoice

MEMORY_MODULE = "deepagents/middleware/memory.py"
MAX_TEMPLATE = 200_000


@transaction.atomic
def keep_template(space_id: int, actor: Actor, version: str, text: str, came_from: str) -> DialectTemplate:
    """Stores a template text with its version and sha256; the same text of the same version once."""
    dialect = check_template("deepagents", version, text)
    match = deepagents.compare(dialect.name, text)
    template, created = DialectTemplate.objects.get_or_create(
        space_id=space_id,
        family="deepagents",
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
            where, actor, "templates.keep", "imported the template of", f"deepagents {version}", aside=came_from
        )
    return template


def check_template(family: str, version: str, text: str) -> dialects.Dialect:
    """The dialect that a template of this version serves; refused where it is no template."""
    if family != "deepagents":
        raise Invalid(f"{family[:60]!r} has no template; deepagents has one.", code="invalid_template", field="family")
    if len(text) > MAX_TEMPLATE or "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise Invalid(
            f"A template is text of {MAX_TEMPLATE:,} characters at most, without NUL or half characters.",
            code="invalid_template",
            field="text",
        )
    deepagents.check_template(text)
    return dialects.resolve(f"{family}/{version}")


def import_installed_template(actor: Actor = HUB, *, space_id: int = 0) -> DialectTemplate:
    """Stores the template of the installed deepagents, which is read without running it."""
    version, text = read_installed()
    return keep_template(space_id, actor, version, text, "installed library")


def read_installed() -> tuple[str, str]:
    """Version and template of the installed deepagents."""
    found = importlib.util.find_spec("deepagents")
    if found is None or not found.submodule_search_locations:
        raise NotFound(
            "deepagents is not installed here. Name a wheel: memoryhub template import deepagents --wheel FILE."
        )
    source = Path(found.submodule_search_locations[0], "middleware", "memory.py")
    return importlib.metadata.version("deepagents"), deepagents.read_template(source.read_text("utf-8"))


def import_template_wheel(
    file: Path | IO[bytes], actor: Actor = HUB, *, space_id: int = 0, name: str = ""
) -> DialectTemplate:
    """Stores the template out of a wheel of deepagents, for one space or for all (0)."""
    name = name or Path(str(file)).name
    version, text = read_wheel(file, name)
    return keep_template(space_id, actor, version, text, f"wheel {name}")


def read_wheel(file: Path | IO[bytes], name: str) -> tuple[str, str]:
    """Version and template of a wheel of deepagents; nothing of it is run."""
    try:
        with zipfile.ZipFile(file) as archive:
            source = read_member(archive, MEMORY_MODULE)
            version = wheel_version(archive)
    except FileNotFoundError:
        raise NotFound(f"There is no file {name}.") from None
    except PermissionError as error:
        raise Invalid(f"{name} cannot be read: {error.strerror}.", code="unreadable") from None
    except (OSError, KeyError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile):
        raise Invalid(
            f"{name} is no wheel of deepagents with memory in it (0.3.4 or newer).", code="invalid_wheel"
        ) from None
    return version, deepagents.read_template(source)


def read_member(archive: zipfile.ZipFile, name: str) -> str:
    """One file of a wheel. A zip bomb cannot grow past the size that it states, at which `read` stops."""
    if archive.getinfo(name).file_size > 10 * MAX_TEMPLATE:
        raise ValueError(f"{name} is too large")
    return archive.read(name).decode()


def wheel_version(archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return str(Parser().parsestr(read_member(archive, names[0] if names else "METADATA"))["Version"])


# ---- what the client of an agent reports


@dataclass(frozen=True, slots=True)
class Report:
    """A template as an agent's client reports it. `published` is None for a text that is not a published one."""

    agent: Agent
    version: str
    text: str
    form: str
    sha256: str
    published: str | None = None  # the form whose published text it is

    @property
    def actor(self) -> Actor:
        return Actor.of_agent(self.agent)

    @property
    def came_from(self) -> str:
        return from_client(self.agent)


@transaction.atomic
def read_report(agent: Agent, version: str, text: str, library: str = "deepagents") -> Report:
    """Checks what a client reports and stores its library and version; the text counts for nothing yet.

    A version is what an agent says: it never decides for which form a published text counts.
    """
    dialect = check_template(library, version, text)
    published = deepagents.published_forms(text)
    agents.report_agent(agent, {**(agent.reported or {}), "library": library, "version": version[:32]})
    form = dialect.name if dialect.name in published or not published else published[-1]
    sha256 = deepagents.compare(form, text).sha256
    return Report(agent, version[:32], text, form, sha256, form if published else None)


@transaction.atomic
def take_published(report: Report) -> DialectTemplate:
    """Stores a published text; from now on it is what this agent's prompt is made with."""
    form = dialects.resolve(f"deepagents/{report.version}").name
    # Under a version that does not ship it, the text is kept under the first version that does.
    version = report.version if form == report.form else report.form.partition("/")[2]
    space_id, agent = report.agent.space_id, report.agent
    kept = keep_template(space_id, report.actor, version, report.text, report.came_from)
    used = chosen_template(space_id, kept.form, agent_id=agent.pk)
    if used is None or used.sha256 != kept.sha256 or _refused_since(report.agent, kept.form):
        choose_template(agent, report.actor, kept)
    return kept


def template_in_use_again(report: Report) -> DialectTemplate | None:
    """The template of a report, if people decided on this very text for this agent before; it counts again then."""
    chosen = TemplateChoice.objects.within(report.agent.space_id).filter(
        agent_id=report.agent.pk, form=report.form, ended_at=None
    )
    texts = DialectTemplate.objects.in_bulk(chosen.values_list("template_id", flat=True))
    known = next((one for one in texts.values() if one.sha256 == report.sha256), None)
    newest = chosen.order_by("-pk").first()
    if known and newest and newest.template_id != known.pk:
        choose_template(report.agent, report.actor, known)
    return known


def _refused_since(agent: Agent, form: str) -> bool:
    """Whether another text of this agent was refused since its template was chosen last."""
    asked = statements.rows(
        TEMPLATE_ASKED, template_params(agent.space_id, form, agent_id=agent.pk, agent_slug=agent.slug)
    )
    return any(one.partition(" ")[2] not in ("pending", "outdated") for (one,) in asked)


def choose_template(
    agent: Agent, actor: Actor, template: DialectTemplate, *, proposal: int | None = None
) -> TemplateChoice:
    """Makes this the template of an agent's prompts in its form, until another is chosen (in the caller's transaction)."""
    chosen = TemplateChoice.objects.create(
        space_id=agent.space_id, agent_id=agent.pk, form=template.form, template_id=template.pk, proposal=proposal,
        **actor.as_fields(),
    )  # fmt: skip
    spaces.mark_setup(agent.space_id)
    return chosen


@transaction.atomic
def decide_template(agent: Agent, actor: Actor, form: str, version: str, text: str, proposal: int) -> None:
    """A person lets a reported text into the prompts of the agent that reported it, and of no other."""
    data = {"form": form, "text": text, "came_from": from_client(agent), "is_known": False}
    kept, _ = DialectTemplate.objects.get_or_create(
        space_id=agent.space_id, family="deepagents", version=version[:32],
        sha256=deepagents.compare(form, text).sha256, defaults=data,
    )  # fmt: skip
    choose_template(agent, actor, kept, proposal=proposal)


@transaction.atomic
def take_back_template(space: Space, proposal: int) -> None:
    """Ends what a proposal chose: the template that was chosen before it counts again."""
    TemplateChoice.objects.within(space).filter(proposal=proposal, ended_at=None).update(ended_at=timezone.now())
    spaces.mark_setup(space)


def from_client(agent: Agent) -> str:
    """Where a text comes from that an agent's client reported; the statements below look for these words."""
    return f"client of {agent.slug}"


# The template of a form for an agent at a moment: the one chosen for it last; else one of the form itself before one of equal
# text, what people took in before what a client reported, then the newest version. What a client reported counts only where it
# is a published text, or a person decided on it. `inputs` reads with it too.
CHOSEN_TEMPLATE = """
SELECT {columns} FROM memoryhub_dialecttemplate t LEFT JOIN LATERAL (
    SELECT c.id FROM memoryhub_templatechoice c
     WHERE c.space_id = %(space)s AND c.agent_id = %(agent)s AND c.form = %(form)s::text AND c.template_id = t.id
       AND c.created_at <= %(at)s::timestamptz AND coalesce(c.ended_at > %(at)s::timestamptz, true)
     ORDER BY c.id DESC LIMIT 1
 ) chosen ON true
 WHERE t.space_id IN (0, %(space)s) AND t.created_at <= %(at)s::timestamptz AND (chosen.id IS NOT NULL
   OR (t.form = %(form)s::text OR left(t.sha256, 16) = %(known)s::text)
      AND (t.is_known OR left(t.came_from, 10) <> 'client of '))
 ORDER BY chosen.id DESC NULLS LAST, (t.form = %(form)s::text) DESC, left(t.came_from, 10) = 'client of ',
          string_to_array(substring(t.version from '^[0-9]+(?:[.][0-9]+)*'), '.')::int[] DESC, t.id DESC
 LIMIT 1
"""
# What an agent's client reported and nobody let in, if it is newer than what was chosen last: the number and state of its proposal.
# A hub that was upgraded may have texts without a proposal: 0 and `old`.
TEMPLATE_ASKED = """
SELECT asked.number || ' ' || asked.state FROM (
  (SELECT p.number, p.state,
          CASE WHEN p.state IN ('pending', 'outdated') THEN 'infinity' ELSE coalesce(p.decided_at, p.created_at) END AS at
     FROM memoryhub_proposal p
    WHERE p.space_id = %(space)s AND p.agent_id = %(agent)s AND p.kind = 'template'
      AND p.change ->> 'form' = %(form)s::text AND p.state NOT IN ('approved', 'withdrawn') ORDER BY at DESC, p.number DESC LIMIT 1)
  UNION ALL
  (SELECT 0, 'old', t.created_at FROM memoryhub_dialecttemplate t
    WHERE t.space_id = %(space)s AND t.form = %(form)s::text AND NOT t.is_known
      AND t.came_from = 'client of ' || %(slug)s::text
      AND NOT EXISTS (SELECT FROM memoryhub_templatechoice c WHERE c.space_id = t.space_id AND c.template_id = t.id)
    ORDER BY t.id DESC LIMIT 1)
) asked WHERE NOT EXISTS (
  SELECT FROM memoryhub_templatechoice c WHERE c.space_id = %(space)s AND c.agent_id = %(agent)s
     AND c.form = %(form)s::text AND c.ended_at IS NULL AND c.created_at > asked.at
) ORDER BY asked.number DESC LIMIT 1
"""


def template_params(
    space_id: int, form: str, *, agent_id: int = 0, agent_slug: str = "", at: datetime | None = None
) -> dict[str, Any]:
    """The parameters of `CHOSEN_TEMPLATE` and `TEMPLATE_ASKED`."""
    known = deepagents.KNOWN_TEMPLATES.get(form, (0, "-"))[1]
    return {
        "space": space_id, "agent": agent_id, "form": form, "known": known, "slug": agent_slug, "at": at or "infinity",
    }  # fmt: skip


def template_with_sha256(space_id: int, sha256: str) -> DialectTemplate | None:
    """A stored template by its text."""
    return templates_for(space_id).filter(sha256=sha256).first() if sha256 else None


def chosen_template(
    space_id: int, form: str, *, agent_id: int = 0, at: datetime | None = None
) -> DialectTemplate | None:
    """The template in use for this form, with where it came from."""
    values = template_params(space_id, form, agent_id=agent_id, at=at)
    return next(iter(DialectTemplate.objects.raw(CHOSEN_TEMPLATE.format(columns="t.*"), values)), None)


def template_warning(asked: str) -> dialects.Warn:
    """The warning of a prompt whose agent has another template than the one it is made with."""
    number, _, state = asked.partition(" ")
    other = "Its client reported another template, which is not used: "
    if state == "old":
        why = "it is neither published nor decided on; the client's next report asks for it as a proposal."
    elif state in ("pending", "outdated"):
        why = f"it waits for a person in proposal {number}."
    else:
        why = f"proposal {number} for it was {state}."
    return dialects.Warn("template_pending", None, other + why)


def templates_for(space_id: int) -> QuerySet[DialectTemplate]:
    """Every stored template of a space and of all spaces, newest first, displaced ones included."""
    return DialectTemplate.objects.filter(space_id__in=(0, space_id)).order_by("form", "-created_at", "-pk")
