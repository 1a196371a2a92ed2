"""Changes that come through the API: a person's is applied, an agent's applied, proposed or refused by the policy of its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

from django.db import transaction

from memoryhub import detectors
from memoryhub.detectors import secrets
from memoryhub.domain import activity, files, quotas
from memoryhub.domain.accounts import require
from memoryhub.domain.files import Applied, ChangeRequest, Pending, Place, Published
from memoryhub.domain.proposals.ask import ask
from memoryhub.domain.proposals.findings import check_change
from memoryhub.errors import Forbidden, HubError, Invalid, NotFound
from memoryhub.models import Actor, Mount, Policy, Revision, Space
from memoryhub.stores import paths
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text.edits import apply_edit
from memoryhub.text.lines import is_text, text_as_bytes, text_of

MAX_REASON = 4000  # characters that are looked at; at most half of them are stored, so that no secret is cut in two


def submit(space: Space, actor: Actor, request: ChangeRequest) -> Applied | Pending:
    """Apply a change, propose it, or refuse it. A refusal because of a secret is recorded in the activity, without the secret."""
    with _noting_secrets(space, actor, [request]) as (redacted,):
        return _submit(space, actor, redacted)


def submit_all(space: Space, actor: Actor, requests: list[ChangeRequest]) -> list[Applied | Pending]:
    """Submit several changes in one transaction: all of them, or none. Files on disk are written after the commit; what a
    crash leaves unwritten is written at the next read or save, as with any change."""
    with _noting_secrets(space, actor, requests) as redacted, transaction.atomic():
        names = {name for request in redacted for name in (request.path, request.to) if name}
        files.lock_files(space, names, *(request.thread_id for request in redacted))
        return [_submit(space, actor, request) for request in redacted]


@contextmanager
def _noting_secrets(space: Space, actor: Actor, requests: list[ChangeRequest]) -> Iterator[list[ChangeRequest]]:
    """Gives the requests with redacted reasons. A refusal because of a secret is recorded after the rollback."""
    path = requests[0].path
    try:
        for request in requests:
            path = request.path
            _check_names(request)
        yield [replace(request, reason=secrets.redact(request.reason[:MAX_REASON])[0]) for request in requests]
    except Invalid as refusal:
        if refusal.code == "secret_found":
            _note_secret(space, actor, _without_secret(path), refusal)
        raise


def _check_names(request: ChangeRequest) -> None:
    """Refuse a path with a secret: paths are stored for good and shown everywhere."""
    for name in (request.path, request.to):
        paths.check_length(name, 4 * paths.MAX_PATH)  # what is looked at for secrets takes time by its length
        if kind := secrets.in_name(name):
            says = f"The path holds a secret ({kind}). Give the file another name."
            raise Invalid(says, code="secret_found", kind=kind, line=1)


def _check_thread(places: list[Place], request: ChangeRequest) -> None:
    """Refuse a thread_id with a secret where files belong to threads. Elsewhere it is only noted, and redacted."""
    if any(_thread_of(place, request) for place in places) and (kind := secrets.in_name(request.thread_id)):
        says = f"thread_id holds a secret ({kind}). Name the thread otherwise."
        raise Invalid(says, code="secret_found", kind=kind, line=1)


def _without_secret(path: str) -> str:
    """The path, or the folder above the first name with a secret, so that the activity can name it."""
    path = secrets.redact(path)[0]
    while secrets.in_name(path):
        path = path.rpartition("/")[0]
    return path or "/"


@transaction.atomic
def _note_secret(space: Space, actor: Actor, path: str, refusal: Invalid) -> None:
    kind, line = refusal.details.get("kind", "secret"), refusal.details.get("line", 0)
    activity.record(
        space, actor, "files.refuse_secret", "was kept from writing a secret to", path, url=f"files{path}",
        adds=f"({kind}, line {line}); it was stored nowhere", path=path,
    )  # fmt: skip


def _submit(space: Space, actor: Actor, request: ChangeRequest) -> Applied | Pending:
    path = paths.clean(request.path)
    before = cache(lambda: _text_before(space, request))  # read only where it matters, and once
    places = [files.resolve_path(space, path, agent=actor.agent)]
    if request.kind == "move":
        places.append(files.resolve_path(space, paths.clean(request.to), agent=actor.agent))
    _check_thread(places, request)
    if request.content is not None and len(request.content) > MAX_BYTES:
        raise too_large(path, len(request.content), MAX_BYTES)
    if actor.agent is None:
        require(actor, "edit")
        _check_words(space, request, before)
        return _apply(space, actor, request, places[0], guard=_guard_of_person(space, request))
    quotas.count_call(space, actor.agent)
    # A move needs both ends: the stricter policy counts.
    policies = {place.policy for place in places} | _policy_of_programs(space, actor, request, places)
    shared = _shared_places(space, actor, places) if policies == {Policy.TRUSTED} else []
    policies |= {place.policy for place in shared}
    if Policy.READ_ONLY in policies:
        read_only = next(place for place in [*places, *shared] if place.policy == Policy.READ_ONLY)
        where = paths.clean(request.to) if read_only in places[1:] else path
        raise Forbidden(
            f"“{where}” is read-only for agents (mount {read_only.mount.prefix}). Do not retry; carry on without it.",
            code="read_only",
            path=where,
        )
    if policies == {Policy.TRUSTED}:
        with suppress(_NeedsReview):
            quotas.count_bytes(space, actor.agent, len(request.content or text_as_bytes(request.new)))
            applied = _apply(space, actor, request, places[0], guard=_guard(space, request, [*places, *shared]))
            _note_rules(space, actor, request, [*places, *shared])
            return applied
    # A whole text is looked at when it is proposed.
    if request.kind != "write" or not is_text(request.content or b""):
        _check_words(space, request, before)
    if request.kind in ("write", "move"):
        files.refuse_folder(space, paths.clean(request.to or request.path), places[-1], _thread_of(places[-1], request))
    return _propose(space, actor, request)


def _shared_places(space: Space, actor: Actor, places: list[Place]) -> list[Place]:
    """Where else on trusted paths the same files are read: one mount must not let in what another one holds."""
    return [found for place in places for found in files.shared_places(space, place, actor.agent)]


def _policy_of_programs(space: Space, actor: Actor, request: ChangeRequest, places: list[Place]) -> set[str]:
    """Refuse what agents never write. What a rule names all the same waits for a person, whatever the policy."""
    assert actor.agent is not None
    names = [paths.clean(request.path), *([paths.clean(request.to)] if request.kind == "move" else [])]
    _check_new_name(request, places[-1], names[-1])
    named = [
        files.check_agents_path(space, actor.agent, place, name, request.content)
        for place, name in zip(places, names, strict=True)
    ]
    return {Policy.REVIEW} if any(named) else set()


def _check_new_name(request: ChangeRequest, place: Place, path: str) -> None:
    """Refuse a new file whose name looks like another one. What a person named so stays writable."""
    is_new = request.kind in ("write", "move") and not place.is_known()
    if is_new and (why := paths.why_misleading(path)):
        raise paths.refused(path, why)


def _note_rules(space: Space, actor: Actor, request: ChangeRequest, places: list[Place]) -> None:
    """Record in the activity which rules let a change through."""
    applied_rules = {place.rule.pk: place.rule for place in places if place.rule}
    if not applied_rules:
        return
    with transaction.atomic():
        for rule in applied_rules.values():
            activity.record(
                space, actor, "policies.let_through", "was let through by the rule", rule.pattern, url="rules/",
                adds=f"for {request.path}", path=request.path, details={"rule": rule.pk},
            )  # fmt: skip


def _thread_of(place: Place, request: ChangeRequest) -> str:
    return request.thread_id if place.mount.store == Mount.Store.THREAD else ""


class _NeedsReview(Exception):
    """A condition of the rule that trusts a path does not hold for this change: a person decides on it."""


def _guard_of_person(space: Space, request: ChangeRequest) -> files.Guard | None:
    """A person's words, too, may make a secret together with those around them; a whole text was looked at before."""
    check = partial(check_change, space, only=["secrets"])
    return check if request.kind in ("edit", "insert") else None


