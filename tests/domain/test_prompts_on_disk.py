"""Sources that lie on disk: what changed there is in the next prompt, and what cannot be read says so."""

from __future__ import annotations

import os
import time
import unicodedata

import pytest

from memoryhub.domain import accounts, files, prompts, spaces
from memoryhub.domain.prompts import PromptRequest
from memoryhub.models import HUB, Revision
from tests.prompting import AGENTS, TONE, lists


@pytest.fixture
def space(transactional_db):
    return spaces.create(HUB, "ledger")


@pytest.fixture
def root(space, tmp_path):
    directory = tmp_path / "disk"
    directory.mkdir()
    files.add_mount(space, HUB, "/memories/", store="filesystem", directory=str(directory))
    lists(space, AGENTS, TONE)
    return directory


@pytest.fixture
def counter(space):
    return prompts.create_agent(space, HUB, "counter")


def write(file, text):
    file.write_bytes(text)
    time.sleep(0.02)  # younger than that, a file counts as changed


def shown(space, counter):
    prompt = prompts.assemble(space, counter, dialect="plain")
    return prompt.text, [one["status"] for one in prompt.sources], [one.code for one in prompt.warnings]


def test_what_changes_on_disk_is_in_the_next_prompt(space, counter, root):
    assert shown(space, counter)[:2] == ("", ["missing", "missing"])
    write(root / "AGENTS.md", b"one")
    assert shown(space, counter)[:2] == ("one", ["included", "missing"])
    write(root / "AGENTS.md", b"two")
    assert shown(space, counter)[0] == "two"
    assert [revision.number for revision in Revision.objects.order_by("number")] == [1, 2]
    (root / "AGENTS.md").unlink()
    assert shown(space, counter)[:2] == ("", ["missing", "missing"])


def test_a_save_in_the_hub_is_in_the_next_prompt(space, counter, root):
    files.write(space, HUB, AGENTS, b"saved")
    assert shown(space, counter)[0] == "saved"


def test_what_is_gone_right_after_a_save_is_gone_from_the_next_prompt(space, counter, root):
    for _ in range(5):
        files.write(space, HUB, AGENTS, b"saved")
        (root / "AGENTS.md").unlink()
        assert shown(space, counter)[:2] == ("", ["missing", "missing"])


def test_a_directory_or_a_link_in_place_of_a_file_never_breaks_the_others(space, counter, root):
    (root / "AGENTS.md").mkdir()
    write(root / "tone.md", b"two")
    assert shown(space, counter) == ("two", ["error", "included"], ["is_directory"])
    (root / "AGENTS.md").rmdir()
    os.symlink("/etc/hostname", root / "AGENTS.md")
    text, statuses, _ = shown(space, counter)
    assert (text, statuses) == ("two", ["error", "included"])


def test_a_directory_that_is_away_is_an_error_of_its_sources_alone(space, counter, root):
    write(root / "AGENTS.md", b"one")
    assert shown(space, counter)[0] == "one"
    root.rename(root.with_name("away"))
    assert shown(space, counter)[:2] == ("", ["error", "error"])


def test_the_cache_notices_what_nobody_told_it(space, counter, root):
    _, secret = accounts.create_token(space, HUB, agent=counter)
    write(root / "AGENTS.md", b"one")
    asked = PromptRequest(dialect="plain")

    def get():
        return prompts.prompt_for(accounts.authenticate(secret), asked)

    assert get().text == "one"
    assert get() is get()
    write(root / "AGENTS.md", b"two")
    assert get().text == "two"


def test_the_past_of_a_file_on_disk(space, counter, root):
    from django.utils import timezone

    write(root / "AGENTS.md", b"one")
    shown(space, counter)
    then = timezone.now()
    write(root / "AGENTS.md", b"two")
    shown(space, counter)
    assert prompts.assemble(space, counter, dialect="plain", at=then).text == "one"


def test_a_source_whose_name_on_disk_is_taken_apart_is_in_the_prompt(space, counter, root):
    lists(space, "/memories/Café.md")
    write(root / unicodedata.normalize("NFD", "Café.md"), b"crema\n")
    for _ in range(2):
        (source,) = [one for one in prompts.assemble(space, counter).sources if one["path"] == "/memories/Café.md"]
        assert source["status"] == "included"
