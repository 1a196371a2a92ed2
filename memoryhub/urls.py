"""Every address, noun by noun. The name of what changes something is the name of its view and of its domain verb."""

from django.urls import include, path, re_path

from memoryhub.api import prompts as prompts_api
from memoryhub.api.ground import unknown_route
from memoryhub.api.v1 import api
from memoryhub.web import health, login, overview, spaces

handler400 = "memoryhub.web.errors.bad_request"
handler404 = "memoryhub.web.errors.not_found"
handler500 = "memoryhub.web.errors.broken"

in_space = [
    path("", overview.page, name="overview.page"),
    # files, mounts and sources
    # prompts
    # proposals
    # quarantine, working, long-term, retrieval, search
]

urlpatterns = [
    path("", spaces.front, name="spaces.front"),
    path("login/", login.page, name="login.page"),
    path("login/once/<str:secret>/", login.once, name="login.once"),
    path("logout/", login.leave, name="login.leave"),
    path("s/<slug:space>/", include(in_space)),
    path("api/v1/prompt", prompts_api.prompt, name="api.prompt"),
    path("api/v1/", api.urls),
    re_path(r"^api/(?P<path>.*)$", unknown_route),
    path("healthz", health.healthz, name="health.healthz"),
    path("readyz", health.readyz, name="health.readyz"),
    path("metrics", health.metrics, name="health.metrics"),
]
