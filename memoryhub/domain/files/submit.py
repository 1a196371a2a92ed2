"""The gate for writes through API doors: a person writes at once, an agent as the policy of the path says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from django.db import transaction

from memoryhub.detectors import secrets
from memoryhub.domain import activity, spaces
from memoryhub.domain.accounts import require
from memoryhub.domain.files import change, mounts, revisions, rules_trial
from memoryhub.domain.files.read import Published
from memoryhub.domain.files.requests import Applied, Before, ChangeRequest, Pending, text_as_bytes, texts_of
from memoryhub.domain.files.write import delete, edit, insert, move, published_many, read, row_of, write
from memoryhub.errors import Conflict, Forbidden, HubError, Invalid, NotFound
from memoryhub.models import Actor, Mount, Policy, PolicyRule, Revision, Space
from memoryhub.stores import paths
from memoryhub.stores.disk import MAX_BYTES, too_large
from memoryhub.text.lines import text_of


def submit(space: Space, actor: Actor, wish: ChangeRequest, place: mounts.Place | None = None) -> Applied | Pending:
    """Apply at once, propose, or refuse; a secret that was kept out is told in the activity, by its kind alone."""
    with _telling_of_secrets(space, actor, [wish]) as (ready,):
        return _submit(space, actor, ready, place)


def submit_all(space: Space, actor: Actor, wishes: list[ChangeRequest]) -> list[Applied | Pending]:
    """Several changes that belong together: all of them, or none. What lies on a disk is written after the commit; what a
    crash leaves unwritten there is written at the next touch, as with any save."""
    with _telling_of_secrets(space, actor, wishes) as ready, transaction.atomic():
        names = {name for wish in ready for name in (wish.path, wish.to) if name}
        change.lock_files(space, names, *(wish.thread_id for wish in ready))
        return [_submit(space, actor, wish, None) for wish in ready]


@contextmanager
def _telling_of_secrets(space: Space, actor: Actor, wishes: list[ChangeRequest]) -> Iterator[list[ChangeRequest]]:
    """The wishes without a secret in their reasons. A refused one is told after all of it was taken back."""
    at = wishes[0].path
    try:
        for wish in wishes:
            at = wish.path
            _check_names(wish)
        yield [replace(wish, reason=secrets.redact(wish.reason)[0]) for wish in wishes]
    except Invalid as refusal:
        if refusal.code == "secret_found":
            _note_secret(space, actor, _name_of(at), refusal)
        raise


def _check_names(wish: ChangeRequest) -> None:
    """A name is kept for good and shown everywhere: no key may be part of one."""
    for name in (wish.path, wish.to):
        if kind := secrets.in_name(name):
            says = f"The path holds a secret ({kind}). Give the file another name."
            raise Invalid(says, code="secret_found", kind=kind, line=1)


def _check_thread(places: list[mounts.Place], wish: ChangeRequest) -> None:
    """Where files belong to threads, the thread is a part of their name; elsewhere it is a note and loses its secret."""
    if any(_thread_of(place, wish) for place in places) and (kind := secrets.in_name(wish.thread_id)):
        says = f"thread_id holds a secret ({kind}). Name the thread otherwise."
        raise Invalid(says, code="secret_found", kind=kind, line=1)


def _name_of(path: str) -> str:
    """A path as the activity may name it: from a secret on, only the folder above."""
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


def _submit(space: Space, actor: Actor, wish: ChangeRequest, place: mounts.Place | None) -> Applied | Pending:
    path = paths.clean(wish.path)
    before = cache(lambda: _before(space, wish))  # asked for where it matters, and once
    places = [place or mounts.resolve(space, path, agent=actor.agent)]
    if wish.kind == "move":
        places.append(mounts.resolve(space, paths.clean(wish.to), agent=actor.agent))
    _check_thread(places, wish)
    if wish.content is not None and len(wish.content) > MAX_BYTES:
        raise too_large(path, len(wish.content), MAX_BYTES)
    if actor.agent is None:
        require(actor, "edit")
        _check_text(space, wish, before)
        return _apply(space, actor, wish, places[0])
    # A move needs both ends: the stricter policy counts.
    policies = {place.policy for place in places}
    if Policy.READ_ONLY in policies:
        locked = next(place for place in places if place.policy == Policy.READ_ONLY)
        raise Forbidden(
            f"“{path}” is read-only for agents (mount {locked.mount.prefix}). Do not retry; carry on without it.",
            code="read_only",
            path=path,
        )
    findings = _check_text(space, wish, before)
    if policies == {Policy.TRUSTED} and all(_is_within(place, wish, findings, before) for place in places):
        applied = _apply(space, actor, wish, places[0])
        _note_rules(space, actor, wish, places)
        return applied
    if wish.kind in ("write", "move"):
        change.refuse_folder(space, paths.clean(wish.to or wish.path), places[-1], _thread_of(places[-1], wish))
    return _propose(space, actor, wish)


def _note_rules(space: Space, actor: Actor, wish: ChangeRequest, places: list[mounts.Place]) -> None:
    """An exception that let a change through says so in the activity."""
    if rules := {place.rule.pk: place.rule for place in places if place.rule}:
        _note_each(space, actor, wish, list(rules.values()))


@transaction.atomic
def _note_each(space: Space, actor: Actor, wish: ChangeRequest, rules: list[PolicyRule]) -> None:
    for rule in rules:
        activity.record(
            space, actor, "policies.let_through", "was let through by the rule", rule.pattern, url="rules/",
            adds=f"for {wish.path}", path=wish.path, details={"rule": rule.pk},
        )  # fmt: skip


def _thread_of(place: mounts.Place, wish: ChangeRequest) -> str:
    return wish.thread_id if place.mount.store == Mount.Store.THREAD else ""


def _is_within(place: mounts.Place, wish: ChangeRequest, findings: list[Any], before: Before) -> bool:
    """Whether the conditions of the exception that trusts this path hold for this change."""
    rule = place.rule
    if rule is None:
        return True
    if rule.unless_findings and findings:
        return False
    return rule.max_added is None or rules_trial.is_small(rule.max_added, *texts_of(wish, before))


def _check_text(space: Space, wish: ChangeRequest, before: Before) -> list[Any]:
    """Refuse secrets in what is written, and answer the other findings."""
    if wish.kind in ("delete", "move"):
        return []
    for piece in (wish.old, wish.new, wish.text):
        text_as_bytes(piece)
    if wish.content is None:
        return list(spaces.ask_event("check_text", space, wish.new if wish.kind == "edit" else wish.text))
    return list(spaces.ask_event("check_text", space, text_of(wish.content), before=before()))


def check_content(space: Space, path: str, content: bytes) -> None:
    """What a person saves in the browser passes the same look for secrets; what stood there before may stay."""
    wish = ChangeRequest("write", path, content=content)
    _check_text(space, wish, lambda: _before(space, wish))


def _before(space: Space, wish: ChangeRequest) -> str:
    """What stands there now: only what a change adds is looked at."""
    found = published_many(space, [wish.path], thread_id=wish.thread_id)[wish.path]
    return text_of(found.content) if isinstance(found, Published) else ""


def _apply(space: Space, actor: Actor, wish: ChangeRequest, place: mounts.Place) -> Applied:
    common: dict[str, Any] = {"reason": wish.reason, "thread_id": wish.thread_id}
    if wish.kind != "move":
        common["place"] = place
    match wish.kind:
        case "write":
            revision = write(
                space,
                actor,
                wish.path,
                wish.content or b"",
                if_match=wish.if_match,
                must_be_new=wish.must_be_new,
                **common,
            )
        case "edit":
            revision = edit(
                space, actor, wish.path, wish.old, wish.new, wish.replace_all, if_match=wish.if_match, **common
            )
        case "insert":
            revision = insert(space, actor, wish.path, wish.line, wish.text, **common)
        case "delete":
            revision = delete(space, actor, wish.path, if_match=wish.if_match, **common)
        case "move":
            revision = move(space, actor, wish.path, wish.to, if_match=wish.if_match, **common)
        case _:
            raise Invalid(f"There is no change of kind {wish.kind!r}.", code="invalid")
    return Applied(
        revision,
        revision.is_new and revision.kind == "create",
        _occurrences(revision, wish) if wish.kind == "edit" else None,
    )


def _occurrences(revision: Revision, wish: ChangeRequest) -> int:
    """How many places an edit changed."""
    if not wish.replace_all or revision.number < 2:
        return 1
    return text_of(revisions.content_of(revision.file, revision.number - 1)).count(wish.old)


def _propose(space: Space, actor: Actor, wish: ChangeRequest) -> Applied | Pending:
    assert actor.agent is not None
    _check_before_asking(space, wish)
    changes: dict[str, dict[str, Any]] = {
        "edit": {"old_string": wish.old, "new_string": wish.new, "replace_all": wish.replace_all},
        "insert": {"line": wish.line, "text": wish.text},
        "move": {"to": paths.clean(wish.to) if wish.to else ""},
    }
    try:
        proposal = spaces.ask_event(
            "propose", space, actor.agent, kind=wish.kind, path=paths.clean(wish.path), change=changes.get(wish.kind, {}),
            content=wish.content, reason=wish.reason, thread_id=wish.thread_id, tool_call_id=wish.tool_call_id,
        )  # fmt: skip
    except Invalid as refusal:
        if refusal.code != "no_change":
            raise
        return _as_it_is(space, wish, refusal)
    return Pending(proposal)


def _as_it_is(space: Space, wish: ChangeRequest, refusal: Invalid) -> Applied:
    """To ask for what the file says already is done as soon as it is asked; nothing is written."""
    path = paths.clean(wish.path)
    try:
        file = row_of(space, path, _thread_of(mounts.resolve(space, path), wish))
    except NotFound:
        raise refusal from None  # it stands in a proposal alone
    if file.is_deleted:
        raise refusal
    revision = revisions.get_revision(file, file.revision)
    occurrences = text_of(revisions.content_of(file, file.revision)).count(wish.old) if wish.replace_all else 1
    return Applied(revision, created=False, occurrences=occurrences if wish.kind == "edit" else None)


def _check_before_asking(space: Space, wish: ChangeRequest) -> None:
    """What can be refused now need not wait for a person."""
    if wish.if_match is None and not wish.must_be_new:
        return
    try:
        found = read(space, wish.path, thread_id=wish.thread_id)
    except HubError:
        found = None
    if wish.must_be_new and found is not None:
        raise Conflict(f"File {wish.path} already exists", code="file_exists", path=wish.path)
    sha = found.sha256 if found else None
    if wish.if_match is not None and not change.holds(wish.if_match, sha):
        raise change.stale(wish.path, sha, found.revision if found else 0)
