"""The template of deepagents out of its wheel, which pip downloads from the package index that the hub's user has configured.

Nothing of the wheel is run or installed, and only a text with a published sha256 is stored.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memoryhub import dialects
from memoryhub.dialects import deepagents
from memoryhub.domain import jobs
from memoryhub.domain.accounts import require
from memoryhub.domain.prompts import framework_templates
from memoryhub.domain.prompts.framework_templates import chosen_template, keep_template, read_wheel
from memoryhub.errors import HubError, Invalid, NotFound
from memoryhub.models import HUB, Actor, Agent, DialectTemplate, Job, Space

DOWNLOAD_JOB = "templates.download"
MAX_SECONDS = 90
WHEEL_INSTEAD = "Or take it from a wheel: memoryhub template import deepagents --wheel FILE."
PIP = ("-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps",
       "--only-binary=:all:", "--ignore-requires-python", "--retries=1", "--timeout=15")  # fmt: skip
# What pip says where it reached no index; then it ends with the same words as for a version that does not exist.
AWAY = ("Retrying (", "NewConnectionError", "ConnectionError", "timed out", "Could not fetch URL", "Temporary failure")


def download_template(version: str, actor: Actor = HUB, *, space_id: int = 0) -> DialectTemplate:
    """Stores the template of this version of deepagents, for one space or for all (0); refused unless it is a published text."""
    form = dialects.resolve(f"deepagents/{version}").name
    with tempfile.TemporaryDirectory(prefix="memoryhub-wheel-") as folder:
        wheel = download_wheel(version, Path(folder))
        found, text = read_wheel(wheel, wheel.name)
    if dialects.resolve(f"deepagents/{found}").name != form or not deepagents.is_published(form, text):
        raise Invalid(
            f"The wheel {wheel.name} of your package index does not hold the published template of {form}; nothing was stored.",
            code="not_published",
        )
    return keep_template(space_id, actor, found, text, f"package index, {wheel.name}")


def download_wheel(version: str, folder: Path) -> Path:
    """The wheel of this version, downloaded into a folder."""
    command = [sys.executable, *PIP, "--dest", str(folder), f"deepagents=={version.removeprefix('v')}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotFound(f"Your package index did not answer within {MAX_SECONDS} seconds. {WHEEL_INSTEAD}") from None
    wheel = next(iter(folder.glob("*.whl")), None)
    if done.returncode or wheel is None:
        raise NotFound(f"{why_not(done.stderr, version)} {WHEEL_INSTEAD}", code="not_downloaded")
    return wheel


def why_not(output: str, version: str) -> str:
    """Why there is no wheel, without what pip prints: that can hold addresses and passwords."""
    if "No module named pip" in output:
        return "The Python that runs the hub has no pip, so it cannot download deepagents."
    if any(one in output for one in AWAY):
        return "Your package index cannot be reached."
    if "No matching distribution" in output or "Could not find a version" in output:
        return f"Your package index has no wheel of deepagents {version}."
    return f"pip could not download deepagents {version}."


# By a click, and for the demo


def version_to_take(agent: Agent, shown: str = "") -> str:
    """The version of deepagents whose template a prompt is made with; refused where its dialect has none.

    `shown` names the dialect of the prompt that is looked at; without it, of the one that the agent's last call got.
    """
    dialect = dialects.of_agent(shown, agent.dialect, agent.reported or {}) if shown else agent.fetched_dialect
    if not dialects.families()[dialect.family].templated:
        raise Invalid(f"The dialect {dialect.label} has no template.", code="no_template")
    named = (shown or agent.asked_dialect).partition("/")[2] or agent.dialect.partition("/")[2]
    same_form = bool(named) and dialects.resolve(f"deepagents/{named}") == dialect
    return named if same_form else dialect.name.partition("/")[2]


def start_download(space: Space, actor: Actor, version: str, *, is_silent: bool = False) -> Job:
    """Starts the download for a space, unless it is under way. A silent one that fails is no failed job."""
    require(actor, "manage")
    dialects.resolve(f"deepagents/{version}")
    payload: dict[str, Any] = {"version": version, "is_silent": is_silent, "actor": [actor.kind, actor.id, actor.name]}
    under_way = Job.objects.within(space).filter(
        kind=DOWNLOAD_JOB, state__in=(Job.WAITING, Job.RUNNING), payload__version=version
    )
    return under_way.first() or jobs.enqueue(DOWNLOAD_JOB, payload, space=space, asked_by=actor.name)


def start_missing_download(space: Space) -> None:
    """Starts a silent download for each agent of a space whose prompt lacks its template."""
    for agent in Agent.objects.within(space):
        dialect = agent.fetched_dialect
        if not dialects.families()[dialect.family].templated or agent.template:
            continue
        if chosen_template(space.pk, dialect.name, agent_id=agent.pk) is None:
            start_download(space, HUB, version_to_take(agent), is_silent=True)


@jobs.job(DOWNLOAD_JOB, outgoing=True)
def run_download(job: Job, progress: jobs.Progress) -> dict[str, Any]:
    """Takes the text of the installed library where that is the wanted one, else downloads the wheel."""
    version = job.payload["version"]
    actor = Actor(*job.payload["actor"])
    progress(0, 2)
    try:
        kept = installed_template(version, actor, job.space_id) or download_template(
            version, actor, space_id=job.space_id
        )
    except HubError as error:
        if job.payload["is_silent"]:
            return {"problem": error.message}
        raise
    progress(2, 2)
    return {"version": kept.version, "form": kept.form, "sha256": kept.sha256, "came_from": kept.came_from}


def installed_template(version: str, actor: Actor, space_id: int) -> DialectTemplate | None:
    """The template of the installed library, if it is the published text of the form of this version."""
    form = dialects.resolve(f"deepagents/{version}").name
    try:
        found, text = framework_templates.read_installed()
    except HubError:
        return None
    is_same = dialects.resolve(f"deepagents/{found}").name == form and deepagents.is_published(form, text)
    return keep_template(space_id, actor, found, text, "installed library") if is_same else None
