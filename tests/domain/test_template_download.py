"""The template of deepagents out of a wheel of the package index: pip itself runs, on an index made here."""

from __future__ import annotations

import re
import sys
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from deepagents.middleware import memory
from django.core.management import call_command

from memoryhub.domain import accounts, demo, prompts, spaces
from memoryhub.domain.jobs import queue
from memoryhub.domain.prompts import framework_templates, template_download
from memoryhub.errors import Forbidden, HubError, Invalid, NotFound
from memoryhub.models import HUB, Actor, DialectTemplate, Job
from tests.api.calling import Caller
from tests.one_line import one_line

pytestmark = pytest.mark.django_db
PUBLISHED = Path(memory.__file__).read_text()
RUNS = "raise SystemExit('a wheel was run')\n"  # of a module that is read and never run


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index of the user's own: a folder of wheels, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def not_installed(monkeypatch):
    """A hub without deepagents, as `make run` makes it."""

    def read_installed():
        raise NotFound("deepagents is not installed here.")

    monkeypatch.setattr(framework_templates, "read_installed", read_installed)


def wheel(folder: Path, version: str, source: str = PUBLISHED, *, named: str = "") -> None:
    with zipfile.ZipFile(folder / f"deepagents-{named or version}-py3-none-any.whl", "w") as archive:
        archive.writestr("deepagents/__init__.py", RUNS)
        archive.writestr("deepagents/middleware/memory.py", RUNS + source)
        about = f"deepagents-{named or version}.dist-info"
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: deepagents\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("template", "import", "deepagents", *arguments, stdout=out)
    return out.getvalue()


def test_a_published_text_is_taken_from_the_index_and_nothing_is_run(index):
    wheel(index, "0.7.1")
    assert "0.7.1 from the package index, deepagents-0.7.1-py3-none-any.whl serves deepagents/0.6.3" in run(
        "--version", "0.7.1"
    )
    kept = DialectTemplate.objects.get()
    assert (kept.space_id, kept.form, kept.version, kept.is_known) == (0, "deepagents/0.6.3", "0.7.1", True)
    assert kept.text == memory.MEMORY_SYSTEM_PROMPT
    run("--version", "0.7.1")
    assert DialectTemplate.objects.count() == 1


OTHER = 'MEMORY_SYSTEM_PROMPT = "Obey.\\n{agent_memory}"\n'


@pytest.mark.parametrize(
    ("version", "made"),
    [
        ("0.7.1", {"source": OTHER}),
        ("0.4.3", {}),  # a published text of another form
        ("0.7.1", {"source": "x = 1\n"}),
        ("0.7.1", {"source": "def (:\n"}),
    ],
    ids=["another text", "another form", "no text", "no Python"],
)
def test_any_other_text_is_refused_and_nothing_is_stored(index, monkeypatch, version, made):
    wheel(index, version, **made)
    monkeypatch.setattr(template_download, "download_wheel", lambda *_: next(index.glob("*.whl")))
    with pytest.raises(Invalid):
        prompts.download_template(version)
    assert not DialectTemplate.objects.exists()


def test_a_wheel_that_says_it_is_another_version_is_refused(index, monkeypatch, tmp_path):
    wheel(tmp_path, "0.3.4", named="0.7.1")
    monkeypatch.setattr(template_download, "download_wheel", lambda *_: tmp_path / "deepagents-0.7.1-py3-none-any.whl")
    with pytest.raises(Invalid, match="does not hold the published template"):
        prompts.download_template("0.7.1")


def test_a_version_that_the_index_lacks_is_said(index):
    with pytest.raises(
        NotFound, match=r"Your package index has no wheel of deepagents 0\.7\.2\. Or take it from a wheel"
    ):
        prompts.download_template("0.7.2")
    with pytest.raises(Invalid, match="no dialect"):
        prompts.download_template("0.7.2 --index-url=x")
    with pytest.raises(Invalid):
        prompts.download_template("")


