"""Sign-in by a provider of OpenID Connect: to the provider, and back with its answer.

allauth keeps the state, makes the PKCE challenge and fetches the tokens. What the answer says counts only after `claims_of` has
checked its signature, issuer, audience, time and nonce; the hub then decides whom it signs in.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from typing import Any

from allauth.core.internal.deferred import jwt
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from requests import Session

from memoryhub.domain import accounts, spaces
from memoryhub.errors import Forbidden, HubError, NotFound, Unavailable
from memoryhub.web.access import public, recently_signed_in
from memoryhub.web.login import BEFORE_SIGN_IN, enter, local_address, safe_next, show
from memoryhub.web.notices import done, refused

logger = logging.getLogger(__name__)
# Signatures that only the provider can make. HMAC and `none` are not among them.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
CLOCKS_DIFFER = 60  # seconds
CONFIGURATION_KEPT, AWAY_KEPT = 300, 10  # seconds
FAILED = "Sign-in by the provider failed. Try again; if it goes on, ask whoever runs the hub to look into its log."
_configurations: dict[str, tuple[float, dict[str, Any] | None]] = {}  # until when, and what; None while it is away


class Adapter(OpenIDConnectOAuth2Adapter):
    """allauth's, for the one provider of the settings and the address of this module."""

    def get_provider(self) -> OpenIDConnectProvider:
        return provider_for(self.request)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        path = reverse("oidc.callback")
        return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)

    @property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says about itself, if it is the issuer of the settings. Kept for five minutes; that it was away, for
        ten seconds, so that strangers who ask do not each hold a worker until it answers."""
        issuer, now = settings.OIDC.issuer, time.monotonic()
        until, found = _configurations.get(issuer, (0.0, None))
        if now < until and found is None:
            raise ProviderAway(f"{issuer} did not answer a moment ago")
        if now >= until or found is None:
            _configurations[issuer] = (now + AWAY_KEPT, None)
            found = fetched_configuration(issuer)
            _configurations[issuer] = (time.monotonic() + CONFIGURATION_KEPT, found)
        return found


class ProviderAway(Exception):
    """The provider did not answer."""


def fetched_configuration(issuer: str) -> dict[str, Any]:
    found = fetched_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != issuer:  # to the letter, the slash at its end included
        raise OAuth2Error(f"{issuer} calls itself {str(found.get('issuer'))[:200]!r}")
    return found


class Fetching(DefaultSocialAccountAdapter):
    """How allauth asks the provider: it is not led elsewhere."""

    def get_requests_session(self) -> Any:
        session = super().get_requests_session()
        session.max_redirects = 0
        return session


class Provider(OpenIDConnectProvider):
    oauth2_adapter_class = Adapter


def provider_for(request: HttpRequest) -> Provider:
    """The provider of the settings; NotFound where there is none."""
    chosen = settings.OIDC
    if chosen is None:
        raise NotFound("There is no such page.")
    options = {"server_url": chosen.issuer, "oauth_pkce_enabled": True, "scope": list(chosen.scopes)}
    app = SocialApp(
        provider="openid_connect", provider_id="oidc", name="oidc", client_id=chosen.client_id, secret=chosen.secret,
        settings=options,
    )  # fmt: skip
    return Provider(request, app=app)


def fetched_json(url: str, **headers: str) -> dict[str, Any]:
    """A JSON object of the provider, 1 MiB at most."""
    with (
        Session() as session,
        session.get(url, headers=headers, timeout=5, stream=True, allow_redirects=False) as answer,
    ):
        if answer.status_code != 200:
            raise OAuth2Error(f"{url} answered {answer.status_code}")
        found = json.loads(answer.raw.read(1 << 20, decode_content=True))
    if not isinstance(found, dict):
        raise OAuth2Error(f"{url} is no JSON object")
    return found


# ---- there ----


@public
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Leads to the provider. A link, not a form: the CSP forbids forms to lead to another host."""
    if request.user.is_authenticated:  # another site cannot make somebody who is signed in somebody else
        return redirect(safe_next(request))
    return lead_to_provider(request, safe_next(request), None)


