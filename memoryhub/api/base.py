"""What every router of the API uses: who calls, the one error shape, conditional answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.responses import NinjaJSONEncoder
from ninja.schema import DjangoGetter
from ninja.security import HttpBearer
from pydantic import model_validator

from memoryhub.domain import accounts, activity, files, proposals, spaces
from memoryhub.domain.accounts import Caller
from memoryhub.errors import Forbidden, HubError, Invalid, NotFound, TooLarge, Unauthenticated
from memoryhub.models import Proposal, Scope
from memoryhub.refusals import json_refusal, refusal_of
from memoryhub.requests import KNOWN, bearer_token, client_address
from memoryhub.stores import paths

View = Callable[..., HttpResponse]
BODY_LIMIT = 8 * 1024 * 1024
NO_JSON = "The body is not valid JSON. Send an object as the document at /api/v1/docs has it."
# The branches of a union, as pydantic names them.
BRANCHES = {"str", "int", "float", "bool", "none", "constrained-str", "constrained-int"}


class ErrorBody(Schema):
    code: str
    message: str


class Error(Schema):
    error: ErrorBody


ERROR_STATUSES = (401, 403, 404, 408, 409, 412, 413, 422, 429, 503)
# Ninja makes a model of pydantic for each status of each call. Errors are raised, not returned: one model of them is enough, and
# the document gets the other statuses where `v1.HubAPI` makes it.
ERRORS: dict[int, Any] = {ERROR_STATUSES[0]: Error}


class Given(Schema):
    """What a caller sends as JSON. An optional field sent as null counts as left out, as many clients write it."""

    @model_validator(mode="before")
    @classmethod
    def leave_out_nulls(cls, given: Any) -> Any:
        given = given._obj if isinstance(given, DjangoGetter) else given  # how django-ninja wraps what came in
        if not isinstance(given, dict):
            return given
        needed = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {name: value for name, value in given.items() if value is not None or name in needed}


def authenticate(request: HttpRequest, *, beside: str = "NULL") -> Caller:
    """Who calls, by the token in the header; for every call of the API."""
    caller = accounts.authenticate(bearer_token(request.META), client_address(request.META), beside=beside)
    request.META[KNOWN] = True
    return caller


class TokenAuth(HttpBearer):
    """`Authorization: Bearer mh_…`, bound to one space."""

    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Caller:
        return authenticate(request)

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        """What django-ninja would call with the token that it reads; `__call__` reads it as all other calls do."""
        return authenticate(request)


class PersonAuth(TokenAuth):
    """Authenticates calls that decide: an agent's token is refused before anything else is read, whoever made it."""

    def __call__(self, request: HttpRequest) -> Caller:
        caller = authenticate(request)
        if not caller.person:
            request.auth = caller
            raise Forbidden("Only people decide: an agent's token cannot do this.", code="people_only")
        return caller


def needs(scope: str, role: str = "read") -> Callable[[Any], Any]:
    """The scope that the token must carry; a person also needs the role for that kind of action."""

    def decorate(operation: Any) -> Any:
        @wraps(operation)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            allow(request.auth, scope, role)
            return operation(request, *args, **kwargs)

        guarded.needs_scope, guarded.needs_role = scope, role  # type: ignore[attr-defined]
        return guarded

    return decorate


def needs_by_body(chosen: Callable[[Any], tuple[str, str]]) -> Callable[[Any], Any]:
    """A decorator for a call that can mean several things: its body says which scope and role they take."""

    def decorate(operation: Any) -> Any:
        @wraps(operation)
        def guarded(request: HttpRequest, **body: Any) -> Any:
            allow(request.auth, *chosen(*body.values()))
            return operation(request, **body)

        guarded.needs_scope, guarded.needs_role = "by body", "read"  # type: ignore[attr-defined]
        return guarded

    return decorate


def allow(caller: Caller, scope: str, role: str) -> None:
    caller.need(scope)
    if caller.person:
        accounts.require(caller.actor, role)