def test_an_index_that_is_away_is_one_sentence_without_its_address(index, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:hunter2@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(NotFound) as refused:
        prompts.download_template("0.7.2")
    assert refused.value.message.startswith("Your package index cannot be reached.")
    assert "127.0.0.1" not in refused.value.message and "hunter2" not in refused.value.message


def test_without_pip_and_with_one_that_hangs(index, monkeypatch, tmp_path):
    bare, python = tmp_path / "python", sys.executable
    bare.write_text(f"#!{python}\nimport sys\nsys.exit('/usr/bin/python: No module named pip')\n")
    bare.chmod(0o755)
    monkeypatch.setattr(template_download.sys, "executable", str(bare))
    with pytest.raises(NotFound, match="has no pip"):
        prompts.download_template("0.7.1")
    bare.write_text(f"#!{python}\nimport time\ntime.sleep(60)\n")
    monkeypatch.setattr(template_download, "MAX_SECONDS", 1)
    with pytest.raises(NotFound, match="did not answer within 1 seconds"):
        prompts.download_template("0.7.1")


# By a click


@pytest.fixture
def desk(client, as_owner):
    space = spaces.create(HUB, "books")
    prompts.create_agent(space, HUB, "scout", system_prompt="You look.")
    as_owner(space)
    return space


@pytest.fixture
def as_owner(client):
    def sign_in(space, role="owner"):
        person = accounts.create_person(HUB, f"a-{role}")
        spaces.add_member(space, HUB, person, role)
        client.force_login(person)
        return Actor.of_person(person, role)

    return sign_in


def ask(client, space, dialect: str) -> bytes:
    call = Caller(client, accounts.create_token(space, HUB, agent=prompts.agent_by_slug(space, "scout"))[1])
    return call("GET", f"prompt?dialect={dialect}", Accept="text/plain").content


def test_one_click_on_the_prompt_page_takes_it_in_with_progress(client, desk, index, not_installed):
    wheel(index, "0.7.1")
    assert b"<agent_memory>" not in ask(client, desk, "deepagents/0.7.1")
    for page in ("prompt/scout/", "agents/", "agents/scout/"):
        assert 'action="/s/books/prompt/templates/download/"' in one_line(client.get(f"/s/books/{page}")), page
    started = client.post("/s/books/prompt/templates/download/", {"agent": "scout"})
    again = client.post("/s/books/prompt/templates/download/", {"agent": "scout"})
    assert started.status_code == 303 and started["Location"] == again["Location"]  # one download at a time
    assert "Downloading the wheel" in client.get(started["Location"]).content.decode()
    queue.run_waiting()
    done = one_line(client.get(started["Location"]))
    assert "The template of deepagents 0.7.1 is used for deepagents/0.6.3. It is the published text" in done
    assert b"<agent_memory>" in ask(client, desk, "deepagents/0.7.1")
    assert "verified" in one_line(client.get("/s/books/agents/"))
    assert DialectTemplate.objects.get().space_id == desk.pk


def test_a_click_that_fails_says_why_and_offers_another_try(client, desk, index, not_installed):
    ask(client, desk, "deepagents/0.7.1")
    started = client.post("/s/books/prompt/templates/download/", {"agent": "scout"})
    queue.run_waiting()
    page = one_line(client.get(started["Location"]))
    assert "Your package index has no wheel of deepagents 0.7.1." in page and "Try again" in page
    wheel(index, "0.7.1")
    client.post("/s/books/prompt/templates/download/", {"agent": "scout"})
    queue.run_waiting()
    assert DialectTemplate.objects.get().is_known


def test_the_button_takes_the_template_of_the_prompt_that_is_shown(client, desk, index):
    ask(client, desk, "hub")
    page = client.get("/s/books/prompt/scout/?dialect=deepagents/0.7.1").content.decode()
    form = page[page.index('action="/s/books/prompt/templates/download/"') :]
    fields = dict(re.findall(r'name="(agent|dialect)" value="([^"]+)"', form[: form.index("</form>")]))
    client.post("/s/books/prompt/templates/download/", fields)
    assert Job.objects.get(kind=prompts.DOWNLOAD_JOB).payload["version"] == "0.6.3"


def test_the_installed_library_serves_where_it_has_the_text(client, desk, index):
    ask(client, desk, "deepagents/0.7.1")
    client.post("/s/books/prompt/templates/download/", {"agent": "scout"})
    queue.run_waiting()
    assert DialectTemplate.objects.get().came_from == "installed library"


def test_who_may_and_for_what(client, desk, as_owner):
    assert client.post("/s/books/prompt/templates/download/", {"agent": "scout"}).status_code == 422  # hub has none
    actor = as_owner(desk, "reviewer")
    assert client.post("/s/books/prompt/templates/download/", {"agent": "scout"}).status_code == 403
    with pytest.raises(Forbidden):
        prompts.start_download(desk, actor, "0.7.1")
    assert not Job.objects.filter(kind=prompts.DOWNLOAD_JOB).exists()


# The demo


def test_the_demo_gets_its_template_in_the_background(index, not_installed, monkeypatch):
    monkeypatch.setattr(prompts, "import_installed_template", refuse)
    wheel(index, "0.6.3")
    space = demo.make()
    forge = prompts.agent_by_slug(space, "forge")
    assert "<agent_memory>" not in prompts.assemble(space, forge).text
    queue.run_waiting()
    assert "<agent_memory>" in prompts.assemble(space, forge).text
    demo.make()
    assert Job.objects.filter(kind=prompts.DOWNLOAD_JOB).count() == 1


def test_offline_the_demo_says_nothing_and_tries_at_its_next_start(index, not_installed, monkeypatch):
    monkeypatch.setattr(prompts, "import_installed_template", refuse)
    demo.make()
    queue.run_waiting()
    job = Job.objects.get(kind=prompts.DOWNLOAD_JOB)
    assert (job.state, job.last_error) == (Job.DONE, "")
    demo.make()
    assert Job.objects.filter(kind=prompts.DOWNLOAD_JOB).count() == 2


def refuse(*args, **more):
    raise HubError("not here")
