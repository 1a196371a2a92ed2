"""Settings of sign-in: what is wrong stops the start with its name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryhub import settings_sign_in
from memoryhub.environment import env_number


@pytest.fixture
def env(monkeypatch):
    def change(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"MEMORYHUB_{name}", value)

    return change


PROVIDER = {"OIDC_ISSUER": "https://id.example.org/", "OIDC_CLIENT_ID": "hub"}


def test_a_provider_as_it_is_named(env):
    assert settings_sign_in.oidc() is None
    env(**PROVIDER, OIDC_SCOPES="openid email groups", OIDC_SIGN_UP="domains", OIDC_DOMAINS="Example.org, @b.org")
    found = settings_sign_in.oidc()
    assert (found.issuer, found.scopes) == ("https://id.example.org/", ("openid", "email", "groups"))
    assert found.domains == ("example.org", "b.org")
    assert not found.link_by_email and found.second_factor == "hub"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"OIDC_ISSUER": "http://id.example.org"}, "OIDC_ISSUER"),
        ({"OIDC_ISSUER": "id.example.org"}, "OIDC_ISSUER"),
        ({"OIDC_ISSUER": "https://"}, "OIDC_ISSUER"),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID"),
        ({"OIDC_SCOPES": "email"}, "OIDC_SCOPES"),
        ({"OIDC_SIGN_UP": "all"}, "OIDC_SIGN_UP"),
        ({"OIDC_SIGN_UP": "domains"}, "OIDC_DOMAINS"),
        ({"OIDC_DOMAINS": "example.org"}, "OIDC_DOMAINS"),
        ({"OIDC_LINK_BY_EMAIL": "perhaps"}, "OIDC_LINK_BY_EMAIL"),
        ({"OIDC_SECOND_FACTOR": "none"}, "OIDC_SECOND_FACTOR"),
    ],
)
def test_a_wrong_provider_stops_the_start(env, wrong, named):
    env(**PROVIDER | wrong)
    with pytest.raises(ImproperlyConfigured, match=named):
        settings_sign_in.oidc()


def test_a_proxy_as_it_is_named(env):
    assert settings_sign_in.proxy() is None
    env(PROXY_USER_HEADER="X-Forwarded-User", PROXY_ADDRESSES="127.0.0.1, 10.0.0.0/8,fd00::/8")
    found = settings_sign_in.proxy()
    assert found.keys == ("HTTP_X_FORWARDED_USER",)
    assert found.trusts("10.2.3.4") and found.trusts("::ffff:127.0.0.1") and found.trusts("fd00::1")
    assert not found.trusts("11.0.0.1") and not found.trusts("::1") and not found.trusts("")


@pytest.mark.parametrize(
    "wrong",
    [
        {"PROXY_USER_HEADER": "Remote-User"},
        {"PROXY_ADDRESSES": "127.0.0.1"},
        {"PROXY_USER_HEADER": "Remote User", "PROXY_ADDRESSES": "127.0.0.1"},
        {"PROXY_USER_HEADER": "Remote-User", "PROXY_ADDRESSES": "everybody"},
        {"PROXY_USER_HEADER": "Remote-User", "PROXY_ADDRESSES": "10.0.0.1/8"},
        {"PROXY_GROUPS_HEADER": "Remote-Groups"},
        {"PROXY_USER_HEADER": "Remote-User", "PROXY_ADDRESSES": "127.0.0.1", "PROXY_SIGN_UP": "domains"},
    ],
)
def test_a_wrong_proxy_stops_the_start(env, wrong):
    env(**wrong)
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_PROXY"):
        settings_sign_in.proxy()


@pytest.mark.parametrize(
    "wrong", ["team=main:owner", "[]", '{"team": "main"}', '{"team": {"main": "king"}}', '{"team": []}', "1"]
)
def test_wrong_roles_stop_the_start(wrong):
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_GROUP_ROLES"):
        settings_sign_in.group_roles(wrong)


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", "8761", "9" * 40, "\u0661"])
def test_numbers_out_of_bounds_stop_the_start(monkeypatch, wrong):
    monkeypatch.setenv("MEMORYHUB_SESSION_IDLE_HOURS", wrong)
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_SESSION_IDLE_HOURS"):
        env_number("MEMORYHUB_SESSION_IDLE_HOURS", 168, 0, 8760)


def test_proxies_that_say_where_a_request_comes_from():
    found = settings_sign_in.trusted_proxies("loopback, Private,203.0.113.7")
    for address in ("127.0.0.1", "::1", "172.17.0.1", "::ffff:10.0.0.1", "fd00::1", "203.0.113.7"):
        assert found.hold(address), address
    for address in ("203.0.113.8", "172.32.0.1", "fe80::1", "", "nothing"):
        assert not found.hold(address), address
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_TRUSTED_PROXIES"):
        settings_sign_in.trusted_proxies("loopback,hub.example.org")