def people_only(action: str) -> Callable[[Any], Any]:
    """The role that a decision takes; the operation's auth is `PersonAuth`. What decides also writes: it takes that scope."""

    def decorate(operation: Any) -> Any:
        @wraps(operation)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            allow(request.auth, Scope.PROPOSE, action)
            return operation(request, *args, **kwargs)

        guarded.needs_scope, guarded.needs_role = "person", action  # type: ignore[attr-defined]
        return guarded

    return decorate


def install_errors(api: NinjaAPI) -> None:
    """Turns everything that can go wrong into the one shape, with the true status."""

    def refuse(request: HttpRequest, exception: Exception) -> HttpResponse:
        error = refusal_of_call(exception)
        if error is None:
            raise exception
        return refused(request, error)

    # django-ninja brings handlers for some classes and finds the nearest by class: ours take their places.
    for kind in (Exception, HttpError, AuthenticationError, ValidationError, Http404):
        api.add_exception_handler(kind, refuse)


def refusals_as_json(view: View) -> View:
    """A decorator for views outside django-ninja: refusals are answered as JSON of the API's shape."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Exception as exception:
            error = refusal_of_call(exception)
            if error is None:
                raise
            return refused(request, error)

    return guarded


def refused(request: HttpRequest, error: HubError) -> HttpResponse:
    """The refusal as JSON; one for lack of a role or scope is noted where the owners see it."""
    caller = getattr(request, "auth", None)
    if isinstance(error, Forbidden) and isinstance(caller, Caller):
        activity.note_refusal(caller.space, caller.actor, error, request.method or "", route_of(request))
    return json_refusal(error)


def route_of(request: HttpRequest) -> str:
    """The pattern of an address without what was typed in its place; of calls past the middleware, its beginning."""
    match = getattr(request, "resolver_match", None)
    return match.route if match else "/".join(request.META.get("PATH_INFO", "").split("/")[1:4])


def refusal_of_call(exception: Exception) -> HubError | None:
    """The refusal that an exception of django-ninja, or any other, stands for; None for what is a bug."""
    match exception:
        case AuthenticationError():
            return Unauthenticated(accounts.NO_VALID_TOKEN)
        case ValidationError():
            return Invalid(first_sentence(exception.errors), code="invalid", fields=fields_of(exception.errors))
        case RecursionError():
            return Invalid("The body is nested too deep.", code="invalid_json")
        case HttpError(status_code=400):
            return Invalid(NO_JSON, code="invalid_json")
        case HttpError(status_code=413):
            return TooLarge("The body is larger than 8 MiB.")
    return refusal_of(exception)


def fields_of(errors: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Where each fault lies, by the name the caller used, and what it is."""
    return list(
        {field_of(one["loc"]): {"field": field_of(one["loc"]), "message": one["msg"]} for one in errors}.values()
    )


def field_of(place: tuple[str | int, ...]) -> str:
    """The path to a field as the caller wrote it: without where it came from, and without the branch of a union."""
    where, *rest = place
    if where == "body":  # then comes the name of our own parameter
        rest = rest[1:]
    return ".".join(str(part) for part in rest if part not in BRANCHES and "[" not in str(part))


def first_sentence(errors: list[dict[str, Any]]) -> str:
    fields = fields_of(errors)
    return (
        f"{fields[0]['field'] or 'The request'}: {fields[0]['message']}."
        if fields
        else "The request does not validate."
    )


# ---- what a person says is no secret ----


@contextmanager
def no_secrets(caller: Caller, path: str, contents: Callable[[], list[bytes]], digests: list[str]) -> Iterator[None]:
    """Notes the values of contents of which a person says that they are no secrets. A refusal inside because of a secret tells
    a person the digest of each, to say so with the next call."""
    if digests and caller.agent:
        raise Forbidden("Only people say that a value is no secret.", code="people_only")
    try:
        if digests:
            for content in contents():
                files.allow_in_text(caller.space, caller.actor, path, content, digests)
        yield
    except Invalid as refusal:
        if refusal.code == "secret_found" and caller.person:
            found = [one for content in contents() for one in spaces.mark_secrets(caller.space, content).secrets]
            refusal.details["secrets"] = list({one.digest: one.as_json() for one in reversed(found)}.values())[::-1]
        raise


