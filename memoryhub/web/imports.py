"""Importing memory from other tools: upload, dry run, import."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from memoryhub.domain import exchange
from memoryhub.domain.exchange import IMPORT_FORMATS, Folder
from memoryhub.errors import HubError, Invalid
from memoryhub.web.access import post_only, space_page

READ_METHODS = ("GET", "HEAD")
MAX_FILES = 5000
# The field of the form beside which a refusal stands.
FIELD_OF_CODE = {
    **dict.fromkeys(("no_file", "too_large", "invalid_import", "nothing_found"), "files"),
    **dict.fromkeys(("invalid_path", "no_mount", "left_out", "read_only", "not_memory"), "target"),
}


@space_page("edit", methods=READ_METHODS)
def page(request: HttpRequest) -> HttpResponse:
    return show(request)


@post_only("edit")
def preview(request: HttpRequest) -> HttpResponse:
    """Takes the upload and starts the dry run."""
    target = request.POST.get("target", "").strip() or "/memories/"
    try:
        folder = uploaded_folder(request.FILES.getlist("files"))
        job = exchange.preview_import(request.space, request.actor, request.POST.get("kind", ""), folder, target=target)
    except HubError as refused:
        if refused.status == 403:
            raise
        return show(request, status=422, error=refused)
    return redirect("imports.detail", request.space.slug, job.pk)


@space_page("edit", methods=READ_METHODS)
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    job = exchange.get_import(request.space, pk)
    part = request.htmx and not request.htmx.boosted
    context = {"job": job, "share": job.done * 100 // job.total if job.total else 0, "label": format_label(job.payload)}
    context["is_running"] = job.state in (job.WAITING, job.RUNNING)
    context["is_look"] = job.kind == exchange.PREVIEW_JOB
    return render(request, "imports/_progress.html" if part else "imports/detail.html", context)


@post_only("edit")
def start(request: HttpRequest, pk: int) -> HttpResponse:
    looked = exchange.get_import(request.space, pk)
    job = exchange.start_import(request.space, request.actor, looked, overwrite=request.POST.get("overwrite") == "on")
    return redirect("imports.detail", request.space.slug, job.pk)


def show(request: HttpRequest, *, status: int = 200, error: HubError | None = None) -> HttpResponse:
    context: dict[str, Any] = {"formats": IMPORT_FORMATS.items(), "kind": request.POST.get("kind", "agents-md")}
    context["errors"] = {FIELD_OF_CODE.get(error.code, "form"): error.message} if error else {}
    context["target"] = request.POST.get("target", "/memories/")
    return render(request, "imports/page.html", context, status=status)


def format_label(payload: dict[str, str]) -> str:
    return IMPORT_FORMATS[payload["kind"]].label


def uploaded_folder(uploads: list[UploadedFile]) -> Folder:
    """The uploaded files by name, with zip files unpacked."""
    if not uploads:
        raise Invalid(_("Choose a file first."), code="no_file")
    folder: Folder = {}
    for upload in uploads:
        name = (upload.name or "file").rsplit("/", 1)[-1]
        taken = sum(map(len, folder.values()))
        is_zip = name.lower().endswith(".zip")
        folder |= unzip_folder(upload.read(), taken, len(folder)) if is_zip else {name: upload.read()}
    return folder


def unzip_folder(data: bytes, taken: int = 0, files: int = 0) -> Folder:
    """The files of a zip by name; `Invalid` if they are too many or too large, with what came before: a hundred zips of a few
    kilobytes each could else fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = [one for one in archive.infolist() if not one.is_dir()]
            size = taken + sum(one.file_size for one in inside)
            if files + len(inside) > MAX_FILES or size > exchange.MAX_IMPORT_BYTES:
                raise Invalid(_("The ZIP holds more than 5,000 files or 32 MiB. Import it in parts."), code="too_large")
            return without_common_folder({one.filename: archive.read(one) for one in inside})
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, NotImplementedError, OSError):
        raise Invalid(_("The ZIP cannot be read."), code="invalid_import") from None


def without_common_folder(folder: Folder) -> Folder:
    """The folder without a top folder that holds everything, as zips often have; `memories` stays, since importers need it."""
    heads = {name.partition("/")[0] for name in folder if not name.startswith("__MACOSX/")}
    if len(heads) != 1 or any("/" not in name for name in folder) or heads == {"memories"}:
        return folder
    return {name.partition("/")[2]: data for name, data in folder.items() if not name.startswith("__MACOSX/")}
