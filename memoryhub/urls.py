"""Every address, noun by noun. The name of what changes something is the name of its view and of its domain verb."""

from django.conf import settings
from django.urls import include, path, re_path

from memoryhub.api import prompts as prompts_api
from memoryhub.api.ground import unknown_route
from memoryhub.api.v1 import api
from memoryhub.web import (
    account,
    activity,
    agents,
    connect,
    health,
    ingress,
    login,
    longterm,
    overview,
    people,
    policies,
    promotions,
    prompts,
    proposals,
    quarantine,
    reembedding,
    retrieval,
    retrieval_checks,
    search,
    shortcuts,
    spaces,
    templates,
    tokens,
    webhooks,
    working,
)

handler400 = "memoryhub.web.errors.bad_request"
handler404 = "memoryhub.web.errors.not_found"
handler500 = "memoryhub.web.errors.broken"

in_space = [
    path("", overview.page, name="overview.page"),
    # activity
    path("activity/", activity.page, name="activity.page"),
    path("activity/export.csv", activity.export_csv, name="activity.export_csv"),
    path("activity/export.jsonl", activity.export_jsonl, name="activity.export_jsonl"),
    # agents and their tokens
    path("agents/", agents.page, name="agents.page"),
    path("agents/new/", agents.create, name="agents.create"),
    path("agents/<slug:agent>/", agents.detail, name="agents.detail"),
    path("agents/<slug:agent>/connect/", connect.page, name="connect.page"),
    path("agents/<slug:agent>/connect/light/", connect.light, name="connect.light"),
    path("agents/<slug:agent>/change/", agents.change, name="agents.change"),
    path("agents/<slug:agent>/delete/", agents.delete, name="agents.delete"),
    path("tokens/new/", tokens.create, name="tokens.create"),
    path("tokens/<int:pk>/revoke/", tokens.revoke, name="tokens.revoke"),
    path("tokens/<int:pk>/rotate/", tokens.rotate, name="tokens.rotate"),
    # settings and people
    path("settings/", spaces.settings_page, name="spaces.settings"),
    path("settings/change/", spaces.change_settings, name="spaces.change_settings"),
    path("settings/rename/", spaces.rename, name="spaces.rename"),
    path("settings/erase/", spaces.erase, name="spaces.erase"),
    path("settings/people/", people.page, name="people.page"),
    path("settings/people/add/", people.add, name="people.add"),
    path("settings/people/<int:pk>/role/", people.change_role, name="people.change_role"),
    path("settings/people/<int:pk>/remove/", people.remove, name="people.remove"),
    path("settings/people/<int:pk>/link/", people.make_link, name="people.make_link"),
    # files, mounts and sources
    # prompts
    path("prompt/", prompts.start, name="prompts.start"),
    path("prompt/templates/installed/", templates.import_installed, name="templates.import_installed"),
    path("prompt/templates/wheel/", templates.import_wheel, name="templates.import_wheel"),
    path("prompt/<slug:agent>/", prompts.page, name="prompts.page"),
    path("prompt/<slug:agent>/raw/", prompts.raw, name="prompts.raw"),
    path("prompt/<slug:agent>/compare/", prompts.compare, name="prompts.compare"),
    path("prompt/<slug:agent>/delivered/<str:sha256>/", prompts.delivered, name="prompts.delivered"),
    path("prompt/<slug:agent>/settings/", prompts.settings, name="prompts.settings"),
    path("prompt/<slug:agent>/settings/change/", prompts.change_settings, name="prompts.change_settings"),
    # proposals
    path("proposals/", proposals.page, name="proposals.page"),
    path("proposals/several/", proposals.bulk, name="proposals.bulk"),
    path("proposals/several/decide/", proposals.decide_many, name="proposals.decide_many"),
    path("proposals/<int:number>/", proposals.detail, name="proposals.detail"),
    path("proposals/<int:number>/approve/", proposals.approve, name="proposals.approve"),
    path("proposals/<int:number>/reject/", proposals.reject, name="proposals.reject"),
    path("proposals/<int:number>/comment/", proposals.comment, name="proposals.comment"),
    path("proposals/<int:number>/undo/", proposals.undo, name="proposals.undo"),
    path("proposals/<int:number>/reopen/", proposals.reopen, name="proposals.reopen"),
    path("rules/", policies.page, name="policies.page"),
    path("rules/add/", policies.add_rule, name="policies.add_rule"),
    path("rules/<int:pk>/remove/", policies.remove_rule, name="policies.remove_rule"),
    path("settings/webhooks/", webhooks.page, name="webhooks.page"),
    path("settings/webhooks/add/", webhooks.add, name="webhooks.add"),
    path("settings/webhooks/<int:pk>/remove/", webhooks.remove, name="webhooks.remove"),
    path("settings/webhooks/<int:pk>/switch/", webhooks.switch, name="webhooks.switch"),
    path("settings/webhooks/<int:pk>/ping/", webhooks.ping, name="webhooks.ping"),
    path("settings/webhooks/notices/<int:pk>/again/", webhooks.send_again, name="webhooks.send_again"),
    # quarantine, working, long-term, retrieval, search
    path("quarantine/", quarantine.page, name="quarantine.page"),
    path("quarantine/many/", quarantine.in_bulk, name="quarantine.in_bulk"),
    path("quarantine/<int:pk>/", quarantine.record, name="quarantine.record"),
    path("quarantine/<int:pk>/admit/", quarantine.admit, name="quarantine.admit"),
    path("quarantine/<int:pk>/discard/", quarantine.discard, name="quarantine.discard"),
    path("quarantine/<int:pk>/undo/", quarantine.undo, name="quarantine.undo"),
    path("settings/gate/", ingress.page, name="ingress.page"),
    path("settings/gate/change/", ingress.change, name="ingress.change"),
    path("settings/gate/try/", ingress.dry_run, name="ingress.dry_run"),
    path("working/", working.page, name="working.page"),
    path("working/add/", working.add, name="working.add"),
    path("working/<int:pk>/edit/", working.edit, name="working.edit"),
    path("working/<int:pk>/pin/", working.pin, name="working.pin"),
    path("working/<int:pk>/extend/", working.extend, name="working.extend"),
    path("working/<int:pk>/remove/", working.remove, name="working.remove"),
    path("working/<int:pk>/put-back/", working.put_back, name="working.put_back"),
    path("longterm/", longterm.page, name="longterm.page"),
    path("longterm/promote/", promotions.page, name="promotions.page"),
    path("longterm/promote/now/", promotions.promote, name="promotions.promote"),
    path("longterm/export/", longterm.export, name="longterm.export"),
    path("longterm/import/", longterm.take_in, name="longterm.take_in"),
    path("longterm/pairs/<int:pk>/", longterm.settle, name="longterm.settle"),
    path("longterm/<int:number>/", longterm.entry, name="longterm.entry"),
    path("longterm/<int:number>/edit/", longterm.edit, name="longterm.edit"),
    path("longterm/<int:number>/verify/", longterm.verify, name="longterm.verify"),
    path("longterm/<int:number>/review-by/", longterm.set_review_by, name="longterm.set_review_by"),
    path("longterm/<int:number>/retire/", longterm.retire, name="longterm.retire"),
    path("longterm/<int:number>/restore/", longterm.restore, name="longterm.restore"),
    path("retrieval/", retrieval.page, name="retrieval.page"),
    path("retrieval/checks/", retrieval_checks.save, name="retrieval_checks.save"),
    path("retrieval/checks/run/", retrieval_checks.run, name="retrieval_checks.run"),
    path("retrieval/checks/<int:pk>/forget/", retrieval_checks.forget, name="retrieval_checks.forget"),
    path("retrieval/embedder/", reembedding.page, name="reembedding.page"),
    path("retrieval/embedder/change/", reembedding.start, name="reembedding.start"),
    path("retrieval/embedder/back/", reembedding.switch_back, name="reembedding.switch_back"),
    path("search/", search.page, name="search.page"),
]