@recently_signed_in
@require_GET
def connect(request: HttpRequest) -> HttpResponse:
    """Leads to the provider, to let it sign in whoever is signed in already. Only from the link of their own page: else another
    site could connect whoever the provider knows in this browser."""
    if not constant_time_compare(request.GET.get("proof", ""), connect_proof(request)):
        raise Forbidden("Open this from the page of your account.", code="no_proof")
    return lead_to_provider(request, reverse("account.page"), request.user.pk)


def connect_proof(request: HttpRequest) -> str:
    """What the link on the account page shows; no other session has it."""
    return salted_hmac("memoryhub.oidc.connect", request.session.session_key or "").hexdigest()


def lead_to_provider(request: HttpRequest, leads_to: str, connects: int | None) -> HttpResponse:
    provider, nonce = provider_for(request), secrets.token_urlsafe(24)
    if not request.user.is_authenticated:
        request.session.set_expiry(BEFORE_SIGN_IN)
    data = {"nonce": nonce, "leads_to": leads_to, "connects": connects}
    try:
        return provider.redirect(request, "login", data=data, auth_params={"nonce": nonce})
    except Exception as error:
        return refuse_answer(request, error)


# ---- and back ----


@public
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """The provider's answer. It counts once, in the browser that asked, within ten minutes."""
    provider = provider_for(request)
    state = statekit.unstash_state(request, provider_id=provider.sub_id, state_id=request.GET.get("state", ""))
    if "error" in request.GET:
        return show(request, Forbidden("The provider did not sign you in.", code="provider_refused"))
    if state is None:
        return show(request, Forbidden("This browser did not start this sign-in. Start again.", code="wrong_state"))
    try:
        identity = identity_of(request, provider, state)
        return admit(request, identity, state["data"])
    except HubError as refusal:
        return show(request, refusal)
    except Exception as error:
        return refuse_answer(request, error)


def refuse_answer(request: HttpRequest, error: Exception) -> HttpResponse:
    """The sign-in page with a refusal. What was wrong stands in the log: it is for whoever runs the hub."""
    logger.warning("sign-in by the provider failed: %s: %s", type(error).__name__, repr(str(error)[:500]))
    away = isinstance(error, ProviderAway) or type(error).__module__.startswith("requests")
    return show(request, Unavailable(FAILED) if away else Forbidden(FAILED, code="provider_failed"))


def admit(request: HttpRequest, identity: accounts.Identity, asked: dict[str, Any]) -> HttpResponse:
    """Signs the person of an identity in, with the roles of their groups; or connects it to whoever asked for that."""
    if asked["connects"]:
        return connect_to(request, identity, asked["connects"])
    person = accounts.person_of_identity(identity)
    spaces.apply_group_roles(person, identity.groups, identity.issuer)
    leads_to = local_address(request, asked["leads_to"])
    return enter(request, person, leads_to, by="provider")


def connect_to(request: HttpRequest, identity: accounts.Identity, asked_by: int) -> HttpResponse:
    if request.user.pk != asked_by:
        raise Forbidden("Somebody else is signed in by now. Start again.", code="wrong_state")
    try:
        accounts.connect_identity(request.user, identity)
        done(request, _("You can sign in by the provider from now on."))
    except HubError as refusal:
        refused(request, refusal.message)
    return redirect("account.page")


@require_POST
@recently_signed_in
def disconnect(request: HttpRequest, pk: int) -> HttpResponse:
    accounts.disconnect_identity(request.user, pk)
    done(request, _("The connection is removed."))
    return redirect("account.page")