# ---- conditional answers ----

# For answers that a client may keep, and ask about again.
CACHE_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Vary": "Accept, Authorization",
    "X-Content-Type-Options": "nosniff",
}


def conditional(request: HttpRequest, etag: str, body: bytes, content_type: str) -> HttpResponse:
    """The body with its ETag, or 304 when the caller has it already."""
    if has_etag(request, etag):
        return not_modified(etag)
    headers = {"Content-Type": content_type, "Content-Length": str(len(body)), "ETag": etag, **CACHE_HEADERS}
    return HttpResponse(body, headers=headers)


def not_modified(etag: str) -> HttpResponse:
    response = HttpResponse(status=304, headers={"ETag": etag, **CACHE_HEADERS})
    del response["Content-Type"]
    return response


def has_etag(request: HttpRequest, etag: str) -> bool:
    """Whether `If-None-Match` names this ETag; weak ones and ones without quotes count as well."""
    given = request.META.get("HTTP_IF_NONE_MATCH")
    return bool(given) and files.etag_matches(given, etag.strip('"'))


def json_response(
    document: dict[str, Any], headers: Mapping[str, str] | None = None, status: int = 200
) -> HttpResponse:
    """A document as django-ninja writes it, without going through its schema first: for long lists, that costs most."""
    body = json.dumps(document, cls=NinjaJSONEncoder)
    return HttpResponse(body, content_type="application/json; charset=utf-8", headers=headers, status=status)


def fields_of_each(schema: type[Schema], found: Iterable[Any]) -> list[dict[str, Any]]:
    """What the schema names of each of these."""
    names = tuple(schema.model_fields)
    return [{name: getattr(one, name) for name in names} for one in found]


# ---- which of two forms ----


def wants_text(request: HttpRequest) -> bool:
    """Whether a call that answers JSON shall answer plain text: when that is named and nothing is liked better."""
    return likes_text(request.META.get("HTTP_ACCEPT", ""))


@lru_cache(maxsize=256)
def likes_text(accept: str) -> bool:
    likes = dict(map(weighed, accept.split(",")))
    text = likes.get("text/plain", likes.get("text/*", 0.0))
    return text > likes.get("application/json", 0.0) and text >= likes.get("*/*", 0.0)


def weighed(one: str) -> tuple[str, float]:
    """One entry of an Accept header, such as `text/plain; q=0.5`: its kind and how much it is liked."""
    kind, *rest = [piece.strip().lower() for piece in one.split(";")]
    weight = next((piece[2:] for piece in rest if piece.startswith("q=")), "1")
    try:
        return kind, float(weight)
    except ValueError:
        return kind, 0.0


def rooted(prefix: str) -> str:
    return prefix if prefix.startswith(("/", *paths.HEADS)) else "/" + prefix


# ---- proposals, which writes, promotions and reports of templates answer too


def shown(caller: Caller, proposal: Proposal, found: proposals.Result | None = None) -> dict[str, Any]:
    """A proposal as the contract has it, for this caller."""
    return without_hidden_diff(caller, proposals.as_json(proposal, found))


def without_hidden_diff(caller: Caller, proposal: dict[str, Any]) -> dict[str, Any]:
    """The diff quotes the file around the change, so only callers that may read files get it."""
    if not caller.has(Scope.FILES) and proposal["path"]:
        proposal["diff"] = None
    return proposal


def unknown_route(request: HttpRequest, path: str = "") -> HttpResponse:
    """Anything below /api/ that is no operation: the one error shape as well."""
    return json_refusal(NotFound("There is no such call. All of them stand at /api/v1/docs."))


def on_disk(why_waiting: str) -> dict[str, str]:
    """What an answer says besides where a revision waits to be written to its disk."""
    return {"on_disk": "waiting", "why": why_waiting} if why_waiting else {}
