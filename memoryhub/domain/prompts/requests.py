"""What is asked of a prompt: checked when it comes in, stored with its delivery, and read again to ask the same once more."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.utils import timezone

from memoryhub import dialects
from memoryhub.db.prepared import any_of, prepared
from memoryhub.detectors import secrets
from memoryhub.dialects import Dialect
from memoryhub.domain import retrieval
from memoryhub.errors import Invalid, TooLarge
from memoryhub.models import Agent, AgentChange, Delivery, PromptText

if TYPE_CHECKING:
    from memoryhub.domain.prompts.assemble import Prompt

MAX_TEXT = 20_000
MAX_SYSTEM_PROMPT = 1024 * 1024
MAX_LOOKED_AT = 200
MAX_STORED_QUERY = 2_000  # characters; a delivery with a longer query cannot be compared with what it would be now


class AskedLimits(NamedTuple):
    """The limits of retrieval that a call names; None: as the agent or its space has them."""

    hot: int | None = None
    cold: int | None = None
    threshold: float | None = None
    max_chars: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


NO_LIMITS = AskedLimits()


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What somebody wants to see of an agent's prompt; empty fields mean the agent's own."""

    dialect: str = ""
    query: str = ""
    task: str = ""
    thread: str = ""
    at: datetime | None = None
    system_prompt: str | None = None
    limits: AskedLimits = NO_LIMITS

    def check(self) -> PromptRequest:
        """Returns itself, or refuses with the name of the field."""
        for name in ("dialect", "query", "task", "thread", "system_prompt"):
            check_text(name, getattr(self, name) or "")
        if self.limits.given:
            retrieval.check_limits(self.limits.given)
        if self.at and self.at > timezone.now() + timedelta(minutes=1):
            raise Invalid("at is in the future; prompts are known up to now.", field="at")
        return self


def parse_time(text: str) -> datetime | None:
    """The time in an `at` parameter; UTC without a zone. A `+` that a query string turned into a blank is accepted."""
    if not text:
        return None
    for spelled in (text, text.replace(" ", "+")):
        try:
            found = datetime.fromisoformat(spelled)
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    raise Invalid("at is a time such as 2026-11-18T09:41:00Z.", field="at")


def check_text(name: str, value: str) -> None:
    """Refuses NUL, lone surrogates and texts that are too long."""
    size = byte_length(value)
    if size is None or "\x00" in value:
        raise Invalid(f"{name} holds a NUL or half a character.", field=name)
    if name == "system_prompt":
        if size > MAX_SYSTEM_PROMPT:
            raise TooLarge("system_prompt is larger than 1 MiB.", field=name)
    elif len(value) > (200 if name in ("thread", "dialect") else MAX_TEXT):
        raise Invalid(f"{name} is too long.", field=name)


def byte_length(text: str) -> int | None:
    """Length in UTF-8 bytes; None where it cannot be encoded."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


# Which dialect


def dialect_of(named: str, agent: Agent) -> Dialect:
    """The dialect that a call of the agent gets which names this one, or none."""
    return dialects.of_agent(named, agent.dialect, agent.reported or {})


def dialect_for(agent: Agent, asked: PromptRequest) -> Dialect:
    """The dialect of a call, which may look at a past moment: then by the agent's setting of that time."""
    if asked.at is None or asked.dialect not in ("", dialects.AUTO):
        return dialect_of(asked.dialect, agent)
    changes = AgentChange.objects.within(agent.space_id).filter(agent_id=agent.pk, created_at__lte=asked.at)
    change = changes.order_by("-created_at", "-pk").first()
    setting = change.values.get("dialect") if change else None
    return dialects.of_agent("", setting or agent.dialect, agent.reported or {})


def as_looked_at(agent: Agent, asked: PromptRequest) -> PromptRequest:
    """The request of somebody who looks at an agent's prompt: of an `auto` agent, in the dialect that it asks for."""
    if agent.dialect != dialects.AUTO or asked.dialect not in ("", dialects.AUTO):
        return asked
    return replace(asked, dialect=asked_before(agent, asked.at) if asked.at else agent.asked_dialect)


def asked_before(agent: Agent, at: datetime) -> str:
    """The dialect that the agent had named last at a past moment, as far as deliveries tell."""
    got = Delivery.objects.within(agent.space_id).filter(agent_id=agent.pk, first_at__lte=at).order_by("-last_at")
    newest = max(got[:MAX_LOOKED_AT], key=lambda one: (min(one.last_at, at), one.first_at), default=None)
    return str(StoredRequest(newest).values.get("dialect", "")) if newest else ""


# What a delivery stores of its call


@lru_cache(maxsize=256)
def secrets_in(given: str) -> tuple[str, ...]:
    return tuple(given[start:end] for start, end, _ in secrets.hits(given))