def identity_of(request: HttpRequest, provider: Provider, state: dict[str, Any]) -> accounts.Identity:
    """Whom the provider signed in, after every check."""
    adapter = provider.get_oauth2_adapter(request)
    if request.GET.get("iss", adapter.openid_config["issuer"]) != adapter.openid_config["issuer"]:
        raise OAuth2Error("the answer names another issuer")
    client = adapter.get_client(request, provider.app)
    tokens = client.get_access_token(request.GET.get("code", ""), pkce_code_verifier=state.get("pkce_code_verifier"))
    claims = claims_of(str(tokens.get("id_token", "")), adapter.openid_config, state["data"]["nonce"])
    return as_identity(claims | more_claims(claims, adapter.openid_config, str(tokens["access_token"])))


def claims_of(id_token: str, configuration: dict[str, Any], nonce: str) -> dict[str, Any]:
    """What the ID token says, after its signature, issuer, audience, times and nonce were checked."""
    header = jwt.get_unverified_header(id_token)
    if header.get("alg") not in ALGORITHMS:
        raise OAuth2Error(f"the ID token is signed by {str(header.get('alg'))[:20]!r}")
    claims = jwt.decode(
        id_token, key=signing_key(configuration["jwks_uri"], header), algorithms=[header["alg"]],
        audience=settings.OIDC.client_id, issuer=configuration["issuer"], leeway=CLOCKS_DIFFER,
        options={"require": ["iss", "sub", "aud", "exp", "iat"]},
    )  # fmt: skip
    if not constant_time_compare(str(claims.get("nonce", "")), nonce):
        raise OAuth2Error("the ID token has another nonce")
    # Of several audiences one has to be named as the client that asked.
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    asked_by = settings.OIDC.client_id if len(audiences) == 1 else None
    if claims.get("azp", asked_by) != settings.OIDC.client_id:
        raise OAuth2Error("the ID token was issued for another client")
    return claims


def signing_key(address: str, header: dict[str, Any]) -> Any:
    """The provider's key that the token names; where it names none, the only one for its algorithm."""
    keys = [one for one in fetched_json(address).get("keys", []) if one.get("use", "sig") == "sig"]
    named = [one for one in keys if one.get("kid") == header["kid"]] if "kid" in header else keys
    if len(named) != 1:
        raise OAuth2Error("the ID token is signed by a key that the provider does not name")
    return jwt.PyJWK.from_dict(named[0], algorithm=header["alg"]).key


def more_claims(claims: dict[str, Any], configuration: dict[str, Any], access_token: str) -> dict[str, Any]:
    """What the provider says at its other address about the same person, where the ID token says too little."""
    wanted = {"email", settings.OIDC.groups_claim.partition(".")[0]} - claims.keys()
    if not wanted or "userinfo_endpoint" not in configuration:
        return {}
    found = fetched_json(configuration["userinfo_endpoint"], Authorization=f"Bearer {access_token}")
    if found.get("sub") != claims["sub"]:
        raise OAuth2Error("the provider speaks of somebody else")
    return {name: value for name, value in found.items() if name not in claims}


def as_identity(claims: dict[str, Any]) -> accounts.Identity:
    verified = claims.get("email_verified") in (True, "true")
    return accounts.Identity(
        issuer=settings.OIDC.issuer, subject=str(claims["sub"]), name=text_of(claims.get("preferred_username")),
        email=text_of(claims.get("email")) if verified else "", groups=groups_of(claims),
    )  # fmt: skip


def text_of(value: Any) -> str:
    return value.replace("\x00", "")[:254] if isinstance(value, str) else ""


def groups_of(claims: dict[str, Any]) -> tuple[str, ...]:
    """The groups in the claim of the settings, which may lie in another: `realm_access.roles`."""
    found: Any = claims
    for name in (
        [settings.OIDC.groups_claim] if settings.OIDC.groups_claim in claims else settings.OIDC.groups_claim.split(".")
    ):
        found = found.get(name) if isinstance(found, dict) else None
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return tuple(value for value in values if isinstance(value, str))
