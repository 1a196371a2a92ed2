"""The embedder of a space: who serves, and a change of it with its progress."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from memoryhub import embedders
from memoryhub.domain import reembedding
from memoryhub.web.doors import post_only, space_page
from memoryhub.web.notices import done
from memoryhub.web.parts import page_or_part, plain

GOOD_FOR = {
    "wordllama": "English and the large European languages; inside the hub, 0.2 ms a text. Weak for Arabic, Chinese, "
    "Japanese and Korean: there the words carry the ranking.",
    "openai_endpoint": "Whatever model your server has; the best choice for many languages. Texts leave the hub for that server.",
    "hashing": "Tests, and spaces where only words should count. No model at all.",
}


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    state = reembedding.state(request.space)
    context = {
        "state": state,
        "choices": [(name, GOOD_FOR.get(name, "")) for name in embedders.names()],
        "share": round(100 * state.job.done / state.job.total) if state.job and state.job.total else 0,
    }
    return page_or_part(request, "reembedding/page.html", "reembedding/_progress.html", context)


@post_only("manage")
def start(request: HttpRequest) -> HttpResponse:
    reembedding.start(request.space, request.actor, plain(request.POST.get("choice", "")))
    done(request, "The change is under way; the old vectors serve until it is complete.")
    return redirect("reembedding.page", request.space.slug)


@post_only("manage")
def switch_back(request: HttpRequest) -> HttpResponse:
    space = reembedding.switch_back(request.space, request.actor)
    done(request, f"{space.settings['embedder']} serves again.")
    return redirect("reembedding.page", request.space.slug)
