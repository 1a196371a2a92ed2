"""Memory from elsewhere: first a look at what would come in, then the import, both as jobs that can be taken up again."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from memoryhub.domain import activity, files, jobs, longterm, quarantine, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.exchange import import_formats
from memoryhub.domain.exchange.import_formats import IMPORT_FORMATS, Item
from memoryhub.errors import Conflict, HubError, Invalid, NotFound
from memoryhub.models import Actor, Job, Revision, Space
from memoryhub.stores import paths
from memoryhub.text import input_checks
from memoryhub.text.counted import counted
from memoryhub.text.lines import text_of

PREVIEW_JOB, RUN = "imports.look", "imports.run"
SHOWN = 500  # lines kept for the page; all are counted
MAX_IMPORT_BYTES = 32 * 1024 * 1024
MARKED = "secrets replaced"  # among the details of an item: how many
NEW, SAME, CONFLICT, REFUSED = "new", "same", "conflict", "refused"


@dataclass(frozen=True)
class Line:
    """What would become, or became, of one thing."""

    kind: str
    name: str
    state: str  # new | same | conflict | refused
    why: str = ""


@transaction.atomic
def preview_import(
    space: Space, actor: Actor, kind: str, folder: import_formats.Folder, *, target: str = "/memories/"
) -> Job:
    """Reads what was given and asks for a dry run: what is new, what is here already, what says something else."""
    require(actor, "edit")
    if sum(map(len, folder.values())) > MAX_IMPORT_BYTES:
        raise Invalid("This is more than 32 MiB. Import it in parts.", code="too_large")
    items = import_formats.read_import(kind, folder)
    if any(item.kind == "entry" for item in items):
        require(actor, "promote")
    payload = {
        "kind": kind,
        "target": paths.clean(target, directory=True),
        "items": [pack(without_secret(space, item)) for item in items],
        "actor": [actor.id, actor.name, actor.role],
    }
    return jobs.enqueue(PREVIEW_JOB, payload, space=space, asked_by=actor.name)


@transaction.atomic
def start_import(space: Space, actor: Actor, looked: Job, *, overwrite: bool = False) -> Job:
    """Imports what a look has shown; with `overwrite` what says something else here gets the text from there."""
    require(actor, "edit")
    if looked.kind != PREVIEW_JOB or looked.state != Job.DONE:
        raise Conflict("Look first: an import starts from a finished dry run.", code="look_first")
    label = IMPORT_FORMATS[looked.payload["kind"]].label
    job = jobs.enqueue(
        RUN, {**looked.payload, "overwrite": overwrite, "actor": [actor.id, actor.name, actor.role]}, space=space,
        asked_by=actor.name,
    )  # fmt: skip
    count = len(looked.payload["items"])
    activity.record(
        space, actor, "imports.start", "imported from", label, url=f"settings/import/{job.pk}/", adds=f"{count} things"
    )
    return job


def get_import(space: Space, pk: int) -> Job:
    return jobs.get(space, pk, PREVIEW_JOB, RUN)


@jobs.job(PREVIEW_JOB)
def look_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    space = Space.objects.get(pk=job.space_id)
    return report(job, progress, lambda item, target: judge(space, item, target))


@jobs.job(RUN)
def run_job(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    """Safe to run twice: what came in the first time is the same the second."""
    space = Space.objects.get(pk=job.space_id)
    person, name, role = job.payload["actor"]
    actor = Actor("import", person, f"{IMPORT_FORMATS[job.payload['kind']].label} ({name})"[:150], role)
    overwrite = bool(job.payload.get("overwrite"))
    return report(job, progress, lambda item, target: run_import(space, actor, item, target, overwrite=overwrite))


def report(job: Job, progress: jobs.Progress, each: Any) -> dict[str, Any]:
    lines: list[dict[str, str]] = []
    counts: Counter[str] = Counter()
    items, target = job.payload["items"], job.payload["target"]
    for number, packed in enumerate(items, 1):
        line = each(unpack(packed), target)
        counts[line.state] += 1
        if len(lines) < SHOWN:
            lines.append(asdict(line))
        progress(number, len(items))
    return {"counts": dict(counts), "lines": lines}


# One thing


def without_secret(space: Space, item: Item) -> Item:
    """A thing as the job may keep it: marks stand in the place of secrets in its text and in what else is told of it. One with a
    secret in its name keeps nothing but the rest of that name, with what the refusal says."""
    name = quarantine.without_secrets(item.name)
    try:
        marked = spaces.mark_secrets(space, item.content)
        if name != item.name:
            raise Invalid("There is a secret in its name. It was not stored anywhere.", code="secret_found")
        details = quarantine.without_secrets(item.details) | ({MARKED: len(marked.secrets)} if marked.secrets else {})
        return Item(item.kind, name, marked.content, details)
    except HubError as refused:
        return Item(item.kind, name, b"", {"refused": refused.message})
    except RecursionError:
        return Item(item.kind, name, b"", {"refused": "Its metadata is nested too deeply."})


def judge(space: Space, item: Item, target: str) -> Line:
    """What would become of it, without changing anything."""
    try:
        check(item)
        name, here = current_content(space, item, target)
    except HubError as refused:
        return Line(item.kind, item.name, REFUSED, refused.message)
    count = item.details.get(MARKED, 0)
    why = f"{counted(count, 'secret')} replaced by a mark" if count else ""
    if here is None:
        return Line(item.kind, name, NEW, why)
    return Line(item.kind, name, SAME if here == item.content else CONFLICT, why)


def run_import(space: Space, actor: Actor, item: Item, target: str, *, overwrite: bool) -> Line:
    """Writes one thing, unless it is here already or says something else."""
    found = judge(space, item, target)
    if found.state in (SAME, REFUSED) or (found.state == CONFLICT and not overwrite):
        return found
    try:
        if item.kind == "file":
            write_file(space, actor, found.name, item, is_new=found.state == NEW)
        else:
            store_entry(space, actor, item)
    except HubError as refused:
        if refused.status >= 500:
            raise
        return Line(item.kind, found.name, REFUSED, refused.message)
    return found


def current_content(space: Space, item: Item, target: str) -> tuple[str, bytes | None]:
    """The path or name of an item in this space, and the content that is there now."""
    if item.kind == "entry":
        here = entries_of(space, item)
        return item.name, here[0].content.encode() if here else None
    path = paths.clean(target + item.name.lstrip("/"))
    files.resolve_path(space, path)
    try:
        return path, files.read(space, path).content
    except NotFound as missing:
        if missing.code != "file_not_found":
            raise
        return path, None


def check(item: Item) -> None:
    """Refuses an item that may not be stored, whoever imports it."""
    if "refused" in item.details:
        raise Invalid(item.details["refused"], code="secret_found")
    if item.kind == "entry":
        input_checks.check_content(text_of(item.content))
    if len(item.content) > import_formats.LARGEST:
        raise Invalid("It is larger than 1 MiB.", code="too_large")


def write_file(space: Space, actor: Actor, path: str, item: Item, *, is_new: bool) -> Revision:
    where = ", ".join(f"{key} {value}" for key, value in item.details.items() if isinstance(value, str | int))
    reason = f"imported: {item.name}" + (f" ({where})" if where else "")
    return files.write(space, actor, path, item.content, reason=reason[:1000], if_none_match="*" if is_new else None)


def entries_of(space: Space, item: Item) -> list[Any]:
    """The live entries that this one is: imported under its name before, or with the same text."""
    live = longterm.entries_of(space).filter(state__in=longterm.LIVE)
    mine = list(live.filter(metadata__imported=item.name).order_by("-number"))
    return mine or list(live.filter(content=text_of(item.content)).order_by("-number")[:1])


def store_entry(space: Space, actor: Actor, item: Item) -> None:
    replaces = [entry.number for entry in entries_of(space, item)]
    longterm.store(
        space, actor, text_of(item.content), reason=f"imported: {item.name}", replaces=replaces,
        metadata={"imported": item.name, "details": item.details},
    )  # fmt: skip


# A job keeps what is imported, so that nothing is lost when a process ends


def pack(item: Item) -> dict[str, Any]:
    return {**asdict(item), "content": base64.b64encode(item.content).decode("ascii")}


def unpack(packed: dict[str, Any]) -> Item:
    return Item(**{**packed, "content": base64.b64decode(packed["content"])})
