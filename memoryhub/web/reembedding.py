"""The embedder of a space: the one in use, and a change of it with its progress."""

from __future__ import annotations

from importlib.util import find_spec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from memoryhub import embedders
from memoryhub.domain import longterm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, page_or_part
from memoryhub.web.notices import done

EMBEDDER_WITH_MODELS = "openai_endpoint"  # its server may have several models
EMBEDDER_NOTES = {
    "wordllama": "English and the large European languages; inside the hub, 0.2 ms a text. Weak for Arabic, Chinese, "
    "Japanese and Korean: there the words carry the ranking.",
    "openai_endpoint": "Whatever model your server has; the best choice for many languages. Texts leave the hub for that server. "
    "Its address is MEMORYHUB_EMBEDDER_URL, or one of " + ", ".join(settings.EMBEDDER_SERVERS) + " on this machine.",
    "hashing": "Tests, and spaces where only words should count. No model at all.",
}


def note_of(name: str) -> str:
    """What an embedder is good for, or that this machine lacks it."""
    if name == "wordllama" and find_spec(name) is None:
        return gettext("Not installed on this machine, for which it has no package.")
    return EMBEDDER_NOTES.get(name, "")


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    state = longterm.reembedding_state(request.space)
    name, _, model = state.serving.partition(":")
    context = {
        "state": state,
        "serves": name,
        "kept": longterm.embedders_with_vectors(request.space),
        "model": model,
        "with_model": EMBEDDER_WITH_MODELS,
        "choices": [(name, note_of(name)) for name in embedders.names()],
        "share": round(100 * state.job.done / state.job.total) if state.job and state.job.total else 0,
    }
    return page_or_part(request, "reembedding/page.html", "reembedding/_progress.html", context)


UNDER_WAY = "The change is under way; the old vectors serve until it is complete."


def chosen_embedder(request: HttpRequest) -> str:
    """The embedder of the form, as `name:model` if a model was given."""
    name, model = (clean_text(request.POST.get(key, "")).strip() for key in ("choice", "model"))
    return f"{name}:{model}" if model and name == EMBEDDER_WITH_MODELS else name


@post_only("manage")
def start(request: HttpRequest) -> HttpResponse:
    longterm.start_reembedding(request.space, request.actor, chosen_embedder(request))
    done(request, UNDER_WAY)
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def prepare(request: HttpRequest) -> HttpResponse:
    longterm.prepare_reembedding(request.space, request.actor, chosen_embedder(request))
    done(request, "Its vectors are being made; nothing changes for agents.")
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def switch_back(request: HttpRequest) -> HttpResponse:
    before = longterm.embedder_before(request.space)
    space = longterm.switch_embedder_back(request.space, request.actor)
    done(request, f"{before} serves again." if space.settings["embedder"] == before else UNDER_WAY)
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def drop(request: HttpRequest) -> HttpResponse:
    embedded_by = clean_text(request.POST.get("embedded_by", ""))
    longterm.drop_vectors(request.space, request.actor, embedded_by)
    done(request, f"The vectors of {embedded_by} are being deleted; nothing changes for agents.")
    return redirect("reembedding.page", request.space.slug)
