"""The import page: choose, look, import; then who may, then refusals."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memoryhub.domain import files
from memoryhub.domain.jobs import queue
from memoryhub.models import HUB
from tests.one_line import one_line

PAGE = "/s/books/settings/import/"


@pytest.fixture
def books(house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    return house


def zipped(**named):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in named.items():
            archive.writestr(name.replace("__", "/") + ".md", text)
    return SimpleUploadedFile("folder.zip", held.getvalue())


def send(client, upload, kind="basic-memory", target="/memories/", **more):
    return client.post(f"{PAGE}preview/", {"kind": kind, "files": upload, "target": target}, **more)


def test_look_then_import(as_role, books):
    editor = as_role("editor")
    assert "Basic Memory notes" in editor.get(PAGE).content.decode()
    files.write(books.space, books.editor, "/memories/b.md", b"ours")
    answer = send(editor, zipped(notes__a="new", notes__b="theirs"))
    assert answer.status_code == 303
    place = answer["Location"]
    assert 'data-renew="1"' in editor.get(place).content.decode()
    queue.run_waiting()
    page = editor.get(place).content.decode()
    assert "/memories/a.md" in page
    assert "different" in page
    assert "data-renew" not in page
    begun = editor.post(f"{place}start/", {"overwrite": "on"})
    queue.run_waiting()
    done = editor.get(begun["Location"]).content.decode()
    assert "Imported" in done
    assert "replaced" in done
    assert files.read(books.space, "/memories/b.md").content == b"theirs"
    assert files.read(books.space, "/memories/a.md").author_kind == "import"


def test_the_part_is_given_to_htmx(as_role, books):
    editor = as_role("editor")
    place = send(editor, SimpleUploadedFile("a.md", b"text"))["Location"]
    part = one_line(editor.get(place, headers={"HX-Request": "true"}))
    assert part.lstrip().startswith('<div id="progress"')


def test_a_zip_that_is_damaged_inside_is_refused(as_role, books):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "text that is packed " * 50)
    whole = bytearray(held.getvalue())
    whole[36:46] = b"\xff" * 10
    answer = send(as_role("editor"), SimpleUploadedFile("a.zip", bytes(whole)))
    assert answer.status_code == 422
    assert "cannot be read" in answer.content.decode()


def test_many_zips_together_hold_as_much_as_one(as_role, books):
    """Each of them is some kilobytes of nothing but zeros, within the limit; unpacked together they would fill the memory."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", b"\0" * 20_000_000)
    many = [SimpleUploadedFile(f"{n}.zip", held.getvalue()) for n in range(2)]
    answer = send(as_role("editor"), many)
    assert answer.status_code == 422
    assert "more than 5,000 files or 32 MiB" in answer.content.decode()


@pytest.mark.parametrize(
    ("upload", "kind", "target", "says"),
    [
        ("", "basic-memory", "/memories/", "Choose a file first"),
        (SimpleUploadedFile("a.zip", b"no zip"), "basic-memory", "/memories/", "cannot be read"),
        (SimpleUploadedFile("a.txt", b"x"), "mem0", "/memories/", "Nothing to import"),
        (SimpleUploadedFile("a.md", b"x"), "chatgpt", "/memories/", "is not known"),
        (SimpleUploadedFile("a.md", b"x"), "basic-memory", "/../", "could lead out"),
    ],
)
def test_refusals_stand_on_the_page(as_role, books, upload, kind, target, says):
    if upload:
        upload.seek(0)
    answer = send(as_role("editor"), upload, kind, target)
    assert answer.status_code == 422
    assert says in answer.content.decode()


def test_who_may(as_role, books, client):
    assert client.get(PAGE)["Location"].startswith("/login/")
    assert as_role("viewer").get(PAGE).status_code == 403
    assert send(as_role("viewer"), SimpleUploadedFile("a.md", b"x")).status_code == 403
    place = send(as_role("editor"), SimpleUploadedFile("a.md", b"x"))["Location"]
    assert as_role("viewer").get(place).status_code == 403
    assert as_role("editor").get(f"{PAGE}999/").status_code == 404


@pytest.mark.parametrize(
    ("upload", "target", "field"),
    [
        ("", "/memories/", "files"),
        (SimpleUploadedFile("a.zip", b"no zip"), "/memories/", "files"),
        (SimpleUploadedFile("AGENTS.md", b"- One.\n"), "/a/../b/", "target"),
    ],
)
def test_a_refusal_stands_beside_its_field(as_role, books, upload, target, field):
    answer = as_role("editor").post(f"{PAGE}preview/", {"kind": "agents-md", "files": upload, "target": target})
    assert answer.status_code == 422 and f'<span class="wrong" id="{field}-error">' in one_line(answer)
