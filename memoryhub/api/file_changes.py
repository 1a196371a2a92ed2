"""Changes to files over REST: write, edit, delete, move. The policy of a path decides what is answered."""

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Field, Schema, Status

from memoryhub.api.base import ERRORS, Given, needs, no_secrets, on_disk, rooted, shown
from memoryhub.api.files import router
from memoryhub.api.paging import IF_MATCH, IF_NEW
from memoryhub.domain import proposals
from memoryhub.domain.accounts import Caller
from memoryhub.domain.files import Applied, ChangeRequest, Pending, decode_content
from memoryhub.stores import paths
from memoryhub.text.lines import text_as_bytes


class Notes(Given):
    """What every change may say of itself."""

    reason: str = ""
    thread_id: str = ""
    tool_call_id: str = ""


class MayHoldSecrets(Notes):
    """What a change with words of its own may say of values in them."""

    no_secret: list[str] = Field(
        default=[],
        max_length=50,
        description="For a person's token: the digests, as the refusal `secret_found` lists them, of values that are no secrets.",
    )


class WriteIn(MayHoldSecrets):
    content: str
    encoding: str = "utf-8"


class EditIn(MayHoldSecrets):
    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class MoveIn(Notes):
    from_: str = Field(alias="from")
    to: str


class AppliedOut(Schema):
    status: Literal["applied"]
    revision: int
    path: str
    sha256: str | None
    occurrences: int | None = None
    on_disk: Literal["waiting"] | None = None  # it counts, and is not on disk yet
    why: str | None = None


class PendingOut(Schema):
    status: Literal["pending"]
    proposal: dict[str, Any]


CONDITION, CONDITIONS = {"parameters": [IF_MATCH]}, {"parameters": [IF_MATCH, IF_NEW]}
WRITES: dict[int, Any] = {200: AppliedOut, 202: PendingOut, **ERRORS}


@router.put(
    "/files/{virtual:path}",
    response={**WRITES, 201: AppliedOut},
    summary="Write a whole file",
    openapi_extra=CONDITIONS,
)
@needs("propose", "edit")
def write(request: HttpRequest, path: str, body: WriteIn) -> Status:
    content, where = decode_content(body.content, body.encoding), paths.from_url(path)
    with no_secrets(request.auth, where, lambda: [content], body.no_secret):
        return _submit(request, "write", where, body, content=content)


@router.post("/edits", response=WRITES, summary="Replace one string in a file by another", openapi_extra=CONDITION)
@needs("propose", "edit")
def edit(request: HttpRequest, body: EditIn) -> Status:
    change = {"old": body.old_string, "new": body.new_string, "replace_all": body.replace_all}
    where = rooted(body.path)

    def made() -> list[bytes]:
        return proposals.edited_texts(
            request.auth.space, ChangeRequest("edit", where, thread_id=body.thread_id, **change)
        )

    with no_secrets(request.auth, where, made, body.no_secret):
        return _submit(request, "edit", where, body, **change)


@router.delete(
    "/files/{virtual:path}", response=WRITES, summary="Take a file away; its history stays", openapi_extra=CONDITIONS
)
@needs("propose", "edit")
def delete(request: HttpRequest, path: str, reason: str = "", thread_id: str = "", tool_call_id: str = "") -> Status:
    notes = Notes(reason=reason, thread_id=thread_id, tool_call_id=tool_call_id)
    return _submit(request, "delete", paths.from_url(path), notes)


@router.post("/moves", response=WRITES, summary="Give a file another path", openapi_extra=CONDITION)
@needs("propose", "edit")
def move(request: HttpRequest, body: MoveIn) -> Status:
    return _submit(request, "move", rooted(body.from_), body, to=rooted(body.to))


def _submit(request: HttpRequest, kind: str, path: str, notes: Notes, **change: Any) -> Status:
    """Asks for a change; 200 or 201 with the revision where it was made, 202 with the proposal where people decide."""
    caller: Caller = request.auth
    notes_given = {"reason": notes.reason, "thread_id": notes.thread_id, "tool_call_id": notes.tool_call_id}
    for text in notes_given.values():
        text_as_bytes(text)
    if kind in ("write", "delete"):  # of the other calls the address is no file
        change["if_none_match"] = request.headers.get("If-None-Match")
    wanted = ChangeRequest(kind, path, if_match=request.headers.get("If-Match"), **notes_given, **change)
    done = proposals.submit(caller.space, caller.actor, wanted)
    if isinstance(done, Pending):
        return Status(202, {"status": "pending", "proposal": shown(caller, done.proposal, done.found)})
    return Status(201 if kind == "write" and done.created else 200, _applied(done))


def _applied(done: Applied) -> dict[str, Any]:
    revision = done.revision
    sha = None if revision.is_deleted else revision.sha256
    return {
        "status": "applied", "revision": revision.number, "path": revision.path, "sha256": sha,
        "occurrences": done.occurrences, **on_disk(done.why_waiting),
    }  # fmt: skip
