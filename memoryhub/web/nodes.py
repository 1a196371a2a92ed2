"""Nodes: the hubs that share this database, and which of them reads and writes each mounted directory."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from memoryhub.domain import files, nodes
from memoryhub.domain.accounts import require_hub_owner
from memoryhub.errors import HubError
from memoryhub.models import Mount
from memoryhub.web.access import signed_in
from memoryhub.web.notices import done


@signed_in
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    require_hub_owner(request.actor)
    return show(request)


def show(request: HttpRequest, *, status: int = 200, refusal: str = "") -> HttpResponse:
    context = {"nodes": list(nodes.listed()), "mounts": files.mounts_with_nodes(), "refusal": refusal}
    return render(request, "nodes/page.html", context, status=status)


@require_POST
@signed_in
def put_in_charge(request: HttpRequest, pk: int) -> HttpResponse:
    """Makes another node read and write a mounted directory."""
    require_hub_owner(request.actor)
    mount = get_object_or_404(Mount.objects.select_related("space"), pk=pk)
    try:
        node = files.put_in_charge(mount.space, request.actor, mount, request.POST.get("node", ""))
    except HubError as error:
        return show(request, status=error.status, refusal=error.message)
    done(request, _("%(node)s takes over %(prefix)s.") % {"node": node.name, "prefix": mount.prefix})
    return redirect("nodes.page")


@require_POST
@signed_in
def forget(request: HttpRequest) -> HttpResponse:
    """Removes a node that will not come back from the list."""
    require_hub_owner(request.actor)
    try:
        node = nodes.forget_node(request.POST.get("node", ""))
    except HubError as error:
        return show(request, status=error.status, refusal=error.message)
    done(request, _("%(node)s is off the list.") % {"node": node.name})
    return redirect("nodes.page")