def _guard(space: Space, request: ChangeRequest, places: list[Place]) -> files.Guard:
    """What a change of an agent on a trusted path has to pass, under the lock of its file, where nobody changes the text between
    the look and the change: no secret in the text that results, and the conditions of the rules that trust the path."""
    _check_encoding(request)
    rules = [place.rule for place in places if place.rule]
    only = None if any(rule.unless_findings for rule in rules) else ["secrets"]

    def check(before: bytes, after: bytes) -> None:
        found = check_change(space, before, after, only=only) if after else []
        # Nobody knows whether there is a secret in it; or a person said that it is none, and an agent's text waits all the same.
        if any(one.code in (detectors.COST, "packed", "secrets") for one in found):
            raise _NeedsReview
        for rule in rules:
            if rule.unless_findings and found:
                raise _NeedsReview
            if rule.max_added is not None and not _is_small(space, rule.max_added, request, places[-1], after):
                raise _NeedsReview

    return check


def _is_small(space: Space, max_added: int, request: ChangeRequest, place: Place, after: bytes) -> bool:
    """Whether all that agents made of a file by themselves, with this change, is small: else many small changes pass where
    a large one waits."""
    if request.kind in ("delete", "move"):
        return False
    decided = files.decided_content(space, paths.clean(request.path), _thread_of(place, request))
    return files.is_small(max_added, text_of(decided), text_of(after))


def _check_encoding(request: ChangeRequest) -> None:
    for text in (request.old, request.new, request.text):
        text_as_bytes(text)


