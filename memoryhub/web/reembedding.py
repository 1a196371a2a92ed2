"""The embedder of a space: the one in use, and a change of it with its progress."""

from __future__ import annotations

from importlib.util import find_spec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub import embedders
from memoryhub.domain import longterm
from memoryhub.web.access import post_only, space_page
from memoryhub.web.helpers import clean_text, page_or_part
from memoryhub.web.notices import done

EMBEDDER_WITH_MODELS = "openai_endpoint"  # its server may have several models
EMBEDDER_NOTES = {
    "wordllama": gettext_lazy(
        "English and the large European languages; runs inside the hub, 0.2 ms per text. Weak for Arabic, Chinese, Japanese "
        "and Korean: there, matching words decide the ranking."
    ),
    "openai_endpoint": gettext_lazy(
        "Any model of your server; the best choice for many languages. Texts are sent to that server. Its address is "
        "MEMORYHUB_EMBEDDER_URL, or one of %(servers)s on this machine."
    ),
    "hashing": gettext_lazy("For tests, and for spaces where only words should count. No model."),
}


def note_of(name: str) -> str:
    """What an embedder is good for, or that this machine lacks it."""
    if name == "wordllama" and find_spec(name) is None:
        return _("Not installed on this machine, for which it has no package.")
    return str(EMBEDDER_NOTES.get(name, "")) % {"servers": ", ".join(settings.EMBEDDER_SERVERS)}


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    state = longterm.reembedding_state(request.space)
    name, _colon, model = state.serving.partition(":")
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


UNDER_WAY = gettext_lazy("The change is running. The current vectors stay in use until it is complete.")


def chosen_embedder(request: HttpRequest) -> str:
    """The embedder of the form, as `name:model` if a model was given."""
    name, model = (clean_text(request.POST.get(key, "")).strip() for key in ("choice", "model"))
    return f"{name}:{model}" if model and name == EMBEDDER_WITH_MODELS else name


@post_only("manage")
def start(request: HttpRequest) -> HttpResponse:
    longterm.start_reembedding(request.space, request.actor, chosen_embedder(request))
    done(request, str(UNDER_WAY))
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def prepare(request: HttpRequest) -> HttpResponse:
    longterm.prepare_reembedding(request.space, request.actor, chosen_embedder(request))
    done(request, _("Its vectors are being created. Nothing changes for agents."))
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def switch_back(request: HttpRequest) -> HttpResponse:
    before = longterm.embedder_before(request.space)
    space = longterm.switch_embedder_back(request.space, request.actor)
    is_back = space.settings["embedder"] == before
    done(request, _("%(embedder)s is in use again.") % {"embedder": before} if is_back else str(UNDER_WAY))
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def drop(request: HttpRequest) -> HttpResponse:
    embedded_by = clean_text(request.POST.get("embedded_by", ""))
    longterm.drop_vectors(request.space, request.actor, embedded_by)
    words = _("The vectors of %(embedder)s are being deleted. Nothing changes for agents.")
    done(request, words % {"embedder": embedded_by})
    return redirect("reembedding.page", request.space.slug)