def mask(data: bytes, asked: PromptRequest) -> bytes:
    """The bytes as they are stored: secrets that came with the request are replaced by as many stars, so that offsets of parts
    still hold. The sha256 stays that of the delivered bytes."""
    for secret in request_secrets(asked):
        encoded = secret.encode("utf-8", "replace")
        data = data.replace(encoded, b"*" * len(encoded))
    return data


def request_secrets(asked: PromptRequest) -> list[str]:
    return [one for text in (asked.query, asked.task, asked.system_prompt) if text for one in secrets_in(text)]


def as_stored(asked: PromptRequest, prompt: Prompt) -> dict[str, Any]:
    """What a delivery stores of its call, so that the same can be asked again: small, whatever was sent.

    The call's base prompt and task stand in the delivered text, so their places in it and their digests suffice.
    """
    stored: dict[str, Any] = {"dialect": asked.dialect}
    if asked.at:
        stored["at"] = asked.at.isoformat()
    if asked.query and dialects.families()[prompt.rendered.dialect.family].retrieves:
        stored["query"] = mask(asked.query.encode(), asked).decode()[:MAX_STORED_QUERY]
        if len(asked.query) > MAX_STORED_QUERY:
            stored["is_cut"] = True
        if asked.limits.given:
            stored["limits"] = asked.limits.given
    if asked.system_prompt is not None:
        stored["base"] = place_in(prompt, "base", asked.system_prompt)
    if asked.task and (place := place_in(prompt, "task", asked.task))[1]:
        stored["task"] = place
    if request_secrets(asked):
        stored["is_masked"] = True
    return stored


def place_in(prompt: Prompt, kind: str, text: str) -> list[Any]:
    """Start, end and digest of a text that stands in the part of this kind; an end of 0 where it does not."""
    data = text.encode()
    for part in prompt.parts:
        if part.kind == kind and (start := prompt.data.find(data, part.start, part.end)) >= 0:
            return [start, start + len(data), hashlib.sha256(data).hexdigest()[:16]]
    return [0, 0, ""]


@dataclass(frozen=True)
class StoredRequest:
    """The call of a delivery, as far as it is stored."""

    delivery: Delivery

    @property
    def values(self) -> dict[str, Any]:
        return self.delivery.asked or {"dialect": self.delivery.dialect}  # of an older version: its form alone

    @property
    def is_comparable(self) -> bool:
        """Whether it can be asked for again: not where a long query was cut, nor of a past moment, which stays as it was."""
        return not self.values.get("is_cut") and not self.looks_back

    @property
    def looks_back(self) -> bool:
        return "at" in self.values

    @property
    def is_masked(self) -> bool:
        return bool(self.values.get("is_masked"))

    @property
    def query(self) -> str:
        return str(self.values.get("query", ""))

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for calls that ask the same, whatever their thread."""
        base, task = self.values.get("base"), self.values.get("task")
        return (self.values.get("dialect", ""), self.query, self.limits, base and base[2], task and task[2])

    @property
    def limits(self) -> AskedLimits:
        return AskedLimits(**self.values.get("limits", {}))

    @property
    def needs_text(self) -> bool:
        return self.is_masked or any(self.values.get(name, (0, 0))[1] for name in ("base", "task"))

    def request(self, text: bytes) -> PromptRequest:
        """The call, with base prompt and task out of the delivered text (empty where it `needs_text` not)."""

        def cut(name: str) -> str:
            start, end, *_ = self.values.get(name, (0, 0))
            return text[start:end].decode("utf-8", "replace")

        base = cut("base") if "base" in self.values else None
        named = str(self.values.get("dialect", ""))
        return PromptRequest(named, self.query, cut("task"), self.delivery.thread_id, None, base, self.limits)


def compare_query(at: datetime, values: dict[str, Any]) -> str:
    """The query of the page that compares the prompt of a moment with now, for what a call asked."""
    named = {"from": at.isoformat(), "dialect": values.get("dialect", ""), "ask": values.get("query", "")}
    return urlencode({name: value for name, value in named.items() if value})


TEXTS = prepared(lambda space, wanted: PromptText.objects.within(space).filter(any_of("sha256", wanted)))


def stored_texts(space_id: int, requests: Iterable[StoredRequest]) -> dict[str, bytes]:
    """The delivered texts that these requests need, by sha256."""
    wanted = {one.delivery.sha256 for one in requests if one.needs_text}
    found = TEXTS(space_id, list(wanted)) if wanted else ()
    return {one.sha256: bytes(one.text) for one in found}


@dataclass(frozen=True)
class LastCall:
    """What an agent asked for last, and what it got."""

    request: PromptRequest
    delivery: Delivery

    @property
    def words(self) -> dict[str, str]:
        """Thread, query and task by name, those that were given."""
        named = {name: getattr(self.request, name) for name in ("thread", "query", "task")}
        return {name: value for name, value in named.items() if value}

    @property
    def has_base(self) -> bool:
        return self.request.system_prompt is not None