def _check_words(space: Space, request: ChangeRequest, before: Callable[[], str]) -> None:
    """Refuses secrets in the words of a change before anything else is looked at."""
    _check_encoding(request)
    if request.kind in ("delete", "move"):
        return
    if request.content is None:
        words = request.new if request.kind == "edit" else request.text
        check_change(space, b"", words.encode(), only=["secrets"])
    else:
        check_change(space, before().encode("utf-8", "surrogateescape"), request.content, only=["secrets"])


def check_content(space: Space, path: str, content: bytes) -> None:
    """Refuse secrets in what a person saves in the browser; what the file has already may stay."""
    request = ChangeRequest("write", path, content=content)
    _check_words(space, request, lambda: _text_before(space, request))


def edited_texts(space: Space, request: ChangeRequest) -> list[bytes]:
    """The text that an edit makes, where it can be made, and its new words by themselves: a secret is looked for in both."""
    made: list[bytes] = []
    with suppress(HubError):
        before = _text_before(space, request)
        made = [text_as_bytes(apply_edit(before, request.old, request.new, request.replace_all))]
    return [*made, text_as_bytes(request.new)]


def _text_before(space: Space, request: ChangeRequest) -> str:
    """The published text, empty if there is none: only what a change adds is checked."""
    found = files.read_many(space, [request.path], thread_id=request.thread_id)[request.path]
    return text_of(found.content) if isinstance(found, Published) else ""


def _apply(
    space: Space, actor: Actor, request: ChangeRequest, place: Place, guard: files.Guard | None = None
) -> Applied:
    common: dict[str, Any] = {"reason": request.reason, "thread_id": request.thread_id, "guard": guard}
    conditions: dict[str, Any] = {"if_match": request.if_match, "if_none_match": request.if_none_match}
    if request.kind != "move":
        common["place"] = place
    match request.kind:
        case "write":
            revision = files.write(space, actor, request.path, request.content or b"", **conditions, **common)
        case "edit":
            what = (request.old, request.new, request.replace_all)
            revision = files.edit(space, actor, request.path, *what, if_match=request.if_match, **common)
        case "insert":
            revision = files.insert(space, actor, request.path, request.line, request.text, **common)
        case "delete":
            revision = files.delete(space, actor, request.path, **conditions, **common)
        case "move":
            revision = files.move(space, actor, request.path, request.to, if_match=request.if_match, **common)
        case _:
            raise Invalid(f"There is no change of kind {request.kind!r}.", code="invalid")
    occurrences = _occurrences(revision, request) if request.kind == "edit" else None
    return Applied(revision, revision.is_new and revision.kind == "create", occurrences)


def _occurrences(revision: Revision, request: ChangeRequest) -> int:
    """How many places an edit changed: those that the revision before had."""
    if not request.replace_all or revision.number < 2:
        return 1
    return text_of(files.content_of(revision.file, revision.number - 1)).count(request.old)


def _propose(space: Space, actor: Actor, request: ChangeRequest) -> Applied | Pending:
    assert actor.agent is not None
    _check_preconditions(space, request)
    changes: dict[str, dict[str, Any]] = {
        "edit": {"old_string": request.old, "new_string": request.new, "replace_all": request.replace_all},
        "insert": {"line": request.line, "text": request.text},
        "move": {"to": paths.clean(request.to) if request.to else ""},
    }
    try:
        asked = ask(
            space, actor.agent, kind=request.kind, path=paths.clean(request.path), change=changes.get(request.kind, {}),
            content=request.content, reason=request.reason, thread_id=request.thread_id, tool_call_id=request.tool_call_id,
        )  # fmt: skip
    except Invalid as refusal:
        if refusal.code != "no_change":
            raise
        return _already_so(space, request, refusal)
    return Pending(asked.proposal, asked.found)


def _already_so(space: Space, request: ChangeRequest, refusal: Invalid) -> Applied:
    """The answer to a change that would change nothing: applied, with the newest revision. Nothing is written."""
    path = paths.clean(request.path)
    try:
        file = files.file_row(space, path, _thread_of(files.resolve_path(space, path), request))
    except NotFound:
        raise refusal from None  # only a pending proposal has this text
    if file.is_deleted:
        raise refusal
    revision = files.get_revision(file, file.revision)
    occurrences = text_of(files.content_of(file, file.revision)).count(request.old) if request.replace_all else 1
    return Applied(revision, created=False, occurrences=occurrences if request.kind == "edit" else None)


def _check_preconditions(space: Space, request: ChangeRequest) -> None:
    """Refuse a change whose `if_match` or `if_none_match` fails now: it need not wait for a person."""
    if request.if_match is None and request.if_none_match is None:
        return
    try:
        found = files.read(space, request.path, thread_id=request.thread_id)
    except HubError:
        found = None
    sha = found.sha256 if found else None
    files.check_if_none_match(request.path, sha, request.if_none_match)
    files.check_if_match(request.path, sha, found.revision if found else 0, request.if_match)
