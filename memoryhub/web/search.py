"""Search over everything that a member may see."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from memoryhub.domain import retrieval
from memoryhub.languages import translated
from memoryhub.web.access import space_page
from memoryhub.web.helpers import clean_text, page_or_part

MAX_HITS = 60


@space_page("read", methods=("GET", "HEAD"))
def page(request: HttpRequest) -> HttpResponse:
    query = clean_text(request.GET.get("q", ""))
    layers = [one for one in request.GET.getlist("layer") if one in retrieval.LAYERS]
    hits = retrieval.search(request.space, query, layers=layers or None, limit=MAX_HITS) if query.strip() else []
    context = {
        "q": query,
        "hits": retrieval.group_hits(hits),
        "layers": layers,
        "all_layers": [(layer, translated(title)) for layer, title in retrieval.TITLES.items()],
        "most": MAX_HITS,
    }
    context["is_cut"] = len(hits) == MAX_HITS
    context["goes_on"] = (
        bool(query.strip()) and (not layers or "activity" in layers) and retrieval.has_more_activity(request.space)
    )
    return page_or_part(request, "search/page.html", "search/_hits.html", context)