urlpatterns = [
    path("", spaces.front, name="spaces.front"),
    path("spaces/new/", spaces.create, name="spaces.create"),
    path("spaces/demo/", spaces.load_demo, name="spaces.load_demo"),
    path("login/", login.page, name="login.page"),
    path("login/once/<str:secret>/", login.once, name="login.once"),
    path("logout/", login.leave, name="login.leave"),
    path("account/", account.page, name="account.page"),
    path("account/password/", account.change_password, name="account.change_password"),
    path("account/email/", account.change_email, name="account.change_email"),
    path("account/sessions/<int:pk>/end/", account.end_session, name="account.end_session"),
    path("account/theme/", account.theme, name="account.theme"),
    path("account/tokens/new/", account.create_token, name="account.create_token"),
    path("account/tokens/<int:pk>/revoke/", account.revoke_token, name="account.revoke_token"),
    path("shortcuts/", shortcuts.page, name="shortcuts.page"),
    path("s/<slug:space>/", include(in_space)),
    path("api/v1/prompt", prompts_api.prompt, name="api.prompt"),
    path("api/v1/", api.urls),
    re_path(r"^api/(?P<path>.*)$", unknown_route),
    path("healthz", health.healthz, name="health.healthz"),
    path("readyz", health.readyz, name="health.readyz"),
    path("metrics", health.metrics, name="health.metrics"),
]

if settings.DEBUG:
    from memoryhub.web import policies, proposals, styleguide, webhooks

    urlpatterns.append(path("styleguide/", styleguide.page, name="styleguide.page"))
